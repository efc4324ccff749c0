"""The content of a graph file: who is joined to whom, with which weight, exactly as the file says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from derand._utils.validation import check_int
from derand.exceptions import InputError, InputTypeError
from derand.io.arcs import pair_arcs
from derand.io.numerals import IntArray, WeightArray, pack_integers


@dataclass(frozen=True, eq=False)
class EdgeList:
    r"""Edges in file order, with self loops and parallel edges as the file gives them.

    Nothing is summed, dropped or symmetrised on reading; `merged` and `undirected` do that on request and say how.  The
    arrays are made read-only.

    Parameters
    ----------
    n : int
        Number of vertices, isolated ones included.
    heads, tails : array_like of int, shape (m,)
        Ends of the edges, in [0, n).  The vertex ``i`` in a file that counts from 1 is ``i - 1`` here.
    weights : array_like, shape (m,)
        int64, float64 (finite), or object with Python ints where some don't fit int64.
    labels : sequence of str, optional
        Distinct names of the vertices; None means that the file numbers them 1, ..., n.
    name : str
        The name of the file, or empty.
    directed : bool
        True when the file lists arcs: a Matrix Market file with general storage, a DIMACS shortest-path file.
    format : str
        The format that was read, such as ``"rudy"``.  In ``"qubo"`` self loops are the linear coefficients.

    Raises
    ------
    InputError
        If shapes, ranges or labels don't fit together, or a weight isn't finite.
    InputTypeError
        If an argument has the wrong type.

    Examples
    --------
    A triangle with one doubled edge:

    >>> edges = EdgeList(3, [0, 1, 0, 1], [1, 2, 2, 0], [1, 1, 1, 5])
    >>> edges
    EdgeList(n=3, m=4, weights=int64, parallel=1)
    >>> edges.merged().weights.tolist()
    [6, 1, 1]
    """

    n: int
    heads: IntArray
    tails: IntArray
    weights: WeightArray
    labels: tuple[str, ...] | None = None
    name: str = ""
    directed: bool = False
    format: str = ""

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "n", check_int(self.n, "n", low=0))
        for field in ("heads", "tails"):
            set_field(self, field, _check_ends(getattr(self, field), field, self.n))
        set_field(self, "weights", _check_weights(self.weights))
        if not self.heads.shape == self.tails.shape == self.weights.shape:
            raise InputError(
                "heads, tails and weights must have one length, got "
                f"{self.heads.size}, {self.tails.size} and {self.weights.size}"
            )
        if self.labels is not None:
            set_field(self, "labels", _check_labels(self.labels, self.n))
        for array in (self.heads, self.tails, self.weights):
            array.setflags(write=False)

    def __repr__(self) -> str:
        parts = [f"n={self.n}", f"m={self.m}", f"weights={self.weights.dtype}"]
        parts += [f"loops={self.n_self_loops}"] if self.n_self_loops else []
        parts += [f"parallel={self.n_parallel}"] if self.n_parallel else []
        parts += ["directed=True"] if self.directed else []
        return f"EdgeList({', '.join(parts)})"

    @property
    def m(self) -> int:
        """Number of edges, self loops and parallel ones included."""
        return int(self.heads.size)

    @property
    def n_self_loops(self) -> int:
        """Number of edges that join a vertex to itself."""
        return int(np.count_nonzero(self.heads == self.tails))

    @property
    def n_parallel(self) -> int:
        """Number of edges beyond the first between the same two vertices (of arcs in the same direction)."""
        first, second = (self.heads, self.tails) if self.directed else _sorted_ends(self)
        order = np.lexsort((second, first))
        first, second = first[order], second[order]
        return int(np.count_nonzero((first[1:] == first[:-1]) & (second[1:] == second[:-1])))

    @property
    def node_labels(self) -> Sequence[str] | range:
        """The names of the vertices as the file writes them: strings, or the numbers 1, ..., n."""
        return range(1, self.n + 1) if self.labels is None else self.labels

    def undirected(self) -> EdgeList:
        """Return each pair of opposite arcs of equal weight as one edge.

        An edge list that isn't directed is returned as it is.  A self loop is one arc and becomes one edge.

        Returns
        -------
        EdgeList
            The arcs from a lower to a higher vertex and the self loops, in file order.

        Raises
        ------
        InputError
            If some arc has no opposite arc of the same weight: the graph is directed in earnest, and whether to add
            or to average opposite weights is for the caller to decide.

        Notes
        -----
        O(m log m) time, O(m) memory, deterministic.
        """
        if not self.directed:
            return self
        kept, lonely = pair_arcs(self.heads, self.tails, self.weights)
        if lonely is not None:
            u, v = (self.node_labels[int(end[lonely])] for end in (self.heads, self.tails))
            raise InputError(
                f"the graph is directed: the arc from {u} to {v} of weight {self.weights[lonely]} has no opposite arc "
                "of that weight; build an undirected graph first, for instance with weights w(u, v) + w(v, u)"
            )
        heads, tails, weights = self.heads[kept], self.tails[kept], self.weights[kept]
        return replace(self, heads=heads, tails=tails, weights=weights, directed=False)

    def merged(self) -> EdgeList:
        """Return the simple graph: self loops dropped, parallel edges summed, edges of weight zero dropped.

        Sums of integers are exact (Python ints where int64 would overflow).  Sums of floats are correctly rounded, so
        they don't depend on the order of the edges.

        Returns
        -------
        EdgeList
            Edges with ``heads < tails``, sorted by both.

        Raises
        ------
        InputError
            If the edge list is directed, or a sum of floats overflows.

        Notes
        -----
        O(m log m) time, O(m) memory, deterministic.
        """
        if self.directed:
            raise InputError("only an undirected edge list can be merged; call undirected() first")
        low, high = _sorted_ends(self)
        order = np.lexsort((high, low))
        order = order[low[order] != high[order]]
        low, high, weights = low[order], high[order], self.weights[order]
        is_first = np.ones(low.size, dtype=np.bool_)
        is_first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
        sums = _group_sums(weights, np.flatnonzero(is_first))
        keep = sums != 0
        return replace(self, heads=low[is_first][keep], tails=high[is_first][keep], weights=sums[keep])


def _sorted_ends(edges: EdgeList) -> tuple[IntArray, IntArray]:
    """Return the lower and the higher end of each edge."""
    return np.minimum(edges.heads, edges.tails), np.maximum(edges.heads, edges.tails)


def _group_sums(weights: WeightArray, starts: IntArray) -> WeightArray:
    """Return the sums of consecutive groups that begin at ``starts``."""
    if starts.size == weights.size:
        return weights
    stops = np.append(starts[1:], weights.size)
    sums = weights[starts].astype(np.object_)
    for group in np.flatnonzero(stops - starts > 1).tolist():
        values = weights[starts[group] : stops[group]].tolist()
        try:
            sums[group] = math.fsum(values) if weights.dtype == np.float64 else sum(values)
        except OverflowError as error:
            raise InputError("the sum of the weights of parallel edges exceeds the range of float64") from error
    return sums.astype(np.float64) if weights.dtype == np.float64 else pack_integers(sums.tolist())


def _check_ends(value: object, name: str, n: int) -> IntArray:
    """Return one end of each edge as a new int64 array inside [0, n)."""
    array = np.asarray(value)
    if array.ndim != 1:
        raise InputError(f"{name} must have one dimension, got shape {array.shape}")
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InputTypeError(f"{name} must hold integers, got {array.dtype}")
    if array.size and not 0 <= int(array.min()) <= int(array.max()) < n:
        raise InputError(f"{name} must lie in [0, n) with n = {n}, got {array.min()} to {array.max()}")
    return array.astype(np.int64)


def _check_weights(value: object) -> WeightArray:
    """Return the weights as a new int64, float64 or object array of Python ints."""
    array: WeightArray = np.asarray(value)
    if array.ndim != 1:
        raise InputError(f"weights must have one dimension, got shape {array.shape}")
    if array.size == 0:
        return np.zeros(
            0, dtype=np.float64 if array.dtype == np.float64 and isinstance(value, np.ndarray) else np.int64
        )
    if array.dtype.kind in "iu" and array.dtype != np.uint64:
        return array.astype(np.int64)
    if array.dtype.kind == "f" and array.dtype.itemsize <= np.dtype(np.float64).itemsize:
        bad = np.flatnonzero(~np.isfinite(array))
        if bad.size:
            raise InputError(f"weights must be finite, got {array[bad[0]]} at index {bad[0]}")
        return array.astype(np.float64)
    values = array.tolist()
    if not all(type(weight) is int for weight in values):
        raise InputTypeError(f"weights must be integers or float64, got an array of {array.dtype}")
    return pack_integers(values)


def _check_labels(value: Sequence[str], n: int) -> tuple[str, ...]:
    """Return the labels as a tuple of n distinct strings."""
    labels = tuple(value)
    if len(labels) != n:
        raise InputError(f"labels must have one entry for each of the {n} vertices, got {len(labels)}")
    if not all(isinstance(label, str) for label in labels):
        raise InputTypeError("labels must be strings")
    if len(set(labels)) != n:
        raise InputError("labels must be distinct")
    return labels
