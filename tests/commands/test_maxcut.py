import argparse
import json
from itertools import chain

import pytest

from derand.commands.maxcut import configure, run
from derand.exceptions import InputError

PENTAGON = "5 5\n1 2 1\n2 3 1\n3 4 1\n4 5 1\n5 1 1\n"


def _run(arguments, capsys):
    """Return the exit code, the document on stdout and the text on stderr."""
    parser = argparse.ArgumentParser()
    configure(parser)
    code = run(parser.parse_args([str(argument) for argument in arguments]))
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


def test_built_in_graph_is_cut_optimally(capsys):
    code, document, err = _run([], capsys)
    assert code == 0
    # 3/4 of the 560 edges, see the test of the graph.
    assert (document["value"], document["upper_bound"], document["gap"]) == (420, 420, 0.0)
    assert document["optimal"]
    assert document["expected_cut"] < 380
    assert sorted(chain(*document["partition"])) == list(range(1, 71))
    assert "cut 420, proved optimal" in err
    assert "derand verify" in err


def test_partition_has_the_stated_value(capsys, tmp_path):
    path = tmp_path / "weighted.csv"
    rows = [("a", "b", 3), ("b", "c", -2), ("c", "a", 5), ("c", "d", 2), ("d", "a", 10**20)]
    path.write_text("".join(f"{u},{v},{w}\n" for u, v, w in rows), encoding="utf-8")
    code, document, _ = _run([path, "--quiet"], capsys)
    first = set(document["partition"][0])
    assert code == 0
    assert document["value"] == sum(w for u, v, w in rows if (u in first) != (v in first)) == 10**20 + 8
    assert first.isdisjoint(document["partition"][1])
    assert document["graph"] == "weighted"


def test_certificate_and_graph_are_written(capsys, tmp_path):
    graph, proof, out = tmp_path / "g.rud", tmp_path / "c.json", tmp_path / "out.json"
    code, document, err = _run(["--save-graph", graph, "--certificate", proof, "-o", out], capsys)
    assert (code, document) == (0, None)
    assert json.loads(out.read_text(encoding="utf-8"))["optimal"]
    assert json.loads(proof.read_text(encoding="utf-8"))["upper_bound"] == "420"
    assert graph.read_text(encoding="utf-8").startswith("70 560\n")
    assert f"derand verify {graph} {proof}" in err


def test_several_searches_do_not_depend_on_jobs(capsys, tmp_path):
    path = tmp_path / "pentagon.txt"
    path.write_text(PENTAGON)
    documents = [_run([path, "--starts", 2, "--jobs", jobs], capsys)[1] for jobs in (1, 2)]
    assert documents[0] == documents[1]
    assert documents[0]["value"] == 4


def test_without_a_bound(capsys, tmp_path):
    path = tmp_path / "pentagon.rud"
    path.write_text(PENTAGON, encoding="utf-8")
    code, document, err = _run([path, "--no-bound"], capsys)
    assert code == 0
    assert (document["value"], document["upper_bound"], document["gap"], document["proved"]) == (4, None, None, False)
    assert "no proved upper bound" in err
    with pytest.raises(InputError, match="--certificate needs the bound"):
        _run([path, "--no-bound", "--certificate", tmp_path / "c.json"], capsys)


def test_time_limit_gives_a_weaker_result(capsys):
    code, document, _ = _run(["--time-limit", "0"], capsys)
    assert code == 3
    assert document["status"] == "time_limit"
    assert len(list(chain(*document["partition"]))) == 70


def test_empty_graph(capsys, tmp_path):
    path = tmp_path / "empty.rud"
    path.write_text("0 0\n", encoding="utf-8")
    code, document, _ = _run([path, "-q"], capsys)
    assert code == 0
    assert (document["value"], document["partition"]) == (0, [[], []])


def test_quadratic_binary_program(capsys, tmp_path):
    path, graph, proof = tmp_path / "small.bq", tmp_path / "g.rud", tmp_path / "c.json"
    # -4 x1 - 2 x2 + 6 x1 x2 - 8 x2 x3, an entry off the diagonal counting twice: the minimum is x2 = x3 = 1.
    path.write_text("3 4\n1 1 -4\n2 2 -2\n1 2 3\n2 3 -4\n", encoding="utf-8")
    code, document, _ = _run(
        [path, "-q", "--save-graph", graph, "--certificate", proof, "--plot", tmp_path / "cut.png"], capsys
    )
    assert code == 0
    assert (tmp_path / "cut.png").read_bytes().startswith(b"\x89PNG")
    assert (document["value"], document["lower_bound"], document["ones"]) == (-10, -10, [2, 3])
    assert document["optimal"]
    # The certificate is about the cut problem, which --save-graph wrote.
    assert graph.read_text(encoding="utf-8").startswith("4 ")
    assert json.loads(proof.read_text(encoding="utf-8"))["n_vertices"] == 4


def test_plot(capsys, tmp_path):
    path, picture = tmp_path / "pentagon.rud", tmp_path / "cut.png"
    path.write_text(PENTAGON, encoding="utf-8")
    code, document, _ = _run([path, "--plot", picture, "-q"], capsys)
    assert (code, document["value"]) == (0, 4)
    assert picture.read_bytes().startswith(b"\x89PNG")
