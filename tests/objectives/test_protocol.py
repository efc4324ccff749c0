import numpy as np
import pytest

from derand.objectives import (
    Cosine,
    FunctionIntegrand,
    HasExpectation,
    LocalSum,
    Polynomial,
    RidgeSum,
    SignPairSum,
    SmoothedObjective,
    SquaredProbitNet,
    double_well,
)
from tests.objectives.reference import assert_same_numbers

BUILT_IN = [
    RidgeSum(Cosine(), 2),
    Polynomial(2, {(0, 1): 1.0}),
    SignPairSum(2, [[0, 1]]),
    SquaredProbitNet(2, [1.0, 2.0]),
    double_well(2),
    LocalSum(RidgeSum(Cosine(), 1), 2, [[0], [1]]),
]


@pytest.mark.parametrize("integrand", BUILT_IN, ids=lambda g: type(g).__name__)
def test_built_in_integrands_keep_the_protocols(integrand):
    z = np.random.default_rng(0).standard_normal((3, integrand.dim))
    assert integrand.value(z).shape == (3,)
    assert integrand.gradient(z).shape == integrand.hessian_product(z, z).shape == z.shape
    assert isinstance(integrand, HasExpectation)
    parts = integrand.expectation(z[0], np.ones((2, 4)))
    assert isinstance(parts.value, float)
    assert parts.gradient.shape == (2,)
    assert parts.factor_gradient.shape == (2, 4)
    assert parts.hessian(1).shape == (1, 1)
    assert [part.shape for part in parts.derivative(z[0], np.ones((2, 4)))] == [(2,), (2, 4)]


@pytest.mark.parametrize("integrand", BUILT_IN, ids=lambda g: type(g).__name__)
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_built_in_integrands_run_on_other_array_libraries(integrand, library):
    xp = pytest.importorskip(library)
    rng = np.random.default_rng(1)
    assert_same_numbers(integrand, rng.standard_normal((4, 2)), rng.standard_normal((4, 2)), xp)


def test_functions_have_no_closed_form():
    assert not isinstance(FunctionIntegrand(1, np.sum, np.ones_like), HasExpectation)


def test_smoothed_objective_is_an_objective():
    f = SmoothedObjective(BUILT_IN[0], 2, 3, 0.1)
    x = np.zeros(f.n_variables)
    value, gradient = f.value_and_grad(x)
    assert isinstance(value, float)
    assert gradient.shape == f.hessp(x, x).shape == x.shape
