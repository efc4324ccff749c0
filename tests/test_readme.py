"""The README and the examples do what they say; tests/test_docs.py is about the pages of the documentation."""

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from derand.cli import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
# The build of the documentation runs all of them, so the default tests need only one.
MARKED = [
    pytest.param(path, marks=[] if path.name == "plot_saddle_escape.py" else [pytest.mark.slow]) for path in EXAMPLES
]


def _blocks(language, text=README):
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def _setup_commands():
    """Return the two commands below the heading "Set-up", as .ci/run finds them."""
    section = README.split("## Set-up\n")[1].split("\n## ")[0]
    return [block.strip() for block in _blocks("bash", section)]


def _run_doctest(text, name):
    """Assert that the examples in a text give what stands below them."""
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert test.examples, f"{name} holds no example"
    assert runner.run(test).failed == 0


def test_two_setup_commands():
    install, check = _setup_commands()
    assert install.startswith("python -m pip install . && derand ")
    assert check == 'python -m pip install ".[test]" && python -m pytest'


def test_ci_finds_the_same_commands():
    """The awk line of .ci/run, run here, gives what the parser of this file gives."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    awk = re.search(r"^readme_commands\(\) \{\n  (awk .* README\.md)\n\}$", script, flags=re.MULTILINE).group(1)
    found = subprocess.check_output(["bash", "-c", awk], text=True, cwd=ROOT, timeout=60)
    assert found.splitlines() == _setup_commands()


def test_first_command_does_its_main_job(capsys):
    words = shlex.split(_setup_commands()[0].split("&&")[1])
    assert words[0] == "derand"
    assert main(words[1:]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["optimal"]
    assert document["value"] == document["upper_bound"]
    assert "proved optimal" in err
    assert "derand verify" in err


@pytest.mark.medium
def test_python_blocks_of_the_readme():
    _run_doctest("\n".join(_blocks("python")), "README.md")


def test_shell_blocks_of_the_readme_use_existing_options(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.csv").write_text("a,b,1\nb,c,2\nc,a,3\n", encoding="utf-8")
    blocks = [block for block in _blocks("bash") if block.startswith("derand")]
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) >= 2
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0
        assert json.loads(capsys.readouterr().out)


def test_links_lead_somewhere():
    paths = re.findall(r"`((?:docs|examples|CONTRIBUTING|\.ci)[\w./]*)`", README)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_gallery_examples_end_with_claims():
    assert [example.name for example in EXAMPLES if "\nassert " not in example.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("example", MARKED, ids=lambda example: example.name)
def test_gallery_examples_assert_their_claims(example):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", str(example)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
