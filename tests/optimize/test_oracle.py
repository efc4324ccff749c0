"""Counts, limits, types and the best point."""

import math
import warnings

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.optimize.oracle import Oracle, Point, StopRun
from derand.optimize.status import SOSPStatus
from tests.optimize import hostile


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "pair"),
        (1.0, "pair"),
        ((1.0,), "pair"),
        ((1.0, np.ones(2), 3), "pair"),
        (("a", np.ones(2)), "real value"),
        ((1j, np.ones(2)), "real value"),
        ((np.ones(2), np.ones(2)), "real value"),
        ((None, np.ones(2)), "real value"),
        ((1.0, np.ones(3)), r"shape \(2,\), got \(3,\)"),
        ((1.0, np.ones((1, 2))), "shape"),
        ((1.0, 1.0), "shape"),
        ((1.0, None), "gradient"),
        ((1.0, ["a", "b"]), "real numbers"),
        ((1.0, np.array([1j, 0.0])), "real numbers"),
        ((1.0, [[1.0], [1.0, 2.0]]), "real numbers"),
    ],
)
def test_what_fun_must_return(returned, message):
    with pytest.raises(InputTypeError, match=message):
        Oracle(lambda _: returned).evaluate(np.zeros(2))


@pytest.mark.parametrize("value", [1, np.float32(1.0), np.array(1.0), np.array([1.0]), np.int64(1), True])
@pytest.mark.parametrize("gradient", [[1, 2], (1.0, 2.0), np.array([1, 2]), np.array([1, 2], dtype=np.float32)])
def test_what_fun_may_return(value, gradient):
    point = Oracle(lambda _: (value, gradient)).evaluate(np.zeros(2))
    assert type(point.fun) is float
    assert point.fun == 1.0
    assert point.jac.dtype == np.float64
    np.testing.assert_array_equal(point.jac, [1.0, 2.0])


@pytest.mark.parametrize(
    ("returned", "error"),
    [
        (np.ones(3), InputTypeError),
        (None, InputTypeError),
        (1.0, InputTypeError),
        (np.array([1j, 1.0]), InputTypeError),
    ],
)
def test_what_hessp_must_return(returned, error):
    oracle = Oracle(hostile.wells, lambda x, v: returned)
    operator = oracle.hessian(oracle.evaluate(np.zeros(2)))
    with pytest.raises(error, match="hessp"):
        operator.matvec(np.ones(2))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("where", ["value", "gradient"])
def test_what_is_not_finite_is_infinite_and_never_best(bad, where):
    def fun(x):
        return (bad, x) if where == "value" else (-1.0, np.array([0.0, bad]))

    oracle = Oracle(fun)
    assert oracle.evaluate(np.zeros(2)).fun == math.inf
    assert oracle.best is None
    assert (oracle.nfev, oracle.n_non_finite) == (1, 1)


def test_minus_infinity_is_unbounded():
    with pytest.raises(StopRun) as stop:
        Oracle(lambda x: (-math.inf, x)).evaluate(np.zeros(2))
    assert stop.value.status is SOSPStatus.UNBOUNDED


def test_limits():
    oracle = Oracle(hostile.wells, hostile.wells_hessp, max_evals=3)
    point = oracle.evaluate(np.zeros(2))
    oracle.evaluate(np.ones(2))
    oracle.hessian(point).matvec(np.ones(2))
    assert (oracle.nfev, oracle.nhev, oracle.n_calls) == (2, 1, 3)
    for call in (lambda: oracle.evaluate(np.zeros(2)), lambda: oracle.hessian(point).matvec(np.ones(2))):
        with pytest.raises(StopRun) as stop:
            call()
        assert stop.value.status is SOSPStatus.BUDGET
    assert oracle.n_calls == 3
    with pytest.raises(StopRun) as stop:
        Oracle(hostile.wells, time_limit=-1.0).evaluate(np.zeros(2))
    assert stop.value.status is SOSPStatus.TIME_LIMIT


def test_best_is_the_lowest_and_among_equals_the_flattest():
    oracle = Oracle(lambda x: (float(round(x[0])), x))
    for x, best in [(3.0, 3.0), (4.0, 3.0), (2.3, 2.3), (2.1, 2.1), (2.2, 2.1), (1.4, 1.4)]:
        oracle.evaluate(np.array([x]))
        assert oracle.best.x[0] == best


def test_products_by_differences_cost_one_evaluation_each():
    oracle = Oracle(hostile.coupled)
    point = oracle.evaluate(np.linspace(0.1, 1.0, 9))
    operator = oracle.hessian(point)
    v = np.random.default_rng(0).standard_normal(9)
    product = operator.matvec(v)
    assert oracle.nfev == 2
    np.testing.assert_allclose(product, hostile.coupled_hessp(point.x, v), atol=1e-5)


def test_single_precision_is_noticed():
    oracle = Oracle(lambda x: (np.float32(0.0), (x.astype(np.float32) - np.float32(1.0)) * np.float32(2.0)))
    point = oracle.evaluate(np.full(6, 1.3))
    assert oracle.epsilon == np.finfo(np.float32).eps
    # Steps of 1e-8 would show no change at all.
    np.testing.assert_allclose(oracle.hessian(point).matvec(np.eye(6)[0]), 2.0 * np.eye(6)[0], atol=1e-2)


def test_gradient_norm_survives_where_squares_overflow():
    assert Point(np.zeros(2), 0.0, np.array([3e200, 4e200])).gradient_norm == pytest.approx(5e200, rel=1e-15)
    assert Point(np.zeros(2), 0.0, np.array([3e-200, 4e-200])).gradient_norm == pytest.approx(5e-200, rel=1e-15)


def test_fun_runs_under_the_floating_point_settings_of_the_caller():
    def fun(x):
        return float(np.exp(1000.0 + x[0])), x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(over="ignore"):
            quiet = Oracle(fun)
        loud = Oracle(fun)
        assert quiet.evaluate(np.zeros(1)).fun == math.inf
        with np.errstate(over="ignore"), pytest.raises(RuntimeWarning, match="overflow"):
            loud.evaluate(np.zeros(1))


def test_errors_of_fun_pass_through():
    def fun(x):
        raise InputError("mine")

    with pytest.raises(InputError, match="mine"):
        Oracle(fun).evaluate(np.zeros(1))
