"""scikit-learn's own checks on every estimator of derand; their number is asserted, and none is skipped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]


# This check gives samples to every clusterer, also to one whose tags say that it takes square matrices.
_WRONG_INPUT = ["check_clustering", "check_clustering"]


@pytest.mark.medium
@pytest.mark.parametrize(
    ("name", "n_checks", "failing"),
    [
        ("euclidean", 46, []),
        ("precomputed", 47, _WRONG_INPUT),
        pytest.param("default", 46, [], marks=pytest.mark.slow),
    ],
)
def test_all_checks_pass(name, n_checks, failing):
    run = subprocess.run(
        [sys.executable, _ROOT / "tests" / "conformance" / "sklearn_checks.py", name],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    report = json.loads(run.stdout)
    others = [outcome for outcome in report["outcomes"] if outcome[1] != "passed"]
    assert [check for check, _, _ in others] == failing, others
    assert all("square" in error for _, _, error in others), others
    # Another release may have more checks, but never fewer than these.
    assert len(report["outcomes"]) == report["n_listed"] >= n_checks
