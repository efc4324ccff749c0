"""Outliers counted in given weights, with the edge of the bulk estimated from the weights themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from derand._utils.validation import FloatArray, check_array, check_option, check_scalar
from derand.exceptions import InputError
from derand.two_step.bbp import tracy_widom_quantile, tw_threshold
from derand.two_step.bulk import BulkEdge
from derand.two_step.outliers import LOCALISED_SHARE, BoolArray

__all__ = [
    "OutlierCount",
    "count_outliers",
    "fit_edge",
    "noise_edge",
    "noise_quantiles",
    "normalised_outliers",
    "top_spectrum",
]

_SKIPPED = 3
_SHARE = 0.12
_SMALLEST = 100
_RANK_SHIFT = 0.75
_GAP = 5.0


@dataclass(frozen=True, eq=False)
class OutlierCount:
    """Outliers of a matrix.

    Attributes
    ----------
    count : int
        Number of outliers that aren't artefacts of a few rows.
    values : ndarray of shape (k,)
        Singular values beyond the threshold, descending, artefacts among them.
    participation : ndarray of shape (k,)
        Share of the rows that their left vectors sit on, 1/(N sum_i u_i^4).
    is_localised : ndarray of bool of shape (k,)
        Which of them are artefacts.
    right_vectors : ndarray of shape (k, d)
        Right singular vectors.
    edge : BulkEdge
        Edge of the bulk and scale of its fluctuations.
    threshold : float
        What counts as beyond it.
    normalised_values : ndarray
        Outliers of the matrix with rows of norm 1, which ``count`` counts; empty for methods that don't look at it.
    """

    count: int
    values: FloatArray
    participation: FloatArray
    is_localised: BoolArray
    right_vectors: FloatArray
    edge: BulkEdge
    threshold: float
    normalised_values: FloatArray

    @property
    def n_localised(self) -> int:
        """Number of artefacts."""
        return int(np.sum(self.is_localised))

    def __int__(self) -> int:
        """Return the count."""
        return self.count


def count_outliers(W: Any, method: str = "edge", *, level: float = 0.999) -> OutlierCount:
    r"""Return the singular values of a matrix beyond its bulk, and how many of them are no artefacts.

    After two steps of a finite network the edge of the bulk isn't that of W0, and neurons with large :math:`|a_i|`,
    whose rows are longer than others, make outliers of their own, localised on few rows.  Scaling all rows to norm 1
    removes these, keeps the rank of the spikes, and sharpens the edge: ``count`` is the number of outliers of the
    scaled matrix.

    Parameters
    ----------
    W : array_like of shape (N, d)
        Weights, such as W2.
    method : {"edge", "tw", "gap"}, default "edge"
        ``"edge"`` fits the edge and the scale of its fluctuations to the upper part of the bulk and takes the
        Tracy-Widom quantile there, both for W and for the scaled matrix.  ``"tw"`` takes the quantile for noise with
        entries of variance 1/d, the edge of W0, and ``"gap"`` what lies above the last gap, among the first twenty,
        that is five times the typical one further down; both look at W only, leave out vectors on less than one per
        cent of the rows, and count the deformation of the bulk as outliers.
    level : float in (0, 1), default 0.999
        Probability that the largest singular value of the bulk stays below the threshold.

    Returns
    -------
    OutlierCount
        Count, values, shares of rows, vectors, edge, threshold.

    Raises
    ------
    InputError
        If the matrix is too small for the method, has a zero row, or an argument is out of range.

    Notes
    -----
    The edge: singular values of ranks from 4 to 12 per cent of the bulk are fitted by a quadratic function of their
    average positions for pure noise, outliers left out until their number settles; value and slope at the edge of the
    noise give edge and scale.  Two symmetric eigenproblems of size min(N, d); randomised methods are accurate to some
    per cent at the edge only, so they aren't used.  Deterministic.

    References
    ----------
    Johnstone, Ann. Statist. 29 (2001); Tracy, Widom, Commun. Math. Phys. 177 (1996).

    Examples
    --------
    >>> noise = np.random.default_rng(0).standard_normal((200, 200)) / 200**0.5
    >>> a = np.random.default_rng(1).standard_normal(200)
    >>> a *= 5 / (a @ a) ** 0.5
    >>> count_outliers(noise).count, count_outliers(noise + np.outer(a, np.eye(200)[0])).count
    (0, 1)
    >>> noise[7] *= 6  # a long row makes an outlier of its own
    >>> found = count_outliers(noise)
    >>> found.count, found.values.size, found.n_localised
    (0, 1, 1)
    """
    W = check_array(W, "W", ndim=2)
    check_option(method, "method", ("edge", "tw", "gap"))
    level = check_scalar(level, "level", low=0.0, high=1.0, low_open=True, high_open=True)
    size = min(W.shape)
    if size < (_SMALLEST if method == "edge" else 2):
        raise InputError(f'W must have at least {_SMALLEST} rows and columns for method="edge", got {W.shape}')
    shape = (W.shape[0], W.shape[1])
    values, left, right = top_spectrum(W, _n_needed(size))
    edge, threshold = _threshold(values, shape, method, level)
    m = int(np.sum(values > threshold))
    shares = 1.0 / (W.shape[0] * np.sum(left[:, :m] ** 4, axis=0))
    if method == "edge":
        scaled = normalised_outliers(W, level=level)
        count = scaled.size
        localised = np.ones(m, dtype=bool)
        localised[np.argsort(-shares, kind="stable")[:count]] = False
    else:
        scaled, localised = np.zeros(0), shares < LOCALISED_SHARE
        count = int(np.sum(~localised))
    return OutlierCount(count, values[:m], shares, localised, right[:m], edge, threshold, scaled)


def normalised_outliers(W: FloatArray, *, level: float = 0.999) -> FloatArray:
    """Return the outliers of a matrix after its rows have been scaled to norm 1.

    Parameters
    ----------
    W : ndarray of shape (N, d)
        The matrix.
    level : float, default 0.999
        As in `count_outliers`.

    Returns
    -------
    ndarray
        Singular values beyond the fitted threshold, descending.

    Raises
    ------
    InputError
        If a row is zero.
    """
    lengths = np.linalg.norm(W, axis=1)
    if not np.all(lengths > 0.0):
        raise InputError("W must have no zero row")
    shape = (W.shape[0], W.shape[1])
    values = top_spectrum(W / lengths[:, None], _n_needed(min(shape)), vectors=False)[0]
    return values[values > _threshold(values, shape, "edge", level)[1]]


def _n_needed(size: int) -> int:
    """Return how many of the largest singular values the methods look at."""
    return min(size, max(int(1.5 * _SHARE * size), 64))


def _threshold(values: FloatArray, shape: tuple[int, int], method: str, level: float) -> tuple[BulkEdge, float]:
    """Return edge and threshold by one of the methods."""
    if method == "tw":
        threshold, median = tw_threshold(*shape, level), tw_threshold(*shape, 0.5)
        return BulkEdge(median, threshold - median), threshold
    if method == "gap":
        threshold = _last_gap(values)
        return BulkEdge(threshold, 0.0), threshold
    edge = fit_edge(values, shape, level=level)
    return edge, edge.location + max(tracy_widom_quantile(level), 0.0) * edge.scale


def top_spectrum(W: FloatArray, k: int, *, vectors: bool = True) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the k largest singular values, descending, with left (N, k) and right (k, d) vectors.

    Parameters
    ----------
    W : ndarray of shape (N, d)
        The matrix.
    k : int
        How many.
    vectors : bool, default True
        Whether to compute the vectors; otherwise they come back empty.

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
    gram = W.T @ W if tall else W @ W.T
    n = gram.shape[0]
    if not vectors:
        # All eigenvalues without vectors are cheaper than some.
        squares = np.linalg.eigvalsh(gram)[: -k - 1 : -1]
        return np.sqrt(np.maximum(squares, 0.0)), np.zeros((W.shape[0], 0)), np.zeros((0, W.shape[1]))
    squares, columns = scipy.linalg.eigh(gram, subset_by_index=[n - k, n - 1], overwrite_a=True, check_finite=False)
    values = np.sqrt(np.maximum(squares[::-1], 0.0))
    columns = np.ascontiguousarray(columns[:, ::-1])
    other = (W @ columns if tall else W.T @ columns) / np.where(values > 0.0, values, 1.0)
    return (values, other, columns.T) if tall else (values, columns, other.T)


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
    n_fitted = max(int(_SHARE * min(shape)), 8 * _SKIPPED)
    ranks = np.arange(_SKIPPED + 1.0, n_fitted + 1.0)
    top = noise_edge(shape)
    depth = top.location - noise_quantiles(shape, ranks)
    design = np.stack([np.ones_like(ranks), depth, depth**2], axis=1)
    m = 0
    # The number of outliers left out grows until it agrees with the number found: finitely many steps.
    while True:
        location, slope, _ = np.linalg.lstsq(design, values[m + _SKIPPED : m + n_fitted], rcond=None)[0]
        edge = BulkEdge(float(location), max(-float(slope), 0.0) * top.scale)
        found = int(np.sum(values > edge.location + quantile * edge.scale))
        if found <= m or found + n_fitted > values.size:
            return edge
        m = found


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


def _last_gap(values: FloatArray) -> float:
    """Return the middle of the last large gap among the first twenty, or a value above all."""
    gaps = values[:-1] - values[1:]
    first = min(20, gaps.size)
    typical = float(np.median(gaps[first : 3 * first])) if gaps.size > first else float(np.median(gaps))
    large = np.flatnonzero(gaps[:first] > _GAP * typical)
    if large.size == 0:
        return float(values[0]) * (1.0 + 1e-9)
    return 0.5 * float(values[large[-1]] + values[large[-1] + 1])
