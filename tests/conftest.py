"""What every test shares: one BLAS thread, the same generated examples without a deadline, and no picture left open."""

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

# Test processes share the cores, so threads inside BLAS would only compete with them; the processes inherit this.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# How long a generated example takes depends on the machine and its load, and is no fault of the code.
settings.register_profile("derand", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("derand")


@pytest.fixture(autouse=True)
def _no_picture_stays_open():
    """Matplotlib warns of the 21st open figure, and the tests of one process are in no fixed order."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
