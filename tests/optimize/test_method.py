"""The way out of a saddle."""

import math

import numpy as np
import pytest

from derand.optimize.method import Method, NegativeCurvature, follow_negative_curvature
from derand.optimize.oracle import Oracle
from tests.optimize import hostile


def _follow(fun, x, direction, curvature, length):
    oracle = Oracle(fun)
    point = oracle.evaluate(np.asarray(x, dtype=float))
    return (
        point,
        follow_negative_curvature(oracle, point, NegativeCurvature(np.asarray(direction), curvature), length),
        oracle,
    )


@pytest.mark.parametrize("length", [1e-8, 1e-3, 1.0, 1e3, 1e8])
def test_any_first_length_leads_below_the_saddle(length):
    point, found, oracle = _follow(hostile.wells, [0.0], [1.0], -4.0, length)
    assert found.fun < point.fun
    assert found.fun == hostile.wells(found.x)[0]
    # Tripling ends within a factor three of where the slope turns, at 1, or just before.
    assert 1.0 / 3.0 <= abs(found.x[0]) <= math.sqrt(2.0)
    assert oracle.nfev <= 45


def test_the_side_is_the_one_where_the_gradient_descends():
    for x, side in [(0.1, 1.0), (-0.1, -1.0)]:
        for direction in (1.0, -1.0):
            _, found, _ = _follow(hostile.wells, [x], [direction], -3.9, 0.1)
            assert (found.x[0] - x) * side > 0.0


def test_no_decrease_is_none_and_ends():
    for fun in (hostile.quadratic([1.0])[0], lambda x: (1.0, 0.0 * x), lambda x: (0.0, 0.0 * x)):
        _, found, oracle = _follow(fun, [0.0], [1.0], -1.0, 1.0)
        assert found is None
        assert oracle.nfev <= 61


def test_walls_are_stepped_back_from():
    def fun(x):
        return (-float(x @ x), -2.0 * x) if abs(x[0]) < 0.01 else (math.nan, x)

    point, found, _ = _follow(fun, [0.0], [1.0], -2.0, 1.0)
    assert found.fun < point.fun


def test_a_method_is_four_functions():
    assert Method.__abstractmethods__ == {"init", "step", "is_candidate", "escape"}
