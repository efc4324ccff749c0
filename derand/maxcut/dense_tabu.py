"""Tabu search on many cuts of one small graph at once, with a dense weight matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int
from derand.exceptions import InputError
from derand.maxcut.problem import IndexArray, MaxCutProblem, SideArray

__all__ = ["tabu_population"]

# Tenures are n/100 + 1..10 steps, the random part no longer than a tenth of the graph.
_TENURE_SPREAD = 10
# Idle time breaks ties between equal gains: less than the rounding of a gain, more than the rounding of a key.
_TIE = 2.0**-34


def tabu_population(
    problem: MaxCutProblem,
    sides: NDArray[Any],
    *,
    n_steps: int,
    rng: RNGLike = 0,
    should_stop: Callable[[], bool] | None = None,
) -> SideArray:
    """Return the best cut met on a tabu walk from every given cut.

    All walks take a step at once: the best flip of a vertex that hasn't moved lately, gaining or not, or any flip that
    leads to a new best cut of its walk; of equal gains the vertex wins that has been idle for longest.  Unlike
    `derand.maxcut.local_search.tabu_search`, tenures are random, so that walks from one cut part.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    sides : ndarray of shape (n, R)
        The cuts to start from, +1 and -1.
    n_steps : int
        Flips of each walk, at least 1.
    rng : int, Generator, SeedSequence or None, default 0
        Source of the tenures.
    should_stop : callable, optional
        Asked every 256 steps; a true answer ends the walks.

    Returns
    -------
    ndarray of int8, shape (n, R)
        For every walk a cut not below its start, up to the rounding of sums in double precision.

    Raises
    ------
    InputError
        If ``sides`` has the wrong shape or ``n_steps`` is out of range.

    Notes
    -----
    Memory n^2 + 5 n R doubles; time about ten operations on n R doubles for a step of all walks.  The same bits for the
    same ``rng``.

    References
    ----------
    Glover (1989), Tabu search, part I, ORSA J. Comput. 1.

    Examples
    --------
    >>> pentagon = MaxCutProblem.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    >>> found = tabu_population(pentagon, np.ones((5, 2)), n_steps=30)
    >>> [pentagon.cut_value(found[:, k]) for k in range(2)]
    [4, 4]
    """
    if sides.ndim != 2 or sides.shape[0] != problem.n:
        raise InputError(f"sides must have shape ({problem.n}, R), got {sides.shape}")
    n_steps, stream = check_int(n_steps, "n_steps", low=1), check_rng(rng)
    if problem.n < 2 or sides.shape[1] == 0:
        return sides.astype(np.int8)
    walks = _Walks(problem, sides, n_steps)
    spread = 1 + min(_TENURE_SPREAD, problem.n // 10)
    tenures = problem.n // 100 + stream.integers(1, 1 + spread, (n_steps, sides.shape[1]))
    for step in range(n_steps):
        if should_stop is not None and step % 256 == 0 and should_stop():
            break
        walks.advance(step, tenures[step])
    return np.ascontiguousarray(walks.best.T.astype(np.int8))


class _Walks:
    """R walks in lockstep: sides, gains of all flips, idle times, best cuts; one row each, shapes (R, n)."""

    def __init__(self, problem: MaxCutProblem, sides: NDArray[Any], n_steps: int) -> None:
        self.matrix: FloatArray = problem.adjacency.toarray() / problem.scale
        self.side: FloatArray = np.ascontiguousarray(sides.T, dtype=np.float64)
        self.gains: FloatArray = self.side * (self.side @ self.matrix)
        count, n = self.side.shape
        self.rows: IndexArray = np.arange(count)
        # First ties go to the smaller index.
        self.bonus: FloatArray = np.tile(np.arange(n, 0.0, -1.0) * (_TIE / (n * n_steps)), (count, 1))
        self.free_at: IndexArray = np.zeros((count, n), dtype=np.int64)
        self.tie = _TIE / n_steps
        self.value, self.top = np.zeros(count), np.zeros(count)
        self.best: FloatArray = self.side.copy()

    def advance(self, step: int, tenures: IndexArray) -> None:
        """Flip one vertex of every walk."""
        rows, gains = self.rows, self.gains
        keys = np.where(self.free_at <= step, gains + self.bonus, -np.inf)
        chosen, champion = keys.argmax(axis=1), gains.argmax(axis=1)
        chosen = np.where(self.value + gains[rows, champion] > self.top + 1e-12, champion, chosen)
        gain, own = gains[rows, chosen], -self.side[rows, chosen]
        self.value += gain
        self.side[rows, chosen] = own
        gains += (2.0 * own)[:, None] * self.matrix[chosen] * self.side
        gains[rows, chosen] = -gain
        self.free_at[rows, chosen] = step + 1 + tenures
        self.bonus[rows, chosen] = -step * self.tie
        better = np.flatnonzero(self.value > self.top + 1e-12)
        if better.size:
            self.top[better] = self.value[better]
            self.best[better] = self.side[better]
