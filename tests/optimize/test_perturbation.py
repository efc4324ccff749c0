"""Noise from a ball, and the constants of the theorems."""

import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.optimize.certificate import Tolerances
from derand.optimize.oracle import Oracle, StopRun
from derand.optimize.perturbation import (
    evaluate_finite,
    gradient_step,
    rounding_noise,
    theorem_constants,
    uniform_in_ball,
)
from derand.optimize.status import SOSPStatus


def test_ball_radii_are_uniform_in_volume():
    rng = np.random.default_rng(0)
    n, radius, draws = 5, 0.3, 4000
    points = np.array([uniform_in_ball(n, radius, rng) for _ in range(draws)])
    volumes = (np.linalg.norm(points, axis=1) / radius) ** n
    assert volumes.max() <= 1.0 + 1e-12
    # Kolmogorov-Smirnov distance of 4000 uniforms: above 1.95 / sqrt(4000) with probability 1e-3.
    ranks = np.arange(1, draws + 1) / draws
    assert np.abs(np.sort(volumes) - ranks).max() < 1.95 / math.sqrt(draws)
    # Each coordinate has variance radius^2 / (n + 2) in a ball; 4000 draws estimate it to 3 %.
    assert points.var(axis=0) == pytest.approx(radius**2 / (n + 2), rel=0.15)
    assert np.abs(points.mean(axis=0)).max() < 5.0 * radius / math.sqrt((n + 2) * draws)


def test_missing_constants_are_named():
    with pytest.raises(InputError, match=r"give grad_lip, hess_lip$"):
        theorem_constants("m", Tolerances(1e-3, 1e-2, 0.9), grad_lip=None, delta_f=1.0, n=3)
    with pytest.raises(InputError, match=r"give delta_f$"):
        theorem_constants("m", Tolerances(1e-3, 1e-2, 0.9, 1.0), grad_lip=1.0, delta_f=None, n=3)


def test_tolerance_beyond_the_theorem_is_refused():
    # grad_lip^2 / hess_lip = 0.25: no eigenvalue can lie below -sqrt(hess_lip gtol) for a larger gtol.
    tolerances = Tolerances(0.26, 1.0, 0.9, 4.0)
    with pytest.raises(InputError, match=r"gtol <= grad_lip\^2 / hess_lip = 0.25"):
        theorem_constants("m", tolerances, grad_lip=1.0, delta_f=1.0, n=3)
    assert theorem_constants("m", tolerances, grad_lip=1.1, delta_f=1.0, n=3).delta == pytest.approx(0.1)


def test_noise_covers_the_rounding_of_a_sum():
    assert 1e6 + rounding_noise(1e6) > 1e6
    assert rounding_noise(0.0) == 0.0


def test_infinite_value_ends_the_run():
    oracle = Oracle(lambda x: (math.inf if x[0] > 1.0 else 0.0, np.zeros(1)))
    assert evaluate_finite(oracle, np.zeros(1)).fun == 0.0
    with pytest.raises(StopRun) as stop:
        evaluate_finite(oracle, np.full(1, 2.0))
    assert stop.value.status is SOSPStatus.NON_FINITE


def test_gradient_step_of_a_right_constant_is_literal():
    oracle = Oracle(lambda x: (1.5 * float(x @ x), 3.0 * x))
    end = gradient_step(oracle, oracle.evaluate(np.array([1.0, -2.0])), 0.25)
    assert end.x == pytest.approx([0.25, -0.5], abs=1e-15)
    assert oracle.nfev == 2


def test_gradient_step_is_halved_while_the_constant_is_too_small():
    # Curvature 3 and step 1: x -> -2 x rises; one half, x -> -x/2, does not.
    oracle = Oracle(lambda x: (1.5 * float(x @ x), 3.0 * x))
    end = gradient_step(oracle, oracle.evaluate(np.ones(1)), 1.0)
    assert end.x == pytest.approx([-0.5])
    assert oracle.nfev == 3


def test_rounding_on_a_hidden_scale_is_no_rise():
    # 1 + x^2 - 1 is rounded to multiples of 2^-52, far above its own size at x = 1e-8: the gradient knows better.
    oracle = Oracle(lambda x: (float(1.0 + x @ x) - 1.0 + 2.0**-52 * (abs(x[0]) < 0.9e-8), 2.0 * x))
    end = gradient_step(oracle, oracle.evaluate(np.full(1, 1e-8)), 0.25)
    assert end.x == pytest.approx([0.5e-8])


def test_gradient_that_points_the_wrong_way_is_told():
    oracle = Oracle(lambda x: (float(x @ x), -2.0 * x))
    with pytest.raises(StopRun) as stop:
        gradient_step(oracle, oracle.evaluate(np.ones(1)), 1.0)
    assert stop.value.status is SOSPStatus.BAD_GRADIENT
