"""The limit against hand calculations and least squares."""

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.structure.estimation.efficiency import efficiency_bound


def test_products_and_squares_by_hand():
    """f = z_1 z_2 has M = I, f = z^2 has M = 4."""
    product = efficiency_bound(lambda z: z[:, 0] * z[:, 1], 500, 20, 0.5, k=2)
    assert product == pytest.approx(np.sqrt(18 * 0.25 * 2 / 500), rel=1e-8)
    square = efficiency_bound(lambda z: z[:, 0] ** 2, 500, 20, 0.7, gradient=lambda z: 2 * z)
    assert square == pytest.approx(np.sqrt(19 * 0.49 / 4 / 500), rel=1e-12)


def test_correlated_inputs_against_least_squares():
    """For f(z) = z the first-order error of least squares across B, in expectation over Gaussian X."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((5, 5))
    Sigma, b = root @ root.T + np.eye(5), np.array([0.6, 0.8, 0.0, 0.0, 0.0])
    bound = efficiency_bound(lambda z: z[:, 0], 1000, 5, 0.3, covariance=Sigma, directions=b)
    across = np.linalg.qr(np.column_stack([b, np.eye(5)]))[0][:, 1:]
    assert bound**2 == pytest.approx(0.09 / 1000 * np.trace(across.T @ np.linalg.inv(Sigma) @ across), rel=1e-8)


def test_undetermined_directions():
    assert efficiency_bound(lambda z: z[:, 0], 10, 4, 1.0, k=2) == np.inf


def test_bad_arguments():
    with pytest.raises(InputError, match="directions"):
        efficiency_bound(lambda z: z[:, 0], 10, 2, 1.0, covariance=np.eye(2))
    with pytest.raises(InputError, match="positive definite"):
        efficiency_bound(lambda z: z[:, 0], 10, 2, 1.0, covariance=-np.eye(2), directions=[1.0, 0.0])
    with pytest.raises(InputError, match="gradient"):
        efficiency_bound(lambda z: z[:, 0], 10, 2, 1.0, gradient=lambda z: z[:, 0])
