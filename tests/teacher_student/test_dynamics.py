"""Trained second layers and the methods that are common to all activations."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from derand.exceptions import InputError
from derand.teacher_student import FlowStatus, SmoothActivation, TeacherStudent
from derand.teacher_student.dynamics import Dynamics
from tests.teacher_student.reference import random_start


def test_dynamics_need_the_parameters_alone():
    rho, Q, T = random_start(3, 2)
    model = TeacherStudent(3, 2, T=T)
    assert np.array_equal(Dynamics(model.parameters).rhs(rho, Q)[0], model.rhs(rho, Q)[0])


@pytest.mark.parametrize("activation", ["square", "erf", "relu"])
def test_gradient_flow_descends_the_loss_in_weights_and_second_layer(activation):
    """d loss / d alpha along the flow, by the chain rule with differences of the loss in rho, Q and s."""
    rho, Q, T = random_start(3, 2)
    layer = np.array([1.0, -0.5, 2.0])
    model = TeacherStudent(3, 2, activation, T=T, lr=0.2, second_layer=layer, second_layer_lr=0.7)
    d_rho, d_q = model.rhs(rho, Q, second_order=False)
    d_layer = model.second_layer_rhs(rho, Q)
    h = 1e-5

    def loss(step):
        return float(model.loss(rho + step * d_rho, Q + step * d_q, second_layer=layer + step * d_layer))

    slopes = []
    for k in range(3):
        up, down = layer.copy(), layer.copy()
        up[k] += h
        down[k] -= h
        slopes.append((model.loss(rho, Q, second_layer=up) - model.loss(rho, Q, second_layer=down)) / (2 * h))
    # ds = -eta_s dL/ds with eta_s = p * rate
    assert np.allclose(d_layer, -3 * 0.7 * np.array(slopes), rtol=0, atol=1e-9)
    assert (loss(h) - loss(-h)) / (2 * h) < 0.0


def test_rates_of_the_second_layer_follow_the_scaling():
    rho, Q, T = random_start(4, 1)
    first, second = (
        TeacherStudent(4, 1, T=T, lr=0.1, lr_scaling=scaling, second_layer_lr=0.3).second_layer_rhs(rho, Q)
        for scaling in ("mean_field", "standard")
    )
    assert np.allclose(first, 4 * second, rtol=1e-14)
    assert not np.any(TeacherStudent(4, 1, T=T).second_layer_rhs(rho, Q))


def test_a_second_layer_alone_is_a_linear_equation():
    """Weights almost at rest, at the teacher's: ds = -c (3 s - 3) for one neuron, solved by an exponential."""
    model = TeacherStudent(1, 1, lr=1e-12, second_layer=[0.2], second_layer_lr=0.1)
    alphas = np.linspace(0.0, 5.0, 6)
    run = model.solve([[1.0]], [[1.0]], alphas)
    assert np.allclose(run.second_layer[:, 0], 1.0 - 0.8 * np.exp(-0.3 * alphas), rtol=0, atol=1e-10)
    assert np.allclose(run.loss, 1.5 * (run.second_layer[:, 0] - 1.0) ** 2, rtol=0, atol=1e-10)


