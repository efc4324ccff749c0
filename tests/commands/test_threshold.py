import argparse
import json
import math

import numpy as np
import pytest

from derand.cli import main
from derand.commands import threshold
from derand.commands.threshold import configure, run
from derand.exceptions import InputError


def _run(*options):
    parser = argparse.ArgumentParser()
    configure(parser)
    return run(parser.parse_args(list(options)))


def test_spectral_threshold_alone(capsys):
    assert main(["threshold", "--link", "z**2"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["delta_alg"]["value"] == pytest.approx(0.5, abs=1e-12)
    assert (document["easy_directions"], document["hard_directions"]) == ([], [[1.0]])
    assert "delta_nn" not in document
    assert captured.err.startswith("derand threshold: ")


@pytest.mark.medium
def test_networks(capsys, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    picture = tmp_path / "nn.png"
    options = ("--link", "z**2", "--activation", "quad", "--loss", "huber", "--scale", "0.605", "-q")
    assert _run(*options, "--init", "zero_output", "--m", "inf", "--plot", str(picture)) == 0
    captured = capsys.readouterr()
    (found,) = json.loads(captured.out)["delta_nn"]
    assert found["value"] == pytest.approx(3.624905, abs=1e-5)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert captured.err == ""


def test_what_doesnt_exist_is_null_with_a_reason(tmp_path):
    path = tmp_path / "out.json"
    assert _run("--link", "z**2*exp(-z**2)", "-o", str(path)) == 0
    assert json.loads(path.read_text(encoding="utf-8"))["delta_alg"]["value"] is None
    assert _run("--link", "z**2", "--activation", "gelu", "--loss", "square", "-o", str(path)) == 0
    (found,) = json.loads(path.read_text(encoding="utf-8"))["delta_nn"]
    assert found["value"] is None
    assert "unbounded" in found["reason"]


def test_interruption_keeps_what_is_done(monkeypatch, capsys):
    values = iter([threshold.NNThreshold(1.5, 0.1, "dynamics", math.nan)])

    def stop(*_, **__):
        try:
            return next(values)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(threshold, "nn_threshold", stop)
    options = ["--link", "z**2", "--activation", "gelu", "--t", "1", "2", "-q"]
    assert _run(*options) == 130
    assert [entry["t"] for entry in json.loads(capsys.readouterr().out)["delta_nn"]] == [1]
    assert _run(*options) == 130  # none is done
    document = json.loads(capsys.readouterr().out)
    assert (document["status"], document["delta_nn"]) == ("interrupted", [])
    assert document["delta_alg"]["value"] > 0
    for name, is_written in (("delta_alg", True), ("easy_hard", False)):
        monkeypatch.setattr(threshold.MultiIndexLink, name, stop)
        if is_written:
            assert _run(*options) == 130
            assert json.loads(capsys.readouterr().out)["delta_alg"] is None
        else:
            with pytest.raises(KeyboardInterrupt):
                _run(*options)


def test_time_limit_ends_between_two_times(monkeypatch, capsys):
    found = threshold.NNThreshold(1.5, 0.1, "dynamics", math.nan)
    monkeypatch.setattr(threshold, "nn_threshold", lambda *_, **__: found)
    options = ["--link", "z**2", "--activation", "gelu", "--t", "1", "2", "-q", "--time-limit"]
    for limit, code, times in (("0", 3, [1]), ("1000", 0, [1, 2])):
        assert _run(*options, limit) == code
        assert [entry["t"] for entry in json.loads(capsys.readouterr().out)["delta_nn"]] == times


def test_rtol_and_what_it_costs(capsys):
    options = ["--link", "z**2", "--activation", "half-quad", "--t", "1", "--samples", "8192", "-q", "--rtol"]
    assert _run(*options, "0.02") == 0
    (found,) = json.loads(capsys.readouterr().out)["delta_nn"]
    assert 0.0 < found["error"] <= 0.02 * found["value"]
    assert _run(*options, "1e-6", "--max-samples", "1") == 3
    (found,) = json.loads(capsys.readouterr().out)["delta_nn"]
    assert found["error"] > 1e-6 * found["value"]


def test_bad_settings(capsys):
    with pytest.raises(InputError, match="--plot"):
        _run("--link", "z**2", "--plot", "x.png", "-q")
    with pytest.raises(InputError, match="--t"):
        _run("--link", "z**2", "--activation", "gelu", "--t", "-1", "-q")
    assert main(["threshold", "--link", "__import__('os')", "-q"]) == 1
    assert main(["threshold"]) == 2
    assert "derand:" in capsys.readouterr().err


LINKS = """
import numpy as np


def clipped(z):
    return np.minimum(np.abs(z), 1.5)


def product(a, b):
    return a * b


def broken(z):
    raise RuntimeError("no such luck")
"""


@pytest.mark.medium
def test_links_of_the_users_own(tmp_path, capsys):
    path = tmp_path / "links.py"
    path.write_text(LINKS, encoding="utf-8")
    values = []
    own = ["threshold", "--link", f"{path}:clipped", "--breakpoints", "-1.5", "0", "1.5"]
    for options in (own, ["threshold", "--link", "min(abs(z), 1.5)"]):
        assert main([*options, "-q"]) == 0
        values.append(json.loads(capsys.readouterr().out)["delta_alg"]["value"])
    assert values[0] == pytest.approx(values[1], rel=1e-9)
    for options in (["--link", f"{path}:product", "-k", "2"], ["--link", "z1*z2"]):
        assert main(["threshold", *options, "-q"]) == 0
        values.append(json.loads(capsys.readouterr().out)["delta_alg"]["value"])
    assert values[2] == pytest.approx(values[3], rel=1e-6)
    for name, message in (("product", "missing 1 required"), ("broken", "no such luck"), ("absent", "holds none")):
        assert main(["threshold", "--link", f"{path}:{name}", "-q"]) == 1
        assert message in capsys.readouterr().err
    assert main(["threshold", "--link", "log(z)", "-q"]) == 1
    assert "--link 'log(z)'" in capsys.readouterr().err


def test_ctrl_c_within_the_replicas_keeps_their_mean(monkeypatch, capsys):
    def interrupted(*_, callback, **__):
        found = threshold.NNThreshold(1.5, 0.1, "dynamics", np.array([1.4, 1.6]))
        callback(found)
        interrupt = KeyboardInterrupt()
        interrupt.partial = found
        raise interrupt

    monkeypatch.setattr(threshold, "nn_threshold", interrupted)
    assert main(["threshold", "--link", "z**2", "--activation", "gelu", "--t", "3"]) == 130
    captured = capsys.readouterr()
    assert json.loads(captured.out)["delta_nn"][0]["value"] == 1.5
