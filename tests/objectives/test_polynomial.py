import array_api_strict
import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.objectives import Polynomial
from tests.objectives.reference import (
    assert_expectation,
    assert_expectation_derivative,
    assert_pointwise_derivatives,
    assert_same_numbers,
)

TERMS = {(): 2.0, (2,): -1.0, (0, 1): 0.3, (1, 0): 0.2, (1, 1, 2, 2): 0.5, (0, 1, 2): 1.0, (0,) * 5: 0.1}


def test_closed_form_against_quadrature():
    rng = np.random.default_rng(0)
    p = Polynomial(3, TERMS)
    mean, factor = rng.standard_normal(3), 0.7 * rng.standard_normal((3, 3))
    # Eight nodes integrate degree 15 exactly; degree 6 occurs in the slope.
    assert_expectation(p, mean, factor, n=8)
    assert_expectation_derivative(p, mean, factor, rng)
    assert_pointwise_derivatives(p, rng.standard_normal((6, 3)), rng)


def test_values_by_hand_and_order_of_variables():
    p = Polynomial(2, {(0, 1, 1): 3.0, (1, 0, 1): -1.0})
    assert p.terms == {(0, 1, 1): 2.0}
    assert p.value(np.array([[2.0, 3.0]])).tolist() == [36.0]


@pytest.mark.parametrize("terms", [{(): 1.0}, {(0,): 2.0}])
def test_low_degrees(terms):
    rng = np.random.default_rng(1)
    p = Polynomial(2, terms)
    assert_expectation(p, rng.standard_normal(2), rng.standard_normal((2, 1)), n=4)
    assert_expectation_derivative(p, rng.standard_normal(2), rng.standard_normal((2, 1)), rng)
    np.testing.assert_array_equal(p.hessian_product(np.ones((1, 2)), np.ones((1, 2))), np.zeros((1, 2)))


def test_array_api():
    rng = np.random.default_rng(2)
    assert_same_numbers(
        Polynomial(3, TERMS), rng.standard_normal((5, 3)), rng.standard_normal((5, 3)), array_api_strict
    )


def test_high_degree_moment():
    # E[z^20] = 19!! for a standard normal.
    want = np.prod(np.arange(1.0, 20.0, 2.0))
    assert Polynomial(1, {(0,) * 20: 1.0}).expectation(np.zeros(1), np.ones((1, 1))).value == pytest.approx(
        want, rel=1e-14
    )


def test_bad_input_is_named():
    with pytest.raises(InputError, match="terms"):
        Polynomial(2, {})
    with pytest.raises(InputError, match="variable in terms"):
        Polynomial(2, {(2,): 1.0})
    with pytest.raises(InputTypeError, match="variable in terms"):
        Polynomial(2, {(0.5,): 1.0})
    with pytest.raises(InputError, match="coefficient in terms"):
        Polynomial(2, {(0,): np.nan})
