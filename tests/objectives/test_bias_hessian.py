import math
from types import SimpleNamespace

import numpy as np
import pytest

from derand.objectives import Cosine, RidgeSum, SignPairSum, SmoothedObjective
from derand.objectives.bias_hessian import BiasHessian


def test_small_matrices_are_exact():
    parts = RidgeSum(Cosine(), 3, forms=np.ones((2, 3))).expectation(np.zeros(3), np.zeros((3, 1)))
    hessian = BiasHessian(parts, 2, tol=0.0)
    np.testing.assert_allclose(hessian.matrix, -2.0 * np.ones((2, 2)))
    assert -4.0 - 1e-12 <= hessian.lower <= -4.0
    assert hessian.size == pytest.approx(4.0)
    np.testing.assert_allclose(hessian.times(np.eye(2)), hessian.matrix)


def ring(n, seed=0):
    rng = np.random.default_rng(seed)
    g = SignPairSum(n, np.column_stack([np.arange(n), (np.arange(n) + 1) % n]))
    return g, 0.3 * rng.standard_normal((n, 2)), rng.standard_normal(n)


def test_products_stand_in_for_a_large_matrix():
    g, factor, mean = ring(1500)
    parts = g.expectation(mean, factor)
    hessian = BiasHessian(parts, 1500, tol=1e-3)
    dense = parts.hessian(1500)
    want = np.linalg.eigvalsh(dense)[0]
    assert want - 1.1e-3 <= hessian.lower <= want
    np.testing.assert_allclose(hessian.times(factor), dense @ factor, atol=1e-12)
    # One random direction estimates the Frobenius norm of 1500 eigenvalues to a few per cent.
    assert hessian.size == pytest.approx(np.linalg.norm(dense), rel=0.2)


def test_weight_bound_of_a_large_problem():
    g, W, b = ring(1500)
    f = SmoothedObjective(g, 1500, 2, 2.0)
    bound = f.weight_bound(W, b)
    assert np.linalg.norm(W) <= bound < math.inf
    assert bound == f.weight_bound(W, b)
    dense = f.hess_bb(W, b)
    gradient = f.value_and_grad(f.pack(W, b))[1][: W.size]
    # lower is within 2 % of lam = 2 of the eigenvalue, and the denominator above 1.
    assert bound == pytest.approx(np.linalg.norm(gradient) / (4.0 + np.linalg.eigvalsh(dense)[0]), rel=0.04)


def test_what_is_not_finite_bounds_nothing():
    for k in (2, 1200):
        parts = SimpleNamespace(
            factor_gradient=np.zeros((k, 1)),
            hessian=lambda k: np.full((k, k), np.nan),
            derivative=lambda dmean, dfactor: (np.full(dmean.shape, np.nan), dfactor),
        )
        hessian = BiasHessian(parts, k, tol=0.0)
        assert hessian.lower == -math.inf
