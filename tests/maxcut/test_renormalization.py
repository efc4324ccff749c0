"""Renormalization finds ground states that single-flip searches miss, keeps its parents, and repeats."""

import numpy as np
import pytest

from derand.maxcut.annealing import PopulationAnnealer
from derand.maxcut.clock import Clock
from derand.maxcut.dense_tabu import tabu_population
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.renormalization import DENSE_LIMIT, SearchRun, best_columns, renormalize
from tests.maxcut.graphs import brute_force, random_graph, torus


def run(seed=0, limit=None):
    return SearchRun(Clock(limit), np.random.default_rng(seed))


def long_range_chain(n, rng):
    # Couplings that decay like a power of the distance: domains of all sizes, which single flips can't move.
    heads, tails = np.triu_indices(n, 1)
    distance = np.minimum(tails - heads, n - tails + heads)
    weights = np.rint(1e5 * rng.standard_normal(heads.size) / distance**2.5).astype(np.int64)
    return MaxCutProblem.from_edges(heads, tails, weights, n=n)


@pytest.mark.parametrize("weights", ["unit", "int", "float", "huge"])
def test_small_optima(weights):
    problem = random_graph(np.random.default_rng(0), 14, 45, weights)
    assert problem.cut_value(renormalize(problem, run(), n_sweeps=5)) == brute_force(problem)


def test_it_beats_its_own_first_level_on_a_chain_of_domains():
    problem = long_range_chain(120, np.random.default_rng(1))
    values = {problem.cut_value(renormalize(problem, run(seed), n_sweeps=5)) for seed in range(2)}
    assert len(values) == 1
    starts = np.random.default_rng(2).choice(np.array([-1, 1], dtype=np.int8), (120, 32))
    first = tabu_population(problem, starts, n_steps=1500)
    assert values.pop() > max(problem.cut_value(first[:, k]) for k in range(32))


def test_levels_of_annealing_above_the_dense_limit():
    problem = torus(26, 26, np.random.default_rng(3))
    assert problem.n > DENSE_LIMIT
    annealer = PopulationAnnealer(problem)
    value = problem.cut_value(renormalize(problem, run(), n_sweeps=20, n_replicas=16, annealer=annealer))
    first = annealer.anneal(n_sweeps=20, n_replicas=16, resampling=0.0)
    assert value > problem.cut_value(first[:, 0])


def test_parents_are_not_lost_and_bits_repeat():
    problem = torus(26, 26, np.random.default_rng(4))
    parents = renormalize(problem, run(1), n_sweeps=10, n_replicas=8)[:, None]
    child = renormalize(problem, run(2), n_sweeps=1, n_replicas=4, parents=parents)
    assert problem.cut_value(child) >= problem.cut_value(parents[:, 0])
    assert np.array_equal(child, renormalize(problem, run(2), n_sweeps=1, n_replicas=4, parents=parents))


def test_a_clock_that_is_over_leaves_a_cut():
    problem = random_graph(np.random.default_rng(5), 40, 120)
    side = renormalize(problem, run(limit=0.0), n_sweeps=5)
    assert set(np.unique(side)) <= {-1, 1}


def test_best_columns_are_distinct_and_ordered():
    problem = MaxCutProblem.from_edges([0, 1], [1, 2], [3, 1])
    sides = np.array([[1, 1, 1, 1], [1, -1, -1, 1], [1, 1, -1, 1]], dtype=np.int8)
    assert best_columns(problem, sides, 9).T.tolist() == [[1, -1, 1], [1, -1, -1], [1, 1, 1]]
