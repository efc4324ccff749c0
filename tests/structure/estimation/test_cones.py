"""Error bars: quantiles against simulation, linear regression in closed form."""

import numpy as np
import pytest
import scipy.stats

from derand.exceptions import InputError
from derand.structure.estimation.cones import weighted_chi2_quantile
from derand.structure.estimation.estimate import estimate_structure
from derand.structure.subspace import subspace_distance


@pytest.mark.parametrize("weights", [[1.0] * 5, [3.0, 1.0, 0.2], list(np.geomspace(1, 0.01, 40))])
def test_quantile_against_simulation(weights):
    """200,000 draws: the share below the true quantile has standard error 0.0005."""
    a = np.array(weights)
    draws = np.square(np.random.default_rng(0).standard_normal((200_000, a.size))) @ a
    assert np.mean(draws <= weighted_chi2_quantile(a, 0.95)) == pytest.approx(0.95, abs=0.004)
    assert weighted_chi2_quantile(np.zeros(3), 0.9) == 0.0


def test_estimated_noise_puts_an_f_quantile_in_place():
    """The sum of m equal terms over the estimated variance is m F(m, dof)."""
    quantile = weighted_chi2_quantile(np.full(6, 2.0), 0.95, noise_dof=30.0)
    assert quantile == pytest.approx(2.0 * 6 * scipy.stats.f.ppf(0.95, 6, 30), rel=1e-9)


@pytest.mark.slow
def test_cones_cover():
    """150 samples of an exponential link: binomial standard error 0.018, three of them allowed."""
    inside = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((400, 12))
        found = estimate_structure(X, np.exp(0.7 * X[:, 3]) + 0.5 * rng.standard_normal(400), 1)
        inside.append(subspace_distance(found.components, np.eye(12)[3:4]) <= found.cone.angle(0.95))
    assert 0.95 - 3 * 0.018 <= np.mean(inside) <= 1.0 - 0.5 / 150


def test_linear_link_against_least_squares():
    """For a linear link the error across is that of ordinary least squares, divided by the slope."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 5)) @ np.diag([1, 2, 3, 1, 1])
    y = 2 * X[:, 0] + rng.standard_normal(2000)
    found = estimate_structure(X, y, 1)
    Z = np.column_stack([np.ones(2000), X])
    covariance = np.linalg.inv(Z.T @ Z)[1:, 1:] / 4
    assert found.cone.stderr[0, 1:] == pytest.approx(np.sqrt(np.diag(covariance))[1:], rel=0.08)
    assert found.cone.expected_error == pytest.approx(np.sqrt(np.trace(covariance[1:, 1:])), rel=0.08)


def test_rotation_leaves_the_law_alone():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 4))
    cone = estimate_structure(X, X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(300), 2).cone
    turned = cone.rotated(np.array([[0.6, 0.8], [-0.8, 0.6]]))
    assert turned.angle(0.9) == pytest.approx(cone.angle(0.9), rel=1e-10)
    assert subspace_distance(turned.components, cone.components) < 1e-12
    assert cone.angle(0.5) < cone.expected_error < cone.angle(0.95)
    with pytest.raises(InputError, match="level"):
        cone.angle(1.0)


@pytest.mark.parametrize("n", [3, 5, 12])
def test_too_few_samples_have_no_error_bars(n):
    """With five columns a fit to twelve samples follows the noise: the cone excludes nothing."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 5))
    cone = estimate_structure(X, np.tanh(X[:, 0]) + 0.1 * rng.standard_normal(n), 1).cone
    assert cone.angle(0.95) == 1.0
    assert np.isnan(cone.stderr).all()
    assert np.isnan(cone.expected_error)
