import argparse
import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from derand.cli import main
from derand.commands.embed import configure, read_points, run
from derand.exceptions import InputError
from tests.embedding.data import brute_distortion, gaussian


def _run(arguments, capsys):
    """Return the exit code, the document on stdout and the text on stderr."""
    parser = argparse.ArgumentParser()
    configure(parser)
    code = run(parser.parse_args([str(argument) for argument in arguments]))
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


@pytest.fixture
def points(tmp_path):
    X = gaussian(30, 8) * np.geomspace(4.0, 0.2, 8)
    np.save(tmp_path / "points.npy", X)
    return X, tmp_path / "points.npy"


def test_map_keeps_what_was_asked_for(points, tmp_path, capsys):
    X, path = points
    code, document, err = _run([path, "--eps", "0.2", "-o", tmp_path / "map.npz"], capsys)
    written = np.load(tmp_path / "map.npz")
    worst = brute_distortion(X, written["components"])
    assert code == 0
    assert written["components"].shape == (document["n_components"], 8)
    assert document["n_components"] < 8
    assert document["distortion"] == pytest.approx(worst, rel=1e-12)
    assert worst <= 0.2
    assert 0 < document["any_map_lower_bound"] <= document["lower_bound"] <= worst
    assert (float(written["distortion"]), float(written["lower_bound"])) == (
        document["distortion"],
        document["lower_bound"],
    )
    i, j = document["worst_pair"]
    assert brute_distortion(X[[i, j]], written["components"]) == pytest.approx(worst, rel=1e-12)
    assert "no linear map below" in err


def test_same_command_same_bytes(points, tmp_path, capsys):
    _, path = points
    for name in ("a.json", "b.json"):
        code, document, err = _run([path, "-k", "3", "--no-bound", "-q", "--json", tmp_path / name], capsys)
        assert (code, document, err) == (0, None, "")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["lower_bound"] is None


def test_formats_hold_the_same_points(tmp_path):
    X = np.round(gaussian(5, 3), 3)
    np.savetxt(tmp_path / "plain.csv", X, delimiter=",")
    np.savetxt(tmp_path / "named.csv", X, delimiter=",", header="a,b,c", comments="")
    scipy.io.mmwrite(tmp_path / "dense.mtx", X)
    scipy.io.mmwrite(tmp_path / "sparse.mtx", sp.coo_array(X))
    for name in ("plain.csv", "named.csv", "dense.mtx"):
        np.testing.assert_array_equal(read_points(str(tmp_path / name)), X)
    np.testing.assert_array_equal(read_points(str(tmp_path / "sparse.mtx")).toarray(), X)


def test_sparse_points_are_embedded(tmp_path, capsys):
    X = sp.random_array((25, 9), density=0.5, rng=np.random.default_rng(0))
    scipy.io.mmwrite(tmp_path / "x.mtx", X)
    code, document, _ = _run([tmp_path / "x.mtx", "-k", "4", "--no-bound"], capsys)
    assert code == 0
    assert 0 < document["distortion"] < 1


@pytest.mark.medium
def test_path_is_reported(tmp_path, capsys):
    np.save(tmp_path / "x.npy", gaussian(6, 4))
    _, document, _ = _run([tmp_path / "x.npy", "-k", "2", "--method", "derand", "--no-bound"], capsys)
    assert document["path"]["never_rose"]
    assert document["path"]["kind"] == "soft"
    assert document["path"]["end_bound"] < document["path"]["start_bound"]


def test_picture(points, tmp_path, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    code, _, _ = _run([points[1], "-k", "3", "--plot", tmp_path / "ratios.png"], capsys)
    assert code == 0
    assert (tmp_path / "ratios.png").read_bytes().startswith(b"\x89PNG")


def test_time_limit_is_a_weaker_result(points, capsys):
    code, document, _ = _run([points[1], "--time-limit", "0"], capsys)
    assert code == 3
    assert document["status"] == "time_limit"
    assert document["distortion"] >= 0


def test_bad_input(tmp_path, points):
    parser = argparse.ArgumentParser()
    configure(parser)

    def fails(words, *arguments):
        with pytest.raises(InputError, match=words):
            run(parser.parse_args([str(argument) for argument in arguments]))

    (tmp_path / "text.csv").write_text("a,b\n1,x\n", encoding="utf-8")
    (tmp_path / "x.mtx").write_text("nonsense\n", encoding="utf-8")
    np.save(tmp_path / "vector.npy", np.ones(3))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "nan.npy", np.array([[np.nan, 1.0], [0.0, 1.0]]))
    fails("end in .npy, .csv, .tsv, .txt, .mtx", tmp_path / "x.npz")
    fails("objects.npy: the array holds Python objects", tmp_path / "objects.npy")
    fails("missing.npy", tmp_path / "missing.npy")
    fails("text.csv", tmp_path / "text.csv")
    fails("x.mtx", tmp_path / "x.mtx")
    fails("one point a row", tmp_path / "vector.npy")
    fails("objects.npy", tmp_path / "objects.npy")
    fails("nan.npy.*finite", tmp_path / "nan.npy")
    fails("--output", points[1], "-o", tmp_path / "map.txt")
    assert main(["embed", str(tmp_path / "missing.npy")]) == 1


def test_ctrl_c_within_the_lower_bound_keeps_the_map(points, tmp_path, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("derand.commands.embed.linear_lower_bound", stop)
    code, document, _ = _run([points[1], "-k", "4", "-q", "-o", tmp_path / "map.npz"], capsys)
    assert (code, document["status"], document["lower_bound"]) == (130, "interrupted", None)
    assert np.load(tmp_path / "map.npz")["components"].shape == (4, 8)
