"""Tests of the eigenpairs that spectra and searches hand over."""

import numpy as np
import pytest

from derand.hessian.deflation import Deflation
from derand.hessian.eigenpairs import pairs_of_search, pairs_of_spectrum
from derand.hessian.operator import HessianOperator
from derand.hessian.symmetric import as_symmetric
from tests.hessian.spectra import reflected


def test_pairs_of_a_spectrum():
    w = np.array([-3.0, 1.0, 1.0, 2.0])
    A = reflected(w, np.random.default_rng(0))
    pairs = pairs_of_spectrum(as_symmetric(A), lambda values: values > 0.0, n_products=7)
    np.testing.assert_allclose(pairs.values, w[1:], rtol=1e-13)
    assert np.all((pairs.lower <= w[1:]) & (w[1:] <= pairs.upper))
    assert np.all(pairs.upper - pairs.lower < 1e-13)
    assert (pairs.n_products, pairs.confidence, pairs.is_converged, pairs.method) == (11, 1.0, True, "dense")
    np.testing.assert_allclose(np.stack([A @ v for v in pairs.vectors.T]).T, pairs.vectors * pairs.values, atol=1e-13)


def test_error_of_products_is_in_the_intervals():
    H = HessianOperator(np.ones(4), gradient=lambda x: x**2, hessian_lipschitz=2.0)
    pairs = pairs_of_spectrum(as_symmetric(H), lambda values: values > 0.0)
    assert np.all(pairs.upper - pairs.lower >= 2 * np.sqrt(4) * H.error_bound)
    assert np.all((pairs.lower <= 2.0) & (pairs.upper >= 2.0))


@pytest.mark.parametrize(("residual", "is_converged"), [(1e-10, True), (1e-3, False)])
def test_pairs_of_a_search(residual, is_converged):
    """V = (e_1 + r e_3, e_2): residual about r; the complement's exact bounds are those of the third direction."""
    A = np.diag([1.0, 2.0, 3.0])
    V = np.array([[1.0, 0.0, residual / 2], [0.0, 1.0, 0.0]])
    V[0] /= np.linalg.norm(V[0])
    rest = np.array([-residual / 2, 0.0, 1.0])
    rest /= np.linalg.norm(rest)
    third = float(rest @ A @ rest)
    found = Deflation(as_symmetric(A), V, V @ A, low=third, high=third, scale=3.0, is_complete=True, n_products=5)
    pairs = pairs_of_search(found, np.array([True, True]), np.array([True, True]), 1e-8, 0.9)
    np.testing.assert_allclose(pairs.residuals, [residual, 0.0], atol=residual / 10 + 1e-14)
    assert np.all((pairs.lower <= [1.0, 2.0]) & (pairs.upper >= [1.0, 2.0]))
    assert (pairs.is_converged, pairs.confidence, pairs.n_products) == (is_converged, 0.9, 5)
    from_above = pairs_of_search(found, np.array([False, True]), np.array([False, False]), 1e-8, 0.9)
    # Counted from above, the second vector stands for the largest eigenvalue 3 (two were found, one is ranked first).
    assert from_above.upper[0] >= 3.0
