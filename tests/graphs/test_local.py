"""one_exchange and randomized_partitioning against networkx's cut_size and local optimality."""

import random

import networkx as nx
import pytest

from derand.exceptions import InputError
from derand.graphs.local import one_exchange, randomized_partitioning


def _random_graph(seed, low=-10, high=10):
    rng = random.Random(seed)
    G = nx.gnp_random_graph(25, 0.3, seed=seed)
    for _, _, data in G.edges(data=True):
        data["weight"] = rng.randint(low, high)
    return G


@pytest.mark.parametrize("seed", range(8))
def test_one_exchange_is_locally_optimal(seed):
    G = _random_graph(seed)
    value, (first, second) = one_exchange(G, weight="weight", seed=seed)
    assert first | second == set(G)
    assert not first & second
    assert value == nx.cut_size(G, first, weight="weight")
    for node in G:
        moved = first - {node} if node in first else first | {node}
        assert nx.cut_size(G, moved, weight="weight") <= value


@pytest.mark.parametrize("seed", range(4))
def test_one_exchange_never_ends_below_its_start(seed):
    G = _random_graph(seed)
    start = set(random.Random(seed).sample(sorted(G), 10))
    value, _ = one_exchange(G, initial_cut=start, weight="weight", seed=seed)
    assert value >= nx.cut_size(G, start, weight="weight")


def test_one_exchange_repeats_with_the_seed():
    G = _random_graph(3)
    assert one_exchange(G, weight="weight", seed=7) == one_exchange(G, weight="weight", seed=7)


def test_one_exchange_names_a_stranger():
    with pytest.raises(InputError, match="99"):
        one_exchange(nx.path_graph(3), initial_cut={99})


@pytest.mark.parametrize("G", [nx.Graph(), nx.empty_graph(3)])
def test_one_exchange_without_edges(G):
    value, (first, second) = one_exchange(G)
    assert value == 0
    assert first | second == set(G)


@pytest.mark.parametrize(("p", "size"), [(0, 0), (1, 25)])
def test_random_partition_at_certain_probabilities(p, size):
    value, (first, second) = randomized_partitioning(_random_graph(0), seed=1, p=p, weight="weight")
    assert (value, len(first), len(second)) == (0, size, 25 - size)


def test_random_partition_has_the_value_of_networkx():
    G = _random_graph(1)
    value, (first, _) = randomized_partitioning(G, seed=2, weight="weight")
    assert value == nx.cut_size(G, first, weight="weight")
