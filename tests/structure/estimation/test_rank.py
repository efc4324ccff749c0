"""The right number of directions, found."""

import numpy as np
import pytest

from derand.structure.estimation.polish import Problem
from derand.structure.estimation.rank import bic, fit_path
from derand.structure.subspace import subspace_distance
from tests.structure.estimation.models import draw


def _problem(name, n, d, seed=0):
    X, y, B = draw(name, "gaussian", n, d, seed)
    return Problem(X, ((y - y.mean()) / y.std())[:, None], None, np.random.default_rng(0).permutation(n)), B


@pytest.mark.parametrize(("name", "k"), [("tanh1", 1), ("cos2", 2)])
def test_bic_finds_the_rank(name, k):
    problem, B = _problem(name, 400, 6)
    candidates, path = fit_path(problem, 3)
    best = min(path, key=lambda step: step.bic)
    assert best.k == k
    assert subspace_distance(candidates[k - 1].B, B) < 0.12
    assert [step.k for step in path] == list(range(1, len(path) + 1))
    step = path[k - 1]
    assert step.bic == pytest.approx(bic(step.rss, step.df, 400, k, 6))


def test_given_rank_is_the_only_one():
    problem, _ = _problem("prod2", 300, 5)
    candidates, path = fit_path(problem, 6, 2)
    assert [step.k for step in path] == [2]
    assert candidates[0].B.shape == (2, 5)
