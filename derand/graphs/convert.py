"""From networkx graphs to maximum cut problems and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any

import networkx as nx
import numpy as np

from derand._utils.labels import sorted_labels
from derand.exceptions import InputError, InputTypeError
from derand.io import EdgeList
from derand.maxcut.problem import MaxCutProblem, SideArray

__all__ = ["LabelledProblem", "Weight", "labelled_problem"]

#: What to do with other types, by their names: their libraries needn't be there.
_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "str": ": derand.io.read_graph reads a file",
        "PosixPath": ": derand.io.read_graph reads a file",
        "WindowsPath": ": derand.io.read_graph reads a file",
        "list": ": networkx.Graph(edges) makes one of a list of edges",
        "ndarray": ": networkx.from_numpy_array makes one of a matrix",
        "csr_array": ": networkx.from_scipy_sparse_array makes one of a sparse matrix",
        "csr_matrix": ": networkx.from_scipy_sparse_array makes one of a sparse matrix",
        "DataFrame": ": networkx.from_pandas_edgelist makes one of a table of edges",
        "BinaryQuadraticModel": ": derand.maxcut.solve_qubo takes dimod's models",
    }
)

Weight = str | Callable[[Hashable, Hashable, dict[str, Any]], Any] | None


@dataclass(frozen=True, eq=False)
class LabelledProblem:
    """A maximum cut problem whose vertex k is ``nodes[k]``.

    Parameters
    ----------
    problem : MaxCutProblem
        The weights.
    nodes : tuple of hashable
        Labels, in an order that depends on the labels alone.
    """

    problem: MaxCutProblem
    nodes: tuple[Hashable, ...]

    def side_of(self, cut: Iterable[Hashable]) -> SideArray:
        """Return the side array with -1 for the nodes in ``cut``.

        Parameters
        ----------
        cut : iterable of nodes
            One side of a cut.

        Returns
        -------
        ndarray of int8, shape (n,)
            +1 and -1.

        Raises
        ------
        InputError
            If a label is no node of the graph.
        """
        chosen = set(cut)
        side = np.array([-1 if node in chosen else 1 for node in self.nodes], dtype=np.int8)
        if len(chosen) != int(np.sum(side < 0)):
            stranger = next(iter(chosen.difference(self.nodes)))
            raise InputError(f"the cut holds {stranger!r}, which is no node of the graph")
        return side

    def partition(self, side: SideArray) -> tuple[set[Hashable], set[Hashable]]:
        """Return the nodes with side +1 and those with side -1."""
        ahead = {node for node, s in zip(self.nodes, side.tolist(), strict=True) if s > 0}
        return ahead, set(self.nodes) - ahead


def labelled_problem(G: nx.Graph[Any] | EdgeList, weight: Weight = "weight") -> LabelledProblem:
    """Return the maximum cut problem of a networkx graph, or of a graph file.

    Parameters
    ----------
    G : networkx.Graph, MultiGraph or EdgeList
        Undirected, or as `derand.io.read_graph` returns it; self loops are ignored, parallel edges summed.
    weight : str, callable or None, default "weight"
        Edge attribute that holds the weight (1 where an edge lacks it), a function ``weight(u, v, data)``, or None for
        weight 1 throughout.  Whole numbers of any size stay exact.

    Returns
    -------
    LabelledProblem
        Problem and labels; the same for any order in which nodes and edges were added.

    Raises
    ------
    InputError
        If the graph is directed, or a weight is None, NaN or infinite; the message names the edge.
    InputTypeError
        If G is no graph or a weight is no real number.

    Examples
    --------
    >>> import networkx as nx
    >>> labelled_problem(nx.path_graph(["b", "a"])).nodes
    ('a', 'b')
    """
    if isinstance(G, EdgeList):
        return _problem_of_edges(G, has_weights=weight is not None)
    if not isinstance(G, nx.Graph):
        raise InputTypeError(
            f"G must be a networkx graph or an EdgeList, got {type(G).__name__}{_ADVICE.get(type(G).__name__, '')}"
        )
    if G.is_directed():
        raise InputError(
            "G is directed, and a cut has no direction: decide what an arc u->v means and pass G.to_undirected() "
            "(which keeps one of two opposite arcs) or a Graph whose weights you have summed"
        )
    nodes = sorted_labels(G.nodes)
    position = {node: k for k, node in enumerate(nodes)}
    m = G.number_of_edges()
    heads, tails = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    weights: list[int | float] = []
    for e, (u, v, data) in enumerate(G.edges(data=True)):
        heads[e], tails[e] = position[u], position[v]
        value = 1 if weight is None else data.get(weight, 1) if isinstance(weight, str) else weight(u, v, data)
        weights.append(value if type(value) is int else _checked(value, u, v))
    return LabelledProblem(MaxCutProblem.from_edges(heads, tails, weights, n=len(nodes)), nodes)


def _problem_of_edges(edges: EdgeList, *, has_weights: bool) -> LabelledProblem:
    """Return the problem of the edges of a file, in the order of the labels."""
    if edges.format == "qubo":
        raise InputError("G holds a quadratic binary program, not a graph: use derand.maxcut.solve_qubo")
    edges = edges.undirected()
    nodes = sorted_labels(edges.node_labels)
    position = {node: k for k, node in enumerate(nodes)}
    new = np.array([position[label] for label in edges.node_labels], dtype=np.int64)
    weights = edges.weights if has_weights else np.ones(edges.m, dtype=np.int64)
    return LabelledProblem(MaxCutProblem.from_edges(new[edges.heads], new[edges.tails], weights, n=edges.n), nodes)


def _checked(value: Any, u: Hashable, v: Hashable) -> int | float:
    """Return a weight as a Python number; the error names the edge."""
    if value is None:
        raise InputError(f"the weight of edge ({u!r}, {v!r}) is None; leave the attribute out for weight 1")
    if isinstance(value, (Integral, np.bool_)):
        return int(value)
    if not isinstance(value, Real):
        raise InputTypeError(f"the weight of edge ({u!r}, {v!r}) is {value!r}, which is no real number")
    number = float(value)
    if not math.isfinite(number):
        raise InputError(f"the weight of edge ({u!r}, {v!r}) is {number}; weights must be finite")
    return number
