"""The types from a user's point of view: mypy in strict mode on a program that uses them, and the program runs."""

import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_package_says_that_it_is_typed():
    assert resources.files("derand").joinpath("py.typed").is_file()


def test_the_program_does_what_its_types_say():
    sys.path.insert(0, str(HERE))
    try:
        import client
    finally:
        sys.path.remove(str(HERE))
    assert client.point().is_certified
    assert client.smoothed() < 1e-3
    assert client.cut() is not None
    assert client.embed() > 100
    assert client.many() == pytest.approx([2 / 3, 3 / 5])


@pytest.mark.slow
def test_mypy_in_strict_mode_has_nothing_to_say():
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", str(HERE / "client.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=580, check=False)
    assert done.returncode == 0, done.stdout
