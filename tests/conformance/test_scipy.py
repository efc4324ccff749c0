"""sosp_method as a method of scipy.optimize.minimize: every way of calling that scipy documents for custom methods."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult, minimize, rosen, rosen_der, rosen_hess, rosen_hess_prod

from derand import minimize_sosp, sosp_method
from derand.exceptions import InputError

_START = np.array([-1.2, 1.0, 0.7, 1.9])


def _both(x):
    return rosen(x), rosen_der(x)


@pytest.mark.parametrize(
    "arguments",
    [
        {"fun": rosen, "jac": rosen_der},
        {"fun": _both, "jac": True},
        {"fun": rosen, "jac": rosen_der, "hess": rosen_hess},
        {"fun": rosen, "jac": rosen_der, "hessp": rosen_hess_prod},
        {"fun": rosen, "jac": rosen_der, "bounds": None, "constraints": ()},
    ],
    ids=["jac", "jac=True", "hess", "hessp", "no bounds"],
)
def test_same_minimum_as_scipys_own_method(arguments):
    found = minimize(x0=_START, method=sosp_method, options={"gtol": 1e-7}, **arguments)
    reference = minimize(rosen, _START, jac=rosen_der, hess=rosen_hess, method="trust-exact", options={"gtol": 1e-9})
    assert isinstance(found, OptimizeResult)
    assert found.success
    assert found.status == 0
    # The Hessian's smallest eigenvalue at the minimum is above 0.1, so a gradient of 1e-7 leaves less than 1e-6.
    np.testing.assert_allclose(found.x, reference.x, atol=1e-6)
    assert found.fun == rosen(found.x)
    np.testing.assert_array_equal(found.jac, rosen_der(found.x))


def test_fields_that_scipys_methods_fill():
    found = minimize(rosen, _START, jac=rosen_der, hessp=rosen_hess_prod, method=sosp_method)
    reference = minimize(rosen, _START, jac=rosen_der, hessp=rosen_hess_prod, method="trust-ncg")
    assert set(reference) - {"hess"} <= set(found)
    for name in ("nit", "nfev", "njev", "nhev"):
        assert isinstance(found[name], int), name
        assert found[name] >= 1
    assert isinstance(found.message, str)
    assert found.x.shape == found.jac.shape == _START.shape
    assert found.sosp.certificate.is_certified


def test_calls_are_counted_as_scipy_counts_them():
    calls = {"fun": 0, "jac": 0, "hessp": 0}

    def counted(name, function):
        def call(*args):
            calls[name] += 1
            return function(*args)

        return call

    found = minimize(
        counted("fun", rosen),
        _START,
        jac=counted("jac", rosen_der),
        hessp=counted("hessp", rosen_hess_prod),
        method=sosp_method,
    )
    assert calls == {"fun": found.nfev, "jac": found.njev, "hessp": found.nhev}


def test_extra_arguments_reach_every_function():
    def fun(x, centre, scale):
        return scale * ((x - centre) ** 2).sum()

    def jac(x, centre, scale):
        return 2.0 * scale * (x - centre)

    def hessp(x, v, centre, scale):
        return 2.0 * scale * v

    centre = np.array([3.0, -1.0])
    found = minimize(fun, np.zeros(2), args=(centre, 0.5), jac=jac, hessp=hessp, method=sosp_method)
    np.testing.assert_allclose(found.x, centre, atol=1e-5)
    single = minimize(
        lambda x, c: ((x - c) ** 2).sum(), [0.0], args=2.0, jac=lambda x, c: 2 * (x - c), method=sosp_method
    )
    assert single.x == pytest.approx(2.0, abs=1e-5)


@pytest.mark.parametrize("x0", [[0, 1], (0.0, 1.0), np.array([0, 1], dtype=np.int32), np.float32([0, 1])])
def test_starts_of_any_type_stay_untouched(x0):
    before = np.array(x0)
    found = minimize(rosen, x0, jac=rosen_der, method=sosp_method)
    assert found.success
    assert found.x.dtype == np.float64
    np.testing.assert_array_equal(np.array(x0), before)


def test_scalar_start():
    found = minimize(lambda x: float((x[0] - 1.0) ** 2), 5.0, jac=lambda x: 2.0 * (x - 1.0), method=sosp_method)
    assert found.x.shape == (1,)
    assert found.x[0] == pytest.approx(1.0, abs=1e-5)


def test_both_kinds_of_callback():
    points, results = [], []

    def old(x):
        points.append(x)

    def new(*, intermediate_result):
        results.append(intermediate_result)

    for callback in (old, new):
        minimize(rosen, _START, jac=rosen_der, method=sosp_method, callback=callback)
    assert len(points) == len(results) > 3
    for x, result in zip(points, results, strict=True):
        np.testing.assert_array_equal(x, result.x)
        assert result.fun == rosen(x)


def test_stop_iteration_ends_the_run_with_what_there_is():
    def callback(intermediate_result):
        if intermediate_result.nit >= 3:
            raise StopIteration

    found = minimize(rosen, _START, jac=rosen_der, method=sosp_method, callback=callback)
    assert not found.success
    assert found.status != 0
    assert found.nit == 3
    assert found.fun < rosen(_START)


def test_tolerance_and_options():
    loose, tight = (minimize(rosen, _START, jac=rosen_der, method=sosp_method, tol=tol) for tol in (1e-2, 1e-8))
    assert np.linalg.norm(tight.jac) <= 1e-8 < np.linalg.norm(loose.jac) <= 1e-2
    limited = minimize(rosen, _START, jac=rosen_der, method=sosp_method, options={"max_iter": 2, "disp": False})
    assert limited.nit == 2
    assert not limited.success
    again = minimize(rosen, _START, jac=rosen_der, method=sosp_method, options={"gtol": 1e-6, "rng": 3})
    direct = minimize_sosp(_both, _START, gtol=1e-6, rng=3)
    np.testing.assert_array_equal(again.x, direct.x)


def test_leaves_the_saddle_where_scipys_method_stays():
    def fun(x):
        return x[0] ** 4 / 4 - x[0] ** 2 / 2 + x[1] ** 2 / 2, np.array([x[0] ** 3 - x[0], x[1]])

    assert minimize(fun, np.zeros(2), jac=True, method="BFGS").fun == 0.0
    assert minimize(fun, np.zeros(2), jac=True, method=sosp_method).fun == pytest.approx(-0.25, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({}, "gradient"),
        ({"jac": "2-point"}, "gradient"),
        ({"jac": rosen_der, "bounds": [(0, 1)] * 4}, "bounds"),
        ({"jac": rosen_der, "constraints": {"type": "eq", "fun": rosen}}, "constraints"),
    ],
)
def test_what_is_not_supported_is_named(arguments, match):
    with pytest.raises(InputError, match=match):
        minimize(rosen, _START, method=sosp_method, **arguments)
