"""Tests of directional differences against closed-form derivatives."""

import numpy as np
import pytest

from derand.hessian.differences import directional_difference, remainder_slope

EPS = float(np.finfo(float).eps)
SMOOTH = {
    "sin": (np.sin, 1.0),
    "exp": (np.exp, 1.0),
    "quartic": (lambda t: (t + 0.5) ** 4, 0.5),
    "linear": (lambda t: 3.0 * t - 1.0, 3.0),
    "constant": (lambda t: 7.0 + 0.0 * t, 0.0),
    "log": (lambda t: np.log1p(t), 1.0),
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("own", [1e-10, 1e-3, 1.0, 1e10])
@pytest.mark.parametrize("height", [1e-10, 1.0, 1e10])
def test_value_and_error_for_smooth_functions(name, own, height):
    """The error estimate is within a factor ten of the truth, and small, when the scale of the variable is known."""
    f, slope = SMOOTH[name]
    with np.errstate(all="ignore"):
        found = directional_difference(lambda t: np.array([height * f(t / own)]), (own,), eps=EPS)
    exact = slope * height / own
    assert abs(found.value[0] - exact) <= 10 * found.error[0] + 4 * EPS * abs(exact)
    assert found.error[0] <= 1e-7 * height / own
    assert not found.is_kink[0]


def test_wrong_scale_is_found_by_later_windows():
    f = lambda t: np.array([np.sin(1e9 * t)])  # noqa: E731
    found = directional_difference(f, (1.0, 1e-6), eps=EPS)
    assert found.value[0] == pytest.approx(1e9, rel=1e-6)


@pytest.mark.parametrize(("left", "right"), [(0.0, 1.0), (-1.0, 1.0), (2.0, 2.1)])
def test_kink(left, right):
    found = directional_difference(lambda t: np.array([(right if t > 0 else left) * t + t * t]), (1.0,), eps=EPS)
    assert found.is_kink[0]
    assert found.left[0] == pytest.approx(left, abs=1e-9)
    assert found.right[0] == pytest.approx(right, abs=1e-9)


def test_jump_is_a_kink_and_only_in_its_component():
    found = directional_difference(lambda t: np.array([float(t > 0), np.cos(t)]), (1.0, 1e-6), eps=EPS)
    np.testing.assert_array_equal(found.is_kink, [True, False])


def test_values_that_are_not_finite_are_left_out():
    with np.errstate(all="ignore"):
        found = directional_difference(lambda t: np.array([np.log(1e-3 + t)]), (1.0,), eps=EPS)
    assert found.value[0] == pytest.approx(1e3, rel=1e-6)
    nothing = directional_difference(lambda t: np.array([np.nan if t else 0.0]), (1.0,), eps=EPS)
    assert np.isinf(nothing.error[0])


@pytest.mark.parametrize(
    ("f", "claimed", "exponent"),
    [
        (np.exp, 1.0, 2.0),
        (np.exp, 1.001, 1.0),
        (np.sin, 1.0, 3.0),
        (lambda t: 2.0 * t, 2.0, np.inf),
        (lambda t: 2.0 * t, 1.0, 1.0),
        (lambda t: np.abs(t) ** 1.5, 0.0, 1.5),
    ],
)
def test_remainder_slope(f, claimed, exponent):
    slope = remainder_slope(lambda t: np.array([f(t)]), claimed, 1.0, eps=EPS)
    assert slope == exponent or slope == pytest.approx(exponent, abs=0.05)


def test_steps_that_the_argument_swallows_are_left_out():
    """1.06 + t is 1.06 for t below 1e-16: the difference is 0 there, without any rounding of the function."""
    found = directional_difference(lambda t: np.array([(1.06 + t) - 1.06]), (1e-11,), eps=2.2e-16, argument=1.06)
    assert abs(found.value[0] - 1.0) <= 4.0 * found.error[0] < 0.1
    assert not found.is_kink[0]
    lost = directional_difference(lambda t: np.array([(1.06 + t) - 1.06]), (1e-15,), eps=2.2e-16, argument=1.06)
    assert lost.error[0] == np.inf
