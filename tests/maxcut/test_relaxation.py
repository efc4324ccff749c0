import math

import numpy as np
import pytest

from derand._utils.threads import blas_threads
from derand.exceptions import InputError
from derand.maxcut.factor import quasi_random_vectors
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.relaxation import (
    expected_cut,
    relaxation_value,
    solve_relaxation,
)
from tests.maxcut.graphs import complete, cycle, karloff, petersen, random_graph

KNOWN = {
    # The relaxation of a vertex-transitive graph with one edge orbit is n (d - lowest adjacency eigenvalue)/4.
    "pentagon": (lambda: cycle(5), 5 / 4 * (2 + 2 * math.cos(math.pi / 5))),
    "C101": (lambda: cycle(101), 101 / 4 * (2 + 2 * math.cos(math.pi / 101))),
    "even cycle": (lambda: cycle(12), 12.0),
    "K7": (lambda: complete(7), 49 / 4),
    "Petersen": (petersen, 12.5),
    "Karloff J(6,3,1)": (lambda: karloff(6, 3, 1), 60.0),
    "heavy pentagon": (lambda: cycle(5, 10**15), 10**15 * 5 / 4 * (2 + 2 * math.cos(math.pi / 5))),
    "one edge": (lambda: MaxCutProblem.from_edges([0], [1], [2.5]), 2.5),
    "negative edge": (lambda: MaxCutProblem.from_edges([0], [1], [-2.5]), 0.0),
    "no edges": (lambda: MaxCutProblem.from_edges([], [], n=4), 0.0),
    "nothing": (lambda: MaxCutProblem.from_edges([], []), 0.0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_value_equals_the_closed_form(name):
    make, expected = KNOWN[name]
    problem = make()
    result = solve_relaxation(problem)
    # The value is second order in the residual, so 1e-7 leaves rounding only.
    assert result.value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert result.is_converged
    assert result.vectors.shape == (problem.n, result.rank)
    assert float(problem.total_weight) / 2 + result.multipliers.sum() / 4 == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("weights", ["int", "float", "unit", "negative", "wide", "huge"])
def test_value_is_the_eigenvalue_bound_optimised_over_the_diagonal(weights):
    # Duality: at the optimum A + diag(y) is positive semidefinite with sum(y)/4 + W/2 equal to the value.
    problem = random_graph(np.random.default_rng(5), 40, 120, weights)
    result = solve_relaxation(problem)
    smallest = np.linalg.eigvalsh(problem.adjacency.toarray() + np.diag(result.multipliers))[0]
    slack = (
        float(problem.total_weight) / 2
        + result.multipliers.sum() / 4
        - problem.n * min(smallest, 0.0) / 4
        - result.value
    )
    assert slack + 1e-12 * np.abs(problem.weights).sum() >= 0
    assert slack <= 1e-6 * np.abs(problem.weights).sum()


def test_same_bits_for_one_and_two_threads():
    problem = random_graph(np.random.default_rng(6), 300, 1500, "int")
    results = []
    for threads in (1, 2):
        with blas_threads(threads):
            results.append(solve_relaxation(problem, max_products=200))
    assert np.array_equal(results[0].vectors, results[1].vectors)
    assert results[0].value == results[1].value


def test_limits_are_kept():
    problem = random_graph(np.random.default_rng(7), 200, 1000, "int")
    assert solve_relaxation(problem, max_products=15).n_products <= 15 + 40
    assert solve_relaxation(problem, max_rank=3).rank == 3
    assert not solve_relaxation(problem, time_limit=0.0).is_converged
    seen = []
    stopped = solve_relaxation(problem, callback=lambda used, value: seen.append((used, value)) or True)
    assert len(seen) == 1
    assert stopped.history[0] == seen[0]


@pytest.mark.parametrize(
    "bad", [{"tol": 0}, {"tol": 2.0}, {"max_rank": 0}, {"max_products": 0}, {"time_limit": -1}, {"tol": math.nan}]
)
def test_bad_arguments_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        solve_relaxation(cycle(5), **bad)


def test_expected_cut_is_the_mean_over_hyperplanes():
    problem = random_graph(np.random.default_rng(8), 12, 30, "int")
    vectors = quasi_random_vectors(12, 4)
    rng = np.random.default_rng(9)
    sides = np.where(vectors @ rng.standard_normal((4, 20000)) >= 0, 1, -1)
    cuts = ((sides[problem.heads] != sides[problem.tails]) * problem.weights[:, None]).sum(axis=0)
    # Five standard errors.
    assert abs(cuts.mean() - expected_cut(problem, vectors)) <= 5 * cuts.std() / math.sqrt(20000)


def test_expected_cut_keeps_precision_for_nearly_parallel_vectors():
    angle = 1e-9
    vectors = np.array([[1.0, 0.0], [math.cos(angle), math.sin(angle)]])
    assert expected_cut(MaxCutProblem.from_edges([0], [1]), vectors) == pytest.approx(angle / math.pi, rel=1e-12)


def test_goemans_williamson_ratio_holds():
    problem = random_graph(np.random.default_rng(10), 60, 240, "unit")
    vectors = solve_relaxation(problem).vectors
    assert expected_cut(problem, vectors) >= 0.87856 * relaxation_value(problem, vectors)


@pytest.mark.parametrize("function", [expected_cut, relaxation_value])
@pytest.mark.parametrize("vectors", [np.ones((4, 1)), np.ones((5, 2)), np.full((5, 1), math.nan), np.ones(5)])
def test_vectors_that_are_not_unit_rows_are_refused(function, vectors):
    with pytest.raises(InputError, match="vectors"):
        function(cycle(5), vectors)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"), [("G1", 12083.20), ("G11", 629.16), ("G14", 3191.57), ("G22", 14135.95), ("G32", 1567.64)]
)
def test_published_values_of_gset(name, value, gset):
    # Published to two decimals.
    assert solve_relaxation(gset(name)).value == pytest.approx(value, abs=0.006)
