"""Whether weights are bounded, judged from their tails: an unbounded law has no edge, whatever a sample says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from derand._utils.validation import FloatArray

__all__ = ["Range", "function_range", "tail_range"]

# Growth of the extreme quantile, relative to the spread of the weights, over one doubling of the exponent of the tail
# mass, or over one decade of sample size.  Any tail at least as heavy as the normal grows faster than this.
_GROWTH = 0.05
# For functions the far probes say more, and the quantiles have to find only singularities and ridges between them.
_TAIL_GROWTH = 0.3
_PROBES = tuple(10.0**j for j in range(1, 7))


@dataclass(frozen=True)
class Range:
    """Essential range of weights.

    Parameters
    ----------
    low, high : float
        Ends; infinite where unbounded.
    is_declared : bool
        Whether the caller gave them.
    """

    low: float
    high: float
    is_declared: bool = False


def tail_range(values: FloatArray, weights: FloatArray | None) -> Range:
    """Return the essential range of weights from their sample or quadrature nodes.

    The weights count as unbounded on a side when their extremes still grow by more than 5 % of the spread: from n/10
    to n samples (averages over ten blocks), or from tail mass 1e-6 to 1e-12 for weighted nodes.  A bounded law that is
    very thin at its end is taken for unbounded too: declare its support then.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The weights G.
    weights : ndarray of shape (n,) or None
        Their probabilities; None for equal ones, that is, a sample.

    Returns
    -------
    Range
        The extremes of the nodes, or infinite.

    Examples
    --------
    >>> z = np.random.default_rng(0).standard_normal(10_000)
    >>> tail_range(np.tanh(z), None).high <= 1.0, tail_range(z, None).high
    (True, inf)
    """
    low, high = float(np.min(values)), float(np.max(values))
    if weights is None:
        growth = _sample_growth(-values), _sample_growth(values)
    else:
        growth = _weighted_growth(-values, weights), _weighted_growth(values, weights)
    return Range(-math.inf if growth[0] > _GROWTH else low, math.inf if growth[1] > _GROWTH else high)


def _sample_growth(values: FloatArray) -> float:
    """Return the growth of the maximum over the last decade of sample size, relative to the spread."""
    n = len(values)
    if n < 1000 or np.ptp(values) == 0.0:
        return 0.0
    block = n // 10
    # A shuffle with a fixed seed: blocks of a sorted sample, or of a lattice, would have no common law.
    shuffled = np.random.default_rng(0).permutation(values)
    tops = np.max(shuffled[: 10 * block].reshape(10, block), axis=1)
    smaller = np.max(shuffled[: 100 * (n // 100)].reshape(100, -1), axis=1)
    centre = float(np.median(values))
    spread = float(np.max(values)) - centre
    if spread <= 0.0:
        return 0.0
    # One maximum of all is noisy, so the growth is that of the means over blocks, one decade earlier as well.
    last = (float(np.max(values)) - float(np.mean(tops))) / spread
    before = (float(np.mean(tops)) - float(np.mean(smaller))) / spread
    return min(last, before) if last > _GROWTH else last


def _weighted_growth(values: FloatArray, weights: FloatArray) -> float:
    """Return the growth of the upper quantile from tail mass 1e-6 to 1e-12, relative to the spread."""
    order = np.argsort(-values, kind="stable")
    tail = np.cumsum(weights[order])
    sorted_values = values[order]
    centre = sorted_values[min(int(np.searchsorted(tail, 0.5)), len(values) - 1)]
    quantiles = [sorted_values[min(int(np.searchsorted(tail, mass)), len(values) - 1)] for mass in (1e-6, 1e-12)]
    spread = float(quantiles[1] - centre)
    return float(quantiles[1] - quantiles[0]) / spread if spread > 0.0 else 0.0


def function_range(
    function: Callable[[FloatArray], FloatArray],
    nodes: FloatArray,
    weights: FloatArray,
    breakpoints: Sequence[float] = (),
) -> Range:
    """Return the essential range of weights that are a function of Gaussian coordinates.

    The function is evaluated at the nodes, close to the breakpoints, and far out along every axis and diagonal, up to
    1e6.  It counts as unbounded on a side when it still grows there, by more than 5 % of the spread from one decade to
    the next, or when its quantiles grow by a third from tail mass 1e-6 to 1e-12.

    Parameters
    ----------
    function : callable
        ``function(z)`` with z of shape (n, dim) returns shape (n,).
    nodes : ndarray of shape (n, dim)
        Where the function is averaged.
    weights : ndarray of shape (n,)
        Their probabilities.
    breakpoints : sequence of float
        Declared kinks.

    Returns
    -------
    Range
        Ends, infinite where unbounded.

    Examples
    --------
    >>> nodes = np.linspace(-9.0, 9.0, 101)[:, None]
    >>> weights = np.exp(-(nodes[:, 0] ** 2) / 2) / np.sum(np.exp(-(nodes[:, 0] ** 2) / 2))
    >>> function_range(lambda z: 1.0 - np.exp(-z[:, 0] ** 2), nodes, weights)
    Range(low=0.0, high=1.0, is_declared=False)
    """
    dim = nodes.shape[1]
    values = function(nodes)
    is_valid = ~np.isnan(values)
    inside, weights = values[is_valid], weights[is_valid]
    low, high = float(np.min(inside)), float(np.max(inside))
    rays = _directions(dim)
    shells = [_finite(function(size * rays)) for size in _PROBES]
    shells = [shell for shell in shells if shell.size]
    lows, highs = [low], [high]
    for shell in shells:
        lows.append(min(lows[-1], float(np.min(shell))))
        highs.append(max(highs[-1], float(np.max(shell))))
    low, high = lows[-1], highs[-1]
    typical = float(np.median(inside))
    is_open_low = _grows([typical - value for value in lows])
    is_open_high = _grows([value - typical for value in highs])
    for point in (*breakpoints, 0.0):
        near = [_finite(function(_near(point, size, dim))) for size in (1e-3, 1e-6, 1e-9, 1e-12)]
        near = [values for values in near if values.size]
        bottoms, tops = [float(np.min(v)) for v in near], [float(np.max(v)) for v in near]
        low, high = min([low, *bottoms]), max([high, *tops])
        is_open_low |= _grows([typical - value for value in bottoms])
        is_open_high |= _grows([value - typical for value in tops])
    is_open_low = is_open_low or _weighted_growth(-inside, weights) > _TAIL_GROWTH
    is_open_high = is_open_high or _weighted_growth(inside, weights) > _TAIL_GROWTH
    return Range(-math.inf if is_open_low else low, math.inf if is_open_high else high)


def _grows(extremes: list[float]) -> bool:
    """Return whether a running extreme still grows at its end."""
    if len(extremes) < 2 or extremes[-1] <= 0.0:
        return False
    return not math.isfinite(extremes[-1]) or extremes[-1] - extremes[-2] > _GROWTH * extremes[-1]


def _directions(dim: int) -> FloatArray:
    """Return unit vectors along the axes and the main diagonals, both ways, and a few generic ones."""
    axes = np.concatenate([np.eye(dim), -np.eye(dim)])
    generic = np.random.default_rng(0).standard_normal((8 * dim, dim))
    rays = np.concatenate([axes, generic, -generic])
    return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True))


def _near(point: float, size: float, dim: int) -> FloatArray:
    """Return points with one coordinate close to a breakpoint and the others generic."""
    rows = []
    for axis in range(dim):
        for sign in (-1.0, 1.0):
            row = np.full(dim, 0.7320508)
            row[axis] = point + sign * size
            rows.append(row)
    return np.array(rows)


def _finite(values: FloatArray) -> FloatArray:
    """Return the values without NaN; overflow far out counts as infinite."""
    array = np.asarray(values, dtype=np.float64).reshape(-1)
    return array[~np.isnan(array)]
