"""Parameters of the theorem, the Hamiltonian, negative curvature exploitation, and resuming."""

import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.optimize import SOSPStatus, minimize_sosp
from derand.optimize.accelerated import Accelerated, AcceleratedParameters, AcceleratedState
from derand.optimize.method import NegativeCurvature
from derand.optimize.oracle import Oracle
from derand.optimize.perturbation import MAX_FAILURES, TheoremConstants
from tests.optimize.wells import CosineWell, assert_same_run

WELL = CosineWell(4, stiffness=3.0)


def _solve(**options):
    return minimize_sosp(
        WELL, np.zeros(4), **{"method": "accelerated", "gtol": 1e-2, "rng": 3, **WELL.constants, **options}
    )


def _method(gtol=1e-2, well=WELL):
    constants = TheoremConstants(well.n, gtol, well.grad_lip, well.hess_lip, well.delta_f, 1e-6)
    return Accelerated(AcceleratedParameters.from_constants(constants), gtol)


def test_parameters_by_hand():
    # l = 4, rho = 4, eps = 0.01: kappa = 4 / 0.2 = 20; n l delta_f / (rho eps delta) = e^10.
    delta = 3 * 4 * 5 / (4 * 0.01 * math.exp(10.0))
    found = AcceleratedParameters.from_constants(TheoremConstants(3, 0.01, 4.0, 4.0, 5.0, delta), c=2.0)
    assert found.step == 1.0 / 16.0
    assert found.theta == pytest.approx(0.25 / math.sqrt(20.0), rel=1e-14)
    # theta^2 = 1/320, gamma = 16/320 = 0.05 = sqrt(rho eps) / 4, s = 0.05 / 16.
    assert found.gamma == pytest.approx(0.05, rel=1e-14)
    assert found.length == pytest.approx(0.003125, rel=1e-14)
    assert found.n_wait == 90  # sqrt(20) * 10 * 2 = 89.44
    assert found.radius == pytest.approx(0.01 / 16.0 / 1e5 / 256.0, rel=1e-12)
    assert found.decrease_threshold == pytest.approx(0.0005 / 1e5 / 128.0, rel=1e-12)


def test_rescaled_parameters_are_those_of_the_larger_constant():
    # With delta chosen so that l / delta stays, chi is the same and so is everything else.
    base = AcceleratedParameters.from_constants(TheoremConstants(3, 0.01, 4.0, 4.0, 5.0, 1e-3))
    larger = AcceleratedParameters.from_constants(TheoremConstants(3, 0.01, 16.0, 4.0, 5.0, 4e-3))
    found = base.rescaled(4.0)
    for name in ("step", "theta", "gamma", "length", "radius", "decrease_threshold"):
        assert getattr(found, name) == pytest.approx(getattr(larger, name), rel=1e-12)
    assert abs(found.n_wait - larger.n_wait) <= 2  # the ceiling is taken before or after the doubling of T


def test_logarithm_is_at_least_one():
    found = AcceleratedParameters.from_constants(TheoremConstants(1, 1.0, 1.0, 1.0, 1.0, 0.9))
    assert found.n_wait == 1
    assert found.radius == 0.25


def test_certifies_from_the_exact_saddle():
    result = _solve()
    assert result.status is SOSPStatus.CERTIFIED
    assert abs(abs(result.x[0]) - math.pi) < 1e-2
    assert WELL.eigenvalues(result.x).min() >= -result.certificate.curv_tol
    assert result.n_escapes == 0


def test_quicker_than_plain_gradients_in_a_narrow_valley():
    # Along curvature 1 gradient steps of 1/l shrink x by 1 - 1/kappa each; the square root of kappa is what momentum
    # is for.
    kappa, gtol = 1e4, 1e-3
    curvatures = np.array([1.0, kappa])
    constants = TheoremConstants(2, gtol, kappa, 1.0, 1.0, 1e-6)
    method = Accelerated(AcceleratedParameters.from_constants(constants), gtol)
    oracle = Oracle(lambda x: (0.5 * float(x @ (curvatures * x)), curvatures * x))
    state = method.init(oracle, oracle.evaluate(np.array([1.0, 0.0])))
    while state.point.gradient_norm > gtol:
        state = method._move(oracle, state)
    plain = math.log(gtol) / math.log1p(-1.0 / kappa)
    assert oracle.nfev < 0.1 * plain


