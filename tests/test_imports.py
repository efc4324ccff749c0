"""What importing derand loads, in fresh processes; how long it takes is in tests/benchmarks/import_time.py."""

import json
import subprocess
import sys

import pytest

import derand

HEAVY = ("numpy", "scipy", "sklearn", "networkx", "cvxpy", "matplotlib", "torch", "jax", "pandas")
OPTIONAL = tuple(name for name in HEAVY if name not in {"numpy", "scipy"})


def _loaded(statement):
    """Return the names in sys.modules after a statement in a fresh process."""
    code = f"{statement}\nimport json, sys\nsys.stdout.write(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return set(json.loads(done.stdout))


def test_derand_alone_loads_no_library():
    loaded = _loaded("import derand, derand.exceptions")
    assert "derand.exceptions" in loaded
    assert loaded.isdisjoint(HEAVY)
    assert "typing" not in _loaded("import derand") - _loaded("pass")


def test_minimize_sosp_loads_numpy_only():
    loaded = _loaded("from derand import minimize_sosp")
    assert "numpy" in loaded
    assert loaded.isdisjoint(OPTIONAL)
    assert loaded.isdisjoint({"scipy", "derand.hessian", "derand.objectives", "derand.maxcut"})


@pytest.mark.parametrize("module", ["derand.objectives", "derand.gaussian", "derand.hessian", "derand.io"])
def test_core_loads_no_optional_library(module):
    assert _loaded(f"import {module}").isdisjoint(OPTIONAL)


def test_every_public_name_is_there():
    for name in derand.__all__:
        assert getattr(derand, name) is not None
    assert dir(derand) == sorted(derand.__all__)
    assert set(_loaded("from derand import *")) >= {"derand.optimize", "derand.objectives"}


def test_subpackages_are_found_and_other_names_are_not():
    assert derand.hessian.min_eigenvalue is derand.min_eigenvalue
    for name in ("no_such_name", "_private", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"'derand' has no attribute '{name}'"):
            getattr(derand, name)


def test_a_missing_library_inside_a_subpackage_is_not_hidden(monkeypatch):
    assert derand.hessian is not None  # while scipy.sparse is still there: delattr looks the attribute up
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    for name in [name for name in sys.modules if name.startswith("derand.hessian")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(derand, "hessian", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"scipy\.sparse"):
        _ = derand.hessian
