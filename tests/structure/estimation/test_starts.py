from math import factorial

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermeval

from derand.structure.estimation.polish import Problem, start
from derand.structure.estimation.starts import (
    _moments_along,
    gradient_matrix,
    next_directions,
    portfolio,
    pursued,
    pursuits,
    subproblem,
)


def _problem(link, n=400, d=6):
    X = np.random.default_rng(0).standard_normal((n, d))
    y = link(X)
    return Problem(X, ((y - y.mean()) / y.std())[:, None], None, np.random.default_rng(1).permutation(n))


def test_portfolio_sees_linear_and_even_links():
    matrices = portfolio(_problem(lambda X: X[:, 0] + X[:, 1] ** 2))
    assert set(matrices) == {"dr", "sir", "save", "phd", "agop"}
    for M in matrices.values():
        assert np.linalg.eigvalsh(M)[0] > -1e-10 * np.trace(M)
    top = np.linalg.eigh(matrices["dr"])[1][:, -2:]
    assert np.linalg.norm(top[:2]) ** 2 > 1.8
    assert abs(np.linalg.eigh(matrices["sir"])[1][0, -1]) > 0.9
    assert abs(np.linalg.eigh(matrices["phd"])[1][1, -1]) > 0.9


def test_gradients_of_a_wave():
    M = gradient_matrix(_problem(lambda X: np.sin(2 * X[:, 2]), 600, 3))
    assert abs(np.linalg.eigh(M)[1][2, -1]) > 0.95


@pytest.mark.parametrize("name", ["moments", "gradients", "pursuit"])
def test_next_direction_is_the_missing_one(name):
    problem = _problem(lambda X: X[:, 0] + 0.7 * X[:, 1] ** 2)
    found = next_directions(problem, start(problem, np.eye(6)[:1], "first"))[name]
    assert abs(found[1, 1]) > 0.9
    np.testing.assert_allclose(found @ found.T, np.eye(2), atol=1e-10)


def test_subproblem_keeps_landmarks_first():
    problem = _problem(lambda X: X[:, 0])
    part = subproblem(problem, 100)
    np.testing.assert_array_equal(part.X[part.order], problem.X[problem.order[:100]])
    assert subproblem(problem, 400) is problem


def test_pursuit_sees_a_wave_without_its_first_two_moments():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((1500, 8))
    # He_3 is orthogonal to every polynomial of lower degree.
    signal = X[:, 2] ** 3 - 3.0 * X[:, 2] + 0.5 * rng.standard_normal(1500)
    found = pursued(X, signal[:, None], np.eye(8)[:1])
    assert abs(found[0, 2]) > 0.95
    np.testing.assert_allclose(found[:, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0)


def test_moments_are_those_of_hermite_polynomials_and_their_slopes_are_right():
    rng = np.random.default_rng(8)
    X, V, s = rng.standard_normal((9000, 4)), 0.3 * rng.standard_normal((3, 4)), rng.standard_normal(9000)
    Z = V @ X.T
    assert np.abs(Z).max() < 3.5
    power, gradient = _moments_along(V, X, s)
    moments = [hermeval(Z, np.eye(6)[j]) @ s / 9000 / np.sqrt(factorial(j)) for j in range(1, 6)]
    np.testing.assert_allclose(power, np.square(moments).sum(axis=0), rtol=1e-10)
    step = 1e-5 * np.eye(4)[2]
    rise = _moments_along(V + step, X, s)[0] - _moments_along(V - step, X, s)[0]
    # Central differences err by step^2 times the third derivative; the gradient lacks the factor 2 / n.
    np.testing.assert_allclose(gradient[:, 2] * 2.0 / 9000, rise / 2e-5, rtol=1e-6)


def test_pursuits_extend_by_the_directions_of_the_residual_and_of_its_products():
    problem = _problem(lambda X: X[:, 0] * X[:, 3] + X[:, 0])
    found = pursuits(problem, start(problem, np.eye(6)[:1], "first"), 2)
    assert len(found) == 2
    assert max(abs(A[1, 3]) for A in found) > 0.9
    for A in found:
        np.testing.assert_allclose(A @ A.T, np.eye(2), atol=1e-10)
