import array_api_strict
import numpy as np
import pytest

from derand.exceptions import InputError
from derand.objectives import Cosine, FunctionIntegrand, Polynomial, ProbitSign, RidgeSum
from derand.objectives.nodes import NodeExpectation, NodeSet
from tests.objectives.reference import pointwise_hessian


def setting(seed=0):
    rng = np.random.default_rng(seed)
    g = RidgeSum(ProbitSign(), 3, forms=rng.standard_normal((4, 3)))
    points = rng.standard_normal((50, 2))
    weights = rng.random(50)
    return g, points, weights / weights.sum(), rng.standard_normal(3), rng.standard_normal((3, 2)), rng


def test_members_are_the_plain_sums():
    g, points, weights, mean, factor, _ = setting()
    parts = NodeExpectation(g, NodeSet.weighted(points, weights), mean, factor)
    z = mean + points @ factor.T
    assert parts.value == pytest.approx(weights @ g.value(z), rel=1e-14)
    np.testing.assert_allclose(parts.gradient, weights @ g.gradient(z), rtol=1e-13)
    np.testing.assert_allclose(parts.factor_gradient, (g.gradient(z) * weights[:, None]).T @ points, rtol=1e-13)
    want = np.tensordot(weights, pointwise_hessian(g, z), axes=1)
    np.testing.assert_allclose(parts.hessian(2), want[:2, :2], rtol=1e-12, atol=1e-15)


def test_derivative_is_that_of_the_sum_and_not_of_the_expectation():
    g, points, weights, mean, factor, rng = setting(1)
    nodes = NodeSet.weighted(points[:5], weights[:5])
    dmean, dfactor = rng.standard_normal(3), rng.standard_normal((3, 2))
    h = 1e-5
    up = NodeExpectation(g, nodes, mean + h * dmean, factor + h * dfactor)
    down = NodeExpectation(g, nodes, mean - h * dmean, factor - h * dfactor)
    dgradient, dslope = NodeExpectation(g, nodes, mean, factor).derivative(dmean, dfactor)
    np.testing.assert_allclose(dgradient, (up.gradient - down.gradient) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(dslope, (up.factor_gradient - down.factor_gradient) / (2 * h), atol=1e-9)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_same_numbers_in_another_library(library):
    xp = pytest.importorskip(library) if library == "torch" else array_api_strict
    _, points, weights, mean, factor, rng = setting(2)
    like = xp.asarray(np.zeros(1))
    for g in (Polynomial(3, {(0, 1, 2): 1.0, (1, 1): 2.0}), RidgeSum(Cosine(), 3), RidgeSum(ProbitSign(), 3)):
        here = NodeExpectation(g, NodeSet.weighted(points, weights), mean, factor)
        there = NodeExpectation(g, NodeSet.weighted(points, weights, like), mean, factor)
        dmean, dfactor = rng.standard_normal(3), rng.standard_normal((3, 2))
        pairs = [
            (here.value, there.value),
            (here.gradient, there.gradient),
            (here.factor_gradient, there.factor_gradient),
        ]
        pairs += [
            (here.hessian(3), there.hessian(3)),
            *zip(here.derivative(dmean, dfactor), there.derivative(dmean, dfactor), strict=True),
        ]
        for want, got in pairs:
            assert isinstance(got, (float, np.ndarray))
            np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-14)


class Raw:
    """An integrand that checks nothing itself."""

    dim = 2

    def __init__(self, **answers):
        self.answers = answers

    def value(self, z):
        return self.answers.get("value", np.ones(len(z)))

    def gradient(self, z):
        return self.answers.get("gradient", np.ones_like(z))

    def hessian_product(self, z, v):
        return self.answers.get("hessian_product", v)


@pytest.mark.parametrize("name", ["value", "gradient", "hessian_product"])
@pytest.mark.parametrize("wrong", [np.ones((2, 2)), np.full((3, 2), np.nan), np.full(3, np.nan), 1.0])
def test_wrong_answers_of_an_integrand_are_named(name, wrong):
    parts = NodeExpectation(Raw(**{name: wrong}), NodeSet.equal(np.zeros((3, 1))), np.zeros(2), np.zeros((2, 1)))
    member = {
        "value": lambda: parts.value,
        "gradient": lambda: parts.gradient,
        "hessian_product": lambda: parts.hessian(2),
    }[name]
    with pytest.raises(InputError, match=f"integrand's {name}"):
        member()


def test_overflow_is_infinite_and_silent():
    g = FunctionIntegrand(1, lambda z: np.exp(z[:, 0]), np.exp)
    parts = NodeExpectation(g, NodeSet.equal(np.ones((2, 1))), np.array([1e4]), np.zeros((1, 1)))
    assert parts.value == np.inf
    assert NodeSet.equal(np.ones((4, 1))).size == 4
