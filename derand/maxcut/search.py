"""Search for good cuts: rounds of annealing, recombination of what they find, contraction of what they agree on."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from derand._utils.distinct import distinct_columns
from derand.maxcut.annealing import PopulationAnnealer
from derand.maxcut.clock import Clock
from derand.maxcut.contraction import contract_agreement, recombine
from derand.maxcut.local_search import one_flip
from derand.maxcut.problem import MaxCutProblem, SideArray
from derand.maxcut.renormalization import DENSE_LIMIT, SearchRun, best_columns, renormalize

__all__ = ["ElitePool", "fuse", "search_cut", "short_chain", "sweep_work"]

_REPLICAS = 32
_POOL, _RAW = 8, 16
_MAX_DEPTH = 12
_CHAIN_SWEEPS = 500
_SMALL = 3000
_FIRST_SWEEPS, _REHEAT_SWEEPS = 1000, 5000
# Longest population annealing: up to _SMALL vertices, and above, where the budget allows few of them.
_LONGEST_SWEEPS = (16_000, 4000)
# Temperatures of reheating: the first reorganises regions, the second mends details.
_REHEAT = (0.5, 0.5, 0.35)
_LONG_SHARE = 0.5
# Last temperatures that compete in a short trial on large graphs: which is better depends on the graph.
_COLD = (0.1, 0.2)
# A search ends when so many independent rounds have ended at the best value.
_ENOUGH_HITS = 5
# So many reheatings in a row without a gain mean that another long run is worth more.
_MAX_STALLS = 2
# Renormalization: sweeps on every level, replicas on small and on large graphs, levels below the first as its multiple.
_RENORMALIZATION_SWEEPS = 400
_RENORMALIZATION_REPLICAS = (32, 64)
_LOWER_LEVELS = 4.0
# Work of tabu walks by vertex and replica, for all steps and levels; measured.
_TABU_WORK = 170_000
# Above this the colour classes of a short chain's many replicas leave the cache.
_CHAIN_LIMIT = 50_000


def sweep_work(problem: MaxCutProblem) -> int:
    """Return the cost of a sweep of one replica: about one per entry of the adjacency matrix and eight per vertex."""
    return 2 * problem.n_edges + 8 * problem.n + 1


class ElitePool:
    """The best distinct cuts so far, two cuts counting as one where they differ by a flip of all vertices.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    size : int
        Most cuts kept.

    Examples
    --------
    >>> pool = ElitePool(MaxCutProblem.from_edges([0, 1], [1, 2]), 4)
    >>> pool.add(np.array([[1, 1], [1, -1], [1, 1]], dtype=np.int8))
    >>> pool.value, pool.sides.shape
    (2, (3, 2))
    """

    def __init__(self, problem: MaxCutProblem, size: int = _POOL) -> None:
        self.problem, self.size = problem, size
        self.sides: SideArray = np.zeros((problem.n, 0), dtype=np.int8)

    @property
    def best(self) -> SideArray:
        """The best cut."""
        return np.ascontiguousarray(self.sides[:, 0])

    @property
    def value(self) -> int | float:
        """Its exact value."""
        return self.problem.cut_value(self.best)

    def add(self, sides: SideArray) -> None:
        """Put cuts (n, R) into the pool and keep the best ones; older cuts come first among equals."""
        merged = np.concatenate([self.sides, sides], axis=1)
        flip = np.where(merged[:1] < 0, -1, 1) if self.problem.n else np.ones((1, merged.shape[1]))
        merged = np.ascontiguousarray(merged * flip.astype(np.int8))
        merged = merged[:, distinct_columns(merged)]
        values = [self.problem.cut_value(merged[:, column]) for column in range(merged.shape[1])]
        order = sorted(range(len(values)), key=lambda column: -values[column])[: self.size]
        self.sides = np.ascontiguousarray(merged[:, order])


def short_chain(
    problem: MaxCutProblem,
    run: SearchRun,
    *,
    parents: SideArray | None = None,
    n_sweeps: int = _CHAIN_SWEEPS,
    depth: int = 0,
    annealer: PopulationAnnealer | None = None,
) -> SideArray:
    """Return a cut from one short annealing of independent replicas, recombined, contracted and annealed again.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    run : SearchRun
        Clock and random stream.
    parents : ndarray of int8, shape (n, K), optional
        Cuts to keep in the pool.
    n_sweeps : int
        Sweeps at every level.
    depth : int
        Level of the recursion.
    annealer : PopulationAnnealer, optional
        One for the problem, if known.

    Returns
    -------
    ndarray of int8, shape (n,)
        A cut not below any parent.
    """
    found = run.anneal(annealer or PopulationAnnealer(problem), n_sweeps, n_replicas=_REPLICAS, resampling=0.0)
    # The recombined cuts are as good as they get component by component; enough of them keep the merged graph rich.
    mixed = [recombine(problem, found[:, k], found)[0] for k in range(min(_POOL, found.shape[1]))]
    candidates = np.column_stack(mixed if parents is None else [*mixed, parents])
    best = best_columns(problem, candidates, _POOL)
    contraction = contract_agreement(problem, best)
    size = contraction.problem.n
    if size <= 2 or size > 0.98 * problem.n or depth >= _MAX_DEPTH or run.clock.is_over():
        return np.ascontiguousarray(best[:, 0])
    kept = contraction.restrict(best)
    return contraction.lift(short_chain(contraction.problem, run, parents=kept, n_sweeps=n_sweeps, depth=depth + 1))


def fuse(problem: MaxCutProblem, sides: SideArray, run: SearchRun) -> SideArray:
    """Return a cut made of independent ones: recombined with each other, then the graph of their agreement searched.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    sides : ndarray of int8, shape (n, K)
        Cuts; the more they differ, the more there is to gain, so not only the very best.
    run : SearchRun
        Clock and random stream.

    Returns
    -------
    ndarray of int8, shape (n,)
        A cut not below any of the given ones.
    """
    mixed = np.column_stack([recombine(problem, sides[:, k], sides)[0] for k in range(sides.shape[1])])
    mixed = best_columns(problem, mixed, sides.shape[1])
    contraction = contract_agreement(problem, mixed)
    if contraction.problem.n <= 2:
        return np.ascontiguousarray(mixed[:, 0])
    return contraction.lift(short_chain(contraction.problem, run, parents=contraction.restrict(mixed), depth=1))


def search_cut(
    problem: MaxCutProblem,
    starts: SideArray,
    *,
    work: float,
    rng: np.random.Generator,
    clock: Clock,
    target: int | float | None = None,
    report: Callable[[str, SideArray], None] | None = None,
) -> SideArray:
    """Return the best cut found within a given amount of work.

    Two kinds of rounds compete: population annealing, which follows few families for long, and short
    chains of independent replicas whose cuts are recombined, which win where the graph is locally sparse (grids).
    The winner goes on, with longer annealing or more chains, and the pool of the best cuts is fused in between.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    starts : ndarray of int8, shape (n, K)
        Cuts to begin with, K >= 1.
    work : float
        Limit in units of `sweep_work`; 0 returns the best start after `one_flip`.
    rng : Generator
        The random stream.
    clock : Clock
        When to stop early.
    target : int or float, optional
        A value that can't be exceeded; reaching it ends the search.
    report : callable, optional
        Called as ``report(stage, side)`` after every round.

    Returns
    -------
    ndarray of int8, shape (n,)
        A cut not below any start.

    Notes
    -----
    The same bits for the same ``rng``, unless the clock ends the search early.
    """
    pool, run = ElitePool(problem), SearchRun(clock, rng)
    pool.add(starts)
    pool.add(one_flip(problem, pool.best)[:, None])
    if problem.n_edges == 0 or work <= 0.0:
        return pool.best
    _Rounds(pool, run, work, target, report).go()
    return pool.best


class _Rounds:
    """The rounds of one search with the work they may still do."""

    def __init__(
        self,
        pool: ElitePool,
        run: SearchRun,
        work: float,
        target: int | float | None,
        report: Callable[[str, SideArray], None] | None,
    ) -> None:
        self.pool, self.run, self.target, self.report = pool, run, target, report
        # What single rounds found, before any fusion makes the good cuts alike.
        self.raw = ElitePool(pool.problem, _RAW)
        self.annealer = PopulationAnnealer(pool.problem)
        # On large graphs fewer replicas with more sweeps, and a hotter start, reach higher at equal work.
        self.replicas, self.hot = (_REPLICAS // 2, 0.8) if pool.problem.n > _SMALL else (_REPLICAS, 0.6)
        self.cold = _COLD[0]
        self.unit = float(sweep_work(pool.problem) + 4000 * self.annealer.n_classes / _REPLICAS)
        self.left = self.work = work
        self.sweeps = _FIRST_SWEEPS
        self.hits, self.reheats, self.stalls, self.is_long = 0, 0, 0, False
        self.best: dict[str, int | float] = {}

    def is_over(self) -> bool:
        """Whether the work, the time or the reason to search is used up."""
        is_stuck = self.stalls >= _MAX_STALLS and self.left < _LONG_SHARE * self.work
        is_spent = self.left < 10 * self.unit or self.hits >= _ENOUGH_HITS
        return is_spent or is_stuck or self._is_solved() or self.run.clock.is_over()

    def _is_solved(self) -> bool:
        """Whether the cut can't be improved."""
        return self.target is not None and self.pool.value >= self.target

    def go(self) -> None:
        """Run rounds, fusing what they found now and then and at the end."""
        kinds = self._kinds()
        count = 0
        while not self.is_over():
            # Both kinds have a first trial; then every fourth round gives the weaker kind another chance.
            ranked = sorted(kinds, key=lambda name: -self.best.get(name, -math.inf))
            is_trial = count < len(kinds)
            second_chance = count % 4 == 0 and not self.is_long
            kind = kinds[count] if is_trial else ranked[-1] if second_chance else ranked[0]
            is_main, was_long = not is_trial and kind == ranked[0], self.is_long
            if kind == "chain":
                self._note(kind, self._chain())
            elif kind == "renormalization":
                self._note(kind, self._renormalization())
            elif is_main and self.is_long:
                self._note("reheating", self._reheat())
            else:
                self._note(kind, self._population(is_main=is_main))
            count += 1
            has_long_run = self.is_long and not was_long
            if count == 4 or count % 8 == 0 or has_long_run:
                self._fuse()
        if not self._is_solved():
            self._fuse()

    def _kinds(self) -> list[str]:
        """Return the kinds of rounds that compete, in the order of their first trials."""
        n = self.pool.problem.n
        if n > _CHAIN_LIMIT:
            return ["annealing"]
        if n > DENSE_LIMIT:
            return ["annealing", "renormalization", "chain"]
        # With nearly as many colours as vertices, annealing updates them one by one.
        return ["renormalization"] if 3 * self.annealer.n_classes > n else ["renormalization", "annealing", "chain"]

    def _affordable(self, sweeps: int) -> int:
        """Return at most ``sweeps`` of a population, as many as the remaining work allows."""
        return max(5, min(sweeps, int(self.left / (self.replicas * self.unit))))

    def _population(self, *, is_main: bool) -> SideArray:
        """Return the best cut of a population annealing, longer than the one before."""
        sweeps = self._affordable(self.sweeps)
        if self.pool.problem.n > _SMALL and is_main:
            # Long runs pay on large graphs, and reheating what they found for as long as it gains.
            share = int(_LONG_SHARE * self.work / (self.replicas * self.unit))
            sweeps, self.is_long = self._affordable(max(sweeps, share)), True
        self.sweeps = min(2 * self.sweeps, _LONGEST_SWEEPS[self.pool.problem.n > _SMALL])
        self.left -= sweeps * self.replicas * self.unit
        if self.pool.problem.n <= _SMALL or is_main:
            return self._annealed(sweeps, self.cold)
        self.left -= sweeps * self.replicas * self.unit
        trials = [self._annealed(sweeps, cold) for cold in _COLD]
        values = [self.pool.problem.cut_value(trial) for trial in trials]
        winner = values.index(max(values))
        self.cold = _COLD[winner]
        return trials[winner]

    def _annealed(self, sweeps: int, cold: float) -> SideArray:
        """Return the best cut of one population."""
        found = self.run.anneal(self.annealer, sweeps, n_replicas=self.replicas, hot=self.hot, cold=cold)
        mixed, _ = recombine(self.pool.problem, np.ascontiguousarray(found[:, 0]), found[:, 1:])
        return one_flip(self.pool.problem, mixed)

    def _reheat(self) -> SideArray:
        """Return the best cut after warming it up a little, cooling it and keeping what gained."""
        # The replicas differ from it in regions far apart; recombination adds up the gains of all regions.
        sweeps = self._affordable(_REHEAT_SWEEPS)
        self.left -= sweeps * self.replicas * self.unit
        best, hot = self.pool.best, _REHEAT[self.reheats % len(_REHEAT)]
        self.reheats += 1
        start = np.repeat(best[:, None], self.replicas, axis=1)
        found = self.run.anneal(self.annealer, sweeps, n_replicas=self.replicas, hot=hot, start=start)
        return one_flip(self.pool.problem, recombine(self.pool.problem, best, found)[0])

    def _chain(self) -> SideArray:
        """Return the cut of a short chain."""
        sweeps = max(5, min(_CHAIN_SWEEPS, int(self.left / (2 * _REPLICAS * self.unit))))
        # The levels below the first and the recombinations cost about as much again.
        self.left -= 2 * sweeps * _REPLICAS * self.unit
        return short_chain(self.pool.problem, self.run, n_sweeps=sweeps, annealer=self.annealer)

    def _renormalization(self) -> SideArray:
        """Return the cut of a renormalization of independent replicas."""
        n = self.pool.problem.n
        replicas = _RENORMALIZATION_REPLICAS[n > _SMALL]
        if n <= DENSE_LIMIT:
            self.left -= _TABU_WORK * n * replicas
            return renormalize(self.pool.problem, self.run, n_sweeps=1, n_replicas=replicas)
        per_sweep = (1.0 + _LOWER_LEVELS) * replicas * self.unit
        sweeps = max(5, min(_RENORMALIZATION_SWEEPS, int(self.left / per_sweep)))
        self.left -= sweeps * per_sweep
        found = renormalize(self.pool.problem, self.run, n_sweeps=sweeps, n_replicas=replicas, annealer=self.annealer)
        return one_flip(self.pool.problem, found)

    def _note(self, stage: str, side: SideArray) -> None:
        """Put a round's cut into the pool and count how often the best value came up."""
        value, before = self.pool.problem.cut_value(side), self.pool.value
        self.best[stage] = max(value, self.best.get(stage, value))
        self.pool.add(side[:, None])
        if value > before:
            self.hits, self.stalls = 0, 0
        if stage == "reheating":
            # It starts at the best cut: ending there is no independent hit.
            self.stalls += int(value <= before)
        else:
            self.hits += int(value >= before)
            self.raw.add(side[:, None])
        # A long run that found nothing new leaves nothing to reheat.
        self.is_long = self.is_long and self.stalls < _MAX_STALLS
        if self.report is not None:
            self.report(stage, self.pool.best)

    def _fuse(self) -> None:
        """Fuse the rounds' cuts with the best one and report."""
        if self.raw.sides.shape[1] < 2:
            return
        before = self.pool.value
        sides = np.concatenate([self.pool.sides[:, :1], self.raw.sides], axis=1)
        self.pool.add(fuse(self.pool.problem, sides, self.run)[:, None])
        if self.pool.value > before:
            self.hits, self.stalls = 0, 0
        if self.report is not None:
            self.report("fusion", self.pool.best)
