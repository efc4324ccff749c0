import numpy as np
import pytest

from derand.maxcut.low_degree import eliminate_low_degree
from derand.maxcut.problem import MaxCutProblem
from tests.maxcut.graphs import brute_force, complete, cycle, random_graph


@pytest.mark.parametrize("weights", ["int", "unit", "huge", "negative"])
def test_optimum_and_every_lifted_cut_keep_their_value(weights):
    rng = np.random.default_rng(0)
    for _ in range(40):
        problem = random_graph(rng, int(rng.integers(2, 10)), int(rng.integers(1, 14)), weights)
        reduced = eliminate_low_degree(problem)
        assert brute_force(problem) == reduced.offset + brute_force(reduced.problem)
        side = rng.choice([-1, 1], problem.n).astype(np.int8)
        assert problem.cut_value(reduced.lift(side)) == reduced.offset + reduced.problem.cut_value(side)


def test_nothing_of_degree_two_or_less_remains():
    reduced = eliminate_low_degree(random_graph(np.random.default_rng(1), 200, 300, "int"))
    degrees = reduced.problem.n_neighbors
    assert np.all((degrees == 0) | (degrees >= 3))


def test_cycles_and_trees_vanish():
    assert eliminate_low_degree(cycle(9)).offset == 8
    path = eliminate_low_degree(MaxCutProblem.from_edges([0, 1, 2], [1, 2, 3], [5, -7, 2]))
    assert (path.offset, path.problem.n_edges) == (7, 0)
    # The edge that replaces a vertex may cancel the one that is there: w = -1 and max(1, 1) - max(0, 2) = -1 and 2.
    assert eliminate_low_degree(MaxCutProblem.from_edges([0, 0, 1], [1, 2, 2], [1, 1, 1])).offset == 2


def test_graphs_without_small_degrees_are_returned_as_they_are():
    problem = complete(5)
    assert eliminate_low_degree(problem).problem is problem
