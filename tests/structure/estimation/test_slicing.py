"""Inverse regressions against their definitions and population values."""

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.structure.estimation.slicing import METHODS, slice_labels, sliced_matrix


def _whitened(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    X -= X.mean(axis=0)
    return X @ np.linalg.inv(np.linalg.cholesky(X.T @ X / n)).T


def test_matrices_by_their_definitions():
    X = _whitened(60, 3)
    labels = np.repeat([0, 1, 2], 20)
    parts = [X[labels == s] for s in range(3)]
    means = [p.mean(axis=0) for p in parts]
    seconds = [p.T @ p / 20 for p in parts]
    sir = sum(np.outer(m, m) for m in means) / 3
    covariances = [s - np.outer(m, m) for s, m in zip(seconds, means, strict=True)]
    save = sum((np.eye(3) - c) @ (np.eye(3) - c) for c in covariances) / 3
    dr = 2 * sum((s - np.eye(3)) @ (s - np.eye(3)) for s in seconds) / 3 + 2 * sir @ sir + 2 * np.trace(sir) * sir
    for method, expected in (("sir", sir), ("save", save), ("dr", dr)):
        np.testing.assert_allclose(sliced_matrix(X, labels, method), expected, atol=1e-13)


def test_hessian_directions_of_a_square():
    """E[r x x^T] = 2 e e^T for y = x_1^2 and Gaussian x; its entries have standard error below 0.05 at n = 20,000."""
    X = _whitened(20_000, 3)
    M = sliced_matrix(X, np.zeros(20_000, dtype=int), "phd", (X[:, 0] ** 2)[:, None])
    assert M[0, 0] == pytest.approx(4.0, abs=0.6)
    assert np.abs(M - np.diag(np.diag(M))).max() < 0.2


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_repetitions(method):
    rng = np.random.default_rng(2)
    X, y, w = rng.standard_normal((30, 3)), rng.standard_normal(30), rng.integers(1, 4, 30)
    rows = np.repeat(np.arange(30), w)
    labels = slice_labels(y, 4, w.astype(float))
    np.testing.assert_array_equal(slice_labels(y[rows], 4), labels[rows])
    weighted = sliced_matrix(X, labels, method, y[:, None], w.astype(float))
    np.testing.assert_allclose(weighted, sliced_matrix(X[rows], labels[rows], method, y[rows, None]), atol=1e-12)


def test_slices_are_even_and_ties_stay_together():
    assert np.bincount(slice_labels(np.random.default_rng(0).standard_normal(100), 5)).tolist() == [20] * 5
    assert slice_labels(np.array([1.0, 1.0, 1.0, 2.0]), 3).tolist() == [0, 0, 0, 1]


def test_unknown_method():
    with pytest.raises(InputError, match="method"):
        sliced_matrix(np.eye(2), np.zeros(2, dtype=int), "pca")
