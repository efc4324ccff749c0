"""The graph that a subcommand works on: a file, or the built-in one."""

from __future__ import annotations

import re
import sys
from itertools import combinations
from typing import Any

import numpy as np

from derand.commands.console import naming
from derand.exceptions import InputError
from derand.io import EdgeList, read_graph
from derand.maxcut.problem import MaxCutProblem

__all__ = ["is_quadratic", "karloff_graph", "read_any", "read_edges", "suspected_header", "to_problem"]


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
        note = suspected_header(edges)
        if note:
            sys.stderr.write(f"derand: {path}: {note}\n")
        return edges if is_quadratic(edges) else edges.undirected()


def suspected_header(edges: EdgeList) -> str:
    """Return what to say about a first line that looks like names of columns and was read as an edge, or nothing.

    Parameters
    ----------
    edges : EdgeList
        Of a file.

    Returns
    -------
    str
        Empty unless the file is a list without edges, or one of three or more edges with labels, and both ends of the
        first occur nowhere else and are words without digits, or one word with different digits that no other has.

    Examples
    --------
    >>> suspected_header(EdgeList(2, [0], [1], [1], labels=("person", "friend"), format="csv"))
    ''
    """
    if edges.format != "csv" or edges.labels is None:
        return ""
    if edges.m == 0:
        return "note: the file names columns and holds no edge"
    if edges.m < 3:
        return ""
    ends = np.concatenate([edges.heads, edges.tails])
    first = (int(edges.heads[0]), int(edges.tails[0]))
    names = [str(edges.labels[v]) for v in first]
    if any(np.sum(ends == v) > 1 for v in first) or not _may_name_columns(names, edges.labels):
        return ""
    return (
        f"note: the first line was read as an edge between {names[0]!r} and {names[1]!r}; if it names the columns, "
        "write source,target there"
    )


def _may_name_columns(names: list[str], labels: tuple[Any, ...]) -> bool:
    """Return whether two labels of a graph are words without digits, or such as id1 and id2 beside other labels."""
    if not any(re.search(r"\d", name) for name in names):
        return True
    stems = {re.sub(r"\d+", "", name) for name in names}
    return len(stems) == 1 and sum(re.sub(r"\d+", "", str(label)) in stems for label in labels) == 2


def is_quadratic(edges: EdgeList) -> bool:
    """Return whether a file held a quadratic binary program."""
    return edges.format == "qubo"


def to_problem(edges: EdgeList) -> MaxCutProblem:
    """Return the maximum cut problem of undirected edges."""
    return MaxCutProblem.from_edges(edges.heads, edges.tails, edges.weights, n=edges.n)
