import math

import numpy as np
import pytest

from derand.exceptions import BudgetExceededError, InputError
from derand.teacher_student import TeacherStudent


def test_single_teacher_is_a_bernoulli_equation():
    """p = p* = 1, gradient flow: with c = 2 gamma, d rho = -c[3Q - 3]rho and dQ = -2c[3Q^2 - Q - 2 rho^2] give, by the
    general integrator of another family at small tolerance, the same half time."""
    from scipy.integrate import solve_ivp

    gamma, n = 0.05, 1e6
    found = TeacherStudent(1, 1, lr=gamma).escape_time(n, q0=1 / 3, second_order=False)

    def rhs(_, y):
        rho, q = y
        return [-6 * gamma * (q - 1) * rho, -4 * gamma * (3 * q * q - q - 2 * rho * rho)]

    def half(_, y):
        return 0.5 * (y[1] - 1) ** 2 + y[1] ** 2 + 1 - 2 * y[0] ** 2 - 2 / 3

    start = [math.sqrt(1 / 3 / n), 1 / 3]
    done = solve_ivp(rhs, (0, 200), start, method="LSODA", rtol=1e-11, atol=1e-16, events=half)
    assert math.isclose(found.time, done.t_events[0][0], rel_tol=1e-6)
    assert found.rate == 4 * gamma


def test_time_grows_by_log_n_over_twice_the_rate():
    model = TeacherStudent(4, 2, lr=0.1)
    short, long = model.escape_time(1e8), model.escape_time(1e12)
    assert math.isclose(long.time - short.time, math.log(1e4) / (2 * short.rate), rel_tol=1e-4)
    assert math.isclose(long.constant, short.constant, rel_tol=1e-4)
    assert math.isnan(short.standard_error)


@pytest.mark.medium
def test_width_changes_the_prefactor_only():
    """The paper's claim: 8 times the width gains 8 to 15 per cent of the time, at an unchanged rate."""
    narrow, wide = (TeacherStudent(p, 2).escape_time(1e8, n_starts=16, second_order=False, rng=0) for p in (2, 16))
    assert math.isclose(narrow.rate, wide.rate, rel_tol=1e-14)
    assert 0.05 < 1 - wide.time / narrow.time < 0.15


@pytest.mark.medium
def test_random_starts_for_one_teacher_follow_from_the_typical_one():
    """p* = 1: only tr(rho0 rho0') matters, so the mean shifts by -E log(chi^2_p / p) / (2 Lambda)."""
    from scipy.special import digamma

    model = TeacherStudent(4, 1)
    typical, mean = model.escape_time(1e8), model.escape_time(1e8, n_starts=100, rng=1)
    shift = -(digamma(2.0) + math.log(2.0 / 4.0)) / (2 * typical.rate)
    assert abs(mean.time - typical.time - shift) < 4 * mean.standard_error
    assert abs(mean.constant - typical.constant) < 1e-3


def test_noise_on_the_plateau_shortens_the_time():
    model = TeacherStudent(4, 2, lr=0.1)
    plain, noisy = model.escape_time(1e8), model.escape_time(1e8, fluctuations=True)
    kappa = model.overlap_law(n_samples=2, rng=0).noise_ratio
    assert kappa > 0.1
    assert math.isclose(plain.time - noisy.time, math.log(1 + kappa) / (2 * plain.rate), rel_tol=1e-3)


def test_narrow_students_get_down_to_their_floor():
    assert TeacherStudent(1, 2, T=np.diag([1.5, 0.5])).escape_time(1e6).time > 0


def test_norms_of_the_start_dont_matter_for_gradient_flow():
    """rho / sqrt(q) grows at the same rate on the way to the plateau; with the second-order term they do matter."""
    model = TeacherStudent(4, 2)
    norms = (0.1, model.plateau(second_order=False).q, 2.0)
    times = [model.escape_time(1e8, q0=q0, second_order=False).time for q0 in norms]
    assert np.allclose(times, times[0], rtol=1e-6)
    fast = TeacherStudent(4, 2, lr=0.15)
    assert abs(fast.escape_time(1e8, q0=2.0).time / fast.escape_time(1e8, q0=0.1).time - 1) > 1e-3


def test_widths_of_many_minutes_are_refused():
    with pytest.raises(BudgetExceededError, match="20000 overlaps"):
        TeacherStudent(512, 2).escape_time(1e6)


def test_bad_arguments():
    with pytest.raises(InputError, match="N must"):
        TeacherStudent(4, 2).escape_time(3)
    with pytest.raises(InputError, match="q0"):
        TeacherStudent(4, 2, lr=0.1).escape_time(1e6, q0=6.0)
    with pytest.raises(InputError, match="q0"):
        TeacherStudent(4, 2).escape_time(1e6, q0=-1.0)
    with pytest.raises(InputError, match="realisable"):
        TeacherStudent(4, 2).escape_time(10, n_starts=50, rng=0)
    with pytest.raises(InputError, match="n_starts"):
        TeacherStudent(4, 2).escape_time(1e6, n_starts=1)
    with pytest.raises(InputError, match="left"):
        TeacherStudent(1, 4, noise=3.0, lr=TeacherStudent(1, 4, noise=3.0).critical_lr().escape * 1.01).escape_time(1e6)


def test_equal_second_layers_are_a_rescaled_plain_model():
    """f = (c/p) sum z^2 is the plain student of weights sqrt(c) W, whose learning rate is c times as large."""
    plain = TeacherStudent(2, 2, lr=0.1)
    scaled = TeacherStudent(2, 2, lr=0.05, second_layer=[2.0, 2.0], teacher_second_layer=[1.0, 1.0])
    for n_starts in (None, 3):
        one = plain.escape_time(1e6, q0=1.2, n_starts=n_starts, rng=4)
        two = scaled.escape_time(1e6, q0=0.6, n_starts=n_starts, rng=4)
        assert math.isclose(one.time, two.time, rel_tol=1e-6)
        assert math.isclose(one.rate, two.rate, rel_tol=1e-8)


@pytest.mark.medium
def test_error_functions_leave_the_symmetric_plateau():
    """At the time found the loss of the same start is half of the plateau's; far out, times grow at the rate's pace."""
    model = TeacherStudent(2, 2, "erf", lr=0.5)
    found, spot = model.escape_time(1e10), model.plateau()
    run = model.solve(math.sqrt(2e-10) * np.eye(2), np.eye(2), [0.0, found.time], rtol=1e-10)
    assert math.isclose(run.loss[-1], 0.5 * spot.loss, rel_tol=1e-4)
    # The plateau is approached more slowly than it is left, so the asymptotic pace comes late.
    times = [model.escape_time(n).time for n in (1e14, 1e18)]
    assert math.isclose(times[1] - times[0], math.log(1e4) / (2 * found.rate), rel_tol=0.03)


@pytest.mark.parametrize(
    ("setting", "options", "message"),
    [
        ({"p": 2, "p_star": 2, "activation": "erf"}, {"fluctuations": True}, "fluctuations"),
        ({"p": 1, "p_star": 2, "activation": "erf"}, {}, "no standard solution"),
        ({"p": 1, "p_star": 1, "activation": "relu", "lr": 0.1}, {}, "isn't left"),
        ({"p": 2, "p_star": 2, "constraint": "norm"}, {}, "free norms"),
    ],
)
def test_what_has_no_escape_time_is_refused_by_name(setting, options, message):
    with pytest.raises(InputError, match=message):
        TeacherStudent(**setting).escape_time(1e6, **options)
