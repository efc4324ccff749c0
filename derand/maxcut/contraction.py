"""Contraction of what good cuts agree on, and recombination of two cuts along the components of their difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from derand._utils.distinct import distinct_rows
from derand.exceptions import InputError
from derand.maxcut.problem import IndexArray, MaxCutProblem, SideArray

__all__ = ["Contraction", "contract_agreement", "recombine"]


@dataclass(frozen=True, eq=False)
class Contraction:
    """A problem whose vertices are merged groups with fixed relative sides.

    Attributes
    ----------
    problem : MaxCutProblem
        The merged problem: its vertex g stands for all vertices with ``labels == g``.
    labels : ndarray of int64, shape (n,)
        Group of every original vertex.
    reference : ndarray of int8, shape (n,)
        Side of every original vertex when its group is on side +1.
    """

    problem: MaxCutProblem
    labels: IndexArray
    reference: SideArray

    def lift(self, sides: SideArray) -> SideArray:
        """Return sides (n,) or (n, R) of the original vertices from sides of the groups."""
        lifted = sides[self.labels]
        result: SideArray = lifted * (self.reference if sides.ndim == 1 else self.reference[:, None])
        return result

    def restrict(self, sides: SideArray) -> SideArray:
        """Return the sides of the groups, for sides (n, R) that respect them."""
        first = np.unique(self.labels, return_index=True)[1]
        result: SideArray = sides[first] * self.reference[first][:, None]
        return result


def contract_agreement(problem: MaxCutProblem, sides: SideArray) -> Contraction:
    """Return the problem with those neighbours merged whose relative side is the same in all given cuts.

    Every given cut is a cut of the merged problem, up to a constant: for groups on sides t_a,
    cut = cut(reference) + (cut of t in the merged problem), with merged weights sum w_ij s_i s_j over the edges between
    two groups.  So no optimum of the merged problem is below the best given cut.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    sides : ndarray of int8, shape (n, K)
        Cuts; the first is the reference.

    Returns
    -------
    Contraction
        Merged problem and the way back.

    Raises
    ------
    InputError
        If ``sides`` has the wrong shape or no column.

    Notes
    -----
    Time O(m log m + n K), deterministic.  Weights stay exact.

    Examples
    --------
    >>> path = MaxCutProblem.from_edges([0, 1, 2], [1, 2, 3])
    >>> cuts = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]], dtype=np.int8)
    >>> contract_agreement(path, cuts).labels.tolist()
    [0, 0, 1, 1]
    """
    if sides.ndim != 2 or sides.shape[0] != problem.n or sides.shape[1] == 0:
        raise InputError(f"sides must have shape ({problem.n}, K) with K >= 1, got {sides.shape}")
    reference = np.ascontiguousarray(sides[:, 0])
    pattern = np.packbits(sides != reference[:, None], axis=1)
    _, key = distinct_rows(pattern)
    heads, tails = problem.heads, problem.tails
    n_groups, labels = _components(problem.n, heads, tails, np.flatnonzero(key[heads] == key[tails]))
    signs = reference[heads].astype(np.int64) * reference[tails]
    # cut = sum w (1 - s_i s_j t_a t_b)/2, so that the merged weight of two groups is sum w s_i s_j.
    merged = MaxCutProblem.from_edges(labels[heads], labels[tails], problem.exact_weights * signs, n=n_groups)
    return Contraction(merged, labels, reference)


def recombine(problem: MaxCutProblem, side: SideArray, others: SideArray) -> tuple[SideArray, float]:
    """Return the best mix of one cut with each of the others in turn, along components of their difference.

    Where two cuts differ, the differing vertices fall into connected components without edges between them, so each
    may be flipped or not independently of the others; every one that gains is flipped.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    side : ndarray of int8, shape (n,)
        The cut to improve.
    others : ndarray of int8, shape (n, R)
        Cuts to take components from.

    Returns
    -------
    side : ndarray of int8, shape (n,)
        A cut not below any of the given ones up to rounding, nor below what replacing whole components can reach.
    gain : float
        Value gained over ``side``.

    Notes
    -----
    Time O(R (n + m)), deterministic.  The exchange is Houdayer's cluster move and the partition crossover of the
    travelling salesman literature, applied to all clusters at once.

    References
    ----------
    Houdayer (2001), A cluster Monte Carlo algorithm for 2-dimensional spin glasses, Eur. Phys. J. B 22,
    arXiv:cond-mat/0101116.

    Examples
    --------
    >>> path = MaxCutProblem.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    >>> cut, other = np.array([1, 1, -1, 1, 1], dtype=np.int8), np.array([[-1], [1], [-1], [1], [-1]], dtype=np.int8)
    >>> recombine(path, cut, other)[1]
    2.0
    """
    best, total = side.copy(), 0.0
    for column in range(others.shape[1]):
        different = best != others[:, column]
        if 2 * int(different.sum()) > problem.n:
            different = ~different
        flips, gain = _gaining_components(problem, best, different)
        best[flips] = -best[flips]
        total += gain
    return best, total


def _gaining_components(
    problem: MaxCutProblem, side: SideArray, different: NDArray[np.bool_]
) -> tuple[IndexArray, float]:
    """Return the vertices of the components of ``different`` whose flip gains, and the gain."""
    vertices = np.flatnonzero(different)
    if not vertices.size:
        return vertices, 0.0
    heads, tails = problem.heads, problem.tails
    touching = np.flatnonzero(different[heads] | different[tails])
    head, tail, weight = heads[touching], tails[touching], problem.weights[touching]
    inside = different[head] & different[tail]
    position = np.zeros(problem.n, dtype=np.int64)
    position[vertices] = np.arange(vertices.size)
    n_parts, part = _components(vertices.size, position[head], position[tail], np.flatnonzero(inside))
    border = ~inside
    inner = np.where(different[head[border]], head[border], tail[border])
    change = weight[border] * (side[head[border]].astype(np.float64) * side[tail[border]])
    gains = np.bincount(part[position[inner]], change, n_parts)
    # A gain within rounding of the sums is no gain.
    noise = 1e-12 * np.bincount(part[position[inner]], np.abs(change), n_parts)
    wins = gains > noise
    return vertices[wins[part]], float(gains[wins].sum())


def _components(n: int, heads: IndexArray, tails: IndexArray, chosen: IndexArray) -> tuple[int, IndexArray]:
    """Return the number of connected components over the chosen edges, and the component of every vertex."""
    ones = np.ones(chosen.size, dtype=np.int8)
    graph: Any = sp.csr_array((ones, (heads[chosen], tails[chosen])), shape=(n, n))
    count, labels = connected_components(graph, directed=False)
    return int(count), labels.astype(np.int64)
