"""The smoother against a dense solve, finite differences, and what it must reproduce."""

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.structure.estimation.smoother import KernelRidge, n_centres, polynomial_features


def _data(n=80, k=2, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, k))
    return z, np.column_stack([np.sin(2 * z[:, 0]) + 0.1 * rng.standard_normal(n), z[:, -1] ** 3])


def _dense(z, y, centres, scales, ridge, weight):
    """Solve the normal equations of the same problem in the original coefficients."""
    squares = np.square((z[:, None] - centres[None]) / scales).sum(axis=2)
    K = np.exp(-0.5 * squares)
    inner = np.exp(-0.5 * np.square((centres[:, None] - centres[None]) / scales).sum(axis=2))
    P = polynomial_features(z, 2)
    design = np.column_stack([P, K])
    penalty = np.zeros((design.shape[1],) * 2)
    penalty[P.shape[1] :, P.shape[1] :] = ridge * (inner + 1e-8 * len(centres) * np.eye(len(centres)))
    weighted = design * weight[:, None]
    S = design @ np.linalg.solve(weighted.T @ design + penalty, weighted.T)
    return S @ y, np.trace(S)


@pytest.mark.parametrize("weighted", [False, True])
def test_against_the_normal_equations(weighted):
    z, y = _data()
    weight = np.random.default_rng(1).uniform(0.2, 2.0, 80) if weighted else None
    fit = KernelRidge(z, y, np.arange(15), weight).fit(np.array([0.8, 1.1]), ridge=0.05)
    values, df = _dense(z, y, z[:15], fit.scales, 0.05, np.ones(80) if weight is None else weight)
    # The kernel matrix of 15 landmarks has condition number about 1e6.
    np.testing.assert_allclose(fit.predict(z), values, atol=1e-7)
    assert fit.df == pytest.approx(df, abs=1e-6)
    w = np.ones(80) if weight is None else weight
    assert fit.rss == pytest.approx(float(w @ np.square(y - values).sum(axis=1)), rel=1e-7)
    assert fit.gcv == pytest.approx(80 * fit.rss / (80 - fit.df) ** 2, rel=1e-10)


def test_smoother_matrix_from_its_basis():
    z, y = _data()
    fit = KernelRidge(z, y, np.arange(20)).fit(np.ones(2), ridge=1e-3)
    np.testing.assert_allclose((fit.basis * fit.shrink) @ (fit.basis.T @ y), fit.predict(z), atol=2e-2)
    assert np.sum(fit.shrink * np.square(fit.basis).sum(axis=0)) == pytest.approx(fit.df, abs=0.05)


@pytest.mark.parametrize("kernel", ["gaussian", "matern"])
def test_gradient_by_differences(kernel):
    z, y = _data()
    fit = KernelRidge(z, y, np.arange(20)).fit(np.array([0.9, 1.3]), kernel)
    points = np.random.default_rng(3).standard_normal((10, 2))
    _, gradient = fit.value_and_gradient(points)
    for axis in range(2):
        h = 1e-5 * (np.arange(2) == axis)
        slopes = (fit.predict(points + h) - fit.predict(points - h)) / 2e-5
        np.testing.assert_allclose(gradient[:, :, axis].T, slopes, rtol=1e-4, atol=1e-5)


def test_quadratic_polynomials_are_reproduced():
    z = np.random.default_rng(0).standard_normal((60, 3))
    y = (1 + z[:, 0] - z[:, 1] * z[:, 2] + z[:, 2] ** 2)[:, None]
    fit = KernelRidge(z, y, np.arange(10)).fit(np.ones(3))
    far = np.full((1, 3), 7.0)
    assert fit.predict(far)[0, 0] == pytest.approx(1 + 7 - 49 + 49, rel=1e-6)


def test_gradient_noise_against_simulation():
    """2,000 draws of the noise: a variance is known to 4 per cent, three standard errors 10."""
    z = np.random.default_rng(0).standard_normal((40, 1))
    noise = np.random.default_rng(1).standard_normal((40, 2000))
    fit = KernelRidge(z, noise, np.arange(8)).fit(np.ones(1), ridge=0.1)
    _, gradient = fit.value_and_gradient(z)
    simulated = np.square(gradient[:, :, 0]).sum(axis=1)
    assert fit.gradient_noise(z)[0, 0] == pytest.approx(simulated.mean(), abs=4 * simulated.std() / 2000**0.5)


def test_input():
    assert n_centres(9, 50) == 50
    with pytest.raises(InputError, match="z"):
        KernelRidge(np.zeros((0, 1)), np.zeros((0, 1)), np.arange(0))
    with pytest.raises(InputError, match="kernel"):
        KernelRidge(np.ones((9, 1)), np.ones((9, 1)), np.arange(2)).fit(np.ones(1), "cubic")


def test_trial_has_the_scores_of_the_fit():
    z, y = _data()[:2]
    smoother = KernelRidge(z, y, np.arange(20))
    trial, fit = smoother.trial(np.ones(2)), smoother.fit(np.ones(2))
    assert (trial.gcv, trial.rss, trial.df, trial.ridge) == (fit.gcv, fit.rss, fit.df, fit.ridge)
    residual = y - trial.finish().predict(z)
    np.testing.assert_allclose(np.square(residual).sum(), trial.rss, rtol=1e-6)


def test_a_price_above_one_never_chooses_interpolation():
    """With as many landmarks as samples the smallest ridges leave no residual; GCV must not take that for a fit."""
    rng = np.random.default_rng(5)
    z, y = rng.standard_normal((24, 1)), rng.standard_normal((24, 1))
    smoother = KernelRidge(z, y, np.arange(24), gamma=1.4)
    fits = [smoother.fit(np.array([scale])) for scale in (0.05, 0.2, 1.0)]
    assert all(fit.df * 1.4 < 24 and np.isfinite(fit.gcv) for fit in fits)
