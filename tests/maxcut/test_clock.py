import time

import pytest

from derand.exceptions import InputError
from derand.maxcut.clock import Clock


def test_limit_passes_and_first_reason_stays():
    clock = Clock(0.02)
    assert not clock.is_over()
    assert 0.0 < clock.remaining(0.5) <= 0.01
    time.sleep(0.03)
    assert clock.is_over()
    clock.stop("callback")
    assert clock.status == "time_limit"
    assert clock.remaining() == 0.0


def test_no_limit_and_bad_limit():
    assert Clock(None).remaining() is None
    assert Clock(0.0).is_over()
    with pytest.raises(InputError, match="time_limit"):
        Clock(-1.0)
