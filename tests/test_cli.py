"""The command as a shell sees it: exit codes, valid JSON on stdout, one line on stderr for a mistake."""

import json
import subprocess
import sys

import pytest

import derand
from derand.cli import main
from derand.commands import COMMANDS
from derand.exceptions import InputError, MissingDependencyError


def _shell(*arguments):
    """Return the finished process of ``python -m derand``; its encoding doesn't depend on the machine."""
    command = [sys.executable, "-m", "derand", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False)


@pytest.mark.medium
def test_process_prints_json_and_exits_with_zero():
    done = _shell("sosp", "--demo", "--quiet")
    assert done.returncode == 0
    assert json.loads(done.stdout)["certificate"]["is_certified"]
    assert done.stderr == ""


def test_process_reports_a_mistake_in_one_line():
    done = _shell("sosp", "--demo", "--quiet", "--gtol", "-1")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "derand: --gtol must lie in (0, inf), got -1.0\n"


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"derand {derand.__version__}\n"
    assert main(["--help"]) == 0
    overview = " ".join(capsys.readouterr().out.split())  # long summaries are wrapped
    for name, summary in COMMANDS.items():
        assert name in overview
        assert summary in overview
        assert main([name, "--help"]) == 0
        assert f"usage: derand {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["sosp"],
        ["sosp", "--demo", "--problem", "wells"],
        ["sosp", "--problem", "unknown"],
        ["sosp", "--demo", "--method", "unknown"],
        ["sosp", "--demo", "--gtol", "small"],
        ["sosp", "--demo", "stray"],
    ],
)
def test_usage_errors_exit_with_two(arguments, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: derand")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--gtol", "nan"], "--gtol"),
        (["--gtol", "inf"], "--gtol"),
        (["--curv-tol", "0"], "--curv-tol"),
        (["--confidence", "1"], "--confidence"),
        (["--max-evals", "0"], "--max-evals"),
        (["--time-limit", "-1"], "--time-limit"),
        (["--seed", "-1"], "--seed"),
        (["--output", "no/such/folder/out.json"], "no/such/folder"),
        (["--output", "."], "."),
    ],
)
def test_bad_input_exits_with_one_and_is_named(arguments, named, capsys):
    assert main(["sosp", "--demo", "--quiet", *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("derand: ")
    assert err.count("\n") == 1
    assert named in err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (MemoryError(), 1),
        (InputError("a message\non two lines"), 1),
        (OSError("disk"), 1),
        (ZeroDivisionError("a mistake of ours"), 1),
    ],
)
def test_exceptions_become_exit_codes(error, code, capsys, monkeypatch):
    def fail(_):
        raise error

    monkeypatch.setattr("derand.commands.sosp.run", fail)
    assert main(["sosp", "--demo"]) == code
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("wrapper", [None, MissingDependencyError])
def test_ctrl_c_behind_another_error_is_an_interruption(wrapper, capsys, monkeypatch):
    """An extension that is interrupted while it is imported raises ImportError, which a guard may wrap once more."""

    def fail(_):
        try:
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as interrupt:
                raise ImportError("initialization failed") from interrupt
        except ImportError as error:
            if wrapper is None:
                raise
            raise wrapper("needs a package") from error

    monkeypatch.setattr("derand.commands.sosp.run", fail)
    assert main(["sosp", "--demo"]) == 130
    assert capsys.readouterr().err == "derand: interrupted\n"


def test_an_internal_error_can_show_its_traceback(capsys, monkeypatch):
    def fail(_):
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr("derand.commands.sosp.run", fail)
    monkeypatch.delenv("DERAND_DEBUG", raising=False)
    main(["sosp", "--demo"])
    assert "internal error, ZeroDivisionError: a mistake of ours" in capsys.readouterr().err
    monkeypatch.setenv("DERAND_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["sosp", "--demo"])


@pytest.mark.medium
def test_reader_that_goes_away_causes_no_complaint():
    command = [sys.executable, "-m", "derand", "sosp", "--demo", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_help_imports_no_numpy():
    code = "import sys; from derand.cli import main; main(['--help']); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False).returncode == 0
