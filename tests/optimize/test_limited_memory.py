"""The two-loop recursion against dense BFGS matrices, and the corrected secant on functions where it is exact."""

import math
from itertools import pairwise

import numpy as np
import pytest

from derand.optimize.limited_memory import LimitedMemory
from derand.optimize.oracle import Point


def _walk(fun, points):
    """Return the evaluated points."""
    return [Point(x, *fun(x)) for x in points]


def _quadratic(n, rng):
    root = rng.standard_normal((n, n))
    A = root @ root.T + np.eye(n)
    return A, lambda x: (0.5 * float(x @ A @ x), A @ x)


def _dense(memory, n):
    """Return the inverse Hessian by the BFGS update formula, one pair after the other."""
    H = memory.scale * np.eye(n)
    for s, y in zip(memory.steps, memory.changes, strict=True):
        V = np.eye(n) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
    return H


@pytest.mark.parametrize(("n", "n_pairs", "size"), [(1, 1, 5), (6, 3, 5), (8, 12, 5), (8, 12, 12)])
def test_two_loops_are_the_dense_update(n, n_pairs, size):
    rng = np.random.default_rng(n_pairs)
    _, fun = _quadratic(n, rng)
    memory = LimitedMemory(size)
    points = _walk(fun, rng.standard_normal((n_pairs + 1, n)))
    for start, end in pairwise(points):
        memory = memory.updated(start, end)
    assert len(memory.steps) == min(n_pairs, size)
    H = _dense(memory, n)
    v = rng.standard_normal(n)
    # 12 rank-two updates of condition below 1e4 lose at most eight digits of sixteen.
    np.testing.assert_allclose(memory.apply(v), H @ v, rtol=1e-8, atol=1e-8 * np.linalg.norm(H, 2))


def test_last_pair_satisfies_the_secant_equation():
    rng = np.random.default_rng(1)
    A, fun = _quadratic(5, rng)
    start, end = _walk(fun, rng.standard_normal((2, 5)))
    memory = LimitedMemory(3).updated(start, end)
    np.testing.assert_allclose(memory.apply(A @ (end.x - start.x)), end.x - start.x, rtol=1e-10)


def test_corrected_curvature_is_exact_for_cubics_at_the_end_of_the_step():
    # theta is made so that s.y = s.H(end)s when the function is a polynomial of degree 3 along the step.
    def fun(x):
        return float(x[0] ** 3 + x[0] ** 2), 3.0 * x**2 + 2.0 * x

    for a, b in [(0.5, 1.0), (1.0, 0.4), (0.0, 2.0)]:
        start, end = _walk(fun, [np.array([a]), np.array([b])])
        memory = LimitedMemory(3).updated(start, end)
        # In one dimension the inverse Hessian is the reciprocal curvature.
        assert 1.0 / memory.apply(np.ones(1))[0] == pytest.approx(6.0 * b + 2.0, rel=1e-12)


def test_quartics_err_by_the_fourth_derivative_only():
    # Hermite interpolation of x^4 errs in the second derivative at the end by f'''' h^2 / 12 = 2 h^2.
    def fun(x):
        return float(x[0] ** 4), 4.0 * x**3

    for h in (0.1, 0.2, 0.4):
        start, end = _walk(fun, [np.array([2.0]), np.array([2.0 + h])])
        memory = LimitedMemory(3).updated(start, end)
        error = 1.0 / memory.apply(np.ones(1))[0] - 12.0 * (2.0 + h) ** 2
        assert error == pytest.approx(-2.0 * h**2, rel=1e-6)


def test_correction_sees_that_a_step_left_a_saddle():
    # -x^2/2 + x^4/4 from 0.1 to 0.8: the gradient change says negative curvature on average.
    def fun(x):
        return float(-0.5 * x[0] ** 2 + 0.25 * x[0] ** 4), x**3 - x

    start, end = _walk(fun, [np.array([0.1]), np.array([0.9])])
    plain = float((end.x - start.x) @ (end.jac - start.jac))
    assert plain < 0.0
    memory = LimitedMemory(3).updated(start, end)
    # Curvature at the end: 3 0.9^2 - 1 = 1.43; the correction errs by f'''' h^2 / 12 = 0.32.
    assert 1.0 / memory.apply(np.ones(1))[0] == pytest.approx(1.43 - 6.0 * 0.8**2 / 12.0, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "why"),
    [(-1.0, "negative curvature"), (0.0, "no curvature"), (1e-320, "curvature below the range"), (1e308, "overflow")],
)
def test_useless_pairs_are_left_out(change, why):
    start = Point(np.zeros(2), 0.0, np.zeros(2))
    end = Point(np.array([1.0, 0.0]), 0.5 * change, np.array([change, 0.0]))
    with np.errstate(over="ignore", invalid="ignore"):
        memory = LimitedMemory(3).updated(start, end)
    assert memory.steps == (), why
    assert all(np.isfinite(memory.apply(np.ones(2))))


def test_steps_whose_square_underflows_do_no_harm():
    start = Point(np.array([1e-170]), 1e-140, np.array([2e30]))
    end = Point(np.array([5e-171]), 2.5e-141, np.array([1e30]))
    memory = LimitedMemory(3).updated(start, end)
    assert math.isfinite(float(memory.apply(np.ones(1))[0]))


def test_memory_is_never_changed_in_place():
    rng = np.random.default_rng(3)
    _, fun = _quadratic(4, rng)
    first = LimitedMemory(2)
    points = _walk(fun, rng.standard_normal((4, 4)))
    second = first.updated(points[0], points[1])
    kept = [s.copy() for s in second.steps]
    third = second.updated(points[1], points[2]).updated(points[2], points[3])
    assert first.steps == ()
    assert len(third.steps) == 2
    np.testing.assert_array_equal(second.steps[0], kept[0])
    vector = np.ones(4)
    second.apply(vector)
    np.testing.assert_array_equal(vector, np.ones(4))
