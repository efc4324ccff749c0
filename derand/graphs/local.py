"""Drop-in versions of networkx's two cut heuristics; one_exchange keeps its gains instead of recomputing the cut."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable
from typing import Any

import networkx as nx
import numpy as np
from networkx.utils.decorators import py_random_state

from derand.graphs.convert import LabelledProblem, labelled_problem
from derand.maxcut.problem import SideArray

__all__ = ["one_exchange", "randomized_partitioning"]

Cut = tuple[int | float, tuple[set[Hashable], set[Hashable]]]


@py_random_state(1)
def randomized_partitioning(
    G: nx.Graph[Any] | LabelledProblem,
    seed: random.Random | int | None = None,
    p: float = 0.5,
    weight: str | None = None,
) -> Cut:
    """Return a random cut: each node joins the first side with probability p.

    Parameters
    ----------
    G : networkx.Graph
        Undirected.
    seed : int, random state or None
        As in networkx.
    p : float in [0, 1], default 0.5
        Probability of the first side.
    weight : str or None
        Edge attribute that holds the weight; None for weight 1 throughout.

    Returns
    -------
    cut_size : int or float
        Value of the cut.
    partition : pair of sets of nodes
        Its sides.

    Examples
    --------
    >>> import networkx as nx
    >>> randomized_partitioning(nx.path_graph(3), p=1)
    (0, ({0, 1, 2}, set()))
    """
    labelled = G if isinstance(G, LabelledProblem) else labelled_problem(G, weight)
    assert isinstance(seed, random.Random)
    side = np.array([1 if seed.random() < p else -1 for _ in labelled.nodes], dtype=np.int8)
    return labelled.problem.cut_value(side), labelled.partition(side)


@py_random_state(2)
def one_exchange(
    G: nx.Graph[Any] | LabelledProblem,
    initial_cut: Iterable[Hashable] | None = None,
    seed: random.Random | int | None = None,
    weight: str | None = None,
) -> Cut:
    """Return a cut that no single node can improve, by greedy exchange.

    The node with the largest gain changes sides until no gain is positive; ties are broken at random.

    Parameters
    ----------
    G : networkx.Graph
        Undirected.
    initial_cut : iterable of nodes, optional
        Where to start; the empty cut when missing.
    seed : int, random state or None
        As in networkx.
    weight : str or None
        Edge attribute that holds the weight; None for weight 1 throughout.

    Returns
    -------
    cut_value : int or float
        Value of the cut.
    partition : pair of sets of nodes
        Its sides; the first grew from `initial_cut`.

    Raises
    ------
    InputError
        If `initial_cut` holds something that is no node.

    Notes
    -----
    O(n + degree) per exchange, where networkx recomputes the cut for every node: O(n m).

    Examples
    --------
    >>> import networkx as nx
    >>> one_exchange(nx.complete_graph(5), seed=1)[0]
    6
    """
    labelled = G if isinstance(G, LabelledProblem) else labelled_problem(G, weight)
    assert isinstance(seed, random.Random)
    side = -labelled.side_of(() if initial_cut is None else initial_cut)
    _exchange(labelled, side, seed)
    return labelled.problem.cut_value(side), labelled.partition(side)


def _exchange(labelled: LabelledProblem, side: SideArray, stream: random.Random) -> None:
    """Move the best node until none gains, in place."""
    adjacency = labelled.problem.adjacency
    # Moving i changes the cut by s_i sum_j w_ij s_j.
    gains = side * (adjacency @ side.astype(np.float64))
    tolerance = 1e-12 * float(np.abs(adjacency.data).sum())
    while gains.size:
        best = float(gains.max())
        if best <= tolerance:
            return
        ties = np.flatnonzero(gains == best)
        i = int(ties[stream.randrange(ties.size)])
        row = slice(adjacency.indptr[i], adjacency.indptr[i + 1])
        neighbours = adjacency.indices[row]
        gains[neighbours] -= 2.0 * side[i] * side[neighbours] * adjacency.data[row]
        gains[i] = -gains[i]
        side[i] = -side[i]
