"""scipy.optimize.minimize with our method: arguments, derivatives, callbacks, options and refusals."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, OptimizeResult, minimize

import derand
from derand.exceptions import InputError, InputTypeError
from derand.optimize import SOSPResult, SOSPStatus, minimize_sosp, sosp_method
from tests.optimize import hostile

X0 = np.zeros(12)


def _value(x, a=1.0):
    return float(np.sum((x**2 - a) ** 2))


def _gradient(x, a=1.0):
    return 4.0 * x * (x**2 - a)


def _hessian(x, a=1.0):
    return np.diag(12.0 * x**2 - 4.0 * a)


def test_is_exported():
    assert derand.sosp_method is sosp_method


def test_same_run_as_ours():
    found = minimize(_value, X0, jac=_gradient, method=sosp_method, options={"curv_tol": 1e-3})
    ours = minimize_sosp(lambda x: (_value(x), _gradient(x)), X0, curv_tol=1e-3)
    assert isinstance(found, OptimizeResult)
    assert isinstance(found.sosp, SOSPResult)
    assert found.success is True
    assert found.status == 0
    assert found.x.tobytes() == ours.x.tobytes()
    assert (found.fun, found.nit, found.nfev, found.njev, found.nhev) == (ours.fun, ours.nit, ours.nfev, ours.nfev, 0)
    assert found.message == ours.message
    assert "success: True" in str(found)


@pytest.mark.parametrize(
    "derivatives",
    [
        {"hess": _hessian},
        {"hessp": lambda x, v, a=1.0: _hessian(x, a) @ v},
        {"hess": lambda x, a=1.0: hostile_sparse(_hessian(x, a))},
        {},
    ],
    ids=["hess", "hessp", "sparse hess", "gradients"],
)
@pytest.mark.parametrize("a", [1.0, 4.0])
def test_args_reach_every_function(derivatives, a):
    found = minimize(
        _value, X0, args=(a,), jac=_gradient, method=sosp_method, options={"curv_tol": 1e-3}, **derivatives
    )
    assert found.success
    np.testing.assert_allclose(np.abs(found.x), np.sqrt(a), rtol=1e-5)
    assert (found.nhev > 0) == bool(derivatives)


def hostile_sparse(matrix):
    from scipy.sparse import csr_array

    return csr_array(matrix)


def test_value_and_gradient_together():
    found = minimize(lambda x, a: (_value(x, a), _gradient(x, a)), X0, args=(4.0,), jac=True, method=sosp_method)
    assert found.success
    np.testing.assert_allclose(np.abs(found.x), 2.0, rtol=1e-5)


def test_scalar_start_and_value_of_shape_one():
    found = minimize(lambda x: (x - 3.0) ** 2, 0.0, jac=lambda x: 2.0 * (x - 3.0), method=sosp_method)
    assert found.success
    np.testing.assert_allclose(found.x, [3.0], atol=1e-5)


def test_options_are_named_as_in_scipy_or_refused_by_name():
    found = minimize(_value, X0 + 0.4, jac=_gradient, method=sosp_method, options={"maxiter": 1, "disp": False})
    assert not found.success
    assert found.nit <= 1
    with pytest.raises(InputTypeError, match=r"has no option 'ftol'; it has blas_threads, .*max_evals"):
        minimize(_value, X0, jac=_gradient, method=sosp_method, options={"ftol": 1e-9})


def test_tol_is_gtol_unless_the_options_say_otherwise():
    for tol in (1e-3, 1e-8):
        found = minimize(_value, X0 + 0.4, jac=_gradient, method=sosp_method, tol=tol)
        assert found.sosp.certificate.gtol == tol
    found = minimize(_value, X0, jac=_gradient, method=sosp_method, tol=1e-3, options={"gtol": 1e-6})
    assert found.sosp.certificate.gtol == 1e-6


def test_both_styles_of_callback():
    points, results = [], []

    def by_name(intermediate_result):
        results.append(intermediate_result)

    minimize(_value, X0, jac=_gradient, method=sosp_method, callback=points.append)
    minimize(_value, X0, jac=_gradient, method=sosp_method, callback=lambda xk: points.append(xk))
    minimize(_value, X0, jac=_gradient, method=sosp_method, callback=by_name)
    assert len(points) == 2 * len(results)
    for point, result in zip(points, results, strict=False):
        np.testing.assert_array_equal(point, result.x)
        assert isinstance(result, OptimizeResult)
        assert result.fun == pytest.approx(_value(result.x), abs=1e-15)


@pytest.mark.parametrize("style", ["x", "result"])
def test_callback_that_stops(style):
    count = []

    def by_point(x):
        count.append(1)
        if len(count) == 3:
            raise StopIteration

    def by_name(intermediate_result):
        by_point(intermediate_result.x)

    callback = by_point if style == "x" else by_name
    found = minimize(_value, X0, jac=_gradient, method=sosp_method, callback=callback)
    assert not found.success
    assert found.status != 0
    assert found.sosp.status is SOSPStatus.CALLBACK
    assert len(count) == 3


def test_status_numbers_tell_the_statuses_apart():
    numbers = {}
    for options in ({"max_evals": 3}, {"time_limit": 0.0}, {"fun_lower": 5.0}):
        found = minimize(_value, X0, jac=_gradient, method=sosp_method, options=options)
        numbers[found.sosp.status] = found.status
    assert len(set(numbers.values())) == 3
    for status, number in numbers.items():
        assert list(SOSPStatus)[number - 1] is status


@pytest.mark.parametrize(
    "refused",
    [
        {"bounds": [(0.0, 1.0)] * 12},
        {"constraints": {"type": "eq", "fun": lambda x: x[0]}},
        {"constraints": [{"type": "eq", "fun": lambda x: x[0]}]},
        {"constraints": LinearConstraint(np.eye(12), 0.0, 1.0)},
    ],
)
def test_what_is_not_supported_is_refused(refused):
    with pytest.raises(InputError, match="bounds or constraints"):
        minimize(_value, X0, jac=_gradient, method=sosp_method, **refused)


@pytest.mark.parametrize("jac", [None, "2-point", False])
def test_a_gradient_is_needed(jac):
    with pytest.raises(InputError, match="gradient"):
        minimize(_value, X0, jac=jac, method=sosp_method)


def test_quick_hostile_run_has_scipys_fields():
    found = minimize(hostile.ring, X0, jac=True, method=sosp_method, options={"disp": True})
    assert {"x", "fun", "jac", "success", "status", "message", "nit", "nfev", "njev", "nhev"} <= set(found)
