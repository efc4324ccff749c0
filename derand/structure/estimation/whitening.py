"""Whitening that survives constant, collinear, huge and too many columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from derand._utils.validation import FloatArray

__all__ = ["Whitening", "ledoit_wolf_intensity", "whiten"]

#: Eigenvalues of the correlation matrix below this, relative to the largest, are rounding.
_NULL = 1e-11
#: Below this one the columns are nearly collinear and the covariance is shrunk.
_NEARLY_COLLINEAR = 1e-5


@dataclass(frozen=True)
class Whitening:
    """Affine map ``(X - mean) @ matrix`` to uncorrelated coordinates.

    Parameters
    ----------
    mean : ndarray of shape (d,)
        Weighted mean.
    matrix : ndarray of shape (d, r)
        Linear part.
    shrinkage : float
        Intensity with which the correlation matrix was shrunk to the identity.
    """

    mean: FloatArray
    matrix: FloatArray
    shrinkage: float

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the whitened samples."""
        return np.asarray((X - self.mean) @ self.matrix)


def ledoit_wolf_intensity(X: FloatArray, weight: FloatArray) -> float:
    """Return the shrinkage to the identity that minimises the expected Frobenius error of the covariance matrix.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Standardised samples.
    weight : ndarray of shape (n,)
        Weights with sum 1.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    Ledoit, Wolf, A well-conditioned estimator for large-dimensional covariance matrices, J. Multivariate Analysis 88
    (2004), lemma 3.3.

    Examples
    --------
    >>> ledoit_wolf_intensity(np.array([[1.0, 1.0], [-1.0, -1.0]]), np.full(2, 0.5))
    0.0
    """
    d = X.shape[1]
    S = (X * weight[:, None]).T @ X
    spread = float(np.square(S).sum()) - np.trace(S) ** 2 / d
    norms = np.square(X).sum(axis=1)
    # Mean squared distance of the single products x x^T from S, times sum w^2 in place of 1/n.
    noise = (weight @ np.square(norms) - float(np.square(S).sum())) * float(np.square(weight).sum())
    return float(np.clip(noise / spread, 0.0, 1.0)) if spread > 0.0 else 1.0


def whiten(X: FloatArray, weight: FloatArray | None = None, shrinkage: float | None = None) -> Whitening:
    """Return the whitening of samples.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples.
    weight : ndarray of shape (n,), optional
        Nonnegative weights.
    shrinkage : float in [0, 1], optional
        Intensity; by default 0 for well-conditioned columns and n >= 5 d, that of Ledoit and Wolf otherwise.

    Returns
    -------
    Whitening
        With ``r`` at most d, and at most a third of the samples, so that the later fits have residuals: the leading
        principal axes of the standardised columns.  Constant columns have no part in it.

    Notes
    -----
    O(n d^2 + d^3), deterministic.  Exact whitening amplifies directions in which X hardly varies; their regression
    coefficients are as badly determined, which is why they're shrunk.

    Examples
    --------
    >>> white = whiten(np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0]]))
    >>> white.transform(np.array([[2.0, 7.0]])).tolist(), white.matrix[1].tolist()
    ([[0.0]], [0.0])
    """
    n, d = X.shape
    w = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    top = np.maximum(np.abs(X).max(axis=0, initial=0.0), 1e-300)
    scaled = X / top
    mean = w @ scaled
    centred = scaled - mean
    spread = np.sqrt(w @ np.square(centred))
    varies = spread > 1e-13
    if not varies.any():
        return Whitening(mean * top, np.zeros((d, 0)), 0.0)
    Z = centred[:, varies] / spread[varies]
    eigenvalues, axes = np.linalg.eigh((Z * w[:, None]).T @ Z)
    good = eigenvalues > _NULL * eigenvalues[-1]
    well = float(eigenvalues[good][0]) > _NEARLY_COLLINEAR * float(eigenvalues[-1])
    if shrinkage is None:
        shrinkage = 0.0 if well and n >= 5 * Z.shape[1] else ledoit_wolf_intensity(Z, w)
    eigenvalues, axes = eigenvalues[good][::-1], axes[:, good][:, ::-1]
    r = min(eigenvalues.size, max(1, n // 3))
    eigenvalues, axes = eigenvalues[:r], axes[:, :r]
    matrix = np.zeros((d, r))
    matrix[varies] = axes / np.sqrt((1.0 - shrinkage) * eigenvalues + shrinkage) / spread[varies][:, None]
    return Whitening(mean * top, matrix / top[:, None], shrinkage)
