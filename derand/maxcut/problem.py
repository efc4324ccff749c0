"""The weighted graph of a maximum cut problem: edge arrays in canonical order, exact weights, exact cut values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from derand._utils.validation import FloatArray, check_int
from derand.exceptions import InputError, InputTypeError
from derand.maxcut.weights import absolute_sum, convert_weights, exact_integers, sum_parallel

__all__ = ["IndexArray", "MaxCutProblem", "SideArray"]

IndexArray = NDArray[np.int64]
SideArray = NDArray[np.int8]

# Two indices are packed into one 64-bit sort key.
_MAX_VERTICES = 2**31


@dataclass(frozen=True, eq=False)
class MaxCutProblem:
    """A weighted undirected graph with vertices 0..n-1, made for cut computations.

    The cut of ``side`` in {-1, +1}^n is the sum of w_ij over the edges whose ends differ.  Build one with `from_edges`
    or `from_matrix`: they drop self loops (no cut contains one), sum parallel edges exactly, drop edges of weight zero
    and sort the rest by (head, tail), so that equal graphs give equal bits whatever the order or orientation of the
    edges.

    Parameters
    ----------
    n : int
        Number of vertices.
    heads, tails : ndarray of int64, shape (m,)
        Ends of the edges, heads < tails, sorted lexicographically, every pair once.
    weights : ndarray of float64, shape (m,)
        Weights rounded to double precision, finite and nonzero.
    integer_weights : ndarray of shape (m,) or None
        The exact weights where all are whole numbers: int64 where they and their sum fit, Python ints (object) above;
        else None.

    Notes
    -----
    Immutable; arrays are marked read-only.  Memory about 80 bytes per edge with the adjacency matrix.

    Examples
    --------
    >>> triangle = MaxCutProblem.from_edges([0, 1, 2], [1, 2, 0], [3, 4, 5])
    >>> triangle.cut_value([1, -1, 1])
    7
    """

    n: int
    heads: IndexArray
    tails: IndexArray
    weights: FloatArray
    integer_weights: NDArray[Any] | None

    @classmethod
    def from_edges(cls, heads: Any, tails: Any, weights: Any = None, *, n: int | None = None) -> MaxCutProblem:
        """Return the problem of an edge list.

        Parameters
        ----------
        heads, tails : array_like of int, shape (m,)
            Ends of the edges in any order; self loops are ignored, parallel edges summed.
        weights : array_like, shape (m,), optional
            Whole numbers of any size stay exact; others are rounded to double precision.  1 for each edge when missing.
        n : int, optional
            Number of vertices; one more than the largest index when missing.

        Returns
        -------
        MaxCutProblem
            The graph in canonical order.

        Raises
        ------
        InputError
            If lengths differ, an index is out of range, or a weight is NaN, infinite or too large for double
            precision; the message names the edge.
        InputTypeError
            If indices aren't integers or a weight is no real number.
        """
        head, tail = _check_index(heads, "heads"), _check_index(tails, "tails")
        if head.shape != tail.shape:
            raise InputError(f"heads and tails must have one length, got {head.size} and {tail.size}")
        top = int(max(head.max(initial=-1), tail.max(initial=-1))) + 1
        size = top if n is None else check_int(n, "n", low=0)
        if size > _MAX_VERTICES or top > size:
            raise InputError(f"vertex indices must be below n={size} <= {_MAX_VERTICES}, got {top - 1}")
        if min(head.min(initial=0), tail.min(initial=0)) < 0:
            edge = int(np.flatnonzero((head < 0) | (tail < 0))[0])
            raise InputError(f"vertex indices must not be negative, got edge ({head[edge]}, {tail[edge]})")
        values = convert_weights(weights, head, tail)
        low, high = np.minimum(head, tail), np.maximum(head, tail)
        keys, summed = sum_parallel(low * size + high, values, keep=low != high)
        return cls._build(size, keys // max(size, 1), keys % max(size, 1), summed)

    @classmethod
    def from_matrix(cls, matrix: Any) -> MaxCutProblem:
        """Return the problem of a symmetric weight matrix, sparse or dense; the diagonal is ignored.

        Parameters
        ----------
        matrix : array_like or scipy sparse array, shape (n, n)
            Symmetric; entry (i, j) is the weight of the edge ij, 0 for none.

        Returns
        -------
        MaxCutProblem
            The graph in canonical order.

        Raises
        ------
        InputError
            If the matrix isn't square and symmetric, or holds NaN or infinity; the message names the entry.
        InputTypeError
            If the entries are no real numbers.

        Examples
        --------
        >>> MaxCutProblem.from_matrix([[0, 2], [2, 0]]).cut_value([1, -1])
        2
        """
        dense = None if sp.issparse(matrix) else np.asarray(matrix)
        shape = matrix.shape if dense is None else dense.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise InputError(f"matrix must be square, got shape {shape}")
        if dense is None:
            coo = sp.coo_array(matrix)
            rows, cols, values = coo.row.astype(np.int64), coo.col.astype(np.int64), coo.data
        else:
            rows, cols = np.nonzero(dense != 0)
            values = dense[rows, cols]
        upper, lower = rows < cols, rows > cols
        top = cls.from_edges(rows[upper], cols[upper], values[upper], n=shape[0])
        bottom = cls.from_edges(rows[lower], cols[lower], values[lower], n=shape[0])
        _check_same(top, bottom)
        return top

    @classmethod
    def _build(cls, n: int, heads: IndexArray, tails: IndexArray, values: NDArray[Any]) -> MaxCutProblem:
        """Return the problem of edges that are already canonical; values int64, object (ints) or float64."""
        nonzero = np.flatnonzero(values != 0)
        if nonzero.size < values.size:
            heads, tails, values = heads[nonzero], tails[nonzero], values[nonzero]
        floats = values.astype(np.float64)
        if not math.isfinite(absolute_sum(floats)):
            raise InputError("weights are too large: the sum of their absolute values must be below 1.7e308")
        exact = exact_integers(values, floats)
        problem = cls(n, heads, tails, floats, exact)
        for array in (heads, tails, floats, exact):
            if array is not None:
                array.flags.writeable = False
        return problem

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self.heads.size)

    @property
    def is_integer(self) -> bool:
        """Whether all weights are whole numbers, so that cut values are exact Python ints."""
        return self.integer_weights is not None

    @property
    def exact_weights(self) -> NDArray[Any]:
        """The weights without rounding: `integer_weights` where they exist, else `weights`."""
        return self.weights if self.integer_weights is None else self.integer_weights

    @cached_property
    def scale(self) -> float:
        """Largest absolute weight; 1.0 without edges."""
        return float(np.abs(self.weights).max()) if self.n_edges else 1.0

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """Symmetric adjacency matrix of the double precision weights, CSR with sorted indices, shape (n, n)."""
        rows, cols = np.concatenate([self.heads, self.tails]), np.concatenate([self.tails, self.heads])
        matrix = sp.csr_array((np.concatenate([self.weights, self.weights]), (rows, cols)), shape=(self.n, self.n))
        matrix.sort_indices()
        return matrix

    @cached_property
    def degree(self) -> FloatArray:
        """Weighted degrees, shape (n,)."""
        degree = np.zeros(self.n)
        for ends in (self.heads, self.tails):
            degree += np.bincount(ends, self.weights, self.n)
        return degree

    @cached_property
    def n_neighbors(self) -> IndexArray:
        """Number of neighbours of every vertex, shape (n,)."""
        return np.bincount(self.heads, minlength=self.n) + np.bincount(self.tails, minlength=self.n)

    @cached_property
    def total_weight(self) -> float | int:
        """Sum of all weights: a Python int for whole numbers, else correctly rounded."""
        return self._sum(slice(None))

    def laplacian_product(self, vectors: FloatArray) -> FloatArray:
        """Return L V for the weighted Laplacian L = D - A and ``vectors`` V of shape (n,) or (n, k)."""
        degree = self.degree if vectors.ndim == 1 else self.degree[:, None]
        product: FloatArray = degree * vectors - self.adjacency @ vectors
        return product

    def cut_value(self, side: Any) -> float | int:
        """Return the weight of the edges between the two sides, without rounding for whole numbers.

        Parameters
        ----------
        side : array_like of shape (n,)
            +1 or -1 for every vertex.

        Returns
        -------
        int or float
            Python int for whole-number weights of any size; else the correctly rounded sum.

        Raises
        ------
        InputError
            If ``side`` has the wrong length or another value than +1 and -1.

        Notes
        -----
        Time O(m); the bits don't depend on the order of the edges.
        """
        sides = self.check_side(side)
        return self._sum(sides[self.heads] != sides[self.tails])

    def check_side(self, side: Any) -> SideArray:
        """Return ``side`` as an int8 array of +1 and -1; InputError names what is wrong."""
        values = np.asarray(side)
        if values.shape != (self.n,):
            raise InputError(f"side must have shape ({self.n},), got {values.shape}")
        if self.n and (values.dtype == object or not np.issubdtype(values.dtype, np.number)):
            raise InputError("side must hold the numbers +1 and -1")
        bad = np.flatnonzero((values != 1) & (values != -1))
        if bad.size:
            raise InputError(f"side must hold only +1 and -1, got {values[bad[0]]} for vertex {int(bad[0])}")
        return values.astype(np.int8)

    def subproblem(self, vertices: IndexArray) -> MaxCutProblem:
        """Return the induced problem on ``vertices`` (distinct); vertex k of the result is ``vertices[k]``."""
        position = np.full(self.n, -1, dtype=np.int64)
        position[vertices] = np.arange(vertices.size)
        head, tail = position[self.heads], position[self.tails]
        keep = np.flatnonzero((head >= 0) & (tail >= 0))
        return MaxCutProblem.from_edges(head[keep], tail[keep], self.exact_weights[keep], n=int(vertices.size))

    def _sum(self, which: Any) -> float | int:
        """Return the exact sum of the chosen weights."""
        if self.integer_weights is None:
            return math.fsum(self.weights[which].tolist())
        # int64 partial sums can't wrap: `exact_integers` bounds the sum of absolute values.
        chosen = self.integer_weights[which]
        return sum(chosen.tolist()) if chosen.dtype == object else int(chosen.sum())


def _check_index(value: Any, name: str) -> IndexArray:
    """Return a vector of vertex indices as int64."""
    array = np.asarray(value)
    if array.ndim != 1:
        raise InputError(f"{name} must have one dimension, got shape {array.shape}")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise InputTypeError(f"{name} must hold integers, got {array.dtype}")
    return array.astype(np.int64)


def _check_same(top: MaxCutProblem, bottom: MaxCutProblem) -> None:
    """Raise InputError naming the first entry where the two triangles of a matrix differ."""
    same_pattern = np.array_equal(top.heads, bottom.heads) and np.array_equal(top.tails, bottom.tails)
    if same_pattern and np.array_equal(top.exact_weights, bottom.exact_weights):
        return
    ours, theirs = _entries(top), _entries(bottom)
    for i, j in sorted(ours.keys() | theirs.keys()):
        upper, lower = ours.get((i, j), 0), theirs.get((i, j), 0)
        if upper != lower:
            raise InputError(f"matrix must be symmetric, got {upper} at ({i}, {j}) and {lower} at ({j}, {i})")


def _entries(problem: MaxCutProblem) -> dict[tuple[int, int], Any]:
    """Return the exact weights by pair of vertices."""
    pairs = zip(problem.heads.tolist(), problem.tails.tolist(), strict=True)
    return dict(zip(pairs, problem.exact_weights.tolist(), strict=True))
