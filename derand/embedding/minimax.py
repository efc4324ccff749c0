"""The least largest distortion: an active set of the worst pairs, and a smooth maximum that sharpens."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
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

__all__ = ["MinimaxOptions", "MinimaxResult", "MinimaxRound", "minimise_distortion", "scaled_to_middle"]

#: Sharpness of the stages, as beta times the distortion at hand.
_STAGES = (16.0, 50.0, 160.0, 500.0, 1600.0)
_ROUNDS = 8  # scans within one stage at most
_ITERATIONS = 50  # of L-BFGS between two scans, so that the map doesn't run away from pairs that aren't active
_LAST_ITERATIONS = 200
_CAPACITY = 3  # active pairs, in units of active_size
_SUBSAMPLE = 2000
_SUBSAMPLE_ITERATIONS = 160


class _Stage(NamedTuple):
    """Sharpness as beta times the distortion, iterations between scans, scans at most, improvement that goes on."""

    factor: float
    iterations: int
    rounds: int
    tol: float


#: With many points a scan costs as much as some thirty iterations, and each one shows pairs that no earlier one did:
#: short runs at first, while the worst pairs change from scan to scan, and sharpening before a stage has converged.
_LARGE_STAGES = (
    _Stage(50.0, 20, 7, 0.03),
    _Stage(100.0, 40, 4, 0.01),
    _Stage(200.0, 60, 4, 0.01),
    _Stage(400.0, 100, 6, 0.005),
)
_LARGE_ACTIVE = 5000
#: A map whose scan is this much worse than the best one has met new pairs, and its stage goes on.
_WORSE = 1.1


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
    the worst pair of all is as good as active.  More than 4,000 points start from a subsample of 2,000, and
    go on by short runs between scans.

    Parameters
    ----------
    coords : ndarray, shape (n, r)
        Points, as in `RowSpace`.
    M : ndarray, shape (k, r)
        Start.
    options : MinimaxOptions
        Limits.
    rng : Generator
        Draws background pairs and the subsample.

    Returns
    -------
    MinimaxResult
        The best map scanned, no worse than the start.  It is a local minimum at best.

    Notes
    -----
    Costs some ten scans of all pairs, and for each iteration O(m k + n r k) with m = 3 `active_size`.
    """
    n = coords.shape[0]
    # Twice the subsample at least: else the detour would cost as much as it saves.
    if n > 2 * _SUBSAMPLE:
        subset = np.sort(rng.choice(n, _SUBSAMPLE, replace=False))
        options = replace(options, active_size=min(options.active_size, _LARGE_ACTIVE))
        quick = replace(options, target=0.0, callback=None, max_iter=min(options.max_iter, _SUBSAMPLE_ITERATIONS))
        with blas_threads(1):
            # Sharper stages would fit the subsample and leave the other pairs worse.
            M = _Run(coords[subset], M, quick, rng).run_short((_Stage(24.0, 20, 3 * _ROUNDS, 0.0),)).M
            return _Run(coords, M, options, rng).run_short(_LARGE_STAGES)
    with blas_threads(1):
        return _Run(coords, M, options, rng).run(_STAGES)


class _Run:
    """State of one run on all given points."""

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
        """Go through the stages until each has converged; return the best map whatever ended them."""

        def follow() -> None:
            """Sharpen in stages."""
            for stage, factor in enumerate(stages):
                is_last = stage == len(stages) - 1
                if self._stage(factor, _LAST_ITERATIONS if is_last else _ITERATIONS, is_last):
                    break

        return self._until_stopped(follow)

    def run_short(self, stages: tuple[_Stage, ...]) -> MinimaxResult:
        """Go through the stages by short runs between scans; return the best map whatever ended them."""

        def follow() -> None:
            """Sharpen while scans go on to improve."""
            for stage in stages:
                if self._short_stage(stage):
                    break
            self._scan(self._beta(stages[-1].factor)[0])

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

    def _short_stage(self, stage: _Stage) -> bool:
        """Alternate scans and short runs at one sharpness; return whether the temperature ends the sequence."""
        is_limited = False
        for round_number in range(stage.rounds):
            beta, is_limited = self._beta(stage.factor)
            previous = self.best.distortion
            distortion = self._scan(beta)
            improved = self.best.distortion <= (1.0 - stage.tol) * previous
            if round_number and not improved and distortion <= _WORSE * self.best.distortion:
                break
            self._descend(beta, stage.iterations)
        return is_limited

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
        scan = scan_pairs(self.points, self.M, keep=self.options.active_size, block_map=self.options.block_map)
        low, high = scan.low[0], scan.high[0]
        middle = scaled_to_middle(self.M, low, high)
        distortion = max(abs(low - 1.0), abs(high - 1.0))
        # The best multiple of the map is known without another scan.
        scaled = (high - low) / (high + low) if high + low > 0.0 else math.inf
        if min(distortion, scaled) < self.best.distortion:
            self.best.M, self.best.distortion = (middle, scaled) if scaled < distortion else (self.M, distortion)
        self.codes = np.union1d(self.codes, scan.first * self.n + scan.second)
        self.scanned = self.M, distortion
        self._note(MinimaxRound(beta, distortion, self.codes.size, self.best.n_iter))
        return distortion

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
        differences = self._differences()
        smooth = SmoothMaximum(differences, beta, self.M.shape)
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

    def _differences(self) -> UnitDifferences:
        """Return the active and the background pairs, after the active ones that matter least have been dropped."""
        capacity = _CAPACITY * self.options.active_size
        if self.codes.size > capacity:
            excess = np.square(self._unit(self.codes).apply(self.M)).sum(axis=1) - 1.0
            order = np.argsort(-np.abs(excess), kind="stable")[:capacity]
            self.codes = np.sort(self.codes[order])
        return self._unit(np.union1d(self.codes, self.background))

    def _unit(self, codes: IndexArray) -> UnitDifferences:
        """Return the unit differences of coded pairs."""
        return UnitDifferences(self.coords, codes // self.n, codes % self.n)
