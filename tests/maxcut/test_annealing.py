"""Population annealing against brute force, known optima and the Boltzmann distribution."""

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.maxcut.annealing import PopulationAnnealer, replica_cut_values
from derand.maxcut.problem import MaxCutProblem
from tests.maxcut.graphs import brute_force, complete, karloff, random_graph, torus


@pytest.mark.parametrize("weights", ["unit", "int", "float", "negative", "large", "huge", "wide"])
def test_optimum_of_small_graphs(weights):
    for seed in range(6):
        problem = random_graph(np.random.default_rng(seed), 9, 18, weights)
        sides = PopulationAnnealer(problem).anneal(n_sweeps=60, n_replicas=16, rng=seed)
        assert problem.cut_value(sides[:, 0]) == brute_force(problem)


def test_replicas_come_best_first_and_values_are_theirs():
    problem = random_graph(np.random.default_rng(0), 60, 200)
    sides = PopulationAnnealer(problem).anneal(n_sweeps=5, n_replicas=10, rng=1, resampling=0.0)
    values = replica_cut_values(problem, sides)
    assert values.tolist() == [problem.cut_value(sides[:, r]) for r in range(10)]
    assert np.all(np.diff(values) <= 0)


def test_karloff_and_torus_optima():
    karloff_graph = karloff(8, 4, 1)
    sides = PopulationAnnealer(karloff_graph).anneal(n_sweeps=50, n_replicas=16)
    assert karloff_graph.cut_value(sides[:, 0]) == 420


def test_no_flip_of_one_vertex_gains_after_settling():
    problem = random_graph(np.random.default_rng(2), 200, 800)
    side = PopulationAnnealer(problem).anneal(n_sweeps=10, n_replicas=4)[:, 0].astype(np.float64)
    gains = side * (problem.adjacency @ side)
    assert gains.max() <= 0


@pytest.mark.parametrize("scale", [1, 30, 10**4, 0.37])
def test_same_cuts_in_every_arithmetic(scale):
    # 8 bits, 8 bits (divided by the common factor) and single precision: the optimum doesn't depend on it
    problem = torus(6, 6, np.random.default_rng(3))
    scaled = MaxCutProblem.from_edges(problem.heads, problem.tails, (problem.weights * scale).tolist(), n=problem.n)
    found = PopulationAnnealer(scaled).anneal(n_sweeps=200, n_replicas=16)[:, 0]
    reference = PopulationAnnealer(problem).anneal(n_sweeps=200, n_replicas=16)[:, 0]
    assert problem.cut_value(found) == problem.cut_value(reference)


def test_hubs_are_updated_in_floating_point():
    # K(3, 300): the fields of the three hubs, up to 300, don't fit in 8 bits; one edge between two hubs can't be cut
    heads = np.concatenate([np.repeat(np.arange(3), 300), [0]])
    tails = np.concatenate([np.tile(np.arange(3, 303), 3), [1]])
    problem = MaxCutProblem.from_edges(heads, tails)
    sides = PopulationAnnealer(problem).anneal(n_sweeps=50, n_replicas=8)
    assert problem.cut_value(sides[:, 0]) == 900


def test_heat_bath_samples_the_boltzmann_distribution():
    # one edge of weight 1 at temperature T: P(cut) = e^{1/T}/(e^{1/T} + e^{-1/T})
    problem = MaxCutProblem.from_edges([0], [1], [1.0])
    annealer = PopulationAnnealer(problem)
    state = np.ones((2, 4000), dtype=np.int8)
    temperature, rng = 1.3, np.random.default_rng(0)
    uniform = rng.random(1 << 18, dtype=np.float32)
    pool = (0.5 * np.log(uniform / (1 - uniform))).astype(np.float32)
    noise = annealer._noise(pool, temperature)
    share = []
    for sweep in range(60):
        annealer._sweep(state, pool, noise, temperature, rng)
        if sweep >= 10:
            share.append(np.mean(state[0] != state[1]))
    expected = 1.0 / (1.0 + np.exp(-2.0 / temperature))
    # 50 x 4000 weakly dependent samples: standard error about 1.2e-3
    assert np.mean(share) == pytest.approx(expected, abs=6e-3)


def test_same_seed_same_bits_and_start_is_used():
    problem = random_graph(np.random.default_rng(4), 80, 240)
    runs = [PopulationAnnealer(problem).anneal(n_sweeps=20, n_replicas=6, rng=7) for _ in range(2)]
    assert np.array_equal(*runs)
    best = np.repeat(runs[0][:, :1], 6, axis=1)
    again = PopulationAnnealer(problem).anneal(n_sweeps=5, n_replicas=6, start=best, hot=1e-3, cold=1e-3)
    assert problem.cut_value(again[:, 0]) >= problem.cut_value(best[:, 0])


def test_stopping_and_trivial_graphs():
    problem = complete(6)
    sides = PopulationAnnealer(problem).anneal(n_sweeps=10, n_replicas=3, should_stop=lambda: True)
    assert sides.shape == (6, 3)
    for n in (0, 1, 4):
        empty = MaxCutProblem.from_edges([], [], n=n)
        assert PopulationAnnealer(empty).anneal(n_sweeps=3, n_replicas=2).shape == (n, 2)


@pytest.mark.parametrize(
    "bad", [{"n_sweeps": 0}, {"n_replicas": 0}, {"hot": 0.0}, {"cold": -1.0}, {"resampling": -1.0}]
)
def test_bad_arguments_are_named(bad):
    arguments = {"n_sweeps": 5, "n_replicas": 2} | bad
    with pytest.raises(InputError, match=next(iter(bad))):
        PopulationAnnealer(complete(4)).anneal(**arguments)
    with pytest.raises(InputError, match="start"):
        PopulationAnnealer(complete(4)).anneal(n_sweeps=5, n_replicas=2, start=np.ones((3, 2)))
