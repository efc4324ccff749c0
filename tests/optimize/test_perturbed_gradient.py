"""Parameters of the theorem, the rules of Algorithm 2, and resuming."""

import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.optimize import SOSPStatus, minimize_sosp
from derand.optimize.method import NegativeCurvature
from derand.optimize.oracle import Oracle
from derand.optimize.perturbation import MAX_FAILURES, TheoremConstants
from derand.optimize.perturbed_gradient import (
    PerturbedGradient,
    PerturbedGradientParameters,
    PerturbedGradientState,
)
from tests.optimize.wells import CosineWell, assert_same_run

WELL = CosineWell(4, stiffness=2.0)


def _solve(**options):
    return minimize_sosp(
        WELL, np.zeros(4), **{"method": "perturbed_gradient", "gtol": 1e-2, "rng": 3, **WELL.constants, **options}
    )


def _method(gtol=1e-2):
    constants = TheoremConstants(WELL.n, gtol, WELL.grad_lip, WELL.hess_lip, WELL.delta_f, 1e-6)
    return PerturbedGradient(PerturbedGradientParameters.from_constants(constants), gtol)


def test_parameters_by_hand():
    # n l delta_f / (c eps^2 delta) = e^20 with c = 1/4, eps = 0.01, l = 2, rho = 4, so that chi = 60.
    delta = 3 * 2 * 5 / (0.25 * 0.01**2 * math.exp(20.0))
    found = PerturbedGradientParameters.from_constants(TheoremConstants(3, 0.01, 2.0, 4.0, 5.0, delta), c=0.25)
    assert found.chi == pytest.approx(60.0, rel=1e-14)
    assert found.step == 0.125
    assert found.gradient_threshold == pytest.approx(0.5 / 3600 * 0.01, rel=1e-13)
    assert found.radius == pytest.approx(0.5 / 3600 * 0.01 / 2.0, rel=1e-13)
    assert found.decrease_threshold == pytest.approx(0.25 / 216000 * 0.0005, rel=1e-13)
    # 60 / (1/16) * 2 / sqrt(0.04) = 9600, up to the rounding of chi before the ceiling.
    assert found.n_wait in {9600, 9601}


def test_logarithm_is_at_least_four():
    constants = TheoremConstants(1, 1.0, 1.0, 1.0, 1.0, 0.5)
    assert PerturbedGradientParameters.from_constants(constants).chi == 12.0


def test_certifies_from_the_exact_saddle():
    result = _solve()
    assert result.status is SOSPStatus.CERTIFIED
    assert abs(abs(result.x[0]) - math.pi) < 1e-2
    assert WELL.eigenvalues(result.x).min() >= -result.certificate.curv_tol
    # The method needs no certificate to leave the saddle: its own noise does.
    assert result.n_escapes == 0


def test_gradient_threshold_lies_below_gtol():
    method = _method()
    assert method.parameters.gradient_threshold <= 1e-2 / 144.0
    assert _solve().certificate.gradient_norm <= method.parameters.gradient_threshold


def test_gradient_steps_and_monotone_values():
    method, oracle, rng = _method(), Oracle(WELL), np.random.default_rng(0)
    state = method.init(oracle, oracle.evaluate(np.array([1.0, 1.0, 0.0, 0.0])))
    values = [state.point.fun]
    while state.anchor is None:
        before = state.point
        state, event = method.step(oracle, state, rng)
        values.append(state.point.fun)
        if event == "perturbation":
            assert before.gradient_norm <= method.parameters.gradient_threshold
            assert 0.0 < np.linalg.norm(state.point.x - before.x) <= method.parameters.radius * (1 + 1e-12)
    assert np.all(np.diff(values[:-1]) <= 0.0)


def test_point_before_the_perturbation_is_returned():
    method, oracle, rng = _method(), Oracle(WELL), np.random.default_rng(0)
    minimum = np.array([math.pi, 0.0, 0.0, 0.0])
    state, event = method.step(oracle, method.init(oracle, oracle.evaluate(minimum)), rng)
    assert event == "perturbation"
    while not state.is_done:
        state, _ = method.step(oracle, state, rng)
    assert np.array_equal(state.point.x, minimum)
    assert method.is_candidate(state)
    assert oracle.nfev <= method.parameters.n_wait + 2


def test_refuted_points_are_perturbed_and_then_left_along_the_direction():
    method, oracle, rng = _method(), Oracle(WELL), np.random.default_rng(0)
    saddle = oracle.evaluate(np.zeros(4))
    found = NegativeCurvature(np.array([1.0, 0.0, 0.0, 0.0]), -1.0)
    for n_failures in range(MAX_FAILURES):
        state = PerturbedGradientState(saddle, n_failures=n_failures, is_done=True)
        again = method.escape(oracle, state, found, rng)
        assert again.anchor is saddle
        assert again.n_failures == n_failures + 1
        assert np.linalg.norm(again.point.x) <= method.parameters.radius * (1 + 1e-12)
    away = method.escape(oracle, PerturbedGradientState(saddle, n_failures=MAX_FAILURES, is_done=True), found, rng)
    assert away.n_failures == 0
    assert away.point.fun < saddle.fun - 0.1


def test_curvature_tolerance_below_the_theorems_still_ends():
    # x^4/4 - 1e-3 x^2/2: noise of radius r can't leave 0 within the waiting time of eps = 1e-2, the certificate can.
    result = minimize_sosp(
        lambda x: (float(x[0] ** 4 / 4 - 5e-4 * x[0] ** 2), np.array([x[0] ** 3 - 1e-3 * x[0]])),
        np.zeros(1),
        gtol=1e-2,
        curv_tol=1e-4,
        method="perturbed_gradient",
        grad_lip=1.0,
        hess_lip=1.0,
        delta_f=1.0,
    )
    assert result.status is SOSPStatus.CERTIFIED
    assert result.n_escapes > MAX_FAILURES
    assert 3.0 * result.x[0] ** 2 - 1e-3 >= -1e-4


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.95])
def test_resume_is_bitwise(share):
    whole = _solve()
    part = _solve(max_evals=math.ceil(share * whole.nfev))
    assert part.status is SOSPStatus.BUDGET
    assert_same_run(_solve(resume=part.checkpoint), whole)


def test_too_small_constant_delays_but_never_diverges():
    # A stiffness of 30 where 3 is claimed: steps of the claimed constant would grow tenfold each.
    stiff = CosineWell(4, stiffness=30.0)
    constants = {**stiff.constants, "grad_lip": 3.0}
    result = minimize_sosp(stiff, np.full(4, 0.5), method="perturbed_gradient", gtol=1e-2, rng=0, **constants)
    assert result.status is SOSPStatus.CERTIFIED
    assert result.fun == pytest.approx(-1.0, abs=1e-3)


def test_missing_constants():
    with pytest.raises(InputError, match="give grad_lip, hess_lip, delta_f"):
        minimize_sosp(WELL, np.zeros(4), method="perturbed_gradient")
