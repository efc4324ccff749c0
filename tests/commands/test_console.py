import argparse
import io
import json
import math

import numpy as np
import pytest

from derand.commands.console import (
    ExitCode,
    Progress,
    add_output_options,
    as_option,
    check_options,
    save_plot,
    to_json,
    write_json,
)
from derand.exceptions import InputError


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


def test_common_options_have_common_names():
    parser = argparse.ArgumentParser()
    add_output_options(parser, seed=True, time_limit=True, plot=True)
    args = parser.parse_args(["--seed", "4", "--time-limit", "2", "--plot", "a.png", "-o", "out.json", "-q"])
    assert vars(args) == {"seed": 4, "time_limit": 2.0, "plot": "a.png", "json": "out.json", "quiet": True}
    bare = argparse.ArgumentParser()
    add_output_options(bare)
    assert vars(bare.parse_args([])) == {"json": None, "quiet": False}


def test_another_output_leaves_the_json_option():
    parser = argparse.ArgumentParser()
    add_output_options(parser, output=("MAP.npz", "the map"))
    args = parser.parse_args(["-o", "a.npz", "--json", "a.json"])
    assert vars(args) == {"output": "a.npz", "json": "a.json", "quiet": False}


def test_no_path_is_no_picture():
    save_plot(None, None)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"plot": "a.txt"}, r"--plot .*\.png, \.svg, \.pdf, got a\.txt"),
        ({"plot": "no/folder/a.png"}, "--plot .*no/folder"),
        ({"json": "no/folder/a.json"}, "--output .*no/folder"),
        ({"json": "no/folder/a.json", "output": None}, "--json .*no/folder"),
        ({"certificate": "no/folder/a.json"}, "--certificate"),
        ({"save_graph": "."}, "--save-graph .* is a folder"),
        ({"json": "a.png", "plot": "a.png"}, "--plot and --output name the same file, a.png"),
        ({"json": "a.csv", "graph": "./a.csv"}, "the input and --output name the same file"),
        ({"seed": -1}, "--seed must be at least 0, got -1"),
        ({"time_limit": float("nan")}, "--time-limit"),
        ({"time_limit": -1.0}, "--time-limit"),
    ],
    ids=str,
)
def test_shared_options_that_cannot_be_right(options, named):
    with pytest.raises(InputError, match=named):
        check_options(argparse.Namespace(**options))


def test_shared_options_that_can():
    check_options(argparse.Namespace())
    check_options(argparse.Namespace(seed=0, time_limit=0.0, json="-", plot=None, output=None, certificate="a.json"))


def test_names_of_parameters_become_options():
    args = argparse.Namespace(gtol=0.0, n_components=9, link="z")
    assert as_option("gtol must lie in (0, inf), got 0.0", args) == "--gtol must lie in (0, inf), got 0.0"
    assert as_option("a b.csv: n_components must be 1", args) == "a b.csv: n_components must be 1"
    assert as_option("b.csv: n_components must be 1", args) == "--n-components must be 1"
    assert as_option("X must be finite", args) == "X must be finite"
    assert as_option("link is malformed", args) == "link is malformed"