@pytest.mark.parametrize("seed", range(5))
def test_hamiltonian_never_rises(seed):
    method, oracle, rng = _method(1e-3), Oracle(WELL), np.random.default_rng(seed)
    state = method.init(oracle, oracle.evaluate(rng.standard_normal(4)))
    energies = [method.energy(state)]
    while state.point.gradient_norm > 1e-3:
        state = method._move(oracle, state)
        energies.append(method.energy(state))
    assert len(energies) > 10
    assert np.all(np.diff(energies) <= 1e-15 * np.abs(energies[:-1]))
    assert energies[-1] < energies[0]


def test_steps_are_nesterovs():
    method, oracle = _method(), Oracle(WELL)
    x, v = np.array([1.5, 0.1, 0.0, 0.0]), np.array([1e-3, -2e-3, 0.0, 0.0])
    state = method._move(oracle, AcceleratedState(oracle.evaluate(x), v))
    y = x + (1.0 - method.parameters.theta) * v
    expected = y - WELL(y)[1] / (4.0 * WELL.grad_lip)
    assert state.point.x == pytest.approx(expected, abs=1e-15)
    assert state.velocity == pytest.approx(expected - x, abs=1e-15)


def test_negative_curvature_is_exploited():
    method, oracle = _method(), Oracle(WELL)
    s = method.parameters.length
    # Moving along the top of the cosine, where the curvature is -1: slower than s, the step is s along the velocity.
    x, slow = np.array([0.1, 0.0, 0.0, 0.0]), np.array([0.5 * s, 0.0, 0.0, 0.0])
    state = method._move(oracle, AcceleratedState(oracle.evaluate(x), slow))
    assert state.point.x == pytest.approx(x + np.array([s, 0.0, 0.0, 0.0]), abs=1e-15)
    assert not state.velocity.any()
    uphill = method._move(oracle, AcceleratedState(oracle.evaluate(x), -slow))
    assert uphill.point.x == pytest.approx(state.point.x, abs=1e-15)
    # Faster than s, the velocity is dropped and x stays.
    state = method._move(oracle, AcceleratedState(oracle.evaluate(x), 4.0 * slow))
    assert np.array_equal(state.point.x, x)
    assert not state.velocity.any()
    # At the bottom, where the curvature is +1, nothing of the kind happens.
    bottom = method._move(oracle, AcceleratedState(oracle.evaluate(np.array([math.pi - 0.1, 0, 0, 0])), slow))
    assert bottom.velocity.any()


def test_refuted_points_are_perturbed_and_then_left_along_the_direction():
    method, oracle, rng = _method(), Oracle(WELL), np.random.default_rng(0)
    saddle, rest = oracle.evaluate(np.zeros(4)), np.zeros(4)
    found = NegativeCurvature(np.array([1.0, 0.0, 0.0, 0.0]), -1.0)
    again = method.escape(oracle, AcceleratedState(saddle, rest, is_done=True), found, rng)
    assert again.n_failures == 1
    assert 0.0 < np.linalg.norm(again.point.x) <= method.parameters.radius * (1 + 1e-12)
    tired = AcceleratedState(saddle, rest, n_failures=MAX_FAILURES, is_done=True)
    away = method.escape(oracle, tired, found, rng)
    assert away.n_failures == 0
    assert away.point.fun < saddle.fun - 0.1


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
    result = minimize_sosp(stiff, np.full(4, 0.5), method="accelerated", gtol=1e-2, rng=0, **constants)
    assert result.status is SOSPStatus.CERTIFIED
    assert result.fun == pytest.approx(-1.0, abs=1e-3)


def test_missing_constants():
    with pytest.raises(InputError, match="give grad_lip, delta_f"):
        minimize_sosp(WELL, np.zeros(4), method="accelerated", hess_lip=1.0)
