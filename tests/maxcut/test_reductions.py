from fractions import Fraction

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.maxcut.exhaustive import best_cut_exhaustive
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.reductions import reduce_problem
from tests.maxcut.graphs import brute_force, complete, cycle, petersen, random_graph, torus


@pytest.mark.parametrize("weights", ["int", "unit", "huge", "negative", "wide", "float"])
def test_optimum_of_the_parts_is_the_optimum(weights):
    rng = np.random.default_rng(0)
    n_kernels = 0
    for _ in range(60):
        problem = random_graph(rng, int(rng.integers(1, 10)), int(rng.integers(0, 28)), weights)
        reduction = reduce_problem(problem)
        n_kernels += len(reduction.kernels)
        solved = [best_cut_exhaustive(kernel.problem) for kernel in reduction.kernels]
        total = reduction.total([int(value) for value, _ in solved])
        side = reduction.lift([side for _, side in solved])
        # The reduced numbers are exact; rounding enters a float cut value once.
        assert float(total) == pytest.approx(brute_force(problem), rel=1e-15, abs=0)
        assert float(total) == pytest.approx(problem.cut_value(side), rel=1e-15, abs=0)
    # A graph with negative weights only is balanced: nothing is left of it.
    assert n_kernels > 5 or weights == "negative"


def test_every_lifted_cut_keeps_its_value():
    rng = np.random.default_rng(1)
    for _ in range(60):
        problem = random_graph(rng, 25, 40, "int")
        reduction = reduce_problem(problem)
        sides = [rng.choice([-1, 1], kernel.problem.n).astype(np.int8) for kernel in reduction.kernels]
        values = [int(kernel.problem.cut_value(side)) for kernel, side in zip(reduction.kernels, sides, strict=True)]
        assert problem.cut_value(reduction.lift(sides)) == reduction.total(values)


def test_kernels_are_irreducible_and_ordered():
    reduction = reduce_problem(random_graph(np.random.default_rng(2), 300, 420, "int"))
    sizes = [kernel.problem.n for kernel in reduction.kernels]
    assert sizes == sorted(sizes, reverse=True)
    for kernel in reduction.kernels:
        assert kernel.problem.n_neighbors.min() >= 2
        assert np.unique(kernel.vertices).size == kernel.problem.n


@pytest.mark.parametrize(
    ("problem", "optimum"),
    [
        (cycle(101), 100),
        (cycle(6, Fraction(1, 4)), Fraction(3, 2)),
        (cycle(4, 10**40), 4 * 10**40),
        (MaxCutProblem.from_edges([], []), 0),
    ],
)
def test_decided_graphs_leave_no_kernel(problem, optimum):
    reduction = reduce_problem(problem)
    assert reduction.kernels == ()
    assert reduction.total([]) == optimum
    assert problem.cut_value(reduction.lift([])) == optimum


def test_dense_graphs_stay_whole():
    for problem in (complete(6), petersen(), torus(5, 5, np.random.default_rng(3))):
        reduction = reduce_problem(problem)
        assert reduction.offset == 0
        assert reduction.kernels[0].problem.n == problem.n


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="orders of magnitude"):
        reduce_problem(MaxCutProblem.from_edges([0, 1, 2], [1, 2, 0], [1e-300, 1.5, 1e10]))
    reduction = reduce_problem(complete(5))
    with pytest.raises(InputError, match="1 cuts"):
        reduction.lift([])
    with pytest.raises(InputError, match="side"):
        reduction.lift([np.ones(4)])
