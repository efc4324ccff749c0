"""scikit-learn's own checks on the structure estimators; their number is asserted, none is skipped for want of us."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
#: Checks that scikit-learn itself skips where pandas isn't installed.
_PANDAS = {
    "check_sample_weights_pandas_series",
    "check_regressor_data_not_an_array",
    "check_classifier_data_not_an_array",
}
if importlib.util.find_spec("pandas"):
    _PANDAS = set()


@pytest.mark.medium
@pytest.mark.parametrize(
    ("name", "n_checks"),
    [
        ("slices", 55),
        pytest.param("sir", 55, marks=pytest.mark.slow),
        pytest.param("regressor", 66, marks=pytest.mark.slow),
        pytest.param("classifier", 68, marks=pytest.mark.slow),
    ],
)
def test_all_checks_pass(name, n_checks):
    run = subprocess.run(
        [sys.executable, _ROOT / "tests" / "conformance" / "sklearn_structure_checks.py", name],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    report = json.loads(run.stdout)
    assert [outcome for outcome in report["outcomes"] if outcome[1] != "passed" and outcome[0] not in _PANDAS] == []
    # Another release may have more checks, but never fewer than these.
    assert len(report["outcomes"]) == report["n_listed"] >= n_checks
