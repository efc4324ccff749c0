"""Roots of functions that are averages over random samples: independent replicas until an error bar is small enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtrit

from derand._utils.validation import FloatArray
from derand.exceptions import InputError

__all__ = ["ReplicaMean", "ReplicaRoots", "replica_mean"]

_ONE_SIGMA = 0.8413447460685429
_LARGEST = 1 << 20
_MAX_STEP = 0.3


@dataclass(frozen=True)
class ReplicaMean:
    """The mean of replicas.

    Parameters
    ----------
    value : float
        Mean over the replicas of the larger size.
    spread : float
        Its standard error, by Student's law for so few replicas as there are.
    bias : float
        What the change from the smaller size says about the bias of the larger one, if it falls like 1/n.
    bias_spread : float
        Standard error of `bias`.
    values : ndarray
        The replicas.
    n_samples : int
        Samples of each.
    """

    value: float
    spread: float
    bias: float
    bias_spread: float
    values: FloatArray
    n_samples: int

    @property
    def error(self) -> float:
        """Both parts of the error together."""
        return math.hypot(self.spread, self.bias)

    @property
    def is_biased(self) -> bool:
        """Whether the bias is more than its noise explains: noise alone would be so large once in a thousand cases."""
        n = len(self.values)
        return abs(self.bias) > self.bias_spread * float(stdtrit(n - 1, 0.9995) / stdtrit(n - 1, _ONE_SIGMA))

    @classmethod
    def from_pairs(cls, pairs: list[tuple[float, float]], n_samples: int, ratio: float) -> ReplicaMean:
        """Return the mean of values at n_samples and, from the same seeds, at n_samples / ratio."""
        values, smaller = np.array(pairs).T
        change = (values - smaller) / (ratio - 1.0)
        return cls(
            float(np.mean(values)),
            _standard_error(values),
            float(np.mean(change)),
            _standard_error(change),
            values,
            n_samples,
        )


def _standard_error(values: FloatArray) -> float:
    """Return half the width of the interval that holds the mean with the probability of one standard deviation."""
    n = len(values)
    return float(stdtrit(n - 1, _ONE_SIGMA) * np.std(values, ddof=1)) / math.sqrt(n)


def replica_mean(
    root: Callable[[int, int], float],
    draw: Callable[[], int],
    sizes: tuple[int, int],
    n_replicas: int,
    *,
    rtol: float | None = None,
    max_samples: int = 1 << 24,
    callback: Callable[[ReplicaMean], object] | None = None,
) -> ReplicaMean:
    """Return the mean of a random number over independent replicas, as many as an error bar needs.

    Replicas are added until the error is at most ``rtol`` times the value; if it is the bias that stands in the way,
    and its own noise can't explain it, all are taken anew at twice the size.

    Parameters
    ----------
    root : callable
        ``root(size, seed)`` returns the number from ``size`` samples.
    draw : callable
        Returns a fresh seed.
    sizes : tuple of (int, int)
        Samples of a replica, and fewer for the estimate of the bias.
    n_replicas : int
        Replicas to begin with, at least 2.
    rtol : float, optional
        Relative error to reach; without it the first replicas are all.
    max_samples : int
        Samples over all replicas after which no more are added.
    callback : callable, optional
        Called with the mean so far after every replica from the second on; an answer of True ends the work with it.

    Returns
    -------
    ReplicaMean
        Mean and error; whether rtol was reached has to be seen from them.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; its ``partial`` is the mean so far, and is missing before the second replica.

    Notes
    -----
    A rule that stops at a small error favours replicas that happen to agree; Student's law for the number of replicas
    makes up for some of it.

    Examples
    --------
    >>> found = replica_mean(lambda size, seed: 1.0 + seed / size, iter([-1, 1, 2, -2]).__next__, (8, 4), 4)
    >>> found.value, found.values.tolist()
    (1.0, [0.875, 1.125, 1.25, 0.75])
    """
    size, small = sizes
    ratio, spent, wanted = size / small, 0, n_replicas
    pairs: list[tuple[float, float]] = []
    while True:
        started = len(pairs)
        if _extend(pairs, root, draw, (size, small), wanted, callback):
            return ReplicaMean.from_pairs(pairs, size, ratio)
        spent += (len(pairs) - started) * (size + small)
        found = ReplicaMean.from_pairs(pairs, size, ratio)
        goal = math.inf if rtol is None else rtol * abs(found.value)
        allowed = (max_samples - spent) // (size + small)
        if found.error <= goal:
            return found
        if size < _LARGEST and allowed >= 2 * n_replicas and found.is_biased and abs(found.bias) > goal / 2:
            size, small, wanted, pairs = 2 * size, 2 * small, n_replicas, []
        elif allowed < 1:
            return found
        else:
            needed = math.ceil(min(2.0, (found.error / goal) ** 2) * len(pairs))
            wanted = len(pairs) + min(allowed, max(1, needed - len(pairs)))


def _extend(
    pairs: list[tuple[float, float]],
    root: Callable[[int, int], float],
    draw: Callable[[], int],
    sizes: tuple[int, int],
    wanted: int,
    callback: Callable[[ReplicaMean], object] | None,
) -> bool:
    """Add replicas up to a number, and return whether the callback ended this; an interrupt takes their mean along."""
    size, small = sizes
    try:
        while len(pairs) < wanted:
            seed = draw()
            pairs.append((root(size, seed), root(small, seed)))
            if callback is None or len(pairs) < 2:
                continue
            if callback(ReplicaMean.from_pairs(pairs, size, size / small)) is True:
                return True
    except KeyboardInterrupt as interrupt:
        if len(pairs) > 1:
            interrupt.partial = ReplicaMean.from_pairs(pairs, size, size / small)  # type: ignore[attr-defined]
        raise
    return False


class ReplicaRoots:
    """Roots of a decreasing function that many samples estimate, by secants that begin where earlier replicas ended.

    Parameters
    ----------
    function : callable
        ``function(x, size, seed)`` returns the estimate from ``size`` samples; the same seed gives common random
        numbers at every x.
    low, high : float
        Bracket, as a small sample shows it.
    pilot : tuple of (int, int)
        Size and seed of the replica that starts the search.
    """

    def __init__(
        self, function: Callable[[float, int, int], float], low: float, high: float, pilot: tuple[int, int]
    ) -> None:
        self.function = function
        start = self._safe(low, high, *pilot)
        step = 0.02
        self.slope = (function(start + step, *pilot) - function(start, *pilot)) / step
        self.start = start
        self._found: dict[int, list[float]] = {}

    def root(self, size: int, seed: int) -> float:
        """Return the root of one replica.

        Parameters
        ----------
        size : int
            Samples.
        seed : int
            Their seed.

        Returns
        -------
        float
            The root, to about 1e-5.

        Raises
        ------
        InputError
            If there is none near the pilot's.
        """
        found = self._found.setdefault(size, [])
        start = float(np.mean(found)) if found else self.start
        value = self._secant(start, size, seed)
        if math.isnan(value):
            value = self._safe(start - 0.1, start + 0.1, size, seed)
        found.append(value)
        return value

    def _secant(self, start: float, size: int, seed: int) -> float:
        """Return the root by secants, NaN where they don't settle: the error is about the last two steps' product."""
        x, f, slope, last = start, self.function(start, size, seed), self.slope, 1.0
        for _ in range(6):
            if not slope < 0.0:
                return math.nan
            step = -f / slope
            if not abs(step) < _MAX_STEP:
                return math.nan
            if abs(step * last) <= 3e-6:
                return x + step
            g = self.function(x + step, size, seed)
            slope = (g - f) / step
            x, f, last = x + step, g, step
        return math.nan

    def _safe(self, low: float, high: float, size: int, seed: int) -> float:
        """Return the root by a bracket, which is widened where need be."""
        for _ in range(6):
            if self.function(low, size, seed) < 0.0:
                low -= _MAX_STEP
            elif self.function(high, size, seed) >= 0.0:
                high += _MAX_STEP
            else:
                break
        else:
            raise InputError("the threshold lies outside the range that a small sample shows; take more samples")
        return float(brentq(self.function, low, high, args=(size, seed), xtol=2e-5))
