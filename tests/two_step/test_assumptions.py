import warnings

import numpy as np
import pytest

from derand.exceptions import DerandWarning, InputError
from derand.two_step import AssumptionWarning
from derand.two_step.assumptions import (
    check_first_coefficient,
    warn_about_labels,
    warn_about_orders,
    warn_about_step,
)

_Z = np.random.default_rng(0).standard_normal(4000)


def test_it_is_a_warning_of_derand():
    assert issubclass(AssumptionWarning, DerandWarning)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e150])
def test_labels(scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about_labels(scale * _Z)
        warn_about_labels(scale * (_Z**2 - 1))
        warn_about_labels(np.zeros(5))
    with pytest.warns(AssumptionWarning, match=r"E\[y\] = 0"):
        warn_about_labels(scale * (_Z + 0.2))
    with pytest.warns(AssumptionWarning, match="light-tailed"):
        warn_about_labels(scale * (_Z**3 - 3 * _Z))
    with pytest.warns(AssumptionWarning, match="light-tailed"):
        warn_about_labels(scale * np.random.default_rng(1).standard_cauchy(500))


def test_constant_labels():
    with pytest.warns(AssumptionWarning, match=r"E\[y\] = 0"):
        warn_about_labels(np.ones(10))


def test_step():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about_step(1.0, 1000)
    with pytest.warns(AssumptionWarning, match="full-rank"):
        warn_about_step(20.0, 1000)


def test_orders():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about_orders(np.ones(3), [])
    with pytest.warns(AssumptionWarning, match="c_3"):
        warn_about_orders(np.array([0, 1, 1, 0.0]), [2])


def test_first_coefficient():
    assert check_first_coefficient(np.array([5.0, -2.0, 1.0])) == -2.0
    for bad in ([0.0], [0.0, 0.0, 1.0], [1e20, 1e-12, 1.0], [1.0, 0.0]):
        with pytest.raises(InputError, match="c_1"):
            check_first_coefficient(np.array(bad))
