import numpy as np
import pytest

from derand.maxcut.colouring import greedy_colouring
from derand.maxcut.problem import MaxCutProblem
from tests.maxcut.graphs import complete, random_graph


@pytest.mark.parametrize("seed", range(5))
def test_no_edge_joins_one_colour(seed):
    problem = random_graph(np.random.default_rng(seed), 60, 200)
    colours = greedy_colouring(problem)
    assert not np.any(colours[problem.heads] == colours[problem.tails])
    assert colours.min() == 0
    assert colours.max() <= problem.n_neighbors.max()


def test_known_numbers_of_colours():
    assert greedy_colouring(complete(7)).max() == 6
    assert greedy_colouring(MaxCutProblem.from_edges([], [], n=3)).tolist() == [0, 0, 0]
    assert greedy_colouring(MaxCutProblem.from_edges([], [], n=0)).size == 0
