"""networkx's own tests of its maximum cut functions, run on our back end through networkx's dispatch."""

import ast
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_THEIR_TESTS = "networkx.algorithms.approximation.tests.test_maxcut"


def _register(folder):
    """Write the metadata from which networkx finds the back end, from the entry points that a wheel would have."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    info = folder / f"derand-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: derand\nVersion: {project['version']}\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def _is_registered():
    return bool(importlib.metadata.entry_points(group="networkx.backends", name="derand"))


def _run(folder):
    if not _is_registered():
        _register(folder)
    command = [sys.executable, "-m", "pytest", "--pyargs", _THEIR_TESTS, "-q", "-p", "tests.conformance.networkx_calls"]
    environment = {
        **os.environ,
        "NETWORKX_TEST_BACKEND": "derand",
        # Their tests also call their cut_size: without this, networkx would mark such tests as expected failures.
        "NETWORKX_FALLBACK_TO_NX": "True",
        "PYTHONPATH": os.pathsep.join([str(folder), str(_ROOT)]),
    }
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = (line for line in done.stdout.splitlines() if line.startswith("REPORT "))
    return json.loads(report.removeprefix("REPORT "))


def _number_of_their_tests():
    """The number of test functions in networkx's file, by reading it."""
    source = Path(importlib.util.find_spec(_THEIR_TESTS).origin).read_text()
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return sum(function.name.startswith("test") for function in functions)


def _python(folder, code):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(_ROOT)])}
    return subprocess.run([sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True)


@pytest.mark.medium
def test_their_tests_pass_on_our_back_end(tmp_path):
    report = _run(tmp_path)
    outcomes = report["outcomes"]
    # At least: some of the functions have parameters.
    assert outcomes.pop("passed") >= _number_of_their_tests() > 0
    assert set(outcomes.values()) == {0}, outcomes
    # The calls that their file makes, but for those that networkx itself refuses before any dispatch.
    calls = report["calls"]
    assert calls["one_exchange"] >= 3
    assert calls["randomized_partitioning"] >= 2
    assert calls["convert_from_nx"] >= calls["one_exchange"] + calls["randomized_partitioning"]


@pytest.mark.medium
@pytest.mark.parametrize("first", ["networkx", "derand.graphs", "derand.graphs.backend", "derand.graphs.local"])
def test_either_import_comes_first(tmp_path, first):
    if not _is_registered():
        _register(tmp_path)
    code = f"import {first}; import networkx; print(networkx.utils.backends.backend_info['derand']['package'])"
    done = _python(tmp_path, code)
    assert (done.returncode, done.stdout) == (0, "derand\n"), done.stderr
