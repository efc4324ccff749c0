"""The chain cut >= expected cut >= 0.878 of the relaxation, for every method and kind of weights."""

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.maxcut.conditioning import best_hyperplane
from derand.maxcut.derandomize import GOEMANS_WILLIAMSON, derandomize
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.relaxation import solve_relaxation
from tests.maxcut.graphs import brute_force, complete, cycle, karloff, petersen, random_graph, torus


def test_constant_is_the_minimum_over_angles():
    angle = np.linspace(1.0, 3.1, 2_000_001)
    ratio = (angle / np.pi) / ((1 - np.cos(angle)) / 2)
    assert GOEMANS_WILLIAMSON <= ratio.min() <= GOEMANS_WILLIAMSON + 1e-12


@pytest.mark.parametrize("method", ["sosp", "conditional"])
@pytest.mark.parametrize("weights", ["unit", "int", "float", "negative", "large"])
def test_chain_holds_and_optimum_is_an_upper_bound(method, weights):
    for seed in range(4):
        problem = random_graph(np.random.default_rng(seed), 10, 22, weights)
        vectors = solve_relaxation(problem, tol=1e-4).vectors
        result = derandomize(problem, vectors, method=method)
        assert result.value == problem.cut_value(result.side)
        assert result.value >= result.expected_cut - 1e-9 * max(1.0, abs(result.expected_cut))
        assert result.is_guaranteed
        assert result.value <= brute_force(problem)


@pytest.mark.parametrize(("m", "t", "b", "optimum"), [(6, 3, 1, 60), (8, 4, 1, 420)])
def test_karloff_graphs_are_solved(m, t, b, optimum):
    problem = karloff(m, t, b)
    result = derandomize(problem, solve_relaxation(problem).vectors)
    assert result.value == optimum
    assert not result.fell_back


def test_run_is_certified_and_weights_are_within_the_bound():
    problem = torus(20, 20, np.random.default_rng(0))
    result = derandomize(problem, solve_relaxation(problem, tol=1e-4).vectors)
    assert result.sosp.success
    assert result.weight_norm <= result.weight_bound * (1 + 1e-9) < 0.01
    best = best_hyperplane(problem, solve_relaxation(problem, tol=1e-4).vectors)[1].max()
    assert result.value > best


def test_zero_kick_starts_at_the_saddle_and_leaves_it():
    problem = petersen()
    result = derandomize(problem, solve_relaxation(problem).vectors, kick=0.0)
    assert result.sosp.success
    assert result.sosp.n_escapes >= 1
    assert result.value == 12


def test_hyperplane_is_random_and_says_so():
    problem = complete(8)
    vectors = solve_relaxation(problem).vectors
    result = derandomize(problem, vectors, method="hyperplane", rng=3)
    assert result.value == 16
    assert result.method == "hyperplane"


def test_falls_back_when_the_solver_is_cut_off():
    problem = cycle(9)
    result = derandomize(problem, solve_relaxation(problem).vectors, max_evals=1)
    assert result.is_above_expectation


def test_same_bits_twice_and_no_edges():
    problem = random_graph(np.random.default_rng(5), 40, 150)
    vectors = solve_relaxation(problem, tol=1e-4).vectors
    first, second = derandomize(problem, vectors), derandomize(problem, vectors)
    assert np.array_equal(first.side, second.side)
    assert np.array_equal(first.sosp.x, second.sosp.x)
    empty = MaxCutProblem.from_edges([], [], n=2)
    assert derandomize(empty, solve_relaxation(empty).vectors).value == 0


def test_bad_arguments_are_named():
    problem = cycle(5)
    vectors = solve_relaxation(problem).vectors
    with pytest.raises(InputError, match="method"):
        derandomize(problem, vectors, method="best")
    with pytest.raises(InputError, match="direction"):
        derandomize(problem, vectors, direction=-1)
    with pytest.raises(InputError, match="length 1"):
        derandomize(problem, 2 * vectors)
