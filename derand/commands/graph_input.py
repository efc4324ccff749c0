"""The graph that a subcommand works on: a file, or the built-in one."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from derand.commands.console import naming
from derand.exceptions import InputError
from derand.io import EdgeList, read_graph
from derand.maxcut.problem import MaxCutProblem

__all__ = ["is_quadratic", "karloff_graph", "read_any", "read_edges", "to_problem"]


def karloff_graph(m: int = 8, b: int = 1) -> EdgeList:
    """Return Karloff's graph: subsets of half of m points, joined when they share exactly b of them.

    Its maximum cut equals the value of the semidefinite relaxation, while a random hyperplane is expected to cut little
    more than 0.878 of it, the worst ratio there is, as m grows with b/m near 1/12.

    Parameters
    ----------
    m : int, default 8
        Number of points, even.
    b : int, default 1
        Points that adjacent subsets share.

    Returns
    -------
    EdgeList
        Vertices in lexicographic order of the subsets.

    References
    ----------
    H. Karloff, How good is the Goemans-Williamson MAX CUT algorithm?, SIAM J. Comput. 29 (1999) 336-350.

    Examples
    --------
    >>> karloff_graph(6)
    EdgeList(n=20, m=90, weights=int64)
    """
    subsets = [frozenset(subset) for subset in combinations(range(m), m // 2)]
    pairs = [(i, j) for i, j in combinations(range(len(subsets)), 2) if len(subsets[i] & subsets[j]) == b]
    heads, tails = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return EdgeList(len(subsets), heads, tails, np.ones_like(heads), name="karloff", format="rudy")


def read_edges(path: str | None, graph_format: str | None = None) -> EdgeList:
    """Return the edges of a file, those of `karloff_graph` without one.

    Parameters
    ----------
    path : str or None
        The file.
    graph_format : str, optional
        Its format; found from name or content by default.

    Returns
    -------
    EdgeList
        Undirected: opposite arcs of one weight became one edge.

    Raises
    ------
    InputError
        If the file isn't an undirected graph.
    """
    edges = read_any(path, graph_format)
    if is_quadratic(edges):
        raise InputError(f"{path}: the file holds a quadratic binary program, not a graph")
    return edges


def read_any(path: str | None, graph_format: str | None = None) -> EdgeList:
    """Return the edges of a graph file or the entries of a quadratic binary program; `karloff_graph` without a file."""
    if path is None:
        return karloff_graph()
    with naming(path):
        edges = read_graph(path, graph_format)
        return edges if is_quadratic(edges) else edges.undirected()


def is_quadratic(edges: EdgeList) -> bool:
    """Return whether a file held a quadratic binary program."""
    return edges.format == "qubo"


def to_problem(edges: EdgeList) -> MaxCutProblem:
    """Return the maximum cut problem of undirected edges."""
    return MaxCutProblem.from_edges(edges.heads, edges.tails, edges.weights, n=edges.n)
