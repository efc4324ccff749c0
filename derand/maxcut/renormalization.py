"""Renormalization: local optima, merging of what all of them agree on, and the same again on the smaller graph.

Every level keeps as many distinct cuts as it can: they agree first on the strongest bonds, then on larger and larger
clusters, so that a flip of a vertex on a late level moves a whole region.  Recombining the cuts in between would make
them alike and merge too much too early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.distinct import distinct_columns
from derand.maxcut.annealing import PopulationAnnealer, replica_cut_values
from derand.maxcut.clock import Clock
from derand.maxcut.contraction import Contraction, contract_agreement
from derand.maxcut.dense_tabu import tabu_population
from derand.maxcut.problem import MaxCutProblem, SideArray

__all__ = ["DENSE_LIMIT", "SearchRun", "best_columns", "renormalize"]

# Up to this size a dense matrix and tabu search beat annealing in finding local optima.
DENSE_LIMIT = 600
_TABU_STEPS = 1000
_MAX_DEPTH = 40
# A level must merge this share of its vertices, or else fewer cuts have to agree.
_PROGRESS = 0.95


@dataclass(frozen=True)
class SearchRun:
    """What the stages of one search share: where to stop, and the random stream."""

    clock: Clock
    stream: np.random.Generator

    def child(self) -> np.random.Generator:
        """Return a random stream of its own for the next stage, so that stages don't depend on each other."""
        return self.stream.spawn(1)[0]

    def anneal(self, annealer: PopulationAnnealer, n_sweeps: int, **options: Any) -> SideArray:
        """Return an annealed population."""
        return annealer.anneal(n_sweeps=n_sweeps, rng=self.child(), should_stop=self.clock.is_over, **options)


def best_columns(problem: MaxCutProblem, sides: SideArray, count: int) -> SideArray:
    """Return the ``count`` best distinct columns, best first."""
    distinct = sides[:, distinct_columns(sides)]
    order = np.argsort(-replica_cut_values(problem, distinct), kind="stable")[:count]
    return np.ascontiguousarray(distinct[:, order])


def renormalize(
    problem: MaxCutProblem,
    run: SearchRun,
    *,
    n_sweeps: int,
    n_replicas: int = 32,
    parents: SideArray | None = None,
    annealer: PopulationAnnealer | None = None,
) -> SideArray:
    """Return a cut from repeated search for local optima and contraction of their agreement.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    run : SearchRun
        Clock and random stream.
    n_sweeps : int
        Sweeps of annealing on every level with more than `DENSE_LIMIT` vertices; below, tabu walks take over.
    n_replicas : int, default 32
        Cuts of each level; more of them merge less at once, and end higher.
    parents : ndarray of int8, shape (n, K), optional
        Cuts to keep in the population of the first level.
    annealer : PopulationAnnealer, optional
        One for the problem, if known.

    Returns
    -------
    ndarray of int8, shape (n,)
        A cut not below any parent, up to the rounding of values in double precision.

    Notes
    -----
    The same bits for the same stream.  The levels below the first cost about three times as much as the first.

    References
    ----------
    Houdayer and Martin (1999), Renormalization for discrete optimization, Phys. Rev. Lett. 83, arXiv:cond-mat/9901276.

    Examples
    --------
    >>> ring = MaxCutProblem.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    >>> run = SearchRun(Clock(None), np.random.default_rng(0))
    >>> ring.cut_value(renormalize(ring, run, n_sweeps=10))
    4
    """
    steps: list[Contraction] = []
    sides = np.zeros((problem.n, 0), dtype=np.int8) if parents is None else parents
    while True:
        found = _local_optima(problem, run, n_sweeps, n_replicas, sides, annealer)
        # Cuts that differ by a flip of everything are one.
        merged = np.concatenate([found, sides], axis=1)
        best = best_columns(problem, np.ascontiguousarray(merged * merged[:1]), n_replicas)
        contraction, kept = _contract(problem, best)
        is_done = kept == 1 or contraction.problem.n <= 2 or contraction.problem.n_edges == 0
        if is_done or len(steps) >= _MAX_DEPTH or run.clock.is_over():
            break
        steps.append(contraction)
        problem, sides, annealer = contraction.problem, contraction.restrict(best[:, :kept]), None
    side: SideArray = best[:, 0]
    for step in reversed(steps):
        side = step.lift(side)
    return np.ascontiguousarray(side)


def _local_optima(
    problem: MaxCutProblem,
    run: SearchRun,
    n_sweeps: int,
    n_replicas: int,
    sides: SideArray,
    annealer: PopulationAnnealer | None,
) -> SideArray:
    """Return good cuts (n, n_replicas), most of them not descending from the given ones."""
    if problem.n > DENSE_LIMIT:
        return run.anneal(annealer or PopulationAnnealer(problem), n_sweeps, n_replicas=n_replicas, resampling=0.0)
    stream = run.child()
    starts = stream.choice(np.array([-1, 1], dtype=np.int8), (problem.n, n_replicas))
    if sides.shape[1]:
        half = n_replicas // 2
        starts[:, half:] = sides[:, stream.integers(0, sides.shape[1], n_replicas - half)]
    return tabu_population(problem, starts, n_steps=_TABU_STEPS, rng=stream, should_stop=run.clock.is_over)


def _contract(problem: MaxCutProblem, best: SideArray) -> tuple[Contraction, int]:
    """Return the contraction of the agreement of the best cuts, and of how many: fewer where all merge too little."""
    count = best.shape[1]
    contraction = contract_agreement(problem, best)
    while contraction.problem.n > _PROGRESS * problem.n and count > 1:
        count //= 2
        contraction = contract_agreement(problem, best[:, :count])
    return contraction, count
