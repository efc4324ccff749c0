import json
from collections import namedtuple
from enum import Enum

import numpy as np
import pytest

from derand.exceptions import InputTypeError
from derand.sweeps.plain import decode, encode


class Status(Enum):
    DONE = "a sentence"


def _through_json(value):
    return decode(json.loads(json.dumps(encode(value), allow_nan=False)))


@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "i8", "u1", "?", "c16"])
def test_arrays_keep_type_shape_and_bits(dtype):
    array = (np.random.default_rng(0).standard_normal((3, 4, 2)) * 100).astype(dtype)
    again = _through_json({"x": array})["x"]
    assert again.shape == array.shape
    assert again.dtype == array.dtype.newbyteorder("=")
    assert again.tobytes() == array.astype(again.dtype).tobytes()
    again[0] = 0  # an array of one's own, not a view of the text


def test_every_float_survives():
    numbers = np.random.default_rng(0).standard_normal(1000) * 10.0 ** np.arange(-150, 150, 0.3)
    assert _through_json(numbers.tolist()) == numbers.tolist()
    special = _through_json([np.inf, -np.inf, np.nan, -0.0])
    assert special[:2] == [np.inf, -np.inf]
    assert np.isnan(special[2])
    assert np.signbit(special[3])


def test_containers_become_plain():
    Point = namedtuple("Point", "x y")
    value = {"p": Point(1, (2.0, None)), "s": Status.DONE, "n": np.int64(3), "b": np.True_, "e": np.zeros((0, 2))}
    again = _through_json(value)
    assert again.pop("e").shape == (0, 2)
    assert again == {"p": {"x": 1, "y": [2.0, None]}, "s": "DONE", "n": 3, "b": True}


@pytest.mark.parametrize(
    ("value", "named"),
    [(object(), "object"), ({1: 2}, "strings, got int"), (np.array(["a"]), "dtype"), (1j, "complex")],
)
def test_what_cannot_be_kept_is_refused(value, named):
    with pytest.raises(InputTypeError, match=named):
        encode(value)
