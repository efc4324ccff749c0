"""The networkx back end, on networkx's own dispatch (networkx's own tests run in tests/conformance)."""

import networkx as nx
import pytest

from derand._utils.networkx_info import get_info
from derand.graphs.backend import BackendGraph, backend_interface

registered = pytest.mark.skipif("derand" not in nx.config.backends, reason="derand isn't installed, so not registered")


@registered
def test_dispatch_reaches_our_function():
    G = nx.complete_graph(6)
    value, (first, second) = nx.approximation.one_exchange(G, seed=1, backend="derand")
    assert value == 9
    assert len(first) == len(second) == 3


@registered
def test_dispatch_passes_the_weight():
    G = nx.Graph()
    G.add_edge(0, 1, weight=7)
    assert nx.approximation.one_exchange(G, weight="weight", backend="derand")[0] == 7
    # A copy, since networkx warns where it uses the converted graph that it keeps with the first one.
    assert nx.approximation.one_exchange(G.copy(), backend="derand")[0] == 1


def test_conversion_keeps_the_graph():
    G = nx.MultiGraph([(0, 1), (0, 1)])
    kept = backend_interface.convert_from_nx(G)
    assert isinstance(kept, BackendGraph)
    assert kept.is_multigraph()
    assert not kept.is_directed()
    assert backend_interface.convert_to_nx(kept) is G
    assert kept.labelled(None).problem.total_weight == 2


def test_info_names_what_the_interface_has():
    for name in get_info()["functions"]:
        assert callable(getattr(backend_interface, name))
