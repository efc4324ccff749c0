"""Newton steps by capped conjugate gradients: decrease in every step, negative curvature, damping, resuming."""

import math

import numpy as np
import pytest

from derand.optimize import SOSPStatus, minimize_sosp
from derand.optimize.certificate import Tolerances
from derand.optimize.method import NegativeCurvature
from derand.optimize.newton_cg import NewtonCG, NewtonCGState, newton_damping
from derand.optimize.oracle import Oracle
from tests.optimize.wells import CosineWell, assert_same_run
from tests.problems import make_problem

PROBLEMS = {name: make_problem(name) for name in ("octopus_10", "tensor_decomposition", "six_hump_camel")}


def _solve(problem, start="random", **options):
    defaults = {"hessp": problem.hessp, "gtol": problem.gtol, "curv_tol": problem.curv_tol, "rng": 0}
    return minimize_sosp(problem.fun, problem.starts[start], method="newton-cg", **{**defaults, **options})


@pytest.mark.parametrize("start", ["saddle", "near_saddle", "random"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_step_decreases(name, start):
    result = _solve(PROBLEMS[name], start)
    assert result.status is SOSPStatus.CERTIFIED
    steps = [record for record in result.history if record.event != "certificate"]
    values = np.array([record.fun for record in steps])
    # Where rounding hides the decrease a step may keep the value, up to 4 eps of it.
    assert np.all(np.diff(values) <= 4.0 * np.finfo(float).eps * np.abs(values[:-1]))
    assert values[-1] < values[0]


def test_damping_is_the_curvature_tolerance_or_the_root_of_gtol():
    assert newton_damping(Tolerances(1e-6, 0.02, 0.9)) == 0.02
    assert newton_damping(Tolerances(1e-6, math.nan, 0.9)) == pytest.approx(1e-3)


def test_newton_step_by_hand():
    # Quadratic with H = 2: d = -g / (2 + 2 * 0.5), and the full step decreases enough.
    oracle = Oracle(lambda x: (float(x @ x), 2.0 * x), lambda x, v: 2.0 * v)
    method = NewtonCG(1e-6, 0.5)
    state, event = method.step(oracle, method.init(oracle, oracle.evaluate(np.array([0.3]))), np.random.default_rng(0))
    assert event == "newton step"
    assert state.point.x[0] == pytest.approx(0.3 - 0.6 / 3.0, abs=1e-15)


def test_negative_curvature_in_the_gradient_is_followed_downhill():
    well = CosineWell(3)
    oracle = Oracle(well, lambda x, v: np.concatenate([[-math.cos(x[0]) * v[0]], v[1:]]))
    start = oracle.evaluate(np.array([-0.01, 0.0, 0.0]))
    method = NewtonCG(1e-6, 1e-2)
    state, event = method.step(oracle, NewtonCGState(start), np.random.default_rng(0))
    assert event == "negative curvature"
    # The paper's step has length 1; further on the cosine falls still, down to -pi.
    assert -math.pi - 2.0 < state.point.x[0] < -1.0
    assert state.point.fun <= start.fun - 0.2 / 6.0


def test_escape_leaves_an_exact_saddle():
    well = CosineWell(3)
    oracle = Oracle(well)
    saddle = oracle.evaluate(np.zeros(3))
    found = NegativeCurvature(np.array([1.0, 0.0, 0.0]), -1.0)
    away = NewtonCG(1e-6, 1e-2).escape(oracle, NewtonCGState(saddle), found, np.random.default_rng(0))
    assert away.point.fun <= saddle.fun - 0.2 / 6.0
    flat = Oracle(lambda x: (float(x @ x), 2.0 * x))
    assert NewtonCG(1e-6, 1e-2).escape(flat, NewtonCGState(flat.evaluate(np.zeros(3))), found, None) is None


def test_works_without_constants_and_without_products():
    result = _solve(PROBLEMS["octopus_10"], "saddle", hessp=None, curv_tol=None)
    assert result.status is SOSPStatus.CERTIFIED
    assert result.nhev == 0
    assert result.certificate.hess_lip_source == "estimated"


def test_normalised_vectors_do_not_shrink_to_the_pole():
    # f(x / |x|) for a quadratic form: along x and the gradient its Hessian is indefinite everywhere.
    weights = np.arange(1.0, 9.0)

    def fun(x):
        square = x @ x
        value = float(x @ (weights * x) / square)
        return value, 2.0 * (weights * x - value * x) / square

    result = minimize_sosp(fun, np.ones(8), gtol=1e-8, curv_tol=1e-4, method="newton-cg")
    assert result.status is SOSPStatus.CERTIFIED
    assert result.fun == pytest.approx(1.0, abs=1e-12)
    assert np.linalg.norm(result.x) > 0.5


def test_nothing_lower_is_a_stall():
    # |x| has no decrease at its kink although the gradient is 1.
    fun = lambda x: (float(np.abs(x).sum()), np.where(x >= 0.0, 1.0, -1.0))  # noqa: E731
    result = minimize_sosp(fun, np.zeros(2), hessp=lambda x, v: v, gtol=1e-6, curv_tol=1e-3, method="newton-cg")
    assert result.status in (SOSPStatus.STALLED, SOSPStatus.BAD_GRADIENT)
    assert not result.success


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.95])
def test_resume_is_bitwise(share):
    problem = PROBLEMS["tensor_decomposition"]
    whole = _solve(problem)
    part = _solve(problem, max_evals=math.ceil(share * (whole.nfev + whole.nhev)))
    assert part.status is SOSPStatus.BUDGET
    assert_same_run(_solve(problem, resume=part.checkpoint), whole)