def test_trained_trajectory_by_another_integrator():
    rho, Q, T = random_start(2, 2)
    layer = np.array([1.0, -1.0])
    model = TeacherStudent(2, 2, T=T, lr=0.05, second_layer=layer, second_layer_lr=0.05, noise=0.1)

    def speed(_, y):
        part = y[:4].reshape(2, 2), y[4:8].reshape(2, 2)
        d_rho, d_q = model.rhs(*part, second_layer=y[8:])
        return np.concatenate([d_rho.ravel(), d_q.ravel(), model.second_layer_rhs(*part, second_layer=y[8:])])

    start = np.concatenate([rho.ravel(), Q.ravel(), layer])
    done = solve_ivp(speed, (0.0, 10.0), start, method="LSODA", rtol=1e-11, atol=1e-12)
    run = model.solve(rho, Q, [0.0, 10.0])
    assert run.success
    assert np.allclose(run.rho[1].ravel(), done.y[:4, -1], rtol=0, atol=1e-8)
    assert np.allclose(run.second_layer[1], done.y[8:, -1], rtol=0, atol=1e-8)
    batch = model.solve(np.stack([rho, rho]), np.stack([Q, Q]), [0.0, 10.0])
    assert batch.second_layer.shape == (2, 2, 2)
    assert np.allclose(batch.second_layer[1], run.second_layer, rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", ["exact", "weights"])
def test_sgd_with_a_trained_second_layer_follows_the_equations(method):
    rho, Q, T = random_start(2, 1, seed=3)
    model = TeacherStudent(2, 1, T=T, lr=0.05, second_layer=[1.0, -0.5], second_layer_lr=0.1, noise=0.1)
    alphas = np.linspace(0.0, 6.0, 4)
    predicted = model.solve(rho, Q, alphas)
    run = model.simulate(rho, Q, 400, alphas, n_replicas=60, method=method, rng=0)
    assert run.success
    assert np.max(np.abs(run.rho.mean(axis=0) - predicted.rho)) < 4 / np.sqrt(400)
    assert np.max(np.abs(run.second_layer.mean(axis=0) - predicted.second_layer)) < 4 / np.sqrt(400)
    assert np.array_equal(run.second_layer[:, 0], np.tile([1.0, -0.5], (60, 1)))


def test_one_step_changes_the_second_layer_by_its_mean():
    rho, Q, T = random_start(2, 1)
    model = TeacherStudent(2, 1, T=T, lr=0.1, second_layer_lr=0.4, noise=0.2)
    run = model.simulate(rho, Q, 8, [1 / 8], n_replicas=200_000, rng=0)
    change = 8 * (run.second_layer[:, 0] - 1.0)
    error = change.std(axis=0) / np.sqrt(len(change))
    assert np.all(np.abs(change.mean(axis=0) - model.second_layer_rhs(rho, Q)) < 4 * error)


def test_divergence_with_a_trained_second_layer_is_a_status():
    model = TeacherStudent(2, 1, lr=5.0, second_layer_lr=0.01)
    run = model.solve(np.full((2, 1), 0.1), np.eye(2), [0.0, 100.0])
    assert run.status.item() is not FlowStatus.COMPLETED
    assert not run.success
    sgd = model.simulate(np.full((2, 1), 0.1), np.eye(2), 50, [0.0, 100.0], rng=0, n_replicas=2)
    assert not sgd.success


def test_fixed_layers_report_none():
    rho, Q, T = random_start(2, 1)
    model = TeacherStudent(2, 1, T=T)
    assert model.solve(rho, Q, [0.0, 1.0]).second_layer is None
    assert model.simulate(rho, Q, 50, [1.0], rng=0).second_layer is None


def test_numbers_that_overflow_are_refused():
    rho, Q = np.zeros((2, 1)), np.eye(2)
    for call in (TeacherStudent(2, 1).rhs, TeacherStudent(2, 1).loss):
        with pytest.raises(InputError, match="rho and Q must not exceed"):
            call(rho, 1e200 * Q)
    with pytest.raises(InputError, match="overflow"):
        TeacherStudent(2, 1, lr=1e150, noise=1e60).solve(rho, Q, [0.0, 1.0])
    for lr in (1e300, 1e-300):
        with pytest.raises(InputError, match="lr"):
            TeacherStudent(2, 1, lr=lr)
    with pytest.raises(InputError, match="T must be zero or have a largest entry"):
        TeacherStudent(2, 1, T=[[1e100]])
    with pytest.raises(InputError, match="second_layer must not exceed"):
        TeacherStudent(2, 1, second_layer=[1e100, 1.0])


@pytest.mark.parametrize(
    "activation", ["square", "erf", "relu", SmoothActivation(np.tanh, lambda z: np.cosh(z) ** -2.0)]
)
def test_empty_batches_and_starts_at_zero(activation):
    model = TeacherStudent(2, 1, activation, noise=0.1)
    assert model.loss(np.zeros((0, 2, 1)), np.zeros((0, 2, 2))).shape == (0,)
    assert model.rhs(np.zeros((0, 2, 1)), np.zeros((0, 2, 2)))[1].shape == (0, 2, 2)
    assert model.second_layer_rhs(np.zeros((0, 2, 1)), np.zeros((0, 2, 2))).shape == (0, 2)
    run = model.solve(np.zeros((2, 1)), np.zeros((2, 2)), [0.0, 1.0], rtol=1e-6)
    assert run.success


def test_constrained_norms_must_be_positive():
    with pytest.raises(InputError, match="positive diagonal"):
        TeacherStudent(2, 1, constraint="norm").rhs(np.zeros((2, 1)), np.diag([1.0, 0.0]))


def test_bad_arguments():
    rho, Q, T = random_start(2, 1)
    with pytest.raises(InputError, match="second_layer_lr"):
        TeacherStudent(2, 1, second_layer_lr=0.0)
    with pytest.raises(InputError, match="second_layer must have shape"):
        TeacherStudent(2, 1, T=T).loss(rho, Q, second_layer=[1.0])
    with pytest.raises(InputError, match="isn't trained"):
        TeacherStudent(2, 1, second_layer_lr=0.1).plateau()
