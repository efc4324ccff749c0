import argparse
import json

import pytest

from derand.cli import main
from derand.commands.bench import configure, run

ROWS = [{"task": "t", "method": "a", "cut": 1}, {"task": "t", "method": "b", "cut": 2}]


def _run(monkeypatch, capsys, *options, rows=lambda seed: iter(ROWS)):
    monkeypatch.setattr("derand.commands.bench.SUITES", {"sosp": rows, "maxcut": rows})
    parser = argparse.ArgumentParser()
    configure(parser)
    code = run(parser.parse_args(list(options)))
    out, err = capsys.readouterr()
    return code, json.loads(out), err


def test_rows_come_as_json_and_as_progress(monkeypatch, capsys):
    code, document, err = _run(monkeypatch, capsys)
    assert (code, document["status"], document["rows"]) == (0, "finished", ROWS * 2)
    assert err.splitlines()[0] == "derand bench: task 't'; method 'a'; cut 1"
    assert set(document["versions"]) == {"derand", "python", "numpy", "scipy"}
    code, document, err = _run(monkeypatch, capsys, "--suite", "sosp", "--quiet")
    assert (code, document["rows"], err) == (0, ROWS, "")


def test_a_limit_keeps_the_rows_so_far(monkeypatch, capsys):
    code, document, _ = _run(monkeypatch, capsys, "--time-limit", "1e-9")
    assert (code, document["status"], document["rows"]) == (3, "time_limit", ROWS[:1])


def test_an_interruption_keeps_the_rows_so_far(monkeypatch, capsys):
    def rows(seed):
        yield ROWS[0]
        raise KeyboardInterrupt

    code, document, _ = _run(monkeypatch, capsys, rows=rows)
    assert (code, document["status"], document["rows"]) == (130, "interrupted", ROWS[:1])


@pytest.mark.parametrize(("option", "value"), [("--seed", "-1"), ("--time-limit", "-1"), ("--time-limit", "nan")])
def test_bad_options_are_named(option, value, capsys):
    assert main(["bench", option, value]) == 1
    assert f"derand: {option} must" in capsys.readouterr().err


def test_the_real_thing(capsys):
    assert main(["bench", "--suite", "sosp", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["proved"] == 6
