"""Tabu walks in lockstep: optima of small graphs, no walk below its start, the same bits for one seed."""

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.maxcut.dense_tabu import tabu_population
from derand.maxcut.problem import MaxCutProblem
from tests.maxcut.graphs import brute_force, random_graph


def starts(problem, count=8, seed=0):
    return np.random.default_rng(seed).choice(np.array([-1, 1], dtype=np.int8), (problem.n, count))


@pytest.mark.parametrize("weights", ["unit", "int", "float", "huge"])
def test_optima_of_small_graphs(weights):
    problem = random_graph(np.random.default_rng(1), 14, 50, weights)
    found = tabu_population(problem, starts(problem), n_steps=200)
    assert max(problem.cut_value(found[:, k]) for k in range(8)) == brute_force(problem)


def test_no_walk_ends_below_its_start():
    problem = random_graph(np.random.default_rng(2), 60, 400, "int")
    sides = starts(problem)
    for n_steps in (1, 7, 300):
        found = tabu_population(problem, sides, n_steps=n_steps)
        assert all(problem.cut_value(found[:, k]) >= problem.cut_value(sides[:, k]) for k in range(8))


def test_walks_from_one_cut_part_and_repeat():
    problem = random_graph(np.random.default_rng(3), 80, 500, "int")
    sides = np.ones((80, 8), dtype=np.int8)
    found = tabu_population(problem, sides, n_steps=90, rng=4)
    assert np.array_equal(found, tabu_population(problem, sides, n_steps=90, rng=4))
    assert np.unique(found, axis=1).shape[1] > 1


def test_a_walk_leaves_local_optima():
    problem = random_graph(np.random.default_rng(5), 40, 200, "unit")
    short = tabu_population(problem, starts(problem, 16), n_steps=25)
    longer = tabu_population(problem, starts(problem, 16), n_steps=500)
    total = [sum(problem.cut_value(cut) for cut in found.T) for found in (short, longer)]
    assert total[1] > total[0]


def test_stopping_and_degenerate_input():
    problem = random_graph(np.random.default_rng(6), 30, 100)
    sides = starts(problem)
    assert np.array_equal(tabu_population(problem, sides, n_steps=50, should_stop=lambda: True), sides)
    single = MaxCutProblem.from_edges([], [], n=1)
    assert tabu_population(single, np.ones((1, 3)), n_steps=5).shape == (1, 3)
    assert tabu_population(problem, sides[:, :0], n_steps=5).shape == (30, 0)
    edgeless = MaxCutProblem.from_edges([], [], n=4)
    assert tabu_population(edgeless, np.ones((4, 2)), n_steps=5).shape == (4, 2)
    with pytest.raises(InputError, match="sides must have shape"):
        tabu_population(problem, sides[:5], n_steps=5)
    with pytest.raises(InputError, match="n_steps"):
        tabu_population(problem, sides, n_steps=0)
