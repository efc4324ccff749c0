import math

import numpy as np
import pytest

from derand.two_step.edge import fit_edge, n_needed, noise_edge, noise_quantiles, top_eigenvectors, top_spectrum


@pytest.mark.parametrize(("n", "d"), [(200, 200), (150, 300), (300, 150)])
def test_top_spectrum_against_the_decomposition(n, d):
    W = np.random.default_rng(0).standard_normal((n, d))
    u, s, vt = np.linalg.svd(W, full_matrices=False)
    values, left, right = top_spectrum(W, 5)
    np.testing.assert_allclose(values, s[:5], rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(left * u[:, :5], axis=0)), 1.0, rtol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(right * vt[:5], axis=1)), 1.0, rtol=1e-9)
    np.testing.assert_allclose(top_spectrum(W, 7, vectors=False)[0], s[:7], rtol=1e-12)
    np.testing.assert_allclose(top_spectrum(W, 7, vectors=False, gram=W.T @ W)[0], s[:7], rtol=1e-12)


def test_eigenvectors_of_known_values():
    """From values in single precision; two of them closer than that."""
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(rng.standard_normal((80, 80)))[0]
    sizes = np.concatenate([[5.0, 4.0, 4.0 - 1e-7], np.linspace(2.0, 0.0, 77)])
    found = top_eigenvectors((basis * sizes) @ basis.T, sizes[:3].astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(abs(found[:, 0] @ basis[:, 0]), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(basis[:, 1:3].T @ found[:, 1:], 2), 1.0, rtol=1e-10)
    assert top_eigenvectors(np.eye(5), np.zeros(0)).shape == (5, 0)


@pytest.mark.parametrize(("n", "d"), [(300, 300), (200, 500), (500, 200)])
def test_noise(n, d):
    """Average positions against 30 matrices, and the fitted edge: its scatter is about one unit of fluctuation."""
    rng = np.random.default_rng(1)
    spectra = np.array([np.linalg.svd(rng.standard_normal((n, d)) / math.sqrt(d), compute_uv=False) for _ in range(30)])
    ranks = np.arange(1.0, 61.0)
    truth = noise_edge((n, d))
    mean, error = spectra[:, :60].mean(axis=0), spectra[:, :60].std(axis=0, ddof=1) / math.sqrt(30)
    assert np.all(np.abs(noise_quantiles((n, d), ranks)[3:] - mean[3:]) < 5 * error[3:] + 0.1 * truth.scale)
    edges = [fit_edge(s[: n_needed(s.size)], (n, d)) for s in spectra]
    spread = np.std([edge.location for edge in edges]) / math.sqrt(30)
    assert np.mean([edge.location for edge in edges]) == pytest.approx(
        truth.location, abs=0.5 * truth.scale + 4 * spread
    )
    assert np.mean([edge.scale for edge in edges]) == pytest.approx(truth.scale, rel=0.1)
    assert np.std([edge.location for edge in edges]) < 2 * truth.scale


def test_outliers_are_left_out():
    rng = np.random.default_rng(2)
    s = np.linalg.svd(rng.standard_normal((400, 400)) / 20.0, compute_uv=False)
    clean = fit_edge(s[:100], (400, 400))
    spoiled = fit_edge(np.concatenate([[9.0, 5.0, 3.0, 2.6], s[:96]]), (400, 400))
    assert spoiled.location == pytest.approx(clean.location, abs=1e-9)


def test_scaled_bulk():
    s = np.linalg.svd(np.random.default_rng(3).standard_normal((400, 400)) / 20.0, compute_uv=False)
    one, three = fit_edge(s[:100], (400, 400)), fit_edge(3.0 * s[:100], (400, 400))
    assert three.location == pytest.approx(3 * one.location)
    assert three.scale == pytest.approx(3 * one.scale)


def test_numbers_needed():
    assert (n_needed(50), n_needed(100), n_needed(1000)) == (50, 64, 210)
