"""Outliers counted in given weights, with the edge of the bulk estimated from the weights themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_array, check_option, check_scalar
from derand.exceptions import InputError
from derand.two_step.bbp import tracy_widom_quantile, tw_threshold
from derand.two_step.bulk import BulkEdge
from derand.two_step.edge import fit_edge, n_needed, top_spectrum
from derand.two_step.outliers import LOCALISED_SHARE, BoolArray

__all__ = ["OutlierCount", "count_outliers", "fitted_outliers", "normalised_outliers"]

_SMALLEST = 100
_GAP = 8.0


@dataclass(frozen=True, eq=False, repr=False)
class OutlierCount(ResultRepr):
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
        that is eight times the typical one further down; both look at W only, leave out vectors on less than one per
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
    The edge: singular values of ranks from 4 to 15 per cent of the bulk, at least to 48, are fitted by a quadratic
    function of their average positions for pure noise, outliers left out until their number settles; value and slope
    at the edge of the noise give edge and scale.  Two symmetric eigenproblems of size min(N, d); randomised methods
    are accurate to some per cent at the edge only, so they aren't used.  Deterministic.

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
    if float(np.max(np.abs(W), initial=0.0)) > 1e100:
        raise InputError("W must have no entry beyond 1e100: scale it")
    size = min(W.shape)
    if size < (_SMALLEST if method == "edge" else 2):
        raise InputError(f'W must have at least {_SMALLEST} rows and columns for method="edge", got {W.shape}')
    shape = (W.shape[0], W.shape[1])
    values, left, right = top_spectrum(W, n_needed(size))
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
    return fitted_outliers(W / lengths[:, None], level=level)


def fitted_outliers(W: FloatArray, *, gram: FloatArray | None = None, level: float = 0.999) -> FloatArray:
    """Return the singular values beyond the threshold fitted to the bulk, descending.

    Parameters
    ----------
    W : ndarray of shape (N, d)
        The matrix, as it is.
    gram : ndarray of shape (d, d), optional
        W^T W, where it is known.
    level : float, default 0.999
        As in `count_outliers`.

    Returns
    -------
    ndarray
        The values.
    """
    shape = (W.shape[0], W.shape[1])
    values = top_spectrum(W, n_needed(min(shape)), vectors=False, gram=gram)[0]
    return values[values > _threshold(values, shape, "edge", level)[1]]


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


def _last_gap(values: FloatArray) -> float:
    """Return the middle of the last large gap among the first twenty, or a value above all."""
    gaps = values[:-1] - values[1:]
    first = min(20, gaps.size)
    typical = float(np.median(gaps[first : 3 * first])) if gaps.size > first else float(np.median(gaps))
    large = np.flatnonzero(gaps[:first] > _GAP * typical)
    if large.size == 0:
        return float(values[0]) * (1.0 + 1e-9)
    return 0.5 * float(values[large[-1]] + values[large[-1] + 1])
