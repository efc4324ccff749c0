import numpy as np
import pytest

from derand.exceptions import InputError
from derand.maxcut.canonical import canonical_order
from derand.maxcut.problem import MaxCutProblem
from tests.maxcut.graphs import complete, cycle, karloff, petersen, random_graph, torus


def relabelled(problem, rng):
    names = rng.permutation(problem.n)
    return MaxCutProblem.from_edges(names[problem.heads], names[problem.tails], problem.exact_weights, n=problem.n)


GRAPHS = {
    "random": lambda: random_graph(np.random.default_rng(0), 200, 600, "int"),
    "sparse": lambda: random_graph(np.random.default_rng(1), 200, 150, "unit"),
    "huge weights": lambda: random_graph(np.random.default_rng(2), 40, 90, "huge"),
    "signed torus": lambda: torus(7, 9, np.random.default_rng(3)),
    "cycle": lambda: cycle(30),
    "complete": lambda: complete(50),
    "Petersen": petersen,
    "Karloff": lambda: karloff(6, 3, 1),
    "no edges": lambda: MaxCutProblem.from_edges([], [], n=6),
    "nothing": lambda: MaxCutProblem.from_edges([], []),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_relabelled_graphs_become_the_same_problem(name):
    problem, rng = GRAPHS[name](), np.random.default_rng(4)
    order = canonical_order(problem)
    assert np.array_equal(np.sort(order), np.arange(problem.n))
    reference = problem.subproblem(order)
    for _ in range(4):
        other = relabelled(problem, rng)
        same = other.subproblem(canonical_order(other))
        assert np.array_equal(same.heads, reference.heads)
        assert np.array_equal(same.tails, reference.tails)
        assert np.array_equal(same.exact_weights, reference.exact_weights)


def test_choices_are_limited():
    assert np.array_equal(canonical_order(cycle(9), max_choices=0), np.arange(9))
    with pytest.raises(InputError, match="max_choices"):
        canonical_order(cycle(5), max_choices=-1)
