"""Wheel and sdist: two builds in two places are the same bytes, and what they hold works in a fresh environment."""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import time
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMOKE = """
import importlib.resources, json, sys
import derand
assert not derand.__file__.startswith(sys.argv[1]), derand.__file__
assert importlib.resources.files("derand").joinpath("py.typed").is_file()
import networkx as nx
from derand.graphs import maxcut
from derand.estimators import LearnedJL
import numpy as np
result = maxcut(nx.petersen_graph())
fun = lambda x: (float(x @ x), 2.0 * x)
print(json.dumps({
    "version": derand.__version__,
    "cut": [result.value, result.upper_bound, result.verify(nx.petersen_graph())],
    "backend": nx.approximation.one_exchange(nx.petersen_graph(), backend="derand", seed=0)[0] > 0,
    "point": derand.minimize_sosp(fun, [1.0]).success,
    "map": LearnedJL(2).fit(np.eye(4)).n_components_,
}))
"""

_FILES = ("conformance/test_command_line.py", "test_results.py", "test_cli.py")
WHEEL_TESTS = (*_FILES, "io", "graphs", "sweeps", "commands")

pytestmark = pytest.mark.slow


def _environment(folder):
    """Return the interpreter of a new virtual environment."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def _run(*command, cwd=None):
    """Return what a command prints; no variable leads it back to this tree."""
    names = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "SOURCE_DATE_EPOCH")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=environment, cwd=cwd, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _copy(folder):
    """Copy what git tracks or would track, with new dates."""
    listed = _run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines()
    for name in listed:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    """Two folders, each with a wheel and an sdist, built a while apart in different places."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs the repository")
    python = _environment(tmp_path_factory.mktemp("builder"))
    _run(python, "-m", "pip", "install", "--quiet", "hatchling>=1.27")
    folders = []
    for _ in range(2):
        source, target = _copy(tmp_path_factory.mktemp("source")), tmp_path_factory.mktemp("dist")
        _run(python, "-m", "hatchling", "build", "-d", target, cwd=source)
        folders.append(target)
        time.sleep(1.1)
    return folders


def _digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_two_builds_are_the_same_bytes(builds):
    first, second = map(_digests, builds)
    assert len(first) == 2
    assert first == second


def test_wheel_holds_the_package_and_nothing_else(builds):
    (wheel,) = builds[0].glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"derand"}
    assert {"derand/py.typed", "derand/cli.py"} <= set(names)
    assert not any("__pycache__" in name or name.startswith("derand/tests") for name in names)


def test_sdist_holds_what_the_tests_need(builds):
    (sdist,) = builds[0].glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert {"derand", "tests", "docs", "examples", ".ci", "README.md", "LICENSE", "pyproject.toml"} <= tops


def test_installed_wheel_passes_the_tests_of_the_sdist(builds, tmp_path):
    """Of the tests, those that need no source tree next to them and reach every command, file format and result."""
    (wheel,), (sdist,) = builds[0].glob("*.whl"), builds[0].glob("*.tar.gz")
    python = _environment(tmp_path / "env")
    _run(python, "-m", "pip", "install", "--quiet", f"{wheel}[test]")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = (path for path in tmp_path.iterdir() if path.name.startswith("derand-"))
    shutil.rmtree(source / "derand")  # what is imported now is the wheel
    where = _run(python, "-c", "import derand; print(derand.__file__)", cwd=source)
    assert str(tmp_path / "env") in where
    folders = [f"tests/{name}" for name in WHEEL_TESTS]
    report = _run(python, "-m", "pytest", "-q", "-n", "0", *folders, cwd=source)
    assert " passed" in report


def test_wheel_works_in_a_fresh_environment(builds, tmp_path):
    (wheel,) = builds[0].glob("*.whl")
    python = _environment(tmp_path / "env")
    _run(python, "-m", "pip", "install", "--quiet", wheel)
    report = json.loads(_run(python, "-W", "error", "-c", SMOKE, str(ROOT), cwd=tmp_path))
    assert report == {
        "version": "0.1.0",
        "cut": [12, 12, True],
        "backend": True,
        "point": True,
        "map": 2,
    }
    done = json.loads(_run(tmp_path / "env" / "bin" / "derand", "maxcut", "--quiet", cwd=tmp_path))
    assert done["optimal"]
