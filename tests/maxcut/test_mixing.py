import numpy as np
import pytest

from derand.maxcut.factor import quasi_random_vectors
from derand.maxcut.mixing import ColourBlocks, row_dots
from derand.maxcut.problem import MaxCutProblem
from tests.maxcut.graphs import random_graph


def energy(problem, vectors):
    return float(np.sum(problem.weights * row_dots(vectors[problem.heads], vectors[problem.tails])))


@pytest.mark.parametrize("weights", ["int", "float", "wide"])
def test_a_sweep_equals_the_sequential_method_and_never_raises_the_energy(weights):
    problem = random_graph(np.random.default_rng(3), 30, 90, weights)
    blocks = ColourBlocks(problem)
    vectors = quasi_random_vectors(30, 6)
    slow, dense = vectors.copy(), problem.adjacency.toarray() / blocks.unit
    fast = vectors[blocks.order]
    before = np.inf
    for _ in range(4):
        blocks.sweep(fast)
        for vertex in blocks.order:
            pull = dense[vertex] @ slow
            if np.any(pull):
                slow[vertex] = -pull / np.linalg.norm(pull)
        assert fast == pytest.approx(slow[blocks.order], abs=1e-12)
        after = energy(problem, slow)
        assert after <= before + 1e-12 * np.abs(problem.weights).sum()
        before = after


def test_rows_stay_unit_and_isolated_vertices_stay():
    problem = MaxCutProblem.from_edges([0, 1], [1, 2], n=5)
    blocks, start = ColourBlocks(problem), quasi_random_vectors(5, 3)
    vectors = start[blocks.order]
    total = blocks.sweep(vectors)
    assert row_dots(vectors, vectors) == pytest.approx(np.ones(5))
    back = np.empty_like(vectors)
    back[blocks.order] = vectors
    assert np.array_equal(back[3:], start[3:])
    assert total > 0
    assert blocks.isolated.size == 2


def test_the_unit_is_a_power_of_two():
    problem = MaxCutProblem.from_edges([0, 1], [1, 2], [3 * 10**14, -7])
    unit = ColourBlocks(problem).unit
    assert np.frexp(unit)[0] == 0.5
    assert 0.5 <= problem.scale / unit < 1
