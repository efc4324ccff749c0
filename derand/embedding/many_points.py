"""The least largest distortion of many points: quick scans, and samples that stand for all other pairs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray
from derand.embedding.minimax import MinimaxOptions, MinimaxResult, MinimaxRun
from derand.embedding.points import IndexArray
from derand.embedding.quick_scan import QuickScan

__all__ = ["MANY", "anneal_distortion"]

#: More points than these are many.
MANY = 4000


class _Stage(NamedTuple):
    """Sharpness as beta times the distortion at hand, iterations between scans, scans."""

    factor: float
    iterations: int
    rounds: int


#: Slowly at first, where the smooth maximum counts millions of pairs: that chooses the local minimum.  Runs are short,
#: since a sample stands for the other pairs near the map that it was drawn for only.
_ANNEALING = (
    _Stage(15.0, 20, 4),
    _Stage(18.0, 20, 4),
    _Stage(22.0, 20, 4),
    _Stage(26.0, 20, 6),
    _Stage(35.0, 20, 5),
    _Stage(48.0, 20, 5),
    _Stage(70.0, 20, 4),
    _Stage(200.0, 60, 2),
    _Stage(400.0, 100, 1),
    _Stage(1600.0, 200, 8),
)
_LEAST_ACTIVE = 5000  # unless fewer are asked for; then one for each point
_SAMPLE = 2  # random pairs, in units of active ones
#: Distortion from which single precision is enough to choose pairs by.
_QUICK_ABOVE = 0.02


def anneal_distortion(
    coords: FloatArray, M: FloatArray, options: MinimaxOptions, rng: np.random.Generator
) -> MinimaxResult:
    """Return a map of many points with a small largest distortion, found from a starting map.

    As `minimise_distortion`, with three differences.  Scans are those of `QuickScan`.  Each run of L-BFGS sees fresh
    random pairs, each of which stands for so many others that the smooth maximum is that of all pairs, not only of the
    worst ones, which swing from scan to scan while beta is small.  And beta grows slowly, in a fixed number of runs.

    Parameters
    ----------
    coords : ndarray, shape (n, r)
        Points, as in `RowSpace`.
    M : ndarray, shape (k, r)
        Start.
    options : MinimaxOptions
        Limits.
    rng : Generator
        Draws the samples.

    Returns
    -------
    MinimaxResult
        The best map scanned, no worse than the start up to single precision.  It is a local minimum at best; its
        distortion is at least the true one, up to single precision.

    Notes
    -----
    Some forty quick scans, which cost as much as six or seven full ones, and 1,000 iterations on 25,000 pairs or more.
    Memory for one number of single precision a pair, up to 1 GiB.
    """
    active = min(options.active_size, max(_LEAST_ACTIVE, coords.shape[0]))
    with blas_threads(1):
        return _ManyPoints(coords, M, replace(options, active_size=active), rng).anneal()


class _ManyPoints(MinimaxRun):
    """A run with quick scans and fresh samples."""

    def __init__(self, coords: FloatArray, M: FloatArray, options: MinimaxOptions, rng: np.random.Generator) -> None:
        super().__init__(coords, M, options, rng)
        self.rng, self.quick = rng, QuickScan(self.points)

    def anneal(self) -> MinimaxResult:
        """Go through the stages; return the best map whatever ended them."""

        def follow() -> None:
            """Alternate scans and short runs."""
            for stage in _ANNEALING:
                for _ in range(stage.rounds):
                    beta, is_limited = self._beta(stage.factor)
                    before = self.best.distortion
                    self._scan(beta)
                    if stage is _ANNEALING[-1] and before - self.best.distortion <= self.options.tol * before:
                        break
                    self._descend(beta, stage.iterations)
                if is_limited:
                    break
            self._scan(beta)

        return self._until_stopped(follow)

    def _worst(self) -> tuple[IndexArray, IndexArray, float, float]:
        """Return the worst pairs of the map at hand, and bounds of all ratios, sharp for the worse end."""
        keep = self.options.active_size
        if not self.quick.is_apt or self.best.distortion < _QUICK_ABOVE:
            return super()._worst()
        floor = float(np.partition(self._deviation(self.codes), -keep)[-keep]) if self.codes.size >= keep else -1.0
        worst = self.quick.worst(self.M, keep, floor, block_map=self.options.block_map)
        # All other ratios lie between that of the last one and its mirror image.
        rest = abs(float(worst.ratios[-1]) - 1.0)
        low, high = min(1.0 - rest, float(worst.ratios.min())), max(1.0 + rest, float(worst.ratios.max()))
        return worst.first, worst.second, max(low, 0.0), high

    def _pairs(self) -> tuple[IndexArray, FloatArray | None]:
        """Return codes of active pairs and a fresh sample, and the logarithms of how many pairs each one stands for."""
        self._forget()
        drawn = np.sort(self.rng.integers(0, self.n, (2, _SAMPLE * self.options.active_size)), axis=0)
        first, second = drawn[:, (self.coords[drawn[0]] != self.coords[drawn[1]]).any(axis=1)]
        sample = np.setdiff1d(first * self.n + second, self.codes)
        others = max(self.n * (self.n - 1) // 2 - self.codes.size, 1)
        weights = np.zeros(self.codes.size + sample.size)
        weights[self.codes.size :] = math.log(others / max(sample.size, 1))
        return np.concatenate([self.codes, sample]), weights
