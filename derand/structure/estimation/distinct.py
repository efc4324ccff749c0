"""Distinct samples in an order that depends on their values only."""

from __future__ import annotations

import numpy as np

from derand._utils.validation import FloatArray

__all__ = ["distinct_samples"]


def distinct_samples(
    X: FloatArray, y: FloatArray, weight: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return the distinct pairs (x, y) with their weights added up, in an order that depends on the values only.

    A fit to them is the same for any order of the samples, and for a sample of weight 2 as for the sample twice; one of
    weight 0 has no part in it.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples.
    y : ndarray of shape (n, q)
        Responses.
    weight : ndarray of shape (n,) or None
        Nonnegative weights, not all zero.

    Returns
    -------
    X, y : ndarray
        Distinct rows.
    weight : ndarray or None
        Their weights, with mean 1; None where all are equal.

    Notes
    -----
    Rows are sorted by one random combination of their entries and compared with their neighbours: O(n d + n log n).

    Examples
    --------
    >>> X, y, weight = distinct_samples(np.array([[1.0], [2.0], [1.0]]), np.array([[5.0], [5.0], [5.0]]), None)
    >>> sorted(X[:, 0].tolist()), sorted(weight.round(2).tolist())
    ([1.0, 2.0], [0.67, 1.33])
    """
    if weight is not None:
        kept = weight > 0.0
        X, y, weight = X[kept], y[kept], weight[kept]
    scale = np.maximum(np.abs(X).max(axis=0, initial=0.0), 1e-300)
    mix = np.random.default_rng(0).standard_normal(X.shape[1]) / scale
    # A product of each row on its own: BLAS may round equal rows differently, depending on where they stand.
    key = (X * mix).sum(axis=1)
    order = np.lexsort((*y.T[::-1], key))
    X, y = X[order], y[order]
    new = np.ones(X.shape[0], dtype=bool)
    new[1:] = (X[1:] != X[:-1]).any(axis=1) | (y[1:] != y[:-1]).any(axis=1)
    masses = np.ones(X.shape[0]) if weight is None else weight[order]
    total = np.add.reduceat(masses, np.flatnonzero(new))
    if np.ptp(total) == 0.0:
        return X[new], y[new], None
    return X[new], y[new], total / total.mean()
