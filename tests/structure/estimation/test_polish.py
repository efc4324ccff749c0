"""Gauss-Newton: its score is the gradient of the penalised profile, its trace falls, and it reaches the limit."""

import numpy as np

from derand.structure.estimation.polish import Problem, _moved, information, polish, start
from derand.structure.estimation.smoother import KernelRidge
from derand.structure.subspace import subspace_distance
from tests.structure.estimation.models import MODELS, draw


def _problem(name="li1", n=300, d=6, seed=0):
    X, y, B = draw(name, "gaussian", n, d, seed)
    Z = X - X.mean(axis=0)
    return Problem(Z, ((y - y.mean()) / y.std())[:, None], None, np.random.default_rng(0).permutation(n)), B


def _profile(problem, B, scales, ridge, centres):
    """Return the minimised penalised sum of squares, y^T (y - f), for landmarks that stay where they are."""
    smoother = KernelRidge(problem.X @ B.T, problem.y, np.arange(len(centres)))
    smoother.centres = centres
    fit = smoother.fit(scales, ridge=ridge)
    return float(np.sum(problem.y * (problem.y - fit.predict(problem.X @ B.T))))


def test_score_is_the_gradient_of_the_profile():
    problem, B = _problem()
    candidate = start(problem, B, "truth")
    fit, info = candidate.fit, information(problem, candidate)
    for index in (0, 3, 6):
        D = np.zeros(info.g.size)
        D[index] = 1e-4
        ends = [
            _profile(problem, _moved(B, s * D.reshape(2, -1), info.C), fit.scales, fit.ridge, fit.centres)
            for s in (1, -1)
        ]
        slope = (ends[0] - ends[1]) / 2e-4
        assert abs(slope + 2 * info.g[index]) < 1e-3 * np.abs(info.g).max() + 1e-4


def test_trace_falls_to_the_truth():
    problem, B = _problem("cos2", 500, 8)
    away = np.linalg.qr((B + 0.15 * np.random.default_rng(1).standard_normal(B.shape)).T)[0].T
    end = polish(problem, start(problem, away, "near"), 20)
    assert all(b < a for a, b in zip(end.trace, end.trace[1:], strict=False))
    assert subspace_distance(end.B, B) < 0.25 * subspace_distance(away, B)
    assert MODELS["cos2"].k == len(end.B)


def test_all_directions_leave_nothing_to_polish():
    problem, _ = _problem(d=2)
    whole = start(problem, np.eye(2), "all")
    assert polish(problem, whole) is whole
