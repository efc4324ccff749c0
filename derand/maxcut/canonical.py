"""A vertex order that depends on the graph and not on its labels, so that relabelled graphs give the same answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from derand._utils.validation import check_int
from derand.maxcut.problem import IndexArray, MaxCutProblem

__all__ = ["canonical_order"]

Hashes = NDArray[np.uint64]


def canonical_order(problem: MaxCutProblem, *, max_choices: int = 30) -> IndexArray:
    """Return an order of the vertices that a relabelling of the graph carries along, as far as refinement can tell.

    Colour refinement with exact weights, then individualisation: while two vertices share a colour, one vertex of a
    smallest shared class gets a colour of its own and refinement goes on.  ``problem.subproblem(order)`` is then the
    same problem, bit by bit, for all relabellings of a graph, provided that vertices which refinement cannot tell apart
    are exchanged by a symmetry of the graph (it may fail on strongly regular graphs and the like, which changes the
    order, never the correctness of anything).

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    max_choices : int, default 30
        Number of individualised vertices after which the remaining ties are broken by index.

    Returns
    -------
    ndarray of int64, shape (n,)
        ``order[k]`` is the vertex in position k.

    Notes
    -----
    Time O(m) for a round of refinement, a handful of rounds on irregular graphs, about the diameter on tori.

    References
    ----------
    McKay and Piperno (2014), Practical graph isomorphism, II, section 2.

    Examples
    --------
    The ends of a path with different weights are told apart.

    >>> first = MaxCutProblem.from_edges([0, 1], [1, 2], [5, 7])
    >>> second = MaxCutProblem.from_edges([2, 1], [1, 0], [5, 7])
    >>> first.subproblem(canonical_order(first)).weights.tolist()
    [5.0, 7.0]
    >>> second.subproblem(canonical_order(second)).weights.tolist()
    [5.0, 7.0]
    """
    choices = check_int(max_choices, "max_choices", low=0)
    refiner = _Refiner(problem)
    colours = refiner.refine(np.zeros(problem.n, dtype=np.int64))
    for _ in range(choices):
        sizes = np.bincount(colours, minlength=1)
        shared = np.flatnonzero(sizes > 1)
        if not shared.size:
            break
        chosen = shared[int(np.argmin(sizes[shared]))]
        vertex = int(np.flatnonzero(colours == chosen)[0])
        # Doubling leaves room for the new colour just below its class.
        split = 2 * colours
        split[vertex] -= 1
        colours = refiner.refine(np.unique(split, return_inverse=True)[1])
    return np.argsort(colours, kind="stable")


class _Refiner:
    """Colour refinement on one graph by hashes of neighbourhoods."""

    def __init__(self, problem: MaxCutProblem) -> None:
        kinds = np.unique(problem.exact_weights, return_inverse=True)[1].astype(np.uint64)
        heads, tails = problem.heads, problem.tails
        ends, others = np.concatenate([heads, tails]), np.concatenate([tails, heads])
        by_end = np.argsort(ends, kind="stable")
        self._others = others[by_end]
        self._kinds = _mix(np.concatenate([kinds, kinds])[by_end] + np.uint64(1))
        counts = problem.n_neighbors
        self._occupied = np.flatnonzero(counts)
        self._starts = (np.cumsum(counts) - counts)[self._occupied]

    def refine(self, colours: IndexArray) -> IndexArray:
        """Return the coarsest stable refinement of ``colours`` (n,): ranks 0, 1, ..., independent of labels."""
        n_classes = int(colours.max(initial=-1)) + 1
        while n_classes < colours.size:
            hashes = _mix(colours.astype(np.uint64) + np.uint64(1))
            around = np.zeros(colours.size, dtype=np.uint64)
            if self._others.size:
                # A sum of mixed values doesn't depend on the order of the neighbours; uint64 wraps round on purpose.
                parts = _mix(hashes[self._others] + self._kinds)
                around[self._occupied] = np.add.reduceat(parts, self._starts)
            ranks = np.unique(_mix(around), return_inverse=True)[1].astype(np.int64)
            # The old colour leads, so that a refinement never mixes classes whatever the hashes are.
            finer = np.unique(colours * (int(ranks.max()) + 1) + ranks, return_inverse=True)[1].astype(np.int64)
            found = int(finer.max()) + 1
            if found == n_classes:
                break
            colours, n_classes = finer, found
        return colours


def _mix(values: Hashes) -> Hashes:
    """Return the splitmix64 finaliser of every value."""
    mixed = values * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
