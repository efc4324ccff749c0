"""Bits survive the file, and damage becomes a typed error."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.optimize import Checkpoint, minimize_sosp
from derand.optimize.checkpoint import generator_from_state, generator_state


@dataclass(frozen=True)
class Inner:
    value: float
    name: str


@dataclass(frozen=True)
class Outer:
    inner: Inner
    array: np.ndarray
    parts: tuple
    nothing: None = None


def _same(a, b):
    """Return whether two values agree bit for bit, NaN included."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, float):
        return isinstance(b, float) and np.float64(a).tobytes() == np.float64(b).tobytes()
    return type(a) is type(b) and a == b


VALUES = {
    "inf": math.inf,
    "minus_inf": -math.inf,
    "nan": math.nan,
    "zero": -0.0,
    "tiny": 5e-324,
    "third": 1.0 / 3.0,
    "huge_int": 2**127 + 1,
    "yes": True,
    "none": None,
    "text": "ä\n\"'",
    "array": np.array([1.0 / 3.0, -0.0, math.nan, math.inf, 5e-324]),
    "empty": np.empty((0, 3)),
    "nested": (1, (2.0, (None, np.arange(3))), ()),
}


@pytest.mark.parametrize("name", VALUES)
def test_round_trip_through_a_file_keeps_every_bit(name, tmp_path):
    path = tmp_path / "state"
    Checkpoint.pack(VALUES).save(path)
    assert _same(Checkpoint.load(path).unpack(name, {}), VALUES[name])


def test_dataclasses_come_back_as_what_they_were(tmp_path):
    outer = Outer(Inner(math.inf, "x"), np.array([math.nan]), (Inner(1.5, "y"), 2))
    Checkpoint.pack({"outer": outer}).save(tmp_path / "c.npz")
    back = Checkpoint.load(tmp_path / "c.npz").unpack("outer", {"Inner": Inner, "Outer": Outer})
    assert back.inner == outer.inner
    assert back.parts == outer.parts
    assert back.nothing is None
    assert _same(back.array, outer.array)


@pytest.mark.parametrize("kind", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_generators_go_on_where_they_were(kind, tmp_path):
    rng = np.random.Generator(getattr(np.random, kind)(7))
    rng.standard_normal(13)
    rng.integers(5, dtype=np.uint32)  # leaves half a word in the buffer
    Checkpoint.pack({"rng": generator_state(rng)}).save(tmp_path / "c")
    back = generator_from_state(Checkpoint.load(tmp_path / "c").unpack("rng", {}))
    np.testing.assert_array_equal(back.integers(1 << 30, size=9), rng.integers(1 << 30, size=9))
    np.testing.assert_array_equal(back.standard_normal(9), rng.standard_normal(9))


def test_unknown_generator_and_unpackable_value():
    with pytest.raises(InputError, match="bit generator"):
        generator_from_state({"bit_generator": "os.system"})
    with pytest.raises(TypeError, match="set"):
        Checkpoint.pack({"a": {1, 2}})


def test_files_that_are_no_checkpoints(tmp_path):
    path = tmp_path / "c"
    for content in (b"", b"hello", b"PK\x03\x04 broken"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="no checkpoint"):
            Checkpoint.load(path)
    with path.open("wb") as stream:
        np.savez(stream, a=np.arange(3))
    with pytest.raises(InputError, match="no checkpoint"):
        Checkpoint.load(path)
    with path.open("wb") as stream:
        np.savez(stream, meta=np.array(json.dumps({"format": "something else"})))
    with pytest.raises(InputError, match="format"):
        Checkpoint.load(path)
    with path.open("wb") as stream:
        np.savez(stream, meta=np.array({"a": 1}, dtype=object))
    with pytest.raises(InputError, match="no checkpoint"):
        Checkpoint.load(path)
    with pytest.raises(FileNotFoundError):
        Checkpoint.load(tmp_path / "absent")


def test_cut_files_are_refused(tmp_path):
    path = tmp_path / "c"
    Checkpoint.pack(VALUES).save(path)
    content = path.read_bytes()
    for share in (0.2, 0.5, 0.9, 0.99):
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(InputError, match="no checkpoint"):
            Checkpoint.load(path)


def test_a_failing_save_keeps_the_old_file(tmp_path):
    path = tmp_path / "c"
    Checkpoint.pack({"a": 1}).save(path)
    bad = Checkpoint({"format": {1, 2}}, {})
    with pytest.raises(TypeError):
        bad.save(path)
    assert Checkpoint.load(path).unpack("a", {}) == 1


def _stopped():
    def fun(x):
        return float(np.sum((x**2 - 1.0) ** 2)), 4.0 * x * (x**2 - 1.0)

    return fun, minimize_sosp(fun, np.full(4, 0.3), max_evals=6, curv_tol=1e-3).checkpoint


@pytest.mark.parametrize(
    "name", ["state", "progress", "tolerances", "certificate", "rng", "best", "counts", "fun_lower", "history"]
)
@pytest.mark.parametrize(
    "damage", ["missing", 7, "text", {"tuple": [1]}, {"dict": {}}, {"class": "Path", "fields": {}}]
)
def test_damaged_checkpoints_are_input_errors(name, damage):
    fun, checkpoint = _stopped()
    meta = {key: value for key, value in checkpoint.meta.items() if damage != "missing" or key != name}
    if damage != "missing":
        meta[name] = damage
    with pytest.raises(InputError, match="checkpoint"):
        minimize_sosp(fun, np.zeros(4), resume=Checkpoint(meta, checkpoint.arrays))
