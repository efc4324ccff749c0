import argparse
import json

import pytest

from derand.cli import main
from derand.commands.teacher_student import configure, run
from derand.exceptions import InputError


def _run(*options):
    parser = argparse.ArgumentParser()
    configure(parser)
    return run(parser.parse_args(list(options)))


def test_predictions_are_printed(capsys):
    assert main(["teacher-student", "--p", "4", "--p-star", "2", "--inputs", "1000000000"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["critical_lr"] == {"plateau": pytest.approx(0.3), "escape": None, "stable": pytest.approx(0.25)}
    assert document["gradient_flow_plateau"]["loss"] == pytest.approx(2 / 3, rel=1e-12)
    assert document["solution_manifold_dimension"] == 5
    assert document["plateau_hessian"]["negative_zero_positive"] == [8, 3999999982, 10]
    assert document["escape_time"]["time"] > 0
    assert document["unavailable"] == {}


def test_what_doesnt_exist_has_a_reason(tmp_path):
    path = tmp_path / "out.json"
    assert _run("--p", "1", "--p-star", "2", "--teacher", "1.5", "0.5", "--lr", "9", "-o", str(path)) == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["plateau"] is None
    assert "divergence threshold" in document["unavailable"]["plateau"]
    assert document["best_loss"] > 0
    assert "rank" in document["unavailable"]["solution_manifold_dimension"]


@pytest.mark.medium
@pytest.mark.parametrize("picture", ["loss", "escape", "distance", "hessian"])
def test_pictures(picture, tmp_path, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    file = tmp_path / "picture.png"
    options = ("--p", "2", "--p-star", "1", "--lr", "0.1", "--picture", picture, "--plot", str(file))
    assert _run(*options) == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert picture in capsys.readouterr().err


def test_loss_beyond_the_thresholds_is_drawn_up_to_its_divergence(tmp_path, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    assert _run("--p", "2", "--p-star", "1", "--lr", "5", "--plot", str(tmp_path / "picture.svg"), "--quiet") == 0
    assert "diverged" in (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert capsys.readouterr().err == ""


def test_pictures_that_dont_exist(tmp_path):
    hopeless = ("--p", "1", "--p-star", "2", "--picture", "distance", "--plot", str(tmp_path / "picture.png"))
    assert main(["teacher-student", *hopeless]) == 1


@pytest.mark.medium
def test_the_seed_decides(capsys):
    documents = []
    for seed in ("0", "0", "1"):
        _run("--p", "4", "--p-star", "2", "--seed", seed, "--quiet")
        documents.append(json.loads(capsys.readouterr().out)["overlap_law"])
    assert documents[0] == documents[1] != documents[2]
    assert documents[0]["noise_ratio"] == documents[2]["noise_ratio"]


def test_bad_settings():
    with pytest.raises(InputError, match="--teacher must give 2"):
        _run("--p", "1", "--p-star", "2", "--teacher", "1.0")
    for norm in ("1e308", "nan", "inf", "-1"):
        with pytest.raises(InputError, match="--teacher"):
            _run("--p", "1", "--p-star", "2", "--teacher", "1.0", norm)
    with pytest.raises(InputError, match="T must be zero"):
        _run("--p", "1", "--p-star", "1", "--teacher", "1e-300")
    with pytest.raises(InputError, match="noise"):
        _run("--p", "1", "--p-star", "1", "--noise", "-1")
    assert main(["teacher-student", "--p", "0", "--p-star", "1"]) == 1


def test_the_time_limit_leaves_out_what_was_not_begun(tmp_path):
    path = tmp_path / "out.json"
    assert _run("--p", "4", "--p-star", "2", "--time-limit", "0", "-o", str(path)) == 3
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["best_loss"] is None
    assert document["unavailable"]["best_loss"] == "not begun within the time limit"
    assert _run("--p", "4", "--p-star", "2", "--time-limit", "600", "-o", str(path)) == 0


@pytest.mark.medium
def test_wide_networks_are_answered_or_refused_by_name(tmp_path):
    path = tmp_path / "out.json"
    assert _run("--p", "512", "--p-star", "2", "-o", str(path)) == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["plateau"]["q"] > 0
    assert "20000 overlaps" in document["unavailable"]["escape_time"]


@pytest.mark.parametrize("at", ["plateau", "overlap_law"])
def test_ctrl_c_writes_what_is_known(at, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"derand.teacher_student.TeacherStudent.{at}", stop)
    assert main(["teacher-student", "--p", "4", "--p-star", "2", "--quiet"]) == 130
    out, err = capsys.readouterr()
    if at == "plateau":  # the first
        assert (out, err) == ("", "derand: interrupted\n")
        return
    document = json.loads(out)
    assert document["status"] == "interrupted"
    assert document["plateau"]["q"] > 0
    assert document["tail"] is None
    assert document["unavailable"]["tail"] == "not computed before the interruption"
