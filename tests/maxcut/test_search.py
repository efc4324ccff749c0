"""The search reaches known optima, never loses a start, and repeats bit for bit."""

import numpy as np
import pytest

from derand.maxcut.clock import Clock
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.search import ElitePool, search_cut, sweep_work
from tests.maxcut.graphs import brute_force, karloff, random_graph, torus


def search(problem, sweeps=2000, seed=0, **options):
    start = np.ones((problem.n, 1), dtype=np.int8)
    work = sweeps * 32 * sweep_work(problem)
    options = {"rng": np.random.default_rng(seed), "clock": Clock(None)} | options
    return search_cut(problem, start, work=work, **options)


@pytest.mark.parametrize("weights", ["unit", "int", "float", "huge"])
def test_small_optima(weights):
    problem = random_graph(np.random.default_rng(0), 14, 40, weights)
    assert problem.cut_value(search(problem, 500)) == brute_force(problem)


def test_known_optimum_ends_the_search():
    problem, stages = karloff(8, 4, 1), []
    side = search(problem, target=420, report=lambda stage, _: stages.append(stage))
    assert problem.cut_value(side) == 420
    assert len(stages) <= 2


@pytest.mark.medium
def test_torus_ground_state():
    # independent searches agree on the ground state
    problem = torus(12, 12, np.random.default_rng(0))
    values = {problem.cut_value(search(problem, 600, seed)) for seed in range(2)}
    assert len(values) == 1


def test_start_is_not_lost_and_nothing_to_do():
    problem = random_graph(np.random.default_rng(1), 50, 200)
    best = search(problem, 300)
    again = search_cut(problem, best[:, None], work=0.0, rng=np.random.default_rng(1), clock=Clock(None))
    assert problem.cut_value(again) >= problem.cut_value(best)
    late = search_cut(problem, best[:, None], work=1e9, rng=np.random.default_rng(1), clock=Clock(0.0))
    assert problem.cut_value(late) >= problem.cut_value(best)
    empty = MaxCutProblem.from_edges([], [], n=3)
    assert search(empty).shape == (3,)


def test_same_bits_for_the_same_seed():
    problem = random_graph(np.random.default_rng(2), 80, 300)
    assert np.array_equal(search(problem, 300, 5), search(problem, 300, 5))


def test_pool_keeps_the_best_distinct_cuts():
    problem = random_graph(np.random.default_rng(3), 20, 60)
    pool = ElitePool(problem, 3)
    sides = np.random.default_rng(4).choice(np.array([-1, 1], dtype=np.int8), (20, 10))
    pool.add(np.concatenate([sides, -sides], axis=1))
    values = sorted((problem.cut_value(sides[:, r]) for r in range(10)), reverse=True)[:3]
    assert [problem.cut_value(pool.sides[:, r]) for r in range(3)] == values
    assert pool.value == values[0]
