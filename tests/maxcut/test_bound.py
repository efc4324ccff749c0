import math
from fractions import Fraction

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.maxcut import elimination
from derand.maxcut.bound import cut_lattice, dual_value, lattice_floor, prove_bound, round_up
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.relaxation import solve_relaxation
from tests.maxcut.graphs import brute_force, complete, cycle, karloff, petersen, random_graph, torus

WEIGHTS = ["int", "float", "unit", "negative", "large", "huge", "wide"]


@pytest.mark.parametrize(
    ("problem", "optimum"),
    [
        (cycle(5), 4),
        (cycle(101), 100),
        (petersen(), 12),
        (complete(7), 12),
        (karloff(6, 3, 1), 60),
        (cycle(40), 40),
        (cycle(9, -3), 0),
        (cycle(5, 10**30), 4 * 10**30),
        (MaxCutProblem.from_edges([], [], n=3), 0),
        (MaxCutProblem.from_edges([], []), 0),
    ],
)
def test_known_optima_are_proved(problem, optimum):
    bound = prove_bound(problem, solve_relaxation(problem).multipliers)
    assert bound.is_proved
    assert bound.upper_bound == optimum
    assert bound.reason == ""


@pytest.mark.parametrize("weights", WEIGHTS)
def test_no_cut_exceeds_the_bound(weights):
    rng = np.random.default_rng(WEIGHTS.index(weights))
    for _ in range(15):
        problem = random_graph(rng, int(rng.integers(2, 10)), int(rng.integers(1, 25)), weights)
        bound = prove_bound(problem, solve_relaxation(problem).multipliers)
        assert bound.is_proved
        assert brute_force(problem) <= bound.upper_bound <= bound.raw_bound
        assert (
            type(bound.upper_bound) is (int if problem.is_integer and problem.n_edges else float)
            or problem.n_edges == 0
        )


@pytest.mark.parametrize("start", ["zero", "negative", "random", "far too large"])
def test_any_multipliers_give_a_true_bound(start):
    rng = np.random.default_rng(4)
    for _ in range(10):
        problem = random_graph(rng, 9, 20, "int")
        y = {
            "zero": np.zeros(9),
            "negative": np.full(9, -5.0),
            "random": rng.uniform(0, 9, 9),
            "far too large": np.full(9, 1e6),
        }[start]
        assert prove_bound(problem, y).upper_bound >= brute_force(problem)


def exact_smallest_pivot(problem, dual):
    """Exact LDL^T; the smallest pivot, which is nonnegative for a positive semidefinite matrix."""
    n = problem.n
    matrix = [[Fraction(0)] * n for _ in range(n)]
    for i, j, w in zip(problem.heads.tolist(), problem.tails.tolist(), problem.exact_weights.tolist(), strict=True):
        matrix[i][j] = matrix[j][i] = Fraction(w)
    for i, z in enumerate(dual.tolist()):
        matrix[i][i] = Fraction(z)
    pivots = []
    for k in range(n):
        pivots.append(matrix[k][k])
        if matrix[k][k] == 0:
            assert not any(matrix[k][k + 1 :])
            continue
        for i in range(k + 1, n):
            factor = matrix[i][k] / matrix[k][k]
            if factor:
                for j in range(k + 1, n):
                    matrix[i][j] -= factor * matrix[k][j]
    return min(pivots)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("by_levels", [False, True])
def test_the_dual_vector_is_feasible_in_exact_arithmetic(weights, by_levels, monkeypatch):
    if by_levels:
        monkeypatch.setattr(elimination, "_DENSE_CORE", 2)
    rng = np.random.default_rng(7)
    for _ in range(4):
        problem = random_graph(rng, 12, 30, weights)
        bound = prove_bound(problem, solve_relaxation(problem).multipliers)
        assert exact_smallest_pivot(problem, bound.dual) >= 0
        assert bound.raw_bound >= dual_value(problem, bound.dual)


def test_bound_is_tight_against_the_relaxation():
    rng = np.random.default_rng(8)
    for problem in (random_graph(rng, 150, 900, "float"), random_graph(rng, 300, 600, "wide"), torus(14, 15, rng)):
        relaxation = solve_relaxation(problem)
        bound = prove_bound(problem, relaxation.multipliers)
        # The bar is 1e-3 of the value; the worst of these is the torus, whose dual is nearly degenerate.
        assert bound.raw_bound - relaxation.value <= 2e-4 * abs(relaxation.value)


def test_too_little_memory_gives_an_estimate_under_another_name():
    problem = random_graph(np.random.default_rng(9), 3000, 30000, "unit")
    bound = prove_bound(problem, np.full(3000, 5.0), max_memory=10**6)
    assert not bound.is_proved
    assert bound.upper_bound is None
    assert bound.raw_bound == math.inf
    assert bound.estimate == pytest.approx(float(problem.total_weight) / 2 + 3000 * 5.0 / 4)
    assert "bytes" in bound.reason


@pytest.mark.parametrize("bad", [np.ones(4), np.full(5, np.nan), np.ones((5, 1))])
def test_bad_multipliers_are_refused(bad):
    with pytest.raises(InputError, match="multipliers"):
        prove_bound(cycle(5), bad)


@pytest.mark.parametrize("weights", ["int", "unit", "large", "huge"])
def test_every_cut_is_a_multiple_of_the_lattice_constant(weights):
    rng = np.random.default_rng(10)
    for _ in range(20):
        problem = random_graph(rng, 7, 12, weights)
        doubled = MaxCutProblem.from_edges(problem.heads, problem.tails, problem.exact_weights * 6, n=7)
        lattice = cut_lattice(doubled)
        cuts = [doubled.cut_value(rng.choice([-1, 1], 7)) for _ in range(30)]
        assert all(cut % lattice == 0 for cut in cuts) if lattice else not any(cuts)


def test_lattice_constants_by_hand():
    assert cut_lattice(cycle(7)) == 2
    assert cut_lattice(complete(4)) == 1
    assert cut_lattice(cycle(7, 10**20)) == 2 * 10**20
    assert cut_lattice(MaxCutProblem.from_edges([0], [1], [0.5])) == 0


def test_rounding_helpers():
    assert lattice_floor(Fraction(9, 2), 2) == 4
    assert lattice_floor(Fraction(-1, 2), 2) == -2
    third = Fraction(1, 3)
    assert Fraction(round_up(third)) >= third > Fraction(math.nextafter(round_up(third), 0))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["G1", "G11", "G22", "G55", "G60", "G63", "G70"])
def test_benchmark_graphs_are_proved_within_a_thousandth(name, gset):
    problem = gset(name)
    relaxation = solve_relaxation(problem, max_products=1500)
    bound = prove_bound(problem, relaxation.multipliers)
    assert bound.is_proved
    assert bound.raw_bound <= relaxation.value * 1.001
