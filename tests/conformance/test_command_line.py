"""Every subcommand behaves the same: exit codes, JSON on stdout, one line on stderr for a mistake, never a traceback.

A new subcommand gets an entry in `COMMAND_LINES`; without one the first test fails.
"""

import gzip
import json
import math
import os
import re
from dataclasses import dataclass, field

import numpy as np
import pytest

from derand.cli import main
from derand.commands import COMMANDS

GRAPH = "source,target,weight\nAnn,Bert,1\nBert,Carla,2\nCarla,Ann,1\n"
POINTS = "height,width\n1.0,0.9\n2.0,2.1\n3.0,3.2\n4.0,3.9\n"
TABLE = "a,b,c,y\n" + "\n".join(
    f"{a},{b},{c},{math.tanh(a + b)}" for a, b, c in np.random.default_rng(0).standard_normal((60, 3)).round(6).tolist()
)
HUGE = 10**30


@dataclass(frozen=True)
class Lines:
    """Command lines of one subcommand.

    ``good`` are solved in a moment; ``bad`` are pairs of options and a word of the complaint; ``usage`` are wrong
    usage; ``reads`` is a command line with FILE where a file is read, ``text`` a good content of it; ``early`` ends
    with a weaker result; ``picture`` draws one; ``to_file`` is the option that sends the JSON to a file.
    """

    good: list
    bad: list = field(default_factory=list)
    usage: list = field(default_factory=list)
    reads: list | None = None
    text: str = ""
    suffix: str = ".csv"
    early: list | None = None
    picture: list | None = None
    to_file: str = "--output"


