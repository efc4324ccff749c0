import numpy as np
import pytest

from derand.exceptions import BudgetExceededError
from derand.maxcut.exhaustive import best_cut_exhaustive
from derand.maxcut.problem import MaxCutProblem
from tests.maxcut.graphs import brute_force, complete, cycle, petersen, random_graph


@pytest.mark.parametrize("weights", ["int", "float", "unit", "negative", "large", "huge", "wide"])
def test_agrees_with_plain_enumeration(weights):
    rng = np.random.default_rng(0)
    for _ in range(15):
        problem = random_graph(rng, int(rng.integers(1, 9)), int(rng.integers(0, 20)), weights)
        value, side = best_cut_exhaustive(problem)
        assert value == problem.cut_value(side)
        # Doubles are added in another order: a few roundings of the total.
        assert value == pytest.approx(brute_force(problem), rel=1e-14, abs=1e-14)


@pytest.mark.parametrize(
    ("problem", "optimum"), [(cycle(17), 16), (petersen(), 12), (complete(9), 20), (cycle(5, -2), 0)]
)
def test_known_optima(problem, optimum):
    assert best_cut_exhaustive(problem)[0] == optimum


def test_sizes():
    assert best_cut_exhaustive(MaxCutProblem.from_edges([], []))[0] == 0
    with pytest.raises(BudgetExceededError, match="21 vertices"):
        best_cut_exhaustive(cycle(21))
