"""scikit-learn's own checks on NetworkReducer; their number is asserted, and none is skipped for want of us."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
#: Checks that scikit-learn itself skips where pandas isn't installed.
_PANDAS = set() if importlib.util.find_spec("pandas") else {"check_sample_weights_pandas_series"}


@pytest.mark.medium
@pytest.mark.parametrize("name", ["one", *(pytest.param(name, marks=pytest.mark.slow) for name in ("share", "deep"))])
def test_all_checks_pass(name):
    run = subprocess.run(
        [sys.executable, _ROOT / "tests" / "conformance" / "sklearn_network_checks.py", name],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    report = json.loads(run.stdout)
    assert [outcome for outcome in report["outcomes"] if outcome[1] != "passed" and outcome[0] not in _PANDAS] == []
    # Another release may have more checks, but never fewer than these.
    assert len(report["outcomes"]) == report["n_listed"] >= 55
