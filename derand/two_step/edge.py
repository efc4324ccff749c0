"""The edge of a bulk of singular values, fitted to the values themselves."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from derand._utils.validation import FloatArray
from derand.two_step.bbp import tracy_widom_quantile
from derand.two_step.bulk import BulkEdge

__all__ = ["fit_edge", "n_needed", "noise_edge", "noise_quantiles", "top_eigenvectors", "top_spectrum"]

_SKIPPED = 3
_SHARE = 0.15
_FEWEST = 48
_ROUGH = 3.0
_RANK_SHIFT = 0.75


def n_needed(size: int) -> int:
    """Return how many of the largest singular values a fit of the edge looks at, outliers included.

    Parameters
    ----------
    size : int
        Number of all of them.

    Returns
    -------
    int
        21 per cent, at least 64 where there are as many.
    """
    return min(size, max(int(1.4 * _SHARE * size), 64))


def top_spectrum(
    W: FloatArray, k: int, *, vectors: bool = True, gram: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the k largest singular values, descending, with left (N, k) and right (k, d) vectors.

    Parameters
    ----------
    W : ndarray of shape (N, d)
        The matrix.
    k : int
        How many.
    vectors : bool, default True
        Whether to compute the vectors; otherwise they come back empty.
    gram : ndarray of shape (d, d), optional
        W^T W, where it is known.

    Returns
    -------
    tuple of ndarray
        Values, left and right vectors; those of values that vanish within rounding aren't reliable.

    Notes
    -----
    Eigenvalues of the smaller of W W^T and W^T W: half the time of a singular value decomposition, with absolute
    errors of 1e-16 times the largest value squared, far below what matters at the edge.
    """
    tall = W.shape[0] >= W.shape[1]
    if gram is None or not tall:
        gram = W.T @ W if tall else W @ W.T
    n = gram.shape[0]
    if not vectors:
        # All eigenvalues without vectors are cheaper than some.
        squares = np.linalg.eigvalsh(gram)[: -k - 1 : -1]
        return np.sqrt(np.maximum(squares, 0.0)), np.zeros((W.shape[0], 0)), np.zeros((0, W.shape[1]))
    squares, columns = scipy.linalg.eigh(gram, subset_by_index=[n - k, n - 1], check_finite=False)
    values = np.sqrt(np.maximum(squares[::-1], 0.0))
    columns = np.ascontiguousarray(columns[:, ::-1])
    other = (W @ columns if tall else W.T @ columns) / np.where(values > 0.0, values, 1.0)
    return (values, other, columns.T) if tall else (values, columns, other.T)


def top_eigenvectors(matrix: FloatArray, values: FloatArray) -> FloatArray:
    """Return the eigenvectors that belong to a few largest eigenvalues.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric.
    values : ndarray of shape (k,)
        Its k largest eigenvalues, descending, positive, in single precision at least.

    Returns
    -------
    ndarray of shape (n, k)
        Orthonormal columns.

    Notes
    -----
    Inverse iteration, one factorisation for each value: a fraction of another eigenproblem.
    """
    n = matrix.shape[0]
    found = np.zeros((n, values.size))
    for j, value in enumerate(values):
        # A little above, for a value that is exact would make the system singular.
        shifted = matrix - value * (1.0 + 1e-9) * np.eye(n)
        factors = scipy.linalg.lu_factor(shifted, overwrite_a=True, check_finite=False)
        vector = np.cos(np.arange(1.0, n + 1.0) * (j + 1.0))
        for _ in range(3):
            vector = vector - found[:, :j] @ (found[:, :j].T @ vector)
            vector = scipy.linalg.lu_solve(factors, vector / np.linalg.norm(vector), check_finite=False)
        vector = vector - found[:, :j] @ (found[:, :j].T @ vector)
        found[:, j] = vector / np.linalg.norm(vector)
    return found


def fit_edge(values: FloatArray, shape: tuple[int, int], *, level: float = 0.999) -> BulkEdge:
    """Return the edge of the bulk fitted to the largest singular values.

    Parameters
    ----------
    values : ndarray
        The largest singular values, descending, at least a quarter of them.
    shape : tuple of int
        N and d of the matrix.
    level : float, default 0.999
        Level at which outliers are left out of the fit.

    Returns
    -------
    BulkEdge
        Edge and scale.

    Examples
    --------
    >>> bulk = 1.1 * noise_quantiles((400, 400), np.arange(1.0, 101.0))
    >>> edge = fit_edge(bulk, (400, 400))
    >>> round(edge.location, 3), bool(edge.scale > 0)
    (2.2, True)
    """
    quantile = tracy_widom_quantile(level)
    n_fitted = max(int(_SHARE * min(shape)), _FEWEST)
    ranks = np.arange(_SKIPPED + 1.0, n_fitted + 1.0)
    top = noise_edge(shape)
    depth = top.location - noise_quantiles(shape, ranks)
    design = np.stack([np.ones_like(ranks), depth, depth**2], axis=1)
    n_windows = max(values.size - n_fitted, 0) + 1
    width = min(ranks.size, values.size - _SKIPPED)
    windows = np.lib.stride_tricks.sliding_window_view(values[_SKIPPED:], width)[:n_windows]
    fitted = windows @ np.linalg.pinv(design[:width]).T
    rough = np.std(windows - fitted @ design[:width].T, axis=1)
    scales = np.maximum(-fitted[:, 1], 0.0) * top.scale
    found = values.size - np.searchsorted(values[::-1], fitted[:, 0] + quantile * scales, side="right")
    # Outliers among the fitted ranks spoil the fit, yet it may agree with itself.
    good = np.flatnonzero((found == np.arange(n_windows)) & (rough <= _ROUGH * np.min(rough)))
    m = int(good[0]) if good.size else 0
    return BulkEdge(float(fitted[m, 0]), float(scales[m]))


def noise_edge(shape: tuple[int, int]) -> BulkEdge:
    """Return edge and Tracy-Widom scale of noise with entries of variance 1/d.

    Parameters
    ----------
    shape : tuple of int
        N and d.

    Returns
    -------
    BulkEdge
        Edge 1 + sqrt(N/d) and scale of the largest singular value.
    """
    roots = math.sqrt(shape[0]), math.sqrt(shape[1])
    scale = 0.5 * (1.0 / roots[0] + 1.0 / roots[1]) ** (1.0 / 3.0) / roots[1]
    return BulkEdge(1.0 + roots[0] / roots[1], scale)


def noise_quantiles(shape: tuple[int, int], ranks: FloatArray) -> FloatArray:
    """Return where the singular values of given ranks of such noise lie on average.

    Parameters
    ----------
    shape : tuple of int
        N and d.
    ranks : ndarray
        1 for the largest.

    Returns
    -------
    ndarray
        Quantiles of the Marchenko-Pastur law at (rank - 3/4)/min(N, d); the shift is that of the edge of real
        ensembles.
    """
    root = math.sqrt(shape[0] / shape[1])
    low, high = abs(root - 1.0), root + 1.0
    angle = np.linspace(0.0, np.pi, 8001)
    s = low + 0.5 * (high - low) * (1.0 + np.cos(angle))
    density = np.sqrt(np.maximum((s**2 - low**2) * (high**2 - s**2), 0.0)) * np.sin(angle) / np.maximum(s, 1e-12)
    mass = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    return np.interp((ranks - _RANK_SHIFT) / min(shape), mass / mass[-1], s)
