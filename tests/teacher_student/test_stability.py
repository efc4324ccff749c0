import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import brentq

from derand.exceptions import InputError
from derand.gaussian import tensor_gauss_hermite
from derand.teacher_student import SmoothActivation, TeacherStudent
from derand.teacher_student.flow import velocity
from derand.teacher_student.stability import copy_of_teacher, linearise

T2 = np.array([[1.2, 0.3], [0.3, 0.8]])
TANH = SmoothActivation(np.tanh, lambda z: np.cosh(z) ** -2.0)


def orthogonal_block(keywords, lr, widths=(1e-5, 2.5e-6, 6.25e-7)):
    """Return the equations of C = Q - rho T^-1 rho' next to the copy of the teacher, by one-sided differences.

    The velocities are smooth in the root of C; three widths remove its first two powers.
    """
    model = TeacherStudent(2, 2, lr=lr, T=T2, **keywords)
    pairs = [(0, 0), (0, 1), (1, 1)]
    rho, inverse = copy_of_teacher(model.parameters)[0], np.linalg.inv(T2)

    def speed(C):
        d_rho, d_q = velocity(model.parameters, rho, rho @ inverse @ rho.T + C, second_order=True, n_inputs=None)
        cross = d_rho @ inverse @ rho.T
        return np.array([(d_q - cross - cross.T)[pair] for pair in pairs])

    columns = []
    for bump in ([1.0, 0.0], [1.0, 1.0], [0.0, 1.0]):
        slopes = [speed(h * np.outer(bump, bump)) / h for h in widths]
        twice = [2 * b - a for a, b in pairwise(slopes)]
        columns.append((4 * twice[1] - twice[0]) / 3)
    columns[1] -= columns[0] + columns[2]  # (1, 1) = (1, 0) + (0, 1) + off-diagonal
    return np.array(columns).T


@pytest.mark.parametrize(
    ("keywords", "tolerance"),
    [
        ({"activation": "erf"}, 1e-8),
        ({}, 1e-8),
        ({"second_layer": [1.0, -1.0], "teacher_second_layer": [2.0, -0.5]}, 1e-8),
    ],
)
def test_critical_rate_is_where_the_linearised_equations_change_sign(keywords, tolerance):
    limit = TeacherStudent(2, 2, T=T2, **keywords).critical_lr().stable

    def abscissa(lr):
        return np.max(np.linalg.eigvals(orthogonal_block(keywords, lr)).real)

    assert abs(brentq(abscissa, 0.9 * limit, 1.1 * limit, xtol=1e-11) - limit) < tolerance * limit


@pytest.mark.medium
def test_critical_rate_of_relu_by_differences():
    """The velocities next to the solution have half-integer powers of C, of which the differences remove C^(3/2)."""
    limit = TeacherStudent(2, 2, "relu", T=T2).critical_lr().stable

    def abscissa(lr):
        return np.max(np.linalg.eigvals(orthogonal_block({"activation": "relu"}, lr, (1e-3, 2.5e-4, 6.25e-5))).real)

    assert abs(brentq(abscissa, 0.9 * limit, 1.1 * limit, xtol=1e-11) - limit) < 1e-5 * limit


def test_one_neuron_by_hand():
    """H = E g'^2, K = E g'^4: relu 1/2 and 1/2, erf (2/pi)/sqrt(1 + 2t) and (2/pi)^2/sqrt(1 + 4t), eta = 2H/K."""
    assert math.isclose(TeacherStudent(1, 1, "relu", T=[[3.0]]).critical_lr().stable, 2.0, rel_tol=1e-14)
    expected = math.pi * math.sqrt((1 + 4 * 0.7) / (1 + 2 * 0.7))
    assert math.isclose(TeacherStudent(1, 1, "erf", T=[[0.7]]).critical_lr().stable, expected, rel_tol=1e-13)
    nodes, weights = tensor_gauss_hermite(200, 1)
    slope = np.cosh(nodes[:, 0]) ** -2.0
    expected = 2 * (weights @ slope**2) / (weights @ slope**4)
    assert math.isclose(TeacherStudent(1, 1, TANH).critical_lr().stable, expected, rel_tol=1e-8)


def test_plain_quadratic_model_again():
    for p_star, t in ((2, [1.3, 0.7]), (3, [1.0, 1.0, 1.0])):
        model = TeacherStudent(p_star, p_star, T=np.diag(t))
        assert math.isclose(linearise(model.parameters).stable / p_star, model.critical_lr().stable, rel_tol=1e-12)


def test_wide_students_of_the_square_have_the_limit_of_narrow_ones():
    model = TeacherStudent(4, 2)
    rho, Q = model.random_solutions(1, rng=0)
    assert math.isclose(linearise(model.parameters, (rho[0], Q[0])).stable / 4, 0.25, rel_tol=1e-12)
    assert math.isclose(linearise(model.parameters).stable / 4, 0.25, rel_tol=1e-12)


def test_copies_share_the_kick():
    """m copies of one neuron behave like one neuron with m times the output and a step divided by m."""
    single, double = (TeacherStudent(p, 1, "erf").critical_lr().stable for p in (1, 3))
    assert math.isclose(single, double, rel_tol=1e-12)  # in mean-field scaling


