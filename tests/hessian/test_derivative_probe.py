"""Tests of the comparison of claimed with measured derivatives."""

import math

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.hessian.derivative_probe import DerivativeProbe, Findings, compare
from derand.hessian.differences import Difference
from derand.hessian.operator import HessianOperator


def smooth(value, error):
    """Return a two-sided difference without a kink."""
    v, e = np.array([value]), np.array([error])
    return Difference(v, e, v, e, v, e, np.array([False]))


@pytest.mark.parametrize(
    ("claimed", "value", "error", "wrong", "unsure"),
    [
        (1.0, 1.0, 1e-9, False, False),
        (1.0, 1.1, 1e-9, True, False),
        (1.0, 1.1, 0.1, False, True),
        (1.0, np.nan, np.inf, False, True),
        (0.0, 0.0, 0.0, False, False),
        (0.0, 1e-14, 1e-13, False, True),
    ],
)
def test_compare(claimed, value, error, wrong, unsure):
    found = compare(np.array([claimed]), smooth(value, error), 1e-5, 0.0)
    assert (bool(found[0][0]), bool(found[1][0])) == (wrong, unsure)
    assert found[2][0] == (pytest.approx(0.1 / 1.1) if wrong else 0.0)


def test_between_the_sides_of_a_kink_is_right():
    one = np.ones(1)
    kink = Difference(0 * one, 1e-9 * one, -one, 1e-9 * one, one, 1e-9 * one, np.array([True]))
    assert [bool(compare(np.array([g]), kink, 1e-5, 0.0)[0][0]) for g in (-1.1, -1.0, 0.3, 1.0, 1.1)] == [
        True,
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("f", "slope", "x"),
    [(math.exp, math.exp, 500.0), (math.log, lambda x: 1 / x, 1e-3), (math.sqrt, lambda x: 0.5 / math.sqrt(x), 1e-8)],
)
def test_exceptions_outside_the_domain_are_left_out(f, slope, x):
    """math.exp raises OverflowError far to the right, log and sqrt ValueError to the left of 0."""
    probe = DerivativeProbe(lambda y: (f(y[0]), np.array([slope(y[0])])), [x], 1e-5)
    assert probe.judge(np.array([0]), np.ones(1), Findings())
    assert probe.n_evaluations > 10
    wrong = DerivativeProbe(lambda y: (f(y[0]), np.array([1.01 * slope(y[0])])), [x], 1e-5)
    assert not wrong.judge(np.array([0]), np.ones(1), Findings())


def test_judge_product_names_rows():
    A = np.diag([1.0, 2.0, 3.0])
    probe = DerivativeProbe(lambda x: (x @ A @ x / 2, A @ x), np.ones(3), 1e-5)
    operator = HessianOperator(np.ones(3), hessp=lambda x, v: A @ v * np.array([1.0, 1.01, 1.0]))
    assert probe.judge_product(operator, np.arange(3), np.ones(3), Findings()) == [1]


def test_bad_input():
    with pytest.raises(InputTypeError, match="callable"):
        DerivativeProbe(3, np.ones(2), 1e-5)
    with pytest.raises(InputTypeError, match="pair"):
        DerivativeProbe(lambda x: 1.0, np.ones(2), 1e-5)
    for fun in (lambda x: (np.nan, x), lambda x: (1.0, np.nan * x), lambda x: (1.0, x[:1])):
        with pytest.raises(InputError, match="returned by fun"):
            DerivativeProbe(fun, np.ones(2), 1e-5)
    with pytest.raises(InputError, match="rtol"):
        DerivativeProbe(lambda x: (1.0, x), np.ones(2), 0.0)
