import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.teacher_student import TeacherStudent
from derand.teacher_student.parameters import check_gram, joint_covariance
from tests.teacher_student.reference import random_start


def test_scalings_give_the_same_step():
    mean_field = TeacherStudent(4, 2, lr=0.05).parameters
    standard = TeacherStudent(4, 2, lr=0.2, lr_scaling="standard").parameters
    assert mean_field.step == standard.step == 0.2
    assert mean_field.gamma == 0.05


def test_output_layers_carry_the_normalisation_and_the_sign():
    parameters = TeacherStudent(2, 1, second_layer=[1.0, -3.0], teacher_second_layer=[2.0]).parameters
    assert parameters.output.tolist() == [0.5, -1.5, -2.0]
    assert not parameters.is_plain


def test_strengths_are_eigenvalues_over_the_width():
    T = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert np.allclose(TeacherStudent(2, 2, T=T).parameters.strengths, [1.5, 0.5], rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"p": 0}, "p"),
        ({"p": 10_000}, "p"),
        ({"p_star": -1}, "p_star"),
        ({"T": [[1.0, 2.0], [2.0, 1.0]]}, "T"),
        ({"T": [[1.0, 0.5], [0.0, 1.0]]}, "T"),
        ({"T": np.full((2, 2), np.nan)}, "T"),
        ({"T": np.eye(3)}, "T"),
        ({"T": np.diag([1.0, 1e308])}, "T must be zero or have a largest entry"),
        ({"T": 1e-300 * np.eye(2)}, "T must be zero or have a largest entry"),
        ({"noise": -0.1}, "noise"),
        ({"noise": np.inf}, "noise"),
        ({"lr": 0.0}, "lr"),
        ({"lr": np.nan}, "lr"),
        ({"lr_scaling": "ntk"}, "lr_scaling"),
        ({"constraint": "sphere"}, "constraint"),
        ({"second_layer": [1.0]}, "second_layer"),
        ({"teacher_second_layer": [1.0, np.nan]}, "teacher_second_layer"),
        ({"activation": "relu6"}, "activation"),
    ],
)
def test_bad_values_are_named(change, name):
    with pytest.raises(InputError, match=name):
        TeacherStudent(**({"p": 3, "p_star": 2} | change))


@pytest.mark.parametrize(
    "change", [{"p": 2.0}, {"noise": "0"}, {"constraint": 1}, {"activation": np.tanh}, {"T": "identity"}]
)
def test_wrong_types_are_refused(change):
    with pytest.raises(InputTypeError):
        TeacherStudent(**({"p": 3, "p_star": 2} | change))


def test_joint_covariance_refuses_what_no_weights_realise():
    parameters = TeacherStudent(2, 1).parameters
    rho, Q = np.zeros((2, 1)), np.eye(2)
    assert joint_covariance(parameters, rho, Q).shape == (3, 3)
    with pytest.raises(InputError, match="Q must be positive"):
        joint_covariance(parameters, rho, np.diag([1.0, -1.0]))
    with pytest.raises(InputError, match="Q must be symmetric"):
        joint_covariance(parameters, rho, [[1.0, 0.1], [0.0, 1.0]])
    with pytest.raises(InputError, match="rho isn't realisable"):
        joint_covariance(parameters, [[1.1], [0.0]], Q)
    with pytest.raises(InputError, match="rho must have shape"):
        joint_covariance(parameters, rho.T, Q)
    with pytest.raises(InputError, match="Q must have shape"):
        joint_covariance(parameters, rho, np.eye(3))


def test_joint_covariance_of_a_batch():
    rho, Q, T = random_start(3, 2)
    sigma = joint_covariance(TeacherStudent(3, 2, T=T).parameters, np.stack([rho, 0 * rho]), np.stack([Q, Q]))
    assert np.array_equal(sigma[0], np.block([[Q, rho], [rho.T, T]]))


def test_rounding_below_zero_is_no_error():
    u = np.array([1.0, 1e-9, 3.0])
    assert np.array_equal(check_gram(np.outer(u, u), "T", 3), np.outer(u, u))
