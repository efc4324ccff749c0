import argparse
import json

import numpy as np
import pytest

from derand.cli import main
from derand.commands.two_step import LINKS, _memory_size, configure, run
from derand.exceptions import InputError
from derand.two_step import information_exponent, predicted_count


def _run(*options):
    parser = argparse.ArgumentParser()
    configure(parser)
    return run(parser.parse_args([str(option) for option in options]))


@pytest.mark.medium
def test_one_network(capsys, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    picture = tmp_path / "values.png"
    assert main(["two-step", "--neurons", "150", "--alpha2", "0.4", "--quiet", "--plot", str(picture)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["asymptotic_count"] == predicted_count(0.45, 0.4, 3) == 3
    assert document["spike_exponents"] == ["9/20", "7/20", "3/10", "1/4"]
    assert [link["information_exponent"] for link in document["links"]] == [1, 3]
    assert [link["reuse_exponent"] for link in document["links"]] == [0, 2]
    first = document["predicted"]["singular_values"][0]
    assert document["counted"]["singular_values"][0] == pytest.approx(first, rel=0.05)
    assert document["status"] == "finished"
    assert 0 <= document["predicted"]["own"] <= document["predicted"]["count"]
    assert len(document["alignment"]["wls"]) == 2
    assert all(0 < chance < 1 for chance in document["alignment"]["sampling_chance"])
    assert document["alignment"]["wls"][0] > 2 * document["alignment"]["chance"]
    assert picture.stat().st_size > 1000


def test_the_same_options_give_the_same_bytes(capsys):
    texts = []
    for _ in range(2):
        assert _run("--neurons", 100, "-q", "--seed", 3, "--batch", "fresh", "--activation", "gelu") == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


def test_diagram(tmp_path, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    rows, path, picture = tmp_path / "rows.npz", tmp_path / "out.json", tmp_path / "diagram.png"
    options = ["--neurons", 120, "--diagram", 2, "--checkpoint", rows, "-o", path, "--plot", picture, "-q"]
    assert _run(*options) == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["alphas"] == [0.0, 0.25]
    assert np.shape(document["counted"]) == (2, 2)
    assert document["asymptotic"] == [[1, 1], [1, 2]]
    assert 0 <= document["agreement"] <= 1
    assert _run(*options) == 0
    assert json.loads(path.read_text(encoding="utf-8")) == document
    assert picture.exists()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("limit", [0, 1e-9])
def test_a_time_limit_leaves_what_is_finished(limit, capsys):
    """Exit code 3: the exact theory of a pair without a simulation, or the first row of a diagram."""
    assert _run("--neurons", 100, "-q", "--time-limit", limit) == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["status"], document["asymptotic_count"]) == ("time_limit", predicted_count(0.45, 0.3, 3))
    assert not {"predicted", "counted", "alignment"} & set(document)
    assert _run("--neurons", 100, "-q", "--diagram", 2, "--time-limit", limit) == 3
    part = json.loads(capsys.readouterr().out)
    assert _run("--neurons", 100, "-q", "--diagram", 2, "--time-limit", 1e6) == 0
    whole = json.loads(capsys.readouterr().out)
    assert (part["status"], whole["status"]) == ("time_limit", "finished")
    assert (part["alphas1"], whole["alphas1"]) == ([0.0], [0.0, 0.25])
    assert part["counted"] == whole["counted"][:1]


@pytest.mark.parametrize(("options", "kept"), [([], "predicted"), (["--diagram", "2"], "counted")])
def test_ctrl_c_leaves_what_is_finished(options, kept, capsys, monkeypatch):
    """Exit code 130 and the parts before; none at all where nothing was finished."""

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("derand.commands.two_step._alignments", stop)
    monkeypatch.setattr("derand.commands.two_step.Progress.update", lambda self, line: "of 2" in line and stop())
    assert main(["two-step", "--neurons", "100", "-q", *options]) == 130
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == "interrupted"
    assert kept in document
    monkeypatch.setattr("derand.commands.two_step.step_sizes", stop)
    monkeypatch.setattr("derand.commands.two_step.phase_diagram", stop)
    assert main(["two-step", "--neurons", "100", "-q", *options]) == 130
    assert capsys.readouterr() == ("", "derand: interrupted\n")


def test_more_than_the_memory_of_the_machine_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("derand.commands.two_step._memory_size", lambda: 23.4e9)
    assert main(["two-step", "--neurons", "50000"]) == 1
    assert "need 120 GB of memory or more, and this machine has 23 GB" in capsys.readouterr().err


def test_the_size_of_the_memory():
    assert _memory_size() > 1e8


def test_kinks_and_warnings(capsys):
    assert _run("--neurons", 150, "--activation", "relu", "--link", "he3") == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert any("smooth" in message for message in document["warnings"])
    assert "smooth" in err


def test_links():
    draws = np.random.default_rng(0).standard_normal(200_000)
    for name in ("he1", "he2", "he3", "he4", "he2+he3", "bounded3"):
        assert np.var(LINKS[name](draws)) == pytest.approx(1.0, rel=0.1)
    assert [information_exponent(LINKS[name]) for name in ("he1", "he2", "he3", "he4", "he2+he3", "bounded3")] == [
        1,
        2,
        3,
        4,
        2,
        3,
    ]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--alpha1", "0.5"], "alpha1"),
        (["--alpha2", "x"], "alpha2"),
        (["--activation", "softmax"], "activation"),
        (["--activation", "0,0,1"], "c_1"),
        (["--activation", "0,1e308,1"], "--activation"),
        (["--neurons", "9"], "--neurons"),
        (["--samples", "9"], "--samples"),
        (["--noise", "-1"], "--noise"),
        (["--kappa", "0", "1"], "--kappa"),
        (["--kappa", "-1", "1"], "--kappa"),
        (["--kappa", "1", "nan"], "--kappa"),
        (["--checkpoint", "rows.npz"], "--diagram"),
        (["--diagram", "0"], "--diagram"),
        (["--seed", "-1"], "rng"),
    ],
)
def test_bad_options(options, match):
    with pytest.raises(InputError, match=match):
        _run("--neurons", 100, *options)


def test_a_link_of_the_users_own(tmp_path, capsys):
    path = tmp_path / "links.py"
    path.write_text("def cubic(z):\n    return z**3 - 3 * z\n", encoding="utf-8")
    documents = []
    for link in (f"{path}:cubic", "z**3 - 3*z"):
        assert main(["two-step", "--neurons", "100", "--link", link, "-q"]) == 0
        documents.append(json.loads(capsys.readouterr().out))
        documents[-1].pop("setting")
        for entry in documents[-1]["links"]:
            entry.pop("name", None)
            entry.pop("link", None)
    assert documents[0] == documents[1]
