"""Activations against high precision, differences of each other, and another array library."""

import array_api_strict
import mpmath
import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.objectives import ScalarPolynomial
from derand.structure import make_activation
from derand.structure.activations import ACTIVATIONS

POINTS = np.array([-60.0, -5.0, -1.3, -1e-3, 0.0, 0.4, 2.0, 7.0, 50.0])
REFERENCE = {
    "softplus": lambda z: mpmath.log(1 + mpmath.exp(3 * z)) / 3,
    "tanh": mpmath.tanh,
    "gelu": lambda z: z * mpmath.ncdf(z),
    "erf": mpmath.erf,
    "square": lambda z: z**2,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_against_high_precision(name):
    found = make_activation(name, iota=3.0).derivatives(POINTS, 2)
    with mpmath.workdps(60):
        for order, values in enumerate(found):
            exact = [float(mpmath.diff(REFERENCE[name], mpmath.mpf(float(z)), order)) for z in POINTS]
            np.testing.assert_allclose(values, exact, rtol=3e-12, atol=1e-15)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_other_library_and_lower_orders_agree(name, order):
    activation = make_activation(name, iota=2.0)
    strict = activation.derivatives(array_api_strict.asarray(POINTS), order)
    assert len(strict) == order + 1
    for ours, theirs in zip(activation.derivatives(POINTS, 2), strict, strict=False):
        np.testing.assert_allclose(np.asarray(theirs), ours, rtol=1e-13, atol=1e-300)


def test_users_own_activation():
    cube = make_activation(ScalarPolynomial([0.0, 0.0, 0.0, 1.0]))
    value, first, second = cube.derivatives(np.array([2.0]))
    assert (value.item(), first.item(), second.item()) == (8.0, 12.0, 12.0)
    assert make_activation(cube) is cube


def test_bad_input_is_named():
    with pytest.raises(InputError, match="activation"):
        make_activation("relu")
    with pytest.raises(InputError, match="iota"):
        make_activation("softplus", iota=0.0)
    with pytest.raises(InputTypeError, match="activation"):
        make_activation(np.tanh)
    with pytest.raises(InputError, match="order"):
        make_activation("tanh").derivatives(POINTS, 3)
