"""maxcut on networkx graphs: known optima, brute force, proofs, and answers that depend on the graph alone."""

import itertools
import random

import networkx as nx
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.graphs.maxcut import maxcut, maximum_cut


def _brute_force(G, weight="weight"):
    nodes = list(G)
    best = 0
    for chosen in itertools.product([False, True], repeat=max(len(nodes) - 1, 0)):
        cut = {node for node, c in zip(nodes, chosen, strict=False) if c}
        best = max(best, nx.cut_size(G, cut, weight=weight))
    return best


def _random_graph(seed, n=9):
    rng = random.Random(seed)
    G = nx.gnp_random_graph(n, 0.5, seed=seed)
    for _, _, data in G.edges(data=True):
        data["weight"] = rng.randint(-6, 9)
    return nx.relabel_nodes(G, {k: f"node {k}" for k in G})


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", ["sosp", "conditional"])
def test_optimum_by_brute_force(seed, method):
    G = _random_graph(seed)
    result = maxcut(G, method=method, effort="quick")
    optimum = _brute_force(G)
    assert result.value == optimum <= result.upper_bound
    assert isinstance(result.value, int)
    assert nx.cut_size(G, result.partition[0], weight="weight") == result.value
    assert result.verify(G)


@pytest.mark.parametrize(
    ("G", "optimum"),
    [
        (nx.cycle_graph(5), 4),
        (nx.petersen_graph(), 12),
        (nx.complete_bipartite_graph(4, 7), 28),
        (nx.cycle_graph(101), 100),
        (nx.path_graph(1), 0),
        (nx.Graph(), 0),
    ],
    ids=["C5", "Petersen", "K4,7", "C101", "one node", "empty"],
)
def test_known_optima_are_proved(G, optimum):
    result = maxcut(G, weight=None)
    assert (result.value, result.upper_bound, result.optimal) == (optimum, optimum, True)


def test_all_negative_weights_give_the_empty_cut():
    G = nx.complete_graph(6)
    nx.set_edge_attributes(G, -1, "weight")
    result = maxcut(G)
    assert result.value == 0
    assert {len(part) for part in result.partition} == {0, 6}


def test_weights_beyond_double_precision_stay_exact():
    G = nx.Graph()
    G.add_edge("a", "b", weight=2**80 + 1)
    G.add_edge("b", "c", weight=3)
    G.add_edge("a", "c", weight=1)
    result = maxcut(G)
    assert result.value == 2**80 + 4
    assert result.upper_bound >= result.value


@pytest.mark.parametrize("seed", range(3))
def test_order_and_labels_do_not_matter(seed):
    G = _random_graph(seed, n=14)
    rng = random.Random(seed)
    nodes, edges = list(G), list(G.edges(data=True))
    rng.shuffle(nodes)
    rng.shuffle(edges)
    shuffled = nx.Graph()
    shuffled.add_nodes_from(nodes)
    shuffled.add_edges_from((v, u, data) for u, v, data in edges)
    first, second = maxcut(G, effort="quick"), maxcut(shuffled, effort="quick")
    assert first.partition == second.partition
    relabelled = nx.relabel_nodes(G, dict(zip(G, rng.sample(range(1000), len(G)), strict=True)))
    assert maxcut(relabelled, effort="quick").value == first.value


def test_partition_and_side_agree():
    result = maxcut(_random_graph(2))
    first, second = result.partition
    assert first == {node for node, s in result.side.items() if s == 1}
    assert second == {node for node, s in result.side.items() if s == -1}
    assert min(result.side) in first


def test_maximum_cut_has_the_form_of_networkx():
    value, (first, second) = maximum_cut(nx.petersen_graph())
    assert value == 12
    assert first | second == set(range(10))
    assert not first & second


def test_callback_ends_the_run():
    seen = []
    result = maxcut(nx.gnp_random_graph(60, 0.3, seed=0), callback=lambda state: seen.append(state.value) or True)
    assert seen
    assert result.status == "callback"
    assert result.value >= 0


@pytest.mark.parametrize(("name", "value"), [("method", "magic"), ("effort", "heroic"), ("effort", 7)])
def test_unknown_options_are_named(name, value):
    with pytest.raises(InputError, match=name):
        maxcut(nx.path_graph(3), **{name: value})


def test_callback_must_be_callable():
    with pytest.raises(InputTypeError, match="callback"):
        maxcut(nx.path_graph(3), callback=3)
