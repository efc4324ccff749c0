import numpy as np
import pytest

from derand.exceptions import InputError
from derand.gaussian import tensor_gauss_hermite
from derand.teacher_student import TeacherStudent
from tests.teacher_student.reference import random_start


def test_plain_formula():
    rho, Q, T = random_start(3, 2)
    gamma = 0.07
    m = np.trace(Q) / 3 - np.trace(T) / 2
    d_rho, d_q = TeacherStudent(3, 2, T=T, lr=gamma).rhs(rho, Q, second_order=False)
    assert np.allclose(d_rho, -2 * gamma * (m * rho + 2 * Q @ rho / 3 - rho @ T), rtol=0, atol=1e-15)
    assert np.allclose(d_q, -4 * gamma * (m * Q + 2 * Q @ Q / 3 - rho @ rho.T), rtol=0, atol=1e-15)


@pytest.mark.parametrize("n_inputs", [4, 9])
def test_finite_size_is_the_mean_of_one_step_of_sgd(n_inputs):
    """Mean of one SGD step over all N inputs, by quadrature that is exact for its degree (8 in each input)."""
    rho, Q, T = random_start(1, 1, seed=3)
    gamma, noise = 0.1, 0.4
    model = TeacherStudent(1, 1, T=T, lr=gamma, noise=noise)
    # x = (two fields' directions, the rest); the rest enters by its square alone, with mean N - 2
    factor = np.linalg.cholesky(np.block([[Q, rho], [rho.T, T]]))
    nodes, weights = tensor_gauss_hermite(8, 2)
    z = nodes @ factor.T
    u = z[:, 0] ** 2 - z[:, 1] ** 2
    square = np.sum(nodes**2, axis=1) + n_inputs - 2
    kick = 4 * gamma**2 * (u**2 + noise) * z[:, 0] ** 2 * square / n_inputs
    predicted = weights @ (-4 * gamma * u * z[:, 0] ** 2 + kick)
    d_rho, d_q = model.rhs(rho, Q, finite_N=n_inputs)
    assert np.allclose(d_q, predicted, rtol=1e-13)
    assert np.allclose(d_rho, weights @ (-2 * gamma * u * z[:, 0] * z[:, 1]), rtol=0, atol=1e-13)


def test_constraint_keeps_the_norms_and_matches_a_projected_step():
    rho, Q, T = random_start(3, 2)
    free = TeacherStudent(3, 2, T=T).rhs(rho, Q)
    d_rho, d_q = TeacherStudent(3, 2, T=T, constraint="norm").rhs(rho, Q)
    assert np.max(np.abs(np.diagonal(d_q))) < 1e-15
    h = 1e-7
    scale = np.sqrt(np.diag(Q) / np.diag(Q + h * free[1]))
    assert np.allclose((scale[:, None] * (rho + h * free[0]) - rho) / h, d_rho, rtol=0, atol=1e-6)
    assert np.allclose((scale[:, None] * (Q + h * free[1]) * scale - Q) / h, d_q, rtol=0, atol=1e-6)


def test_signed_layers_descend_the_loss():
    """Gradient flow of the loss: d loss = -step * sum |grad|^2, with the gradient by differences in weight space."""
    rng = np.random.default_rng(5)
    W, W_star = rng.standard_normal((3, 12)), rng.standard_normal((2, 12))
    T = W_star @ W_star.T / 12
    model = TeacherStudent(
        3, 2, T=T, lr=0.2, lr_scaling="standard", second_layer=[1, -1, 2], teacher_second_layer=[1, -2]
    )

    def loss(weights):
        return float(model.loss(weights @ W_star.T / 12, weights @ weights.T / 12))

    h, gradient = 1e-5, np.zeros_like(W)
    for index in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[index] = h
        gradient[index] = (loss(W + step) - loss(W - step)) / (2 * h)
    speed = -0.2 * 12 * gradient  # d W / d alpha: N steps of size eta on the mean loss
    d_rho, d_q = model.rhs(W @ W_star.T / 12, W @ W.T / 12, second_order=False)
    assert np.allclose(speed @ W_star.T / 12, d_rho, rtol=0, atol=1e-8)
    assert np.allclose((speed @ W.T + W @ speed.T) / 12, d_q, rtol=0, atol=1e-8)


def test_finite_size_is_refused_where_unknown():
    rho, Q = np.zeros((2, 1)), np.eye(2)
    with pytest.raises(InputError, match="homogeneous"):
        TeacherStudent(2, 1, "erf").rhs(rho, Q, finite_N=10)
    with pytest.raises(InputError, match="no constraint"):
        TeacherStudent(2, 1, constraint="norm").rhs(rho, Q, finite_N=10)
    with pytest.raises(InputError, match="second_order"):
        TeacherStudent(2, 1).rhs(rho, Q, finite_N=10, second_order=False)


@pytest.mark.parametrize("second_order", [True, False])
def test_rotations_of_the_students_and_of_the_teacher(second_order):
    """With equal second layers the square sees W'W alone: rotating students or teachers rotates the velocities."""
    rho, Q, T = random_start(3, 2)
    rng = np.random.default_rng(1)
    left, right = (np.linalg.qr(rng.standard_normal((n, n)))[0] for n in (3, 2))
    d_rho, d_q = TeacherStudent(3, 2, T=T, noise=0.1).rhs(rho, Q, second_order=second_order)
    turned = TeacherStudent(3, 2, T=right.T @ T @ right, noise=0.1)
    found = turned.rhs(left @ rho @ right, left @ Q @ left.T, second_order=second_order)
    assert np.allclose(found[0], left @ d_rho @ right, rtol=0, atol=1e-14)
    assert np.allclose(found[1], left @ d_q @ left.T, rtol=0, atol=1e-14)


def test_permutations_for_the_error_function():
    rho, Q, T = random_start(3, 2)
    order = np.array([2, 0, 1])
    layer = np.array([1.0, -2.0, 0.5])
    d_rho, d_q = TeacherStudent(3, 2, "erf", T=T, second_layer=layer).rhs(rho, Q)
    found = TeacherStudent(3, 2, "erf", T=T, second_layer=layer[order]).rhs(rho[order], Q[np.ix_(order, order)])
    assert np.allclose(found[0], d_rho[order], rtol=0, atol=1e-15)
    assert np.allclose(found[1], d_q[np.ix_(order, order)], rtol=0, atol=1e-15)
