import math

import numpy as np
import pytest
from scipy.special import erf

from derand.exceptions import DerandError, InputError
from derand.teacher_student import SmoothActivation, TeacherStudent
from derand.teacher_student.flow import velocity
from derand.teacher_student.stationary import find_numerical_plateau, linear_rates


@pytest.mark.parametrize("k", [2, 3])
def test_symmetric_plateau_of_saad_and_solla(k):
    """Gradient flow's approach q - C ~ 1/alpha is marginal, hence 1e-7 on the overlaps; the loss is flat there."""
    layer = np.full(k, float(k))
    model = TeacherStudent(k, k, "erf", second_layer=layer, teacher_second_layer=layer)
    spot = model.plateau(second_order=False)
    assert math.isclose(spot.q, 1 / (2 * k - 1), rel_tol=1e-6)
    assert np.allclose(spot.rho, 1 / math.sqrt(k * (2 * k - 1)), rtol=1e-7)
    assert math.isclose(spot.loss, k / math.pi * (math.pi / 6 - k * math.asin(1 / (2 * k))), rel_tol=1e-12)
    assert spot.residual < 1e-12
    assert spot.escape_rates[0] > 1e3 * spot.rate_error


def test_quadratic_closed_form():
    model = TeacherStudent(4, 2, lr=0.1)
    found, exact = find_numerical_plateau(model.parameters, second_order=True, q0=1.0), model.plateau()
    assert math.isclose(found.q, exact.q, rel_tol=1e-12)
    assert np.allclose(found.escape_rates[:8], exact.escape_rates[0], rtol=1e-10)


def test_what_has_no_plateau():
    with pytest.raises(InputError, match="lr is too large"):
        TeacherStudent(4, 2, lr=0.5, second_layer=np.full(4, 2.0)).plateau()
    with pytest.raises(InputError, match="trained"):
        TeacherStudent(2, 2, second_layer_lr=0.1).plateau()
    with pytest.raises(InputError, match="q0 or T"):
        TeacherStudent(2, 2, "erf").plateau(q0=1e15)
    with pytest.raises(InputError, match="q0"):
        TeacherStudent(2, 2, "erf").plateau(q0=-1.0)


@pytest.mark.medium
def test_plateau_of_a_smooth_function_is_that_of_its_closed_form():
    smooth = SmoothActivation(lambda z: erf(z / np.sqrt(2)), lambda z: np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2))
    found, exact = (TeacherStudent(2, 1, g, lr=0.3, T=[[0.5]], noise=0.1).plateau() for g in (smooth, "erf"))
    assert math.isclose(found.loss, exact.loss, rel_tol=1e-9)
    assert np.allclose(found.Q, exact.Q, rtol=1e-9)
    assert np.allclose(found.rho, exact.rho, rtol=1e-9)
    assert np.allclose(found.escape_rates, exact.escape_rates, rtol=0, atol=1e-8)
    assert np.max(np.abs(found.escape_rates - exact.escape_rates)) < 10 * found.rate_error < 1e-6


@pytest.mark.parametrize("layer", [[2.0, 2.0, 2.0, 2.0], [2.0, 1.0, 2.0, 1.0], [1.0, 1.0, 3.0, 1.0]])
def test_exchanging_students_saves_columns_and_changes_nothing(layer):
    model = TeacherStudent(4, 2, "erf", T=[[1.0, 0.2], [0.2, 0.7]], second_layer=layer, lr=0.1)
    spot = model.plateau()
    plain, _ = linear_rates(model.parameters, spot.rho, spot.Q, second_order=True)
    assert np.allclose(spot.escape_rates, plain, rtol=0, atol=1e-12)


def test_rates_by_plain_central_differences():
    """One student of each second layer, all five overlaps written out."""
    model = TeacherStudent(2, 1, "erf", second_layer=[2.0, 1.0], lr=0.2)
    spot = model.plateau()

    def move(y):
        rho, Q = y[:2, None], np.array([[y[2], y[3]], [y[3], y[4]]])
        d_rho, d_q = velocity(model.parameters, rho, Q, second_order=True, n_inputs=None)
        return np.array([d_rho[0, 0], d_rho[1, 0], d_q[0, 0], d_q[0, 1], d_q[1, 1]])

    base, h = np.array([*spot.rho[:, 0], spot.Q[0, 0], spot.Q[0, 1], spot.Q[1, 1]]), 1e-6
    columns = [(move(base + h * e) - move(base - h * e)) / (2 * h) for e in np.eye(5)]
    expected = np.sort(np.linalg.eigvals(np.array(columns).T).real)[::-1]
    assert np.allclose(spot.escape_rates, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("activation", ["square", "relu"])
def test_a_constrained_student_that_sees_nothing_stays(activation):
    """rho = 0 stays, and Q is its own constraint: there are no unknowns to search for."""
    model = TeacherStudent(1, 3, activation, constraint="norm", second_layer=[2.0], T=np.zeros((3, 3)))
    spot = model.plateau(second_order=False)
    assert spot.q == 1.0
    assert spot.residual == 0.0


def test_no_teacher_is_refused_by_name():
    with pytest.raises(DerandError):
        linear_rates(
            TeacherStudent(1, 2, T=np.zeros((2, 2))).parameters, np.zeros((1, 2)), np.zeros((1, 1)), second_order=True
        )


@pytest.mark.medium
def test_an_integrator_that_fails_is_an_error_without_warnings():
    T = np.diag([5e-46, 4e-23])
    with pytest.raises(DerandError):
        TeacherStudent(4, 2, "erf", T=T, second_layer=np.full(4, 1e60)).plateau(second_order=False)
