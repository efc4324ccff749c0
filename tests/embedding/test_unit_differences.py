"""Both forms of the operator against the vectors themselves, and the adjoint identity."""

import numpy as np
import pytest

from derand.embedding.unit_differences import UnitDifferences
from tests.embedding.data import gaussian


@pytest.mark.parametrize(("n", "m", "is_factored"), [(10, 40, True), (50, 10, False)])
def test_against_the_vectors(n, m, is_factored):
    X, rng = gaussian(n, 6), np.random.default_rng(1)
    first, second = rng.integers(0, n - 1, m), np.full(m, n - 1)
    differences = UnitDifferences(X, first, second)
    assert differences.is_factored is is_factored
    Z = X[first] - X[second]
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    M, V = gaussian(3, 6, 2), gaussian(m, 3, 3)
    np.testing.assert_allclose(differences.apply(M), Z @ M.T, atol=1e-13)
    np.testing.assert_allclose(differences.adjoint(V), V.T @ Z, atol=1e-13)


@pytest.mark.parametrize("is_factored", [True, False])
def test_points_close_together_use_the_vectors(is_factored):
    """One close pair among many that are far apart, and close pairs only."""
    X = gaussian(5, 3)
    X[1] = X[0] + 1e-9 * np.array([1.0, 0.0, 0.0])
    first, second = np.triu_indices(5, 1) if is_factored else (np.array([0]), np.array([1]))
    first, second = np.tile(first, 3), np.tile(second, 3)
    differences = UnitDifferences(X, first, second)
    assert differences.is_factored is is_factored
    image = differences.apply(np.eye(3))
    np.testing.assert_allclose(np.linalg.norm(image, axis=1), 1.0, rtol=1e-14)
    Z = X[first] - X[second]
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    V = gaussian(first.size, 2, 1)
    np.testing.assert_allclose(differences.adjoint(V), V.T @ Z, atol=1e-13)