def test_below_and_above_the_limit_the_equations_go_where_it_says():
    limit = TeacherStudent(1, 1, "relu").critical_lr().stable
    rho, Q = [[1.0]], [[1.001]]
    losses = [TeacherStudent(1, 1, "relu", lr=limit * s).solve(rho, Q, [0.0, 30.0], rtol=1e-6).loss for s in (0.9, 1.1)]
    assert losses[0][1] < 0.3 * losses[0][0]
    assert losses[1][1] > 2.0 * losses[1][0]


@pytest.mark.parametrize("activation", ["erf", "relu"])
def test_floor_is_where_the_equations_end(activation):
    width, horizon = (2, 1500.0) if activation == "erf" else (1, 60.0)
    T = T2[:width, :width]
    model = TeacherStudent(width, width, activation, T=T, lr=0.8, noise=0.05)
    floor = model.noise_floor()
    run = model.solve(T, T + 0.01 * np.eye(width), [0.0, horizon], rtol=1e-7)
    assert math.isclose(run.loss[-1], floor.loss, rel_tol=1e-5)
    assert math.isclose(floor.estimate, floor.loss, rel_tol=0.05)
    assert floor.residual < 1e-12


@pytest.mark.parametrize(("activation", "order"), [("erf", 1.0), ("relu", 0.5)])
def test_estimate_is_the_first_order_in_the_noise(activation, order):
    """erf is analytic in C, relu in its root."""
    errors = []
    for noise in (1e-4, 1e-6):
        floor = TeacherStudent(2, 2, activation, T=T2, lr=0.5, noise=noise).noise_floor()
        errors.append(abs(floor.estimate / floor.loss - 1.0))
    assert math.isclose(errors[1] / errors[0], 10.0 ** (-2.0 * order), rel_tol=0.2)


def test_floor_of_a_smooth_function_and_of_signed_layers():
    smooth = TeacherStudent(1, 1, TANH, lr=0.5, noise=0.001).noise_floor()
    assert math.isclose(smooth.loss, smooth.estimate, rel_tol=1e-2)
    model = TeacherStudent(2, 2, T=T2, lr=0.02, noise=0.01, second_layer=[1, -1], teacher_second_layer=[1, -1])
    floor = model.noise_floor()
    run = model.solve(T2, T2 + 0.01 * np.eye(2), [2e3, 1e4], rtol=1e-5)
    # slow, since the noise drives along the rotations of signature (1, 1)
    assert abs(run.loss[1] / floor.loss - 1) < 0.8 * abs(run.loss[0] / floor.loss - 1) < 0.06
    assert TeacherStudent(2, 2, "erf").noise_floor().loss == 0.0


def test_copies_scale_with_second_layers():
    """relu: a w = b w*; square: a w^2 = b w*^2; students find the teacher of their own size."""
    for activation in ("square", "relu"):
        model = TeacherStudent(2, 2, activation, T=T2, second_layer=[3.0, 1.0], teacher_second_layer=[2.0, 5.0])
        rho, Q = copy_of_teacher(model.parameters)
        assert float(model.loss(rho, Q)) < 1e-14


def test_what_has_no_solution():
    with pytest.raises(InputError, match="p must be a multiple"):
        TeacherStudent(3, 2, "erf").critical_lr()
    with pytest.raises(InputError, match="second_layer"):
        TeacherStudent(2, 2, "relu", second_layer=[1, -1]).critical_lr()
    with pytest.raises(InputError, match="zero loss"):
        TeacherStudent(2, 2, "erf").critical_lr(solution=(np.zeros((2, 2)), np.eye(2)))
    with pytest.raises(InputError, match="pair"):
        TeacherStudent(2, 2, "erf").critical_lr(solution=3)
    with pytest.raises(InputError, match="one rho"):
        TeacherStudent(2, 2, "erf").critical_lr(solution=(np.eye(2)[None], np.eye(2)[None]))
    with pytest.raises(InputError, match="at most 32"):
        TeacherStudent(33, 33, "erf").critical_lr()
    with pytest.raises(InputError, match="T must not be zero"):
        TeacherStudent(1, 1, second_layer_lr=0.1, T=[[0.0]]).critical_lr()
    with pytest.raises(InputError, match="solution must be None"):
        TeacherStudent(2, 2).critical_lr(solution=(np.eye(2), np.eye(2)))
    with pytest.raises(InputError, match="solution must be None"):
        TeacherStudent(2, 2).noise_floor(solution=(np.eye(2), np.eye(2)))


def test_where_there_is_no_floor():
    with pytest.raises(InputError, match="lr is beyond"):
        TeacherStudent(1, 1, "relu", lr=2.1, noise=0.1).noise_floor()
    with pytest.raises(InputError, match="redundant"):
        TeacherStudent(4, 2, "erf", noise=0.1).noise_floor()
    with pytest.raises(InputError, match="constraint"):
        TeacherStudent(2, 2, "erf", constraint="norm", noise=0.1).noise_floor()


def test_a_silent_student_has_no_solution_to_be_stable():
    model = TeacherStudent(2, 2, second_layer=[0.0, 0.0])
    for question in (model.critical_lr, model.noise_floor, model.best_loss):
        with pytest.raises(InputError, match="second_layer"):
            question()