COMMAND_LINES = {
    "maxcut": Lines(
        good=[["--effort", "quick"], ["FILE", "--no-bound"], ["FILE", "--method", "conditional"]],
        bad=[
            (["--certificate", "c.json", "--no-bound"], "--certificate"),
            (["--time-limit", "nan"], "--time-limit"),
            (["--seed", "-1"], "--seed must"),
            (["FILE", "--format", "metis"], "line 1"),
        ],
        usage=[["--effort", "great"], ["--format", "xml"], ["a", "b"]],
        reads=["FILE"],
        text=GRAPH,
        early=["--time-limit", "1e-9"],
        picture=["--effort", "quick"],
    ),
    "verify": Lines(
        good=[["FILE", "PROOF"]],
        bad=[(["FILE", "FILE"], "FILE.csv"), (["PROOF", "PROOF"], "PROOF.json"), (["FILE", "no.json"], "no.json")],
        usage=[[], ["FILE"]],
        reads=["FILE", "PROOF"],
        text=GRAPH,
    ),
    "sosp": Lines(
        good=[["--demo"], ["--problem", "wells", "--method", "newton-cg"]],
        bad=[
            (["--demo", "--gtol", "0"], "--gtol must"),
            (["--demo", "--gtol", "nan"], "--gtol must"),
            (["--demo", "--time-limit", "-1"], "--time-limit"),
            (["--demo", "--seed", "-1"], "--seed must"),
            (["--demo", "--max-evals", "0"], "--max-evals must"),
            (["--demo", "--confidence", "1"], "--confidence must"),
            (["--demo", "--method", "accelerated", "--grad-lip", "9"], "--hess-lip"),
            (["no_such_file.py:fun", "--x0", "0"], "no_such_file.py"),
            (["math:hypot", "--x0", "0,0"], "math:hypot"),
            (["math:hypot"], "--x0"),
        ],
        usage=[[], ["--demo", "--problem", "wells"], ["--demo", "--gtol", "small"]],
        early=["--demo", "--max-evals", "3"],
        picture=["--demo"],
    ),
    "teacher-student": Lines(
        good=[["--p", "4", "--p-star", "2"], ["--p", "4", "--p-star", "2", "--inputs", str(10**12)]],
        bad=[
            (["--p", "0", "--p-star", "1"], "--p must"),
            (["--p", "2", "--p-star", "1", "--lr", "-1"], "lr"),
            (["--p", "2", "--p-star", "1", "--lr", "nan"], "lr"),
            (["--p", "2", "--p-star", "1", "--noise", "-1"], "noise"),
            (["--p", "2", "--p-star", "2", "--teacher", "1"], "--teacher"),
            (["--p", str(HUGE), "--p-star", "1"], ""),
        ],
        usage=[[], ["--p", "two", "--p-star", "1"]],
        picture=["--p", "4", "--p-star", "2", "--picture", "hessian"],
    ),
    "two-step": Lines(
        good=[
            ["--neurons", "100"],
            ["--neurons", "100", "--diagram", "1"],
            ["--neurons", "100", "--link", "z**3 - 3*z", "he1"],
        ],
        bad=[
            (["--alpha1", "0.5"], "alpha1"),
            (["--alpha2", "nan"], "alpha2"),
            (["--noise", "-1"], "--noise"),
            (["--neurons", str(HUGE)], "--neurons"),
            (["--seed", "-1"], "--seed must"),
            (["--activation", "abs"], "c_1"),
            (["--activation", "magic"], "activation"),
            (["--neurons", "100", "--diagram", "0"], "diagram"),
            (["--checkpoint", "rows.npz"], "--diagram"),
            (["--link", "cubic"], "--link 'cubic'"),
            (["--link", "z1*z2"], "--link 'z1*z2'"),
            (["--neurons", "100", "--link", "1/(z-z)"], "finite"),
        ],
        usage=[["--link"], ["--neurons", "many"], ["extra"]],
        early=["--neurons", "100", "--time-limit", "1e-9"],
        picture=["--neurons", "100"],
    ),
    "embed": Lines(
        good=[["FILE"], ["FILE", "-k", "1", "--no-bound"]],
        bad=[
            (["FILE", "--eps", "2"], "--eps must"),
            (["FILE", "--eps", "nan"], "--eps must"),
            (["FILE", "-k", "0"], "--n-components"),
            (["FILE", "-k", str(HUGE)], "--n-components"),
            (["FILE", "--seed", "-1"], "--seed must"),
            (["FILE", "--time-limit", "nan"], "--time-limit"),
            (["FILE", "-o", "no/such/folder/map.npz"], "no/such/folder"),
        ],
        usage=[[], ["FILE", "--method", "magic"], ["FILE", "-k", "few"]],
        reads=["FILE"],
        text=POINTS,
        picture=["FILE", "-k", "1"],
        to_file="--json",
    ),
    "threshold": Lines(
        good=[["--link", "z**2"], ["--link", "z**2*exp(-z**2)"]],
        bad=[
            (["--link", "z**"], "z**"),
            (["--link", "__import__('os')"], "unknown function"),
            (["--link", "q**2"], "q"),
            (["--link", ""], "malformed"),
            (["--link", "1/(z-z)"], "finite"),
            (["--link", "z" + "+z" * 5000], "1000"),
            (["--link", "z**2", "--noise", "-1"], "noise"),
            (["--link", "z**2", "--noise", "nan"], "noise"),
            (["--link", "z**2", "--activation", "quad", "--scale", "0"], "scale"),
            (["--link", "z**2", "--activation", "quad", "--m", "0"], "--m must"),
            (["--link", "z**2", "--k", "99"], "--k must"),
            (["--link", "z**2", "--seed", "-1"], "--seed must"),
            (["--link", "exp(z**9)"], "finite"),
            (["--link", "z**2", "--plot", "a.png"], "--activation"),
        ],
        usage=[[], ["--link", "z**2", "--activation", "magic"], ["--link", "z**2", "--noise", "much"]],
        picture=["--link", "z**2", "--activation", "half-quad"],
    ),
    "structure": Lines(
        good=[["FILE", "--target", "y"], ["FILE", "--target", "4", "-k", "1"]],
        bad=[
            (["FILE", "--target", "z"], "no column 'z'; the columns are"),
            (["FILE", "--target", "y", "-k", "0"], "--n-components must"),
            (["FILE", "--target", "y", "-k", str(HUGE)], "--n-components must"),
            (["FILE", "--target", "y", "--seed", "-1"], "--seed must"),
        ],
        usage=[[], ["FILE"], ["FILE", "--target", "y", "--task", "magic"]],
        reads=["FILE", "--target", "y"],
        text=TABLE,
        picture=["FILE", "--target", "y", "-k", "1"],
    ),
    "bench": Lines(
        good=[["--suite", "sosp"]],
        bad=[(["--seed", "-1"], "--seed"), (["--time-limit", "-1"], "--time-limit")],
        usage=[["--suite", "all of them"]],
        early=["--time-limit", "1e-9"],
    ),
}


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command line in an empty folder, with FILE and PROOF put in place."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.delenv("DERAND_DEBUG", raising=False)

    def run(command, words):
        lines = COMMAND_LINES[command]
        if "FILE" in words and not (tmp_path / f"FILE{lines.suffix}").exists():
            (tmp_path / f"FILE{lines.suffix}").write_text(lines.text, encoding="utf-8")
        if "PROOF" in words and not (tmp_path / "PROOF.json").exists():
            (tmp_path / "graph.csv").write_text(GRAPH, encoding="utf-8")
            assert main(["maxcut", "graph.csv", "--quiet", "--certificate", "PROOF.json"]) == 0
            capsys.readouterr()
        names = {"FILE": f"FILE{lines.suffix}", "PROOF": "PROOF.json"}
        code = main([command, *(names.get(word, word) for word in words)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert "internal error" not in err
        return int(code), out, err

    return run


def _cases(attribute):
    """Return (command, options) for the tests to run over."""
    return [
        pytest.param(command, case, id=f"{command} {k}")
        for command, lines in COMMAND_LINES.items()
        for k, case in enumerate(getattr(lines, attribute))
    ]


def _is_one_line(err):
    return err.startswith("derand: ") and err.endswith("\n") and err.count("\n") == 1


def test_every_subcommand_is_tested():
    assert set(COMMAND_LINES) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_enough_to_work_from(command, shell):
    code, out, err = shell(command, ["--help"])
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: derand {command}")
    # Python 3.13 writes the metavariable once, after the last name of an option.
    assert re.search(rf"^  .*{COMMAND_LINES[command].to_file}\b.* FILE\b", out, re.MULTILINE)
    assert "-q, --quiet" in out
    # Every option is explained: no line of help ends with the bare name of an option.
    options = out.split("options:")[1]
    assert all(len(entry.split()) > 2 for entry in options.split("\n  -")[1:])


@pytest.mark.parametrize(("command", "options"), _cases("good"))
def test_good_input(command, options, shell, tmp_path):
    """Valid JSON, the same on every run, silence when asked for, and a file instead of stdout."""
    code, out, err = shell(command, options)
    assert code == 0, err
    assert isinstance(json.loads(out), dict)
    assert all(line.startswith(f"derand {command}: ") for line in err.splitlines())
    again = shell(command, [*options, "--quiet"])
    assert (again[0], again[2]) == (0, "")
    assert again[1] == out
    quiet = shell(command, [*options, "-q", COMMAND_LINES[command].to_file, "out.json"])
    assert quiet == (0, "", "")
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == out


@pytest.mark.parametrize(("command", "case"), _cases("bad"))
def test_bad_input_is_named_in_one_line(command, case, shell):
    options, named = case
    code, out, err = shell(command, options)
    assert (code, out) == (1, "")
    complaint = err.splitlines(keepends=True)[-1]
    assert _is_one_line(complaint)
    assert named in complaint


@pytest.mark.parametrize(("command", "options"), [*_cases("usage"), *((c, ["--no-such-option"]) for c in COMMANDS)])
def test_wrong_usage(command, options, shell):
    code, out, err = shell(command, options)
    assert (code, out) == (2, "")
    assert err.startswith("usage: derand ")


@pytest.mark.parametrize("command", [command for command, lines in COMMAND_LINES.items() if lines.early])
def test_a_run_that_ends_early_writes_what_it_has(command, shell):
    code, out, _ = shell(command, COMMAND_LINES[command].early)
    assert code == 3
    assert isinstance(json.loads(out), dict)


FILES = {
    "missing": None,
    "empty": b"",
    "blank": b"\n \n\n",
    "noise": bytes(range(256)) * 40,
    "zeros": bytes(10_000),
    "half a gzip": gzip.compress(b"a,b\n" * 1000)[:30],
    "one long line": b"a," * 500_000,
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(200)),
    "UTF-16": GRAPH.encode("utf-16"),
    "NaN": b"a,b,y\n" + b"nan,nan,nan\n" * 20,
    "a web page": b"<!DOCTYPE html>\n<html>\n<body>\n<p>404, not found</p>\n</body></html>\n",
}


@pytest.mark.parametrize("content", FILES)
@pytest.mark.parametrize("command", [command for command, lines in COMMAND_LINES.items() if lines.reads])
def test_files_that_are_no_input(command, content, shell, tmp_path):
    lines = COMMAND_LINES[command]
    if FILES[content] is not None:
        (tmp_path / f"FILE{lines.suffix}").write_bytes(FILES[content])
        words = lines.reads
    else:
        words = [word.replace("FILE", "no-such-file.csv") for word in lines.reads]
    code, out, err = shell(command, words)
    assert (code, out) == (1, "")
    complaint = err.splitlines(keepends=True)[-1]
    assert _is_one_line(complaint)
    assert len(complaint) < 400
    # The file is named: a script that runs over many of them has to know which one it was.
    assert ("no-such-file.csv" if content == "missing" else f"FILE{lines.suffix}") in complaint


@pytest.mark.parametrize("command", [command for command, lines in COMMAND_LINES.items() if lines.reads])
def test_a_folder_is_no_file(command, shell, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    words = [word.replace("FILE", "folder.csv") for word in COMMAND_LINES[command].reads]
    code, out, err = shell(command, words)
    assert (code, out) == (1, "")
    assert "folder.csv" in err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
@pytest.mark.parametrize("command", [command for command, lines in COMMAND_LINES.items() if lines.reads])
def test_a_file_that_may_not_be_read(command, shell, tmp_path):
    (tmp_path / "locked.csv").write_text(COMMAND_LINES[command].text, encoding="utf-8")
    (tmp_path / "locked.csv").chmod(0)
    code, out, err = shell(command, [word.replace("FILE", "locked.csv") for word in COMMAND_LINES[command].reads])
    assert (code, out) == (1, "")
    assert "locked.csv" in err


@pytest.mark.parametrize("command", COMMANDS)
def test_output_that_cannot_be_written(command, shell):
    lines = COMMAND_LINES[command]
    code, out, err = shell(command, [*lines.good[0], "-q", lines.to_file, "no/such/folder/out.json"])
    assert (code, out) == (1, "")
    assert _is_one_line(err)
    assert "no/such/folder" in err


@pytest.mark.parametrize("command", [command for command, lines in COMMAND_LINES.items() if lines.picture])
def test_pictures(command, shell, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, err = shell(command, [*COMMAND_LINES[command].picture, "-q", "--plot", "picture.png"])
    assert (code, err) == (0, "")
    assert json.loads(out)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    for bad in ("picture.txt", "no/such/folder/picture.png"):
        code, out, err = shell(command, [*COMMAND_LINES[command].picture, "-q", "--plot", bad])
        assert (code, out) == (1, "")
        assert _is_one_line(err)
        assert "--plot" in err
