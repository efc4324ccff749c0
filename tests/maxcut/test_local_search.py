"""Local searches never lose, end in local optima and keep their gains right."""

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.maxcut.local_search import _Walk, kernighan_lin, one_flip, tabu_search
from derand.maxcut.problem import MaxCutProblem
from tests.maxcut.graphs import brute_force, karloff, random_graph

SEARCHES = [one_flip, kernighan_lin, tabu_search]


def random_side(rng, n):
    return rng.choice(np.array([-1, 1], dtype=np.int8), n)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("weights", ["unit", "int", "float", "negative", "huge"])
def test_never_below_the_start(search, weights):
    rng = np.random.default_rng(0)
    for _ in range(5):
        problem = random_graph(rng, 30, 90, weights)
        start = random_side(rng, 30)
        options = {"n_steps": 200} if search is tabu_search else {}
        assert problem.cut_value(search(problem, start, **options)) >= problem.cut_value(start)


@pytest.mark.parametrize("search", [one_flip, kernighan_lin])
def test_no_single_flip_improves_afterwards(search):
    rng = np.random.default_rng(1)
    problem = random_graph(rng, 60, 300)
    side = search(problem, random_side(rng, 60))
    value = problem.cut_value(side)
    for vertex in range(60):
        flipped = side.copy()
        flipped[vertex] = -flipped[vertex]
        assert problem.cut_value(flipped) <= value


def test_walk_keeps_gains_and_value():
    rng = np.random.default_rng(2)
    problem = random_graph(rng, 40, 150)
    start = random_side(rng, 40)
    walk = _Walk(problem, start)
    for vertex in rng.integers(0, 40, 100):
        walk.flip(int(vertex))
    side = walk.side.astype(np.int8)
    assert walk.value == problem.cut_value(side) - problem.cut_value(start)
    np.testing.assert_array_equal(walk.gains, walk.side * (problem.adjacency @ walk.side))


def test_tabu_finds_small_optima_that_descent_misses():
    misses = 0
    for seed in range(20):
        problem = random_graph(np.random.default_rng(seed), 12, 40)
        optimum = brute_force(problem)
        start = np.ones(12, dtype=np.int8)
        misses += problem.cut_value(one_flip(problem, start)) < optimum
        assert problem.cut_value(tabu_search(problem, start, n_steps=500)) == optimum
    assert misses


def test_karloff_optimum_by_tabu_and_kernighan_lin():
    problem = karloff(6, 3, 1)
    start = np.ones(20, dtype=np.int8)
    assert problem.cut_value(tabu_search(problem, start, n_steps=1000)) == 60
    assert problem.cut_value(kernighan_lin(problem, start)) >= 56


def test_stop_and_bad_arguments():
    problem = random_graph(np.random.default_rng(3), 10, 20)
    start = np.ones(10, dtype=np.int8)
    assert np.array_equal(tabu_search(problem, start, should_stop=lambda: True), start)
    with pytest.raises(InputError, match="n_steps"):
        tabu_search(problem, start, n_steps=0)
    with pytest.raises(InputError, match="side"):
        one_flip(problem, np.ones(9))
    with pytest.raises(InputError, match="max_passes"):
        kernighan_lin(problem, start, max_passes=0)
    single = MaxCutProblem.from_edges([], [], n=1)
    assert tabu_search(single, [1]).tolist() == [1]
    assert one_flip(MaxCutProblem.from_edges([], []), []).size == 0
