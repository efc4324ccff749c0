"""Local search with incremental gains: one flip, Kernighan-Lin chains, tabu search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derand._utils.validation import FloatArray, check_int
from derand.maxcut.colouring import greedy_colouring
from derand.maxcut.problem import IndexArray, MaxCutProblem, SideArray

__all__ = ["kernighan_lin", "one_flip", "tabu_search"]

_GOLDEN = 0.6180339887498949
_MAX_SWEEPS = 1000


def one_flip(problem: MaxCutProblem, side: Any) -> SideArray:
    """Return a cut that no move of a single vertex improves, reached from the given one without ever losing.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    side : array_like of shape (n,)
        The cut to start from.

    Returns
    -------
    ndarray of int8, shape (n,)
        A local optimum, up to the rounding of sums in double precision.

    Raises
    ------
    InputError
        If ``side`` isn't a cut of the graph.

    Notes
    -----
    All gaining vertices of a colour class move at once, since they share no edge.  O(m) for a sweep; deterministic.

    Examples
    --------
    >>> path = MaxCutProblem.from_edges([0, 1], [1, 2])
    >>> path.cut_value(one_flip(path, [1, 1, 1]))
    2
    """
    current = problem.check_side(side).astype(np.float64)
    colours = greedy_colouring(problem)
    classes = [np.flatnonzero(colours == colour) for colour in range(int(colours.max(initial=-1)) + 1)]
    rows = [problem.adjacency[chosen] for chosen in classes]
    noise = 1e-13 * np.asarray(abs(problem.adjacency).sum(axis=1)).ravel()
    for _ in range(_MAX_SWEEPS):
        has_moved = False
        for chosen, matrix in zip(classes, rows, strict=True):
            gains = current[chosen] * (matrix @ current)
            wins = chosen[gains > noise[chosen]]
            if wins.size:
                has_moved = True
                current[wins] = -current[wins]
        if not has_moved:
            break
    return current.astype(np.int8)


class _Walk:
    """A cut with the gains of all single flips, kept up to date."""

    def __init__(self, problem: MaxCutProblem, side: SideArray) -> None:
        adjacency = problem.adjacency
        self.side: FloatArray = side.astype(np.float64)
        self.gains: FloatArray = self.side * (adjacency @ self.side)
        self._starts: list[int] = adjacency.indptr.tolist()
        self._indices: NDArray[Any] = adjacency.indices
        self._weights: FloatArray = adjacency.data
        self.value = 0.0

    def flip(self, vertex: int) -> None:
        """Move one vertex and update the gains of its neighbours: O(degree)."""
        gain = float(self.gains[vertex])
        self.value += gain
        own = -float(self.side[vertex])
        self.side[vertex] = own
        row = slice(self._starts[vertex], self._starts[vertex + 1])
        near = self._indices[row]
        self.gains[near] += 2.0 * own * self._weights[row] * self.side[near]
        self.gains[vertex] = -gain


def kernighan_lin(problem: MaxCutProblem, side: Any, *, max_passes: int = 20, depth: int | None = None) -> SideArray:
    """Return a cut that no chain of best single moves improves.

    A pass moves vertices one after another, always the one with the largest gain that hasn't moved yet, losses
    included, and keeps the best prefix of the chain.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    side : array_like of shape (n,)
        The cut to start from.
    max_passes : int, default 20
        Limit on passes, at least 1.
    depth : int, optional
        Longest chain; the number of vertices, at most 2000, by default.

    Returns
    -------
    ndarray of int8, shape (n,)
        A cut not below the given one.

    Raises
    ------
    InputError
        If ``side`` isn't a cut of the graph or a limit is out of range.

    Notes
    -----
    O(depth (n + degree)) for a pass; deterministic, ties go to the smaller index.

    References
    ----------
    Kernighan and Lin (1970), An efficient heuristic procedure for partitioning graphs, Bell Syst. Tech. J. 49.

    Examples
    --------
    >>> square = MaxCutProblem.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> square.cut_value(kernighan_lin(square, [1, 1, -1, -1]))
    4
    """
    best = problem.check_side(side)
    max_passes = check_int(max_passes, "max_passes", low=1)
    length = min(problem.n, 2000) if depth is None else min(check_int(depth, "depth", low=1), problem.n)
    for _ in range(max_passes):
        walk, moved, top, top_length = _Walk(problem, best), [], 0.0, 0
        allowed = walk.gains.copy()
        free = np.ones(problem.n, dtype=bool)
        for step in range(length):
            vertex = int(np.argmax(allowed))
            walk.flip(vertex)
            moved.append(vertex)
            free[vertex] = False
            allowed = np.where(free, walk.gains, -np.inf)
            if walk.value > top + 1e-12 * problem.scale:
                top, top_length = walk.value, step + 1
        if not top_length:
            break
        best = best.copy()
        chain = moved[:top_length]
        best[chain] = -best[chain]
    return best


def tabu_search(
    problem: MaxCutProblem,
    side: Any,
    *,
    n_steps: int = 10_000,
    should_stop: Callable[[], bool] | None = None,
) -> SideArray:
    """Return the best cut met on a tabu walk: the best flip of a vertex that hasn't moved lately, improving or not.

    A vertex that moved stays put for n/100 + 10 g steps or so, where g runs through the multiples of the golden ratio
    modulo 1: tenures without a period and without random numbers.  A flip that leads to a new best cut is allowed in
    any case, and of equal gains the vertex wins that has been idle for longest; with lowest-index ties the walk
    cycles.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    side : array_like of shape (n,)
        The cut to start from.
    n_steps : int, default 10_000
        Number of flips, at least 1.
    should_stop : callable, optional
        Asked every 256 steps.

    Returns
    -------
    ndarray of int8, shape (n,)
        A cut not below the given one.

    Raises
    ------
    InputError
        If ``side`` isn't a cut of the graph or ``n_steps`` is out of range.

    Notes
    -----
    O(n + degree) for a step; deterministic.

    References
    ----------
    Glover (1989), Tabu search, part I, ORSA J. Comput. 1; Kochenberger et al. (2013), Solving large scale max cut
    problems via tabu search, J. Heuristics 19.

    Examples
    --------
    >>> pentagon = MaxCutProblem.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    >>> pentagon.cut_value(tabu_search(pentagon, [1, 1, 1, 1, 1], n_steps=50))
    4
    """
    best = problem.check_side(side)
    if problem.n < 2:
        return best
    walk, top = _Walk(problem, best), 0.0
    free_at: IndexArray = np.zeros(problem.n, dtype=np.int64)
    last_move: IndexArray = -np.arange(1, problem.n + 1, dtype=np.int64)
    phase = 0.0
    for step in range(check_int(n_steps, "n_steps", low=1)):
        if should_stop is not None and step % 256 == 0 and should_stop():
            break
        allowed = np.where(free_at <= step, walk.gains, -np.inf)
        highest = allowed.max()
        champion = int(np.argmax(walk.gains))
        if walk.value + walk.gains[champion] > top + 1e-12 * problem.scale and walk.gains[champion] > highest:
            vertex = champion
        else:
            ties = np.flatnonzero(allowed == highest)
            vertex = int(ties[np.argmin(last_move[ties])])
        walk.flip(vertex)
        phase = (phase + _GOLDEN) % 1.0
        free_at[vertex] = step + 1 + min(problem.n // 100 + int(10 * phase), problem.n // 2)
        last_move[vertex] = step
        if walk.value > top + 1e-12 * problem.scale:
            top, best = walk.value, walk.side.astype(np.int8)
    return best
