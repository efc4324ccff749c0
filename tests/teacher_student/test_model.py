import numpy as np
import pytest

from derand.exceptions import InputError
from derand.teacher_student import SmoothActivation, TeacherStudent
from tests.teacher_student.reference import random_start


def test_loss_is_the_formula():
    rho, Q, T = random_start(4, 3)
    p, p_star = 4, 3
    mean = np.trace(Q) / p - np.trace(T) / p_star
    predicted = 0.5 * mean**2 + np.sum(Q**2) / p**2 + np.sum(T**2) / p_star**2 - 2 * np.sum(rho**2) / (p * p_star)
    assert np.isclose(TeacherStudent(p, p_star, T=T).loss(rho, Q), predicted, rtol=1e-14)


def test_loss_is_half_the_mean_squared_error_of_samples():
    rng = np.random.default_rng(0)
    W, W_star = rng.standard_normal((3, 10)), rng.standard_normal((2, 10))
    x = rng.standard_normal((200_000, 10))
    s, s_star = np.array([1.0, -1.0, 0.5]), np.array([1.0, 2.0])
    u = (x @ W.T / np.sqrt(10)) ** 2 @ s / 3 - (x @ W_star.T / np.sqrt(10)) ** 2 @ s_star / 2
    model = TeacherStudent(3, 2, T=W_star @ W_star.T / 10, second_layer=s, teacher_second_layer=s_star)
    values = 0.5 * u**2
    error = values.std() / np.sqrt(values.size)
    assert abs(values.mean() - model.loss(W @ W_star.T / 10, W @ W.T / 10)) < 4 * error


def test_standard_scaling_slows_wide_students():
    """At one lr, standard scaling carries 1/p: a run lasts p times as long."""
    rho, Q = 1e-2 * np.ones((4, 1)), np.eye(4)
    mean_field = TeacherStudent(4, 1, lr=0.1).rhs(rho, Q)
    standard = TeacherStudent(4, 1, lr=0.1, lr_scaling="standard").rhs(rho, Q)
    assert np.allclose(standard[0], mean_field[0] / 4, rtol=1e-14)


def test_rhs_refuses_what_isnt_realisable():
    with pytest.raises(InputError, match="Q must be positive"):
        TeacherStudent(2, 1).rhs(np.zeros((2, 1)), -np.eye(2))
    with pytest.raises(InputError, match="finite_N"):
        TeacherStudent(2, 1).rhs(np.zeros((2, 1)), np.eye(2), finite_N=0)
    with pytest.raises(InputError, match="at least one start"):
        TeacherStudent(2, 1).solve(np.zeros((0, 2, 1)), np.zeros((0, 2, 2)), [1.0])


@pytest.mark.medium
def test_any_activation_may_be_given():
    tanh = SmoothActivation(np.tanh, lambda z: 1 / np.cosh(z) ** 2)
    run = TeacherStudent(1, 1, tanh, lr=0.5).solve([[0.1]], [[1.0]], [0.0, 40.0], rtol=1e-6)
    assert run.success
    assert run.loss[1] < 1e-3 * run.loss[0]


def test_norm_constraint_holds_along_a_run():
    rho, Q, T = random_start(3, 2)
    run = TeacherStudent(3, 2, T=T, constraint="norm").solve(rho, Q, [0.0, 50.0])
    assert np.allclose(np.diagonal(run.Q[1]), np.diag(Q), rtol=1e-10)
