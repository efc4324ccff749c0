"""Links with jumps: the sharp axis alone, and inverse regression across it."""

from dataclasses import replace

import numpy as np

from derand.structure.estimation.kinks import beside_the_sharpest, fit_jump, is_crowded, jump_scales
from derand.structure.estimation.polish import Candidate, Problem
from derand.structure.subspace import subspace_distance


def problem_of(n=400, d=6, seed=0):
    """Return a jump along the first coordinate that scales a slope along the second."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sign(X[:, 0]) * (2.0 + 0.5 * X[:, 1]) + 0.2 * rng.standard_normal(n)
    return Problem(X, ((y - y.mean()) / y.std())[:, None], None, rng.permutation(n))


def fitted(problem, B, scales):
    """Return a candidate with the kernel for kinks."""
    return Candidate(B, problem.smoother(B).fit(np.array(scales), "matern"), "given")


def test_beside_keeps_the_sharp_axis_and_is_orthonormal():
    problem = problem_of()
    B = np.eye(6)[[3, 0]]
    found = beside_the_sharpest(problem, fitted(problem, B, [4.0, 0.2]), "sir")
    np.testing.assert_array_equal(found[0], np.eye(6)[0])
    np.testing.assert_allclose(found @ found.T, np.eye(2), atol=1e-12)
    # Across the jump's own axis SIR sees the slope along the second coordinate only.
    assert abs(found[1, 1]) > 0.9


def test_jump_fit_finds_a_direction_that_the_start_lacks():
    problem = problem_of()
    start = fitted(problem, np.eye(6)[[0, 4]], [0.3, 0.5])
    found = fit_jump(problem, start)
    assert found.score < start.score
    assert subspace_distance(found.B, np.eye(6)[:2]) < 0.15 < subspace_distance(start.B, np.eye(6)[:2])


def test_crowded_counts_landmarks_and_polynomial():
    problem = problem_of()
    one, two = (fitted(problem, np.eye(6)[:k], [1.0] * k) for k in (1, 2))
    # 60 landmarks and 6 monomials of two coordinates: three quarters are 49.5.
    assert [is_crowded(replace(two, fit=replace(two.fit, df=df))) for df in (49.0, 50.0)] == [False, True]
    assert not is_crowded(replace(one, fit=replace(one.fit, df=36.0)))


def test_scales_are_short_along_one_axis():
    scales = jump_scales(3)
    assert scales.shape == (3,)
    assert scales[0] < scales[1] == scales[2]
