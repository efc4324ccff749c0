import json

import numpy as np
import pytest

from derand.cli import main


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = (X[:, 0] + X[:, 1]) ** 2 + 0.1 * rng.standard_normal(120)
    lines = ["a,b,c,y,kind"]
    lines += [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
    numbers, texts = tmp_path / "numbers.csv", tmp_path / "texts.csv"
    numbers.write_text("\n".join(["a,b,c,y", *lines[1:]]), encoding="utf-8")
    kinds = np.where(X[:, 0] > 0, "up", "down")
    rows = [f"{line.rpartition(',')[0]},{kind}" for line, kind in zip(lines[1:], kinds, strict=True)]
    texts.write_text("\n".join(["a,b,c,kind", *rows]), encoding="utf-8")
    return numbers, texts


def test_regression(files, capsys, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    picture = tmp_path / "out.png"
    assert main(["structure", str(files[0]), "--target", "y", "-k", "1", "--quiet", "--plot", str(picture)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["columns"] == ["a", "b", "c"]
    assert np.abs(document["components"][0]).round(1).tolist() == [0.7, 0.7, 0.0]
    assert document["task"] == "regression"
    assert document["cone_95"] > document["expected_error"] > 0
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_classes(files, capsys):
    assert main(["structure", str(files[1]), "--target", "kind", "-k", "1", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["task"] == "classification"
    assert abs(document["components"][0][0]) > 0.9


def test_bad_input(files):
    assert main(["structure", str(files[0]), "--target", "z", "--quiet"]) == 1
    assert main(["structure", str(files[1]), "--target", "kind", "--task", "regression", "--quiet"]) == 1
    assert main(["structure", str(files[0]), "--target", "y", "-k", "9", "--quiet"]) == 1


@pytest.mark.parametrize("factor", ["1e200", "1e-200"])
@pytest.mark.parametrize("column", ["b", "y"])
def test_numbers_whose_squares_overflow_or_vanish_are_refused(factor, column, tmp_path, capsys):
    rows = [{"a": str(k % 3), "b": str(k % 5), "y": str(k % 7 + 0.5)} for k in range(30)]
    for row in rows:
        row[column] += f"e{factor[2:]}"
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["a,b,y", *(",".join(row.values()) for row in rows)]), encoding="utf-8")
    assert main(["structure", str(path), "--target", "y", "-q"]) == 1
    named = "'b'" if column == "b" else "of the target"
    assert f"data.csv: the numbers in column {named} are too large or too small" in capsys.readouterr().err


@pytest.mark.medium
def test_time_limit_writes_the_best_so_far(files, capsys):
    for path, target in ((files[0], "y"), (files[1], "kind")):
        assert main(["structure", str(path), "--target", target, "--quiet", "--time-limit", "0"]) == 3
        stopped = json.loads(capsys.readouterr().out)
        assert stopped["status"] == "time_limit"
        assert len(stopped["path"]) == 1
        assert np.asarray(stopped["components"]).shape == (stopped["n_components"], 3)
        assert main(["structure", str(path), "--target", target, "--quiet", "--time-limit", "1000"]) == 0
        assert json.loads(capsys.readouterr().out)["status"] == "finished"


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("kind", [0, 1])
def test_ctrl_c_writes_the_best_so_far(kind, at, files, capsys, monkeypatch):
    lines = []

    def stop(_, line):
        lines.append(line)
        if len(lines) == at:
            raise KeyboardInterrupt

    monkeypatch.setattr("derand.commands.structure.Progress.update", stop)
    assert main(["structure", str(files[kind]), "--target", ("y", "kind")[kind], "--quiet"]) == 130
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == "interrupted"
    assert len(document["path"]) == at
    assert np.asarray(document["components"]).shape == (document["n_components"], 3)


def test_ctrl_c_before_the_first_number_writes_nothing(files, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("derand.commands.structure.estimate_structure", stop)
    assert main(["structure", str(files[0]), "--target", "y", "--quiet"]) == 130
    assert capsys.readouterr() == ("", "derand: interrupted\n")


@pytest.mark.parametrize(
    ("target", "message"),
    [("constant", "the target is 1.5 in all lines"), ("name", "the target has 30 different texts in 30 lines")],
)
def test_targets_that_say_nothing_are_refused(target, message, tmp_path, capsys):
    path = tmp_path / "data.csv"
    rows = [f"{k % 7},1.5,u{k}" for k in range(30)]
    path.write_text("\n".join(["x,constant,name", *rows]), encoding="utf-8")
    columns = path.read_text(encoding="utf-8").replace(",u", ",") if target == "constant" else None
    if columns is not None:
        path.write_text(columns, encoding="utf-8")
    assert main(["structure", str(path), "--target", target, "-q"]) == 1
    assert message in capsys.readouterr().err
