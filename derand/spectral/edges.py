"""Edge, outliers and thresholds on one side of the bulk, as roots in the variable tau."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from derand._utils.validation import FloatArray
from derand.spectral.moments import SideMoments

__all__ = ["find_edge", "find_outliers", "find_roots", "margin", "outlier_exists", "planted_gap", "scan_threshold"]

_LOW, _HIGH, _GRID = -32.0, 30.0, 249
# A single node that makes up so much of E[T^2] is an extreme weight, and the square root law a fiction.
_DOMINANT = 0.3


def find_edge(side: SideMoments, delta: float) -> tuple[float, float, str]:
    r"""Return tau, z and the kind of the edge, where :math:`\delta E[T^2] = 1` or tau ends.

    Parameters
    ----------
    side : SideMoments
        Averages.
    delta : float
        Ratio of samples to dimensions.

    Returns
    -------
    tau : float
        Where the edge is; NaN for an unbounded side.
    z : float
        The edge.
    kind : {"soft", "support", "none"}
        See `Edge`.
    """
    if side.tau_max == 0.0:
        return math.nan, -math.inf, "none"

    def excess(position: float) -> float:
        """Return log(delta E[T^2])."""
        square = side.first_two(side.tau_of(position))[1]
        return math.log(delta) + (math.log(square) if square > 0.0 else -700.0)

    if side.size == 0.0:
        return math.inf, 0.0, "support"
    if excess(_HIGH) <= 0.0 or math.isnan(excess(_HIGH)):
        tau = side.tau_max if math.isfinite(side.tau_max) else side.tau_of(_HIGH)
        z = 0.0 if math.isinf(side.tau_max) else side.level(tau * (1.0 - 1e-15), delta)
        return tau, z, "support"
    position = brentq(excess, _LOW - 20.0, _HIGH, xtol=1e-13, rtol=1e-14)
    tau = side.tau_of(position)
    kind = "support" if side.dominance(tau) > _DOMINANT and _is_thin(side) else "soft"
    return tau, side.level(tau, delta), kind


def _is_thin(side: SideMoments) -> bool:
    """Return whether the lowest node is a tail node, not an atom of the law."""
    lowest = np.min(side.G)
    return float(np.sum(side.p[lowest == side.G])) < 2.0 / len(side.G) and len(side.G) > 10


def planted_gap(side: SideMoments, tau: float, delta: float) -> FloatArray:
    """Return the ascending eigenvalues of E[T v v^T] - E[T] + 1/delta: each negative one is an outlier left of z."""
    first, _ = side.first_two(tau)
    return np.asarray(np.linalg.eigvalsh(side.planted(tau)) - first + 1.0 / delta, dtype=np.float64)


def find_outliers(side: SideMoments, delta: float) -> list[tuple[float, float, float, FloatArray]]:
    r"""Return tau, z, squared overlap and direction of every outlier, most extreme first.

    With :math:`A(\tau) = E[T v v^T]`, an outlier stands where an eigenvalue of A equals
    :math:`E[T] - 1/\delta`.  Its number is that of negative eigenvalues of the difference at the edge, since the
    difference, divided by tau, decreases in z.

    Parameters
    ----------
    side : SideMoments
        Averages.
    delta : float
        Ratio of samples to dimensions.

    Returns
    -------
    list of (float, float, float, ndarray)
        One entry for each outlier.
    """
    tau_edge, _, kind = find_edge(side, delta)
    if kind == "none" or side.k == 0 or side.size == 0.0:
        return []
    tau_edge = min(tau_edge, side.tau_max * (1.0 - 1e-15))
    count = int(np.sum(planted_gap(side, tau_edge, delta) < 0.0))
    found = []
    for rank in range(count):

        def gap(log_tau: float, rank: int = rank) -> float:
            """Return one eigenvalue of the difference."""
            return float(planted_gap(side, math.exp(log_tau), delta)[rank])

        high = math.log(tau_edge)
        low = high - 1.0
        while gap(low) <= 0.0 and low > high - 80.0:
            low -= 2.0
        tau = math.exp(brentq(gap, low, high, xtol=1e-14, rtol=1e-14))
        found.append((tau, side.level(tau, delta), *_overlap(side, tau, delta, rank)))
    return found


def _overlap(side: SideMoments, tau: float, delta: float, rank: int) -> tuple[float, FloatArray]:
    """Return the squared overlap and the direction of one outlier."""
    _, vectors = np.linalg.eigh(side.planted(tau))
    direction = vectors[:, rank]
    slope = (1.0 / delta - side.first_two(tau)[1]) / tau**2  # dz / dtau
    if slope <= 0.0:
        return 0.0, direction
    return 1.0 / (1.0 + float(direction @ side.squared(tau) @ direction) / slope), direction


def find_roots(side: SideMoments, below: float | None, rank: int) -> list[tuple[float, str]]:
    r"""Return every delta at which the outlier of a given rank can appear or disappear.

    Along the edge, :math:`1/\delta = E[T^2]`, the outlier exists when the rank-th eigenvalue A of :math:`E[T v v^T]`
    is below :math:`E[T] - E[T^2]`.  Where the edge lies above `below`, the condition holds at z = `below` instead:
    A < `below` tau with :math:`1/\delta = E[T] - \mathtt{below}\,\tau`.  At the end of tau the edge is one of the
    support, and an outlier leaves it at 1/delta = E[T] - A.

    Parameters
    ----------
    side : SideMoments
        Averages.
    below : float or None
        Level that the outlier has to lie below, besides being outside the bulk.
    rank : int
        0 for the first outlier, 1 for the second, ...

    Returns
    -------
    list of (float, str)
        Delta ascending, and the kind of the edge there.
    """
    if side.tau_max == 0.0 or side.size == 0.0 or rank >= side.k:
        return []
    positions = np.linspace(_LOW, _HIGH, _GRID)
    taus = np.array([side.tau_of(x) for x in positions])
    first, second, planted = side.table(taus)
    lowest = np.linalg.eigvalsh(np.where(np.isfinite(planted), planted, 0.0))[:, rank]
    roots = _crossings(lambda x: _edge_curve(side, x, rank), positions, first - second - lowest)
    if below is not None:
        roots = [root for root in roots if _edge_level(side, root) <= below + 1e-9 * abs(below)]
        gap = below * taus - lowest
        roots += [
            root
            for root in _crossings(lambda x: _level_curve(side, x, below, rank), positions, gap)
            if _edge_level(side, root) >= below - 1e-9 * abs(below)
        ]
    found = [(root, find_edge(side, root)[2]) for root in roots]
    end = float(first[-1] - lowest[-1])
    if math.isfinite(side.tau_max) and end > second[-1] > 0.0:
        found.append((1.0 / end, "support"))
    return sorted(found)


def outlier_exists(side: SideMoments, delta: float, below: float | None, rank: int) -> bool:
    """Return whether the outlier of a given rank lies outside the bulk and below a level.

    Parameters
    ----------
    side : SideMoments
        Averages.
    delta : float
        Ratio of samples to dimensions.
    below : float or None
        The level.
    rank : int
        0 for the first outlier.

    Returns
    -------
    bool
        The answer.
    """
    gap, scale = margin(side, delta, below, rank)
    # Rounding decides where the weights don't depend on the direction at all.
    return gap < -1e-12 * scale


def margin(side: SideMoments, delta: float, below: float | None, rank: int) -> tuple[float, float]:
    """Return the rank-th eigenvalue of E[T v v^T] - E[T] + 1/delta at the edge (or level), and the size of its terms.

    Parameters
    ----------
    side : SideMoments
        Averages.
    delta : float
        Ratio of samples to dimensions.
    below : float or None
        Level at which to look instead where the edge lies above it.
    rank : int
        0 for the first outlier.

    Returns
    -------
    gap : float
        Negative where there is an outlier; infinite where there can't be any.
    scale : float
        For comparison.
    """
    tau, z, kind = find_edge(side, delta)
    if kind == "none" or side.size == 0.0 or rank >= side.k:
        return math.inf, 1.0
    tau = min(tau, side.tau_max * (1.0 - 1e-15))
    if below is not None and z > below:
        high = math.log(tau)
        low = high - 1.0
        while side.level(math.exp(low), delta) >= below and low > high - 80.0:
            low -= 2.0
        tau = math.exp(brentq(lambda x: side.level(math.exp(x), delta) - below, low, high, xtol=1e-13))
    return float(planted_gap(side, tau, delta)[rank]), 1.0 / delta + abs(side.first_two(tau)[0])


def _edge_level(side: SideMoments, delta: float) -> float:
    """Return z at the edge."""
    return find_edge(side, delta)[1]


def _edge_curve(side: SideMoments, x: float, rank: int) -> tuple[float, float]:
    """Return the gap of the planted eigenvalue at the edge, and 1/delta, at one position."""
    tau = side.tau_of(x)
    first, second = side.first_two(tau)
    return first - second - float(np.linalg.eigvalsh(side.planted(tau))[rank]), second


def _level_curve(side: SideMoments, x: float, below: float, rank: int) -> tuple[float, float]:
    """Return the gap of the planted eigenvalue at z = below, and 1/delta, at one position."""
    tau = side.tau_of(x)
    first, _ = side.first_two(tau)
    return below * tau - float(np.linalg.eigvalsh(side.planted(tau))[rank]), first - below * tau


def _crossings(curve: Callable[[float], tuple[float, float]], positions: FloatArray, gap: FloatArray) -> list[float]:
    """Return the sign changes of a gap along tau as values of delta."""
    roots = []
    for i in range(len(positions) - 1):
        if not (np.isfinite(gap[i]) and np.isfinite(gap[i + 1])) or (gap[i] > 0.0) == (gap[i + 1] > 0.0):
            continue
        a, b = positions[i], positions[i + 1]
        if (curve(a)[0] > 0.0) == (curve(b)[0] > 0.0):  # a change within the rounding of the table
            continue
        x = brentq(lambda x: curve(x)[0], a, b, xtol=1e-14, rtol=1e-14)
        inverse = curve(x)[1]
        if inverse > 0.0:
            roots.append(1.0 / inverse)
    return roots


def scan_threshold(
    side: SideMoments, below: float | None, rank: int
) -> tuple[float, str, tuple[float, ...], tuple[tuple[float, float], ...]]:
    """Return value, kind, roots and intervals of the threshold on one side.

    Parameters
    ----------
    side : SideMoments
        Averages.
    below : float or None
        Level that the outlier has to lie below as well.
    rank : int
        0 for the first outlier.

    Returns
    -------
    value : float
        Start of the last interval with an outlier.
    kind : str
        Of the edge there.
    roots : tuple of float
        Where the outlier appears or disappears.
    intervals : tuple of (float, float)
        Where it exists.
    """
    candidates = find_roots(side, below, rank)
    deltas = [delta for delta, _ in candidates]
    tests = [deltas[0] / 2.0, *np.sqrt(np.multiply(deltas[:-1], deltas[1:])), 2.0 * deltas[-1]] if deltas else [1e4]
    exists = [outlier_exists(side, float(delta), below, rank) for delta in tests]
    roots, intervals = [], []
    start = 0.0 if exists[0] else None
    for (delta, _), before, after in zip(candidates, exists[:-1], exists[1:], strict=True):
        if before != after:
            roots.append(delta)
        if after and not before:
            start = delta
        if before and not after and start is not None:
            intervals.append((start, delta))
            start = None
    if start is not None:
        intervals.append((start, math.inf))
    if not intervals:
        return math.inf, "none", tuple(roots), ()
    value = intervals[-1][0]
    return value, dict(candidates).get(value, "soft"), tuple(roots), tuple(intervals)
