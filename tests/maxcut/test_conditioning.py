"""Conditioning never loses; the threshold sweep is exact."""

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.maxcut.conditioning import best_hyperplane, condition_coordinates, round_means, sweep_threshold
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.relaxation import expected_cut, quasi_random_vectors
from tests.maxcut.graphs import complete, cycle, random_graph


@pytest.mark.parametrize("seed", range(8))
def test_conditioning_is_not_below_the_expectation(seed):
    rng = np.random.default_rng(seed)
    problem = random_graph(rng, 15, 40, ["int", "float", "unit", "negative"][seed % 4])
    vectors = rng.normal(size=(15, 1 + seed % 4))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    side, expected = condition_coordinates(problem, vectors, np.zeros(15))
    assert expected == pytest.approx(expected_cut(problem, vectors), rel=1e-12, abs=1e-12)
    assert problem.cut_value(side) >= expected - 1e-9 * (1 + abs(expected))


def test_conditioning_with_biases_matches_sampling_and_does_not_lose():
    rng = np.random.default_rng(9)
    problem = random_graph(rng, 10, 20)
    W, b = rng.normal(size=(10, 3)), rng.normal(size=10)
    W[0] = 0.0
    side, expected = condition_coordinates(problem, W, b)
    signs = np.sign(rng.normal(size=(200_000, 3)) @ W.T + b)
    cuts = (1 - signs[:, problem.heads] * signs[:, problem.tails]) / 2 @ problem.weights
    assert expected == pytest.approx(cuts.mean(), abs=5 * cuts.std() / np.sqrt(200_000))
    assert problem.cut_value(side) >= expected - 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_threshold_sweep_finds_the_best_of_a_dense_grid(seed):
    rng = np.random.default_rng(seed)
    problem = random_graph(rng, 12, 30)
    # ties and vertices that never move
    u = rng.integers(-2, 3, 12).astype(float)
    b = rng.integers(-3, 4, 12) / 2.0
    side, value = sweep_threshold(problem, u, b)
    assert value == problem.cut_value(side)
    points = np.unique(np.concatenate([-b[u != 0] / u[u != 0], [0.0]]))
    middles = np.concatenate([[points[0] - 1], (points[1:] + points[:-1]) / 2, [points[-1] + 1]])
    values = [problem.cut_value(np.where(u * x + b >= 0, 1, -1)) for x in middles]
    assert value == max(values)


def test_rounding_means_never_loses():
    rng = np.random.default_rng(3)
    for _ in range(20):
        problem = random_graph(rng, 12, 30)
        means = np.clip(rng.normal(size=12), -1, 1)
        expected = np.sum(problem.weights * (1 - means[problem.heads] * means[problem.tails]) / 2)
        assert problem.cut_value(round_means(problem, means)) >= expected - 1e-9
    assert round_means(problem, np.ones(12)).tolist() == [1] * 12


def test_best_hyperplane_estimates_the_expected_cut():
    problem = complete(7)
    vectors = quasi_random_vectors(7, 3)
    side, values = best_hyperplane(problem, vectors, n_draws=3000)
    assert problem.cut_value(side) == values.max()
    assert values.mean() == pytest.approx(expected_cut(problem, vectors), abs=5 * values.std() / np.sqrt(3000))
    with pytest.raises(InputError, match="n_draws"):
        best_hyperplane(problem, vectors, n_draws=0)


def test_stopping_still_returns_a_cut():
    problem = cycle(6)
    side, _ = condition_coordinates(problem, quasi_random_vectors(6, 3), np.zeros(6), should_stop=lambda: True)
    assert isinstance(problem.cut_value(side), int)


def test_no_edges():
    empty = MaxCutProblem.from_edges([], [], n=3)
    side, value = sweep_threshold(empty, np.ones(3), np.zeros(3))
    assert value == 0.0
    assert side.shape == (3,)
