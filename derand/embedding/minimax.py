"""The least largest distortion: an active set of the worst pairs, and a smooth maximum that sharpens."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from derand._utils.html import result_html
from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray
from derand.embedding.log_sum_exp import SmoothMaximum
from derand.embedding.points import IndexArray, PointSet
from derand.embedding.scan import BlockMap, scan_pairs
from derand.embedding.unit_differences import UnitDifferences

__all__ = ["MinimaxOptions", "MinimaxResult", "MinimaxRound", "MinimaxRun", "minimise_distortion", "scaled_to_middle"]

#: Sharpness of the stages, as beta times the distortion at hand.
_STAGES = (16.0, 50.0, 160.0, 500.0, 1600.0)
_ROUNDS = 8  # scans within one stage at most
_ITERATIONS = 50  # of L-BFGS between two scans, so that the map doesn't run away from pairs that aren't active
_LAST_ITERATIONS = 200
_CAPACITY = 3  # active pairs, in units of active_size
#: Pairs whose distortion is this share of the largest below it, and whose term of the smooth maximum is below exp(-60)
#: of the largest, are left out of a run of L-BFGS; the next scan tells if the map has moved that far.
_MARGIN, _SHARE = 60.0, 0.3


class MinimaxRound(NamedTuple):
    """One scan of all pairs: where the run stood, the exact largest distortion, active pairs, iterations so far."""

    beta: float
    distortion: float
    n_active: int
    n_iter: int

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


@dataclass(frozen=True)
class MinimaxOptions:
    """How to run; see `derand.embedding.learn_embedding`.

    Parameters
    ----------
    active_size : int
        Worst pairs taken from each scan.
    max_iter : int
        Most iterations of L-BFGS.
    tol : float
        Relative improvement of the distortion below which the last stage ends.
    temperature : float or None
        The smoothing 1/beta below which it isn't sharpened.
    target : float
        Distortion at which to stop.
    deadline : float
        Value of time.monotonic() at which to stop.
    block_map : callable
        Runs the tiles of a scan.
    callback : callable or None
        Called after each scan with a `MinimaxRound`; True ends the run.
    """

    active_size: int = 10_000
    max_iter: int = 3000
    tol: float = 1e-3
    temperature: float | None = None
    target: float = 0.0
    deadline: float = math.inf
    block_map: BlockMap = map
    callback: Callable[[MinimaxRound], Any] | None = None


@dataclass
class MinimaxResult:
    """The best map that was scanned, in the coordinates given.

    Parameters
    ----------
    M : ndarray, shape (k, r)
        The map.
    distortion : float
        Its largest distortion, of all pairs.
    status : str
        "finished", "target", "max_iter", "time_limit", "callback" or "interrupted".
    n_iter : int
        Iterations of L-BFGS.
    history : list of MinimaxRound
        One entry a scan.
    """

    M: FloatArray
    distortion: float = math.inf
    status: str = "finished"
    n_iter: int = 0
    history: list[MinimaxRound] = field(default_factory=list)


class _Stop(Exception):
    """Ends a run early, for the reason given."""


def scaled_to_middle(M: FloatArray, low: float, high: float) -> FloatArray:
    """Return the multiple of M with the least distortion, given its smallest and largest ratio."""
    return M * math.sqrt(2.0 / (low + high)) if low + high > 0.0 else M


def minimise_distortion(
    coords: FloatArray, M: FloatArray, options: MinimaxOptions, rng: np.random.Generator
) -> MinimaxResult:
    """Return a map with a small largest distortion, found from a starting map.

    Stages minimise the smooth maximum with growing beta over an active set of pairs.  Before each short run of L-BFGS
    all pairs are scanned and the worst join the set, where random pairs keep the bulk in its place; a stage ends when
    the worst pair of all is as good as active.  For many points see `anneal_distortion`.

    Parameters
    ----------
    coords : ndarray, shape (n, r)
        Points, as in `RowSpace`.
    M : ndarray, shape (k, r)
        Start.
    options : MinimaxOptions
        Limits.
    rng : Generator
        Draws background pairs.

    Returns
    -------
    MinimaxResult
        The best map scanned, no worse than the start.  It is a local minimum at best.

    Notes
    -----
    Costs some ten scans of all pairs, and for each iteration O(m k + n r k) with m = 3 `active_size`.
    """
    with blas_threads(1):
        return MinimaxRun(coords, M, options, rng).run(_STAGES)


class MinimaxRun:
    """State of one run on all given points; parameters as in `minimise_distortion`.

    Attributes
    ----------
    best : MinimaxResult
        The best map scanned so far.
    """

    def __init__(self, coords: FloatArray, M: FloatArray, options: MinimaxOptions, rng: np.random.Generator) -> None:
        self.points, self.coords, self.M, self.options = PointSet(coords), coords, M, options
        self.n = coords.shape[0]
        self.best = MinimaxResult(M)
        self.codes: IndexArray = np.empty(0, dtype=np.int64)
        self.scanned: tuple[FloatArray, float] | None = None
        pairs = rng.integers(0, self.n, (2, min(options.active_size, self.n * (self.n - 1) // 2)))
        low, high = pairs.min(axis=0), pairs.max(axis=0)
        distinct = low != high
        distinct[distinct] = (coords[low[distinct]] != coords[high[distinct]]).any(axis=1)
        self.background: IndexArray = np.unique(low[distinct] * self.n + high[distinct])

    def run(self, stages: tuple[float, ...]) -> MinimaxResult:
        """Return the best map of all stages, each gone through until it has converged, whatever ended them.

        Parameters
        ----------
        stages : tuple of float
            Sharpness, as beta times the distortion at hand.

        Returns
        -------
        MinimaxResult
            The best map that was scanned.
        """

        def follow() -> None:
            """Sharpen in stages."""
            for stage, factor in enumerate(stages):
                is_last = stage == len(stages) - 1
                if self._stage(factor, _LAST_ITERATIONS if is_last else _ITERATIONS, is_last):
                    break

        return self._until_stopped(follow)

    def _until_stopped(self, follow: Callable[[], None]) -> MinimaxResult:
        """Return the best map of a schedule, whatever ended it."""
        if not self.background.size:  # no two points differ
            return self.best
        try:
            follow()
        except _Stop as stop:
            self.best.status = str(stop)
        except KeyboardInterrupt:
            self.best.status = "interrupted"
        return self.best

    def _stage(self, factor: float, iterations: int, is_last: bool) -> bool:
        """Alternate scans and runs of L-BFGS at one sharpness; return whether the temperature ends the sequence."""
        active, previous = math.inf, math.inf
        for round_number in range(_ROUNDS):
            beta, is_limited = self._beta(factor)
            distortion = self._scan(beta)
            if round_number and distortion <= active * (1.0 + 0.05 / factor + self.options.tol):
                converged = not is_last or previous - self.best.distortion <= self.options.tol * previous
                if converged:
                    break
            previous = self.best.distortion
            active = self._descend(beta, iterations)
        else:
            beta, is_limited = self._beta(factor)
            self._scan(beta)
        return is_limited

    def _beta(self, factor: float) -> tuple[float, bool]:
        """Return beta for the distortion at hand, and whether the temperature limits it."""
        level = self.best.distortion if math.isfinite(self.best.distortion) else 1.0
        beta = factor / max(level, 1e-8)
        temperature = self.options.temperature
        if temperature is not None and beta * temperature >= 1.0:
            return 1.0 / temperature, True
        return beta, False

    def _scan(self, beta: float) -> float:
        """Measure all pairs, let the worst join the active set, record the map when it is the best so far."""
        if self.scanned is not None and self.scanned[0] is self.M:  # a new stage starts from the last scan
            return self.scanned[1]
        first, second, low, high = self._worst()
        middle = scaled_to_middle(self.M, low, high)
        distortion = max(abs(low - 1.0), abs(high - 1.0))
        # The best multiple of the map is known without another scan.
        scaled = (high - low) / (high + low) if high + low > 0.0 else math.inf
        if min(distortion, scaled) < self.best.distortion:
            self.best.M, self.best.distortion = (middle, scaled) if scaled < distortion else (self.M, distortion)
        self.codes = np.union1d(self.codes, first * self.n + second)
        self.scanned = self.M, distortion
        self._note(MinimaxRound(beta, distortion, self.codes.size, self.best.n_iter))
        return distortion

    def _worst(self) -> tuple[IndexArray, IndexArray, float, float]:
        """Return the worst pairs of the map at hand, and the smallest and largest ratio."""
        scan = scan_pairs(self.points, self.M, keep=self.options.active_size, block_map=self.options.block_map)
        return scan.first, scan.second, scan.low[0], scan.high[0]

    def _note(self, record: MinimaxRound) -> None:
        """Keep a record, and stop where a limit is reached."""
        options = self.options
        self.best.history.append(record)
        if options.callback is not None and options.callback(record):
            raise _Stop("callback")
        if self.best.distortion <= options.target:
            raise _Stop("target")
        if time.monotonic() >= options.deadline:
            raise _Stop("time_limit")
        if self.best.n_iter >= options.max_iter:
            raise _Stop("max_iter")

    def _descend(self, beta: float, iterations: int) -> float:
        """Run L-BFGS on the active pairs; return their largest distortion after it."""
        differences, log_weights = self._differences(beta)
        smooth = SmoothMaximum(differences, beta, self.M.shape, log_weights=log_weights)
        outcome: Any = minimize(
            smooth.value_and_grad,
            self.M.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=self._check_deadline,
            options={
                "maxiter": min(iterations, self.options.max_iter - self.best.n_iter),
                "maxcor": 20,
                "ftol": 1e-9,
                "gtol": 1e-9,
            },
        )
        self.best.n_iter += int(outcome.nit)
        self.M = np.asarray(outcome.x).reshape(self.M.shape)
        return float(np.abs(np.square(differences.apply(self.M)).sum(axis=1) - 1.0).max())

    def _check_deadline(self, intermediate_result: Any) -> None:
        """Stop L-BFGS, which then returns where it is, when time is up."""
        if time.monotonic() >= self.options.deadline:
            raise StopIteration

    def _differences(self, beta: float) -> tuple[UnitDifferences, FloatArray | None]:
        """Return the pairs that count at one sharpness, and the logarithms of their weights, None for 0."""
        codes, log_weights = self._pairs()
        height = self._deviation(codes)
        if log_weights is not None:
            height += log_weights / beta
        counts = height >= height.max() - max(_MARGIN / beta, _SHARE * height.max())
        return self._unit(codes[counts]), None if log_weights is None else log_weights[counts]

    def _pairs(self) -> tuple[IndexArray, FloatArray | None]:
        """Return the codes of active and background pairs, and the logarithms of their weights, None for 0."""
        self._forget()
        return np.union1d(self.codes, self.background), None

    def _forget(self) -> None:
        """Drop the active pairs that matter least, where there are too many."""
        capacity = _CAPACITY * self.options.active_size
        if self.codes.size > capacity:
            order = np.argsort(-self._deviation(self.codes), kind="stable")[:capacity]
            self.codes = np.sort(self.codes[order])

    def _deviation(self, codes: IndexArray) -> FloatArray:
        """Return |ratio - 1| of coded pairs, from the images of the points: good enough to choose pairs by."""
        first, second = codes // self.n, codes % self.n
        apart, image = self.coords[first] - self.coords[second], self.coords @ self.M.T
        moved = image[first] - image[second]
        return np.asarray(np.abs(np.einsum("ij,ij->i", moved, moved) / np.einsum("ij,ij->i", apart, apart) - 1.0))

    def _unit(self, codes: IndexArray) -> UnitDifferences:
        """Return the unit differences of coded pairs."""
        return UnitDifferences(self.coords, codes // self.n, codes % self.n)
