import numpy as np
import pytest
from scipy.special import erf

from derand.exceptions import InputError, InputTypeError
from derand.teacher_student import SmoothActivation, TeacherStudent
from tests.teacher_student.reference import random_start


def test_square_is_exact_at_four_nodes():
    rho, Q, T = random_start(2, 2)
    square = SmoothActivation(lambda z: z**2, lambda z: 2 * z, n_nodes=4)
    ours = TeacherStudent(2, 2, square, T=T, noise=0.3).rhs(rho, Q)
    for computed, predicted in zip(ours, TeacherStudent(2, 2, T=T, noise=0.3).rhs(rho, Q), strict=True):
        assert np.allclose(computed, predicted, rtol=0, atol=1e-13)


def test_error_function_to_1e_9():
    rho, Q, T = random_start(2, 1)
    g = SmoothActivation(lambda z: erf(z / np.sqrt(2)), lambda z: np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2), n_nodes=60)
    ours = TeacherStudent(2, 1, g, T=T).rhs(rho, Q)
    for computed, predicted in zip(ours, TeacherStudent(2, 1, "erf", T=T).rhs(rho, Q), strict=True):
        assert np.allclose(computed, predicted, rtol=0, atol=1e-9)


def test_singular_covariances_and_batches():
    square = SmoothActivation(lambda z: z**2, lambda z: 2 * z, n_nodes=4)
    rho, Q = np.stack([np.zeros((2, 1)), np.ones((2, 1))]), np.stack([np.zeros((2, 2)), np.ones((2, 2))])
    model, closed = TeacherStudent(2, 1, square), TeacherStudent(2, 1)
    assert np.allclose(model.loss(rho, Q), closed.loss(rho, Q), rtol=0, atol=1e-14)
    assert np.allclose(model.rhs(rho, Q)[1], closed.rhs(rho, Q)[1], rtol=0, atol=1e-13)
    assert float(square.squared_error(np.zeros((2, 2)), np.ones(2))) == 0.0


def test_bad_functions_are_named():
    with pytest.raises(InputTypeError, match="derivative"):
        SmoothActivation(np.tanh, 1.0)
    with pytest.raises(InputError, match="n_nodes"):
        SmoothActivation(np.tanh, np.cos, n_nodes=1)
    with pytest.raises(InputError, match="value must return an array"):
        TeacherStudent(1, 1, SmoothActivation(lambda z: z[0], np.cos)).loss([[0.0]], [[1.0]])
    with pytest.raises(InputError, match="value must return finite"):
        TeacherStudent(1, 1, SmoothActivation(lambda z: z * np.nan, np.cos)).loss([[0.0]], [[1.0]])
