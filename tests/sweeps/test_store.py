import json

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.sweeps.store import SweepStore, read_sweep, setting_key


def test_results_are_found_again(tmp_path):
    path = tmp_path / "new folder" / "out.jsonl"
    SweepStore(path, "f").add({"p": 2, "x": np.arange(2.0)}, 1.5)
    again = SweepStore(path, "f")
    assert again.results == {setting_key({"x": np.arange(2.0), "p": 2}): 1.5}
    ((setting, result),) = read_sweep(path)
    assert (setting["p"], setting["x"].tolist(), result) == (2, [0.0, 1.0], 1.5)
    assert all(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def test_half_a_last_line_is_dropped(tmp_path):
    path = tmp_path / "out.jsonl"
    store = SweepStore(path, "f")
    store.add(1, "one")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"setting": 2, "res')
    assert read_sweep(path) == [(1, "one")]
    SweepStore(path, "f").add(3, "three")
    assert read_sweep(path) == [(1, "one"), (3, "three")]
    assert path.read_bytes().startswith(whole)


@pytest.mark.parametrize("text", ["x", "{}\n", "a,b\n1,2\n", '{"format": "derand sweep 1", "function": "f"}\n[]\n'])
def test_other_files_are_refused_and_left_alone(text, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="no file of a sweep"):
        SweepStore(path, "f")
    with pytest.raises(InputError, match="no file of a sweep"):
        read_sweep(path)
    assert path.read_text(encoding="utf-8") == text


def test_another_function_is_refused(tmp_path):
    SweepStore(tmp_path / "s", "f")
    with pytest.raises(InputError, match="holds results of f, not of g"):
        SweepStore(tmp_path / "s", "g")
