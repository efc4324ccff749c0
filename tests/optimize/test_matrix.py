"""Every method on every problem from every start: certified, and confirmed by a dense eigensolver that shares no code.

The lower bound of the certificate has to lie below the eigenvalue that LAPACK finds, up to the rounding of LAPACK
(1e-12 of the norm of the Hessian, a thousand roundings).  The default suite takes the default method everywhere and the
others where they are quick; ``-m slow`` runs the rest.
"""

import math

import numpy as np
import pytest

from derand.optimize import SOSPStatus, minimize_sosp
from derand.optimize.methods import METHODS
from tests.problems import PROBLEM_NAMES, make_problem

PROBLEMS = {name: make_problem(name) for name in PROBLEM_NAMES}
DEFAULT = "lbfgs-lanczos"
OTHERS = tuple(method for method in METHODS if method != DEFAULT)
#: The methods whose theorems set the step from Lipschitz constants; their steps grow like 1/gtol^2 and 1/gtol^(7/4).
FIRST_ORDER = ("perturbed_gradient", "accelerated")
#: The theorem's step is 1/grad_lip = 3e-5 here, and a million gradients aren't enough: the run must not claim success.
TOO_SLOW = {("perturbed_gradient", "rosenbrock", "random")}
QUICK = ("hopfield", "six_hump_camel", "tensor_decomposition")


def _instances(names):
    return [(name, start) for name in names for start in PROBLEMS[name].starts]


def _solve(problem, start, *, method=DEFAULT, products=True):
    """Return the result and the two tolerances it had to meet."""
    gtol, curv_tol, constants = problem.gtol, problem.curv_tol, {}
    if method in FIRST_ORDER:
        gtol, constants = 1e-3, _constants(problem, start)
        curv_tol = math.sqrt(gtol * constants["hess_lip"])
    result = minimize_sosp(
        problem.fun,
        problem.starts[start],
        hessp=problem.hessp if products else None,
        gtol=gtol,
        curv_tol=curv_tol,
        method=method,
        rng=0,
        **constants,
    )
    return result, gtol, curv_tol


def _constants(problem, start):
    """Return the constants of the theorems: proven where known, else from where the path starts and ends.

    A constant that is too small can make the search fail, never the certificate lie: that is computed afresh.
    """
    x = problem.starts[start]
    ends = [x] if problem.minimizer is None else [x, problem.minimizer]
    curvature = max(float(np.linalg.norm(problem.hess(end), 2)) for end in ends)
    value = problem.fun(x)[0]
    return {
        "grad_lip": problem.grad_lip or 2.0 * curvature + 1.0,
        "hess_lip": 1.0,
        "delta_f": 1.0 + value - (0.0 if problem.minimum is None else problem.minimum),
    }


def _confirm(problem, result, gtol, curv_tol):
    """Compare the certificate with value, gradient and spectrum recomputed at the returned point."""
    assert result.status is SOSPStatus.CERTIFIED, result.message
    assert result.success
    value, gradient = problem.fun(result.x)
    eigenvalues = np.linalg.eigvalsh(problem.hess(result.x))
    rounding = 1e-12 * np.abs(eigenvalues).max()
    certificate = result.certificate
    assert np.linalg.norm(gradient) <= gtol
    assert eigenvalues[0] >= -curv_tol
    assert -curv_tol <= certificate.min_eigenvalue_lower <= eigenvalues[0] + rounding
    assert certificate.gradient_norm == pytest.approx(np.linalg.norm(gradient), rel=1e-9)
    assert result.fun == value
    if problem.minimum is not None:
        assert result.fun >= problem.minimum - 1e-12 * (1.0 + abs(problem.minimum))
    if problem.benign and gtol < 1e-5:
        assert result.fun <= problem.minimum + problem.gap * (1.0 + abs(problem.minimum))


@pytest.mark.parametrize(("name", "start"), _instances(PROBLEM_NAMES))
def test_default_method_certifies(name, start):
    problem = PROBLEMS[name]
    _confirm(problem, *_solve(problem, start))


@pytest.mark.parametrize(("name", "start"), _instances(PROBLEM_NAMES))
def test_default_method_certifies_with_gradients_only(name, start):
    problem = PROBLEMS[name]
    _confirm(problem, *_solve(problem, start, products=False))


@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize(("name", "start"), _instances(QUICK))
def test_other_methods_certify_quick_problems(name, start, method):
    problem = PROBLEMS[name]
    _confirm(problem, *_solve(problem, start, method=method))


@pytest.mark.slow
@pytest.mark.parametrize("method", OTHERS)
@pytest.mark.parametrize(("name", "start"), _instances([name for name in PROBLEM_NAMES if name not in QUICK]))
def test_other_methods_certify(name, start, method):
    problem = PROBLEMS[name]
    outcome = _solve(problem, start, method=method)
    if (method, name, start) in TOO_SLOW:
        assert outcome[0].status is SOSPStatus.BUDGET
        assert not outcome[0].success
    else:
        _confirm(problem, *outcome)
