"""Right derivatives pass, wrong ones are found, and noise is not taken for either."""

import math

import numpy as np
import pytest

from derand import minimize_sosp
from derand.optimize.derivative_samples import estimate_curvature_scales, verify_derivatives
from derand.optimize.oracle import Oracle, StopRun
from derand.optimize.status import SOSPStatus
from tests.optimize import hostile


def _unit(n, seed=0):
    unit = np.random.default_rng(seed).standard_normal(n)
    return unit / np.linalg.norm(unit)


def _verify(fun, x, *, hessp=None, product=None, seed=0, **options):
    oracle = Oracle(fun, hessp)
    point, unit = oracle.evaluate(np.asarray(x, dtype=float)), _unit(len(x), seed)
    if product is None and hessp is not None:
        product = hessp(point.x, unit)
    verify_derivatives(oracle, point, unit, product, **options)
    return oracle


def _status(*arguments, **options):
    """Return how the verification ends the run, and what it says; None when it doesn't."""
    try:
        _verify(*arguments, **options)
    except StopRun as stop:
        return stop.status, stop.detail
    return None, ""


def _with_gradient(change):
    def fun(x):
        value, gradient = hostile.coupled(x)
        return value, change(gradient.copy())

    return fun


def test_right_derivatives_cost_one_evaluation():
    for n in (1, 2, 30, 1000):
        for x in (np.zeros(n), np.ones(n), np.linspace(-2.0, 2.0, n)):
            assert _verify(hostile.coupled, x, hessp=hostile.coupled_hessp).nfev == 2


@pytest.mark.parametrize("power", [3, 4, 5, 6, 8])
def test_degenerate_points_are_looked_at_twice_and_pass(power):
    def fun(x):
        return float(np.sum(x**power)), power * x ** (power - 1)

    for n in (1, 10):
        oracle = _verify(fun, np.zeros(n))
        assert oracle.nfev <= 8


@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.5, 0.99, 1.01, 2.0])
def test_scaled_gradients_are_found_at_stationary_points_too(factor):
    for x in (np.ones(8), np.zeros(8), np.linspace(-1.0, 1.0, 8)):
        status, detail = _status(_with_gradient(lambda g: factor * g), x)
        assert status is SOSPStatus.BAD_GRADIENT
        assert "coordinate" in detail


@pytest.mark.parametrize("i", [0, 3, 7])
@pytest.mark.parametrize("offset", [1e-4, -1e-4, 1e-2, 1.0])
def test_the_wrong_coordinate_is_named(i, offset):
    def change(gradient):
        gradient[i] += offset
        return gradient

    # Where the right gradient is zero every error shows; elsewhere it has to be a ten-thousandth of the slope.
    x = np.ones(8) if offset < 1e-3 else np.linspace(-1.0, 1.0, 8)
    status, detail = _status(_with_gradient(change), x)
    assert status is SOSPStatus.BAD_GRADIENT
    assert detail.startswith(f"coordinate {i}:")


def test_no_coordinate_is_looked_for_among_many_or_without_budget():
    wrong = _with_gradient(lambda g: -g)
    assert "more than 500" in _status(wrong, np.linspace(-1.0, 1.0, 600))[1]
    oracle = Oracle(wrong, max_evals=20)
    point = oracle.evaluate(np.linspace(-1.0, 1.0, 40))
    with pytest.raises(StopRun, match="contradicts") as stop:
        verify_derivatives(oracle, point, _unit(40))
    assert "within the limits" in stop.value.detail


def test_errors_far_below_the_tolerance_are_forgiven():
    status, _ = _status(_with_gradient(lambda g: g + 1e-8), np.ones(8), slack=1e-7)
    assert status is None


@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.9, 1.1, 2.0])
def test_wrong_products(factor):
    for x in (np.zeros(8), np.linspace(-1.0, 1.0, 8)):
        status, _ = _status(hostile.coupled, x, hessp=lambda x, v: factor * hostile.coupled_hessp(x, v))
        assert status is SOSPStatus.BAD_HESSP


def test_asymmetry():
    options = {"hessp": hostile.coupled_hessp, "asymmetry": 0.1}
    status, detail = _status(hostile.coupled, np.ones(8), **options)
    assert status is SOSPStatus.BAD_HESSP
    assert "u.Hv" in detail
    product = hostile.coupled_hessp(np.ones(8), _unit(8))
    status, detail = _status(hostile.coupled, np.ones(8), product=product, asymmetry=0.1, product_error=1e-6)
    assert status is SOSPStatus.INCONCLUSIVE
    assert "check_gradient" in detail
    # A product that may be wrong by 0.1 explains it.
    assert _status(hostile.coupled, np.ones(8), product=product, asymmetry=0.1, product_error=0.1)[0] is None


