"""Whitening of ordinary and degenerate columns."""

import numpy as np
import pytest

from derand.structure.estimation.whitening import ledoit_wolf_intensity, whiten


def test_identity_covariance_whatever_the_scale():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 4)) * [1e100, 1.0, 1e-100, 3.0]
    Z = whiten(X).transform(X)
    np.testing.assert_allclose(Z.T @ Z / 200, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)


def test_constant_and_collinear_columns_have_no_part():
    x = np.random.default_rng(0).standard_normal((50, 2))
    X = np.column_stack([x, x[:, 0] + x[:, 1], np.full(50, 7.0)])
    white = whiten(X)
    assert white.matrix.shape == (4, 2)
    assert not white.matrix[3].any()
    assert whiten(np.ones((5, 3))).matrix.shape == (3, 0)


def test_few_samples_are_shrunk():
    X = np.random.default_rng(0).standard_normal((30, 40))
    white = whiten(X)
    assert white.matrix.shape == (40, 10)
    assert 0.5 < white.shrinkage <= 1.0
    assert whiten(X[:, :5]).shrinkage == 0.0
    nearly = np.column_stack([X[:, 0], X[:, 0] + 1e-4 * X[:, 1]])
    assert whiten(nearly).shrinkage > 0.0


def test_intensity_against_scikit_learn():
    sklearn = pytest.importorskip("sklearn.covariance")
    X = np.random.default_rng(1).standard_normal((40, 6)) * [1, 2, 3, 1, 1, 1]
    X -= X.mean(axis=0)
    assert ledoit_wolf_intensity(X, np.full(40, 1 / 40)) == pytest.approx(
        sklearn.ledoit_wolf_shrinkage(X, assume_centered=True), rel=1e-10
    )


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((20, 3)), rng.integers(1, 4, 20)
    a, b = whiten(X, w.astype(float)), whiten(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.mean, b.mean)
    np.testing.assert_allclose(a.matrix @ a.matrix.T, b.matrix @ b.matrix.T)
