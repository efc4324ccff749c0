"""The networkx back end: ``nx.approximation.one_exchange(G, backend="derand")``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, ClassVar

import networkx as nx

from derand.graphs.convert import LabelledProblem, labelled_problem
from derand.graphs.local import Cut, one_exchange, randomized_partitioning

__all__ = ["BackendGraph", "backend_interface"]


class BackendGraph:
    """A networkx graph as this back end keeps it: the graph itself, and its arrays once a weight is known.

    Parameters
    ----------
    graph : networkx.Graph
        The graph.
    """

    __networkx_backend__: ClassVar[str] = "derand"

    def __init__(self, graph: nx.Graph[Any]) -> None:
        self.graph = graph

    def is_directed(self) -> bool:
        """Return whether the graph is directed."""
        return bool(self.graph.is_directed())

    def is_multigraph(self) -> bool:
        """Return whether the graph is a multigraph."""
        return bool(self.graph.is_multigraph())

    def labelled(self, weight: str | None) -> LabelledProblem:
        """Return the maximum cut problem for an edge attribute."""
        return labelled_problem(self.graph, weight)


class _BackendInterface:
    """What networkx asks a back end for."""

    @staticmethod
    def convert_from_nx(graph: nx.Graph[Any], *args: Any, **kwargs: Any) -> BackendGraph:
        """Return the graph in the form of this back end."""
        return BackendGraph(graph)

    @staticmethod
    def convert_to_nx(result: Any, *args: Any, **kwargs: Any) -> Any:
        """Return a result in networkx's form: cuts already are."""
        return result.graph if isinstance(result, BackendGraph) else result

    @staticmethod
    def one_exchange(
        G: BackendGraph, initial_cut: Iterable[Hashable] | None = None, seed: Any = None, weight: str | None = None
    ) -> Cut:
        """Return a cut that no single node can improve."""
        cut: Cut = one_exchange(G.labelled(weight), initial_cut, seed)
        return cut

    @staticmethod
    def randomized_partitioning(G: BackendGraph, seed: Any = None, p: float = 0.5, weight: str | None = None) -> Cut:
        """Return a random cut."""
        cut: Cut = randomized_partitioning(G.labelled(weight), seed, p)
        return cut


backend_interface = _BackendInterface()
