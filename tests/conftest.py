"""What every test shares: generated examples, always the same and without a deadline, and no picture left open."""

import sys

import pytest
from hypothesis import HealthCheck, settings

# How long a generated example takes depends on the machine and its load, and is no fault of the code.
settings.register_profile("derand", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("derand")


@pytest.fixture(autouse=True)
def _no_picture_stays_open():
    """Matplotlib warns of the 21st open figure, and the tests of one process are in no fixed order."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
