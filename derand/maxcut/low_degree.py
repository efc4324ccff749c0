"""Exact elimination of vertices with at most two neighbours."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derand.maxcut.problem import IndexArray, MaxCutProblem

__all__ = ["Elimination", "eliminate_low_degree", "neighbor_rows"]

# One record per eliminated vertex: vertex, neighbours (-1 for none) and the weights to them.
Record = tuple[int, int, int, int, int]


@dataclass(frozen=True, eq=False)
class Elimination:
    """A smaller graph with the same optimum up to a constant, and how to get back.

    Attributes
    ----------
    problem : MaxCutProblem
        What remains, on the same vertex numbers; eliminated vertices have no edges.
    offset : int
        Optimum of the original = offset + optimum of `problem`.
    records : tuple of (vertex, first, second, first_weight, second_weight)
        In order of elimination; neighbours are -1 where missing.
    """

    problem: MaxCutProblem
    offset: int
    records: tuple[Record, ...]

    def lift(self, side: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return ``side`` (n,) with every eliminated vertex put, last first, where it gains most; ties go to +1."""
        sides = side.tolist()
        for vertex, first, second, first_weight, second_weight in reversed(self.records):
            # Gain of +1 over -1: an edge counts when its ends differ.
            gain = -first_weight * sides[first] if first >= 0 else 0
            if second >= 0:
                gain -= second_weight * sides[second]
            sides[vertex] = 1 if gain >= 0 else -1
        return np.array(sides, dtype=np.int8)


def eliminate_low_degree(problem: MaxCutProblem) -> Elimination:
    """Return the graph without vertices of at most two neighbours; its optimum differs by a known constant.

    A vertex with the one edge a adds max(a, 0) whatever the rest does.  A vertex with edges a to i and b to j adds
    max(0, a + b) when i and j are on one side and max(a, b) when not: the constant max(0, a + b) and an edge ij of
    weight max(a, b) - max(0, a + b).  Elimination goes on until every vertex has three neighbours or none.

    Parameters
    ----------
    problem : MaxCutProblem
        A graph with whole-number weights.

    Returns
    -------
    Elimination
        The remaining graph, the constant and the way back.

    Notes
    -----
    Exact integer arithmetic.  Time O(n + m) in Python loops; nothing is built when no vertex qualifies.

    Examples
    --------
    >>> cycle = MaxCutProblem.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    >>> eliminate_low_degree(cycle).offset
    4
    """
    queue = deque(np.flatnonzero((problem.n_neighbors > 0) & (problem.n_neighbors <= 2)).tolist())
    if not queue:
        return Elimination(problem, 0, ())
    rows = neighbor_rows(problem)
    offset, records = 0, []
    while queue:
        vertex = queue.popleft()
        row = rows[vertex]
        if not row or len(row) > 2:
            continue
        (first, a), *more = row.items()
        (second, b) = more[0] if more else (-1, 0)
        records.append((vertex, first, second, a, b))
        offset += max(0, a + b) if more else max(a, 0)
        rows[vertex] = {}
        for other in row:
            del rows[other][vertex]
        if more:
            _add_edge(rows, first, second, max(a, b) - max(0, a + b))
        queue.extend(other for other in row if len(rows[other]) <= 2)
    return Elimination(_remaining(problem.n, rows), offset, tuple(records))


def neighbor_rows(problem: MaxCutProblem) -> list[dict[int, int]]:
    """Return one dictionary neighbour -> weight per vertex."""
    names = list(range(problem.n))
    rows: list[dict[int, int]] = [{} for _ in names]
    weights: Any = problem.exact_weights
    for head, tail, weight in zip(problem.heads.tolist(), problem.tails.tolist(), weights.tolist(), strict=True):
        # One object per vertex in place of one per edge: less memory, and faster to look up.
        rows[head][names[tail]] = weight
        rows[tail][names[head]] = weight
    return rows


def _add_edge(rows: list[dict[int, int]], first: int, second: int, weight: int) -> None:
    """Add ``weight`` to an edge; an edge of weight zero disappears."""
    total = rows[first].get(second, 0) + weight
    if total:
        rows[first][second] = rows[second][first] = total
    elif second in rows[first]:
        del rows[first][second], rows[second][first]


def _remaining(n: int, rows: list[dict[int, int]]) -> MaxCutProblem:
    """Return the problem of the rows that are left."""
    edges = [(i, j, w) for i, row in enumerate(rows) for j, w in row.items() if i < j]
    heads = np.array([i for i, _, _ in edges], dtype=np.int64)
    tails: IndexArray = np.array([j for _, j, _ in edges], dtype=np.int64)
    return MaxCutProblem.from_edges(heads, tails, [w for _, _, w in edges], n=n)
