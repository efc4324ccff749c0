import numpy as np
import pytest
from threadpoolctl import threadpool_info

from derand._utils.threads import blas_threads


def _threads():
    """Return the numbers of threads of all BLAS libraries in this process."""
    np.ones((2, 2)) @ np.ones((2, 2))
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_the_cap_holds_inside_and_ends_with_the_block():
    before = _threads()
    assert before
    with blas_threads(1):
        assert set(_threads()) == {1}
    assert _threads() == before


def test_none_changes_nothing():
    before = _threads()
    with blas_threads(None):
        assert _threads() == before


def _fail_under_a_cap():
    with blas_threads(1):
        raise KeyError("inside")


def test_the_cap_ends_with_an_exception():
    before = _threads()
    with pytest.raises(KeyError):
        _fail_under_a_cap()
    assert _threads() == before
