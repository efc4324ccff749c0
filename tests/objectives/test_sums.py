import array_api_strict
import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.objectives import Cosine, Exponential, FunctionIntegrand, IntegrandSum, RidgeSum, double_well
from derand.objectives.sums import has_closed_form
from tests.objectives.reference import (
    assert_expectation,
    assert_expectation_derivative,
    assert_pointwise_derivatives,
    assert_same_numbers,
)


def make():
    return IntegrandSum(
        [RidgeSum(Cosine(), 2), RidgeSum(Exponential(), 2, forms=0.3 * np.ones((1, 2)))],
        weights=[2.0, -1.0],
        constant=0.5,
    )


def opaque():
    return FunctionIntegrand(2, lambda z: z[:, 0], lambda z: np.ones_like(z))


def test_sum_is_the_sum():
    rng = np.random.default_rng(0)
    g = make()
    z = rng.standard_normal((4, 2))
    np.testing.assert_allclose(g.value(z), 2 * np.cos(z).sum(axis=1) - np.exp(0.3 * z.sum(axis=1)) + 0.5, rtol=1e-14)
    mean, factor = rng.standard_normal(2), rng.standard_normal((2, 2))
    assert_expectation(g, mean, factor, n=60)
    assert_expectation_derivative(g, mean, factor, rng)
    assert_pointwise_derivatives(g, z, rng)
    assert_same_numbers(g, z, rng.standard_normal((4, 2)), array_api_strict)


def test_closed_form_needs_all_terms():
    assert has_closed_form(make())
    mixed = IntegrandSum([RidgeSum(Cosine(), 2), opaque()])
    assert not has_closed_form(mixed)
    with pytest.raises(InputTypeError, match="FunctionIntegrand"):
        mixed.expectation(np.zeros(2), np.zeros((2, 1)))


def test_double_well_by_hand():
    g = double_well(2, height=2.0, separation=3.0, tilt=[0.0, 0.5])
    assert g.value(np.array([[3.0, -3.0], [0.0, 0.0]])).tolist() == [-1.5, 4.0]
    # E[(z^2 - 1)^2] = 3 s^2 - 2 s + 1 for variance s.
    assert double_well(1).expectation(np.zeros(1), np.array([[2.0]])).value == 3 * 16 - 2 * 4 + 1
    rng = np.random.default_rng(1)
    assert_expectation(g, rng.standard_normal(2), rng.standard_normal((2, 2)), n=8)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="terms"):
        IntegrandSum([])
    with pytest.raises(InputError, match="terms"):
        IntegrandSum([RidgeSum(Cosine(), 2), RidgeSum(Cosine(), 3)])
    with pytest.raises(InputError, match="weights"):
        IntegrandSum([opaque()], weights=[1.0, 2.0])
    with pytest.raises(InputError, match="constant"):
        IntegrandSum([opaque()], constant=np.nan)
    for kwargs, name in (
        ({"height": 0.0}, "height"),
        ({"separation": np.inf}, "separation"),
        ({"tilt": np.ones(3)}, "tilt"),
    ):
        with pytest.raises(InputError, match=name):
            double_well(2, **kwargs)
