"""Optimal cuts of tiny graphs by looking at all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from derand.exceptions import BudgetExceededError
from derand.maxcut.problem import MaxCutProblem

__all__ = ["MAX_EXHAUSTIVE", "best_cut_exhaustive"]

MAX_EXHAUSTIVE = 20


def best_cut_exhaustive(problem: MaxCutProblem) -> tuple[int | float, NDArray[np.int8]]:
    """Return the optimum and an optimal cut of a graph with at most 20 vertices.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.

    Returns
    -------
    value : int or float
        The optimum: exact for whole-number weights.
    side : ndarray of int8, shape (n,)
        An optimal cut with the last vertex on side +1: the first in the order of binary numbers.

    Raises
    ------
    BudgetExceededError
        If there are more than 20 vertices.

    Notes
    -----
    Time and memory O(n 2^(n-1)) and O(2^(n-1)), vectorised; Python integers where sums could leave 64 bits.

    Examples
    --------
    >>> best_cut_exhaustive(MaxCutProblem.from_edges([0, 1, 2], [1, 2, 0]))[0]
    2
    """
    n = problem.n
    if n > MAX_EXHAUSTIVE:
        raise BudgetExceededError(f"all cuts of {n} vertices are too many, the limit is {MAX_EXHAUSTIVE}")
    if n == 0:
        return problem.total_weight, np.zeros(0, dtype=np.int8)
    weights = problem.exact_weights
    rows: NDArray[Any] = np.zeros((n, n), dtype=weights.dtype)
    rows[problem.heads, problem.tails] = weights
    cuts: NDArray[Any] = np.zeros(1, dtype=weights.dtype)
    for vertex in range(n):
        # Weight between `vertex` and the set coded by the bits of the index, for every set of earlier vertices.
        towards: NDArray[Any] = np.zeros(1, dtype=weights.dtype)
        for other in range(vertex):
            towards = np.concatenate([towards, towards + rows[other, vertex]])
        inside = cuts + (rows[:vertex, vertex].sum() if vertex else 0) - towards
        # The last vertex stays outside: complements have the same value.
        cuts = cuts + towards if vertex == n - 1 else np.concatenate([cuts + towards, inside])
    best = int(np.argmax(cuts))
    side = np.array([-1 if best >> vertex & 1 else 1 for vertex in range(n)], dtype=np.int8)
    return problem.cut_value(side), side
