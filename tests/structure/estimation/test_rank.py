"""The right number of directions, found."""

import numpy as np
import pytest

from derand.structure.estimation.estimate import estimate_structure
from derand.structure.estimation.polish import Problem, start
from derand.structure.estimation.rank import _exchanged, bic, fit_path, fit_rank
from derand.structure.estimation.starts import portfolio
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


@pytest.mark.parametrize(("n", "d", "seed"), [(2000, 50, 1000), (2000, 50, 1012), (500, 20, 1003)])
def test_a_wave_that_no_start_sees_is_found(n, d, seed):
    """Two of three directions are seen by the starts, which end within 1 of the truth; the third is exchanged in."""
    problem, B = _problem("mix3", n, d, seed)
    found = fit_rank(problem, 3, portfolio(problem))
    assert subspace_distance(found.B, B) < 0.2


def test_a_useless_direction_is_exchanged_and_a_useful_one_kept():
    problem, B = _problem("mix3", 1000, 12, 7)
    other = np.linalg.qr(np.vstack([B, np.eye(12)[:1]]).T)[0].T[3]
    exchanged = _exchanged(problem, start(problem, np.vstack([B[:2], other]), "two and another"))
    assert subspace_distance(exchanged.B, B) < 0.3
    right = start(problem, B, "truth")
    assert _exchanged(problem, right) is right


def test_a_direction_halfway_to_the_truth_is_left_through_one_more():
    """Here exchanges end 0.9 from the truth: the third direction mixes the true one with what the second lacks."""
    X, y, B = draw("mix3", "chi2", 500, 20, 5119)
    assert subspace_distance(estimate_structure(X, y, 3).components, B) < 0.25
