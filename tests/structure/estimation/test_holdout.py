import numpy as np

from derand.structure.estimation.holdout import choose_by_hold_out, unpolished
from derand.structure.estimation.polish import Problem
from derand.structure.estimation.rank import fit_rank
from derand.structure.estimation.starts import portfolio
from derand.structure.subspace import subspace_distance
from tests.structure.estimation.models import draw


def test_smooth_links_stay_polished():
    X, y, B = draw("tanh1", "gaussian", 300, 5, 0)
    problem = Problem(X, (y / y.std())[:, None], None, np.arange(300))
    matrices = portfolio(problem)
    candidate = fit_rank(problem, 1, matrices)
    kept = choose_by_hold_out(problem, candidate)
    assert subspace_distance(kept.B, B) < 0.1
    plain = unpolished(problem, 1, matrices["sir"], "sir")
    assert plain.name == "sir"
    assert subspace_distance(plain.B, np.linalg.eigh(matrices["sir"])[1][:, -1]) < 1e-7


def test_few_samples_are_not_split():
    X, y, _ = draw("tanh1", "gaussian", 40, 3, 0)
    problem = Problem(X, y[:, None], None, np.arange(40))
    candidate = fit_rank(problem, 1, portfolio(problem))
    assert choose_by_hold_out(problem, candidate) is candidate
