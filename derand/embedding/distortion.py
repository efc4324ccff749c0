"""The exact distortion of a linear map on the pairs of given points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_array, check_int
from derand.embedding.points import PointSet
from derand.embedding.scan import BlockMap, PairScan, scan_pairs
from derand.exceptions import InputError

__all__ = ["DistortionReport", "distortion_report", "report_of"]


@dataclass(frozen=True)
class DistortionReport(ResultRepr):
    """What a linear map does to the distances between points: max over pairs of | |M(x-y)|^2/|x-y|^2 - 1 |, and more.

    Parameters
    ----------
    distortion : float
        The maximum, from explicit differences in double precision; 0.0 without a pair of distinct points.
    error_bound : float
        The true maximum is at most ``distortion + error_bound``, up to the rounding of explicit differences (about
        1e-16 times the number of columns): 0.0 where every pair that could be worse was recomputed.
    mean_distortion : float
        Mean over the pairs of distinct points.
    ratio_range : tuple of two floats
        Smallest and largest ratio; (1.0, 1.0) without a pair of distinct points.
    worst_pair : tuple of two ints or None
        Row numbers of the pair with the largest distortion.
    worst_pairs : ndarray of int64, shape (m, 2)
        The worst pairs, the worst first.
    worst_ratios : ndarray, shape (m,)
        Their ratios.
    n_pairs : int
        Pairs of distinct points.
    n_zero_pairs : int
        Pairs of equal points, which every linear map preserves; they are left out.
    """

    distortion: float
    error_bound: float
    mean_distortion: float
    ratio_range: tuple[float, float]
    worst_pair: tuple[int, int] | None
    worst_pairs: Any
    worst_ratios: FloatArray
    n_pairs: int
    n_zero_pairs: int

    def __repr__(self) -> str:
        """Return the figures in one line."""
        low, high = self.ratio_range
        return (
            f"DistortionReport(distortion={self.distortion:.6g}, mean={self.mean_distortion:.6g}, "
            f"ratios {low:.6g} to {high:.6g}, worst pair {self.worst_pair}, {self.n_pairs} pairs, "
            f"{self.n_zero_pairs} of equal points)"
        )


def distortion_report(X: Any, M: Any, *, n_worst: int = 256, block_map: BlockMap = map) -> DistortionReport:
    r"""Return the exact distortion of a linear map on all pairs of points.

    .. math:: \max_{i<j} \left| \frac{\|M(x_i - x_j)\|^2}{\|x_i - x_j\|^2} - 1 \right|

    Parameters
    ----------
    X : array_like or sparse, shape (n, d)
        Points, one a row; n >= 2.
    M : array_like, shape (k, d)
        The map, as scikit-learn's ``components_``.
    n_worst : int, default 256
        How many of the worst pairs to recompute by explicit differences and to return.
    block_map : callable, default map
        Runs the tiles of the scan, in parallel if it likes; the result doesn't depend on it.

    Returns
    -------
    DistortionReport
        Distortion, its error bound, worst pairs, mean and range.

    Raises
    ------
    InputError
        If X or M isn't finite, has the wrong shape, or n_worst is below 1.
    InputTypeError
        If X or M doesn't hold real numbers.

    Notes
    -----
    n^2 (d + k) operations; memory for the points in double precision and some tiles of 5 MB.  A dense array of more
    than 2^24 numbers, which may be a memory-mapped file or a dask array, stays where it is: some 100 MB at most are
    read at a time, and each row n/700 times or more, so that a dask array is best persisted.  All pairs are scanned by
    inner products of centred points; pairs that are close together, where those cancel, and the `n_worst` worst are
    recomputed from differences.  Deterministic, whatever the number of threads.  The distortion of new points can be
    larger.

    Examples
    --------
    Leaving out the second coordinate of the corners of a unit square makes one side vanish.

    >>> report = distortion_report([[0, 0], [1, 0], [0, 1], [1, 1]], [[1.0, 0.0]])
    >>> report.distortion, report.worst_pair, report.ratio_range
    (1.0, (0, 2), (0.0, 1.0))
    """
    points = PointSet(X)
    matrix = np.ascontiguousarray(check_array(M, "M", shape=(None, points.d)))
    keep = check_int(n_worst, "n_worst", low=1)
    if matrix.shape[0] == 0:
        raise InputError("M must have at least one row")
    return report_of(scan_pairs(points, matrix, keep=keep, block_map=block_map))


def report_of(scan: PairScan) -> DistortionReport:
    """Return the report of a scan."""
    pairs = np.stack([scan.first, scan.second], axis=1)
    if scan.n_pairs == 0:
        return DistortionReport(0.0, 0.0, 0.0, (1.0, 1.0), None, pairs, scan.ratios, 0, scan.n_zero_pairs)
    deviation = np.abs(scan.ratios - 1.0)
    ends = [(abs(end[0] - 1.0), -end[1], -end[2]) for end in (scan.low, scan.high)]
    top = max((float(deviation[0]), -int(scan.first[0]), -int(scan.second[0])), *ends)
    error = max(0.0, scan.unchecked - top[0]) if math.isfinite(top[0]) else 0.0
    return DistortionReport(
        distortion=top[0],
        error_bound=error,
        mean_distortion=scan.total / scan.n_pairs,
        ratio_range=(scan.low[0], scan.high[0]),
        worst_pair=(-top[1], -top[2]),
        worst_pairs=pairs,
        worst_ratios=scan.ratios,
        n_pairs=scan.n_pairs,
        n_zero_pairs=scan.n_zero_pairs,
    )
