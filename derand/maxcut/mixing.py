"""Exact block ascent over colour classes for unit vectors: the mixing method without its sequential loop."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from derand._utils.validation import FloatArray
from derand.maxcut.colouring import greedy_colouring
from derand.maxcut.problem import IndexArray, MaxCutProblem

__all__ = ["ColourBlocks", "row_dots"]


def row_dots(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the inner products of corresponding rows, shape (n,), with the same bits on any number of threads."""
    products: FloatArray = np.einsum("ij,ij->i", left, right)
    return products


class ColourBlocks:
    """The adjacency matrix with its vertices sorted by colour class, ready for block ascent.

    For f(V) = sum_ij a_ij v_i.v_j / 2 over unit rows v_i, the best v_i given the others is -g_i/|g_i| with
    g = A V.  The vertices of a colour class share no edge, so all of them take their best position at once: one sweep
    costs one product A V and never increases f.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.

    Attributes
    ----------
    order : ndarray of int64, shape (n,)
        Row k of the vectors here belongs to vertex ``order[k]``.
    matrix : scipy.sparse.csr_array, shape (n, n)
        The adjacency matrix in this order, divided by `unit`.
    unit : float
        A power of two near the largest absolute weight, so that dividing by it is exact.
    isolated : ndarray of int64
        Rows without entries.

    References
    ----------
    Wang, Chang and Kolter (2017), The mixing method, arXiv:1706.00476.
    """

    def __init__(self, problem: MaxCutProblem) -> None:
        colours = greedy_colouring(problem)
        self.order: IndexArray = np.argsort(colours, kind="stable")
        self.unit = float(np.ldexp(1.0, int(np.frexp(problem.scale)[1])))
        matrix = sp.csr_array(problem.adjacency[self.order][:, self.order])
        matrix.sort_indices()
        matrix.data = matrix.data / self.unit
        self.matrix = matrix
        self.isolated: IndexArray = np.flatnonzero(np.diff(matrix.indptr) == 0)
        ends = np.concatenate([[0], np.cumsum(np.bincount(colours))]).tolist()
        self._blocks = [(lo, hi, matrix[lo:hi]) for lo, hi in pairwise(ends)]

    def sweep(self, vectors: FloatArray) -> float:
        """Move every class of ``vectors`` (n, k) to its best position in place; return the sum of |g_i| met."""
        total = 0.0
        for low, high, rows in self._blocks:
            pull = rows @ vectors
            length = np.sqrt(row_dots(pull, pull))
            total += float(length.sum())
            # A vertex that nothing pulls (isolated, or balanced by chance) may stay where it is.
            still = np.flatnonzero(length == 0.0)
            if still.size:
                pull[still], length[still] = vectors[low:high][still], -1.0
            np.divide(pull, -length[:, None], out=vectors[low:high])
        return total
