import io
import json
import math

import numpy as np
import pytest

from derand.commands.console import ExitCode, Progress, to_json, write_json


def test_exit_codes_are_the_documented_ones():
    assert [code.value for code in ExitCode] == [0, 1, 2, 3, 130]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([[1.0, 2.0]]), [[1.0, 2.0]]),
        (np.float64(0.1), 0.1),
        (np.int64(2**62), 2**62),
        (np.array([np.nan, 1.0]), [None, 1.0]),
        (math.inf, None),
        ({1: (True, None, "ä")}, {"1": [True, None, "ä"]}),
        (2**100, 2**100),
    ],
)
def test_values_become_json(value, expected):
    converted = to_json(value)
    assert converted == expected
    assert json.loads(json.dumps(converted, allow_nan=False)) == expected


def test_every_float_survives_the_file(tmp_path):
    numbers = np.random.default_rng(0).standard_normal(1000) * 10.0 ** np.arange(-150, 150, 0.3)
    path = tmp_path / "out.json"
    write_json({"x": numbers}, str(path))
    assert np.array_equal(json.loads(path.read_text(encoding="utf-8"))["x"], numbers)


@pytest.mark.parametrize("path", [None, "-"])
def test_stdout_without_a_file(path, capsys):
    write_json({"a": 1}, path)
    out, err = capsys.readouterr()
    assert json.loads(out) == {"a": 1}
    assert err == ""


def test_progress_is_throttled_and_can_be_silent(monkeypatch):
    now, stderr = [0.0], io.StringIO()
    monkeypatch.setattr("derand.commands.console.time.monotonic", lambda: now[0])
    monkeypatch.setattr("sys.stderr", stderr)
    progress = Progress("sosp", interval=2.0)
    for now[0] in (0.5, 1.0, 2.5, 3.0, 5.0):
        progress.update(f"at {now[0]}")
    progress.say("end")
    Progress("sosp", quiet=True).say("unheard")
    assert stderr.getvalue().splitlines() == ["derand sosp: at 2.5", "derand sosp: at 5.0", "derand sosp: end"]