def test_differences_that_show_nothing_are_not_believed():
    # What differences of step 1e-8 say about a function that computes in single precision.
    def fun(x):
        z = x.astype(np.float32)
        return float(z @ z), 2.0 * z.astype(np.float64)

    status, detail = _status(fun, np.full(30, 1.0), product=np.zeros(30))
    assert status is SOSPStatus.INCONCLUSIVE
    assert "single precision" in detail


@pytest.mark.parametrize("noise", [1e-14, 1e-10, 1e-6, 1e-2])
def test_noise_of_any_size_is_not_taken_for_a_wrong_gradient(noise):
    rng = np.random.default_rng(0)

    def fun(x):
        value, gradient = hostile.coupled(x)
        return value + noise * rng.standard_normal(), gradient + noise * rng.standard_normal(x.size)

    accused = [_status(fun, np.ones(8), seed=seed)[0] is not None for seed in range(100)]
    # Noise looks like a wrong gradient when both deviations exceed ten measured deviations and agree: hardly ever.
    assert sum(accused) <= 5


@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-9, 1e-6, 1e-5, 1e-4, 1e-3])
def test_kinks_nearby_are_not_taken_for_a_wrong_gradient(distance):
    def fun(x):
        return float(np.abs(x).sum()), np.sign(x)

    accused = [_status(fun, np.full(3, distance), seed=seed)[0] is not None for seed in range(40)]
    # Only a kink at just the distance where both lengths see the same share of it can deceive.
    assert sum(accused) <= 4


def test_walls_nearby_end_the_check():
    def fun(x):
        return (0.5 * float(x @ x), x) if np.all(x <= 1.0) else (math.nan, x)

    for seed in range(20):
        assert _status(fun, np.ones(4), seed=seed)[0] is None


def test_scales_of_a_function_with_known_derivatives():
    # sum cos(x_i): along a unit u at 0 the second difference of the gradient vanishes, at pi/2 it is |u^2|.
    def fun(x):
        return float(np.cos(x).sum()), -np.sin(x)

    oracle = Oracle(fun)
    hess_lip, curvature = estimate_curvature_scales(
        oracle, oracle.evaluate(np.full(2, 0.5 * np.pi)), np.random.default_rng(0)
    )
    assert oracle.nfev == 5
    assert 1.0 / math.sqrt(2.0) - 1e-3 <= hess_lip <= 1.0 + 1e-3  # |(u_1^2, u_2^2)| of unit vectors in the plane
    assert curvature < 1e-3
    oracle = Oracle(fun)
    hess_lip, curvature = estimate_curvature_scales(oracle, oracle.evaluate(np.zeros(2)), np.random.default_rng(0))
    assert hess_lip < 1e-3
    assert curvature == pytest.approx(1.0, abs=1e-3)
    wall = Oracle(lambda x: (0.0, x) if x[0] == 0.0 else (math.inf, x))
    with pytest.raises(StopRun):
        estimate_curvature_scales(wall, wall.evaluate(np.zeros(2)), np.random.default_rng(0))


def test_halved_derivative_is_found_next_to_a_stationary_point_where_it_is_hardly_off():
    def fun(x, factor):
        gradient = x * (x**2 - 1.0)
        gradient[1] *= factor
        return float(np.sum((x**2 - 1.0) ** 2)) / 4.0, gradient

    rng = np.random.default_rng(8)
    # A direction with less than a hundredth of its square in the coordinate doesn't see the error well enough.
    seeds = [seed for seed in range(60) if abs(_unit(6, seed)[1]) > 0.1]
    assert len(seeds) > 40
    for seed in seeds:
        x = rng.choice([-1.0, 1.0], 6) + 1e-6 * rng.standard_normal(6)
        assert _status(lambda x: fun(x, 1.0), x, seed=seed) == (None, "")
        status, detail = _status(lambda x: fun(x, 0.5), x, seed=seed, slack=2e-7)
        assert status is SOSPStatus.BAD_GRADIENT, (seed, detail)


def test_the_coordinate_is_looked_for_beside_a_point_where_all_is_well():
    """The gradient is 2.5 times too long, and the search ends where both vanish."""
    result = minimize_sosp(lambda z: (float(z @ z), 5.0 * z), [1.0, 2.0])
    assert result.status.name == "BAD_GRADIENT"
    assert "near the point: gradient 0.5, difference of values 0.2" in result.message
