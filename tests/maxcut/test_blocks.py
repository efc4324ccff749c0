import networkx as nx
import numpy as np
import pytest

from derand.maxcut.blocks import balanced_sides, biconnected_blocks, join_sides
from derand.maxcut.problem import MaxCutProblem
from tests.maxcut.graphs import cycle, random_graph


@pytest.mark.parametrize("seed", range(12))
def test_blocks_equal_those_of_networkx(seed):
    problem = random_graph(np.random.default_rng(seed), 30, 20 + 3 * seed, "unit")
    graph = nx.Graph(zip(problem.heads.tolist(), problem.tails.tolist(), strict=True))
    expected = sorted(sorted(block) for block in nx.biconnected_components(graph))
    assert sorted(block.tolist() for block in biconnected_blocks(problem)) == expected


@pytest.mark.parametrize("seed", range(6))
def test_joined_sides_restrict_to_the_given_cuts(seed):
    rng = np.random.default_rng(seed)
    problem = random_graph(rng, 40, 50, "unit")
    blocks = biconnected_blocks(problem)
    sides = [rng.choice([-1, 1], block.size).astype(np.int8) for block in blocks]
    joined = join_sides(40, blocks, sides)
    for block, side in zip(blocks, sides, strict=True):
        assert np.array_equal(joined[block], side) or np.array_equal(joined[block], -side)


def test_a_long_path_needs_no_recursion():
    n = 50_000
    blocks = biconnected_blocks(MaxCutProblem.from_edges(np.arange(n - 1), np.arange(1, n)))
    assert len(blocks) == n - 1


def test_balance_is_decided_per_component():
    # Components: a signed cycle with two negative edges, a triangle, a vertex without edges.
    problem = MaxCutProblem.from_edges([0, 1, 2, 3, 4, 5, 6], [1, 2, 3, 0, 5, 6, 4], [1, -1, 1, -1, 1, 1, 1], n=8)
    side, is_balanced = balanced_sides(problem)
    assert is_balanced.tolist() == [True] * 4 + [False] * 3 + [True]
    assert problem.cut_value(np.where(is_balanced, side, 1)) == 2


@pytest.mark.parametrize("n", [3, 4, 11, 12])
def test_unit_cycles_are_balanced_when_even(n):
    assert balanced_sides(cycle(n))[1].all() == (n % 2 == 0)
