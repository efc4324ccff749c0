import argparse
import json

import numpy as np
import pytest

from derand.commands.demonstrations import DEMONSTRATIONS
from derand.commands.sosp import configure, run


def _run(arguments, capsys):
    """Return the exit code, the document on stdout and the text on stderr."""
    parser = argparse.ArgumentParser()
    configure(parser)
    code = run(parser.parse_args(arguments))
    out, err = capsys.readouterr()
    return code, json.loads(out), err


@pytest.mark.parametrize("name", DEMONSTRATIONS)
def test_printed_proof_holds(name, capsys):
    """The printed numbers, read back, satisfy both inequalities by a dense eigensolver."""
    code, document, err = _run(["--problem", name], capsys)
    problem, x, certificate = DEMONSTRATIONS[name](), np.array(document["x"]), document["certificate"]
    value, gradient = problem.fun(x)
    hessian = np.stack([problem.hessp(x, e) for e in np.eye(x.size)])
    assert code == 0
    assert document["success"]
    assert certificate["is_certified"]
    assert document["fun"] == value
    assert certificate["gradient_norm"] == pytest.approx(np.linalg.norm(gradient), rel=1e-9)
    assert certificate["gradient_norm"] <= certificate["gtol"] == 1e-6
    smallest = np.linalg.eigvalsh(hessian)[0]
    # LAPACK's eigenvalues are off by a few roundings of the norm of the Hessian, below 100 here.
    assert -1e-3 <= certificate["min_eigenvalue_lower"] <= smallest + 1e-12
    assert "Certified" in err


def test_demo_is_a_problem_whose_minimum_is_reached(capsys):
    code, document, _ = _run(["--demo", "--seed", "3"], capsys)
    # At a gradient of 1e-6 and curvatures above 1 across the orbit of minima, f is below 1e-12.
    assert code == 0
    assert abs(document["fun"] - document["known_minimum"]) < 1e-12
    assert document["seed"] == 3


def test_same_seed_same_bytes(capsys):
    first = _run(["--problem", "wells", "--seed", "5"], capsys)[1]
    again = _run(["--problem", "wells", "--seed", "5"], capsys)[1]
    assert first == again


def test_a_run_that_is_cut_short_says_so(capsys):
    code, document, _ = _run(["--demo", "--max-evals", "4"], capsys)
    assert code == 3
    assert document["status"] == "budget"
    assert not document["success"]
    assert "nothing is proved" in document["message"]


def test_interruption_still_writes_the_best_point(capsys, monkeypatch):
    lines = []

    def interrupt(_, line):
        lines.append(line)
        if len(lines) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("derand.commands.sosp.Progress.update", interrupt)
    code, document, _ = _run(["--demo"], capsys)
    assert code == 130
    assert document["status"] == "interrupted"
    assert document["fun"] == DEMONSTRATIONS["low-rank"]().fun(np.array(document["x"]))[0]


def test_quiet_and_output_file(capsys, tmp_path):
    parser = argparse.ArgumentParser()
    configure(parser)
    path = tmp_path / "result.json"
    assert run(parser.parse_args(["--demo", "--quiet", "-o", str(path)])) == 0
    assert capsys.readouterr() == ("", "")
    assert json.loads(path.read_text(encoding="utf-8"))["success"]


def test_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = tmp_path / "run.png"
    assert _run(["--demo", "--quiet", "--plot", str(path)], capsys)[0] == 0
    assert path.read_bytes().startswith(b"\x89PNG")
