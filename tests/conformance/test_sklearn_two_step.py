"""scikit-learn's own checks on TwoStepFeatures; their number is asserted, and none is skipped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]


@pytest.mark.medium
@pytest.mark.parametrize("name", ["neurons", pytest.param("directions", marks=pytest.mark.slow)])
def test_all_checks_pass(name):
    run = subprocess.run(
        [sys.executable, _ROOT / "tests" / "conformance" / "sklearn_two_step_checks.py", name],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    report = json.loads(run.stdout)
    assert [outcome for outcome in report["outcomes"] if outcome[1] != "passed"] == []
    # Another release may have more checks, but never fewer than these.
    assert len(report["outcomes"]) == report["n_listed"] >= 48
