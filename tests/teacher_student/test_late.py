import math

import numpy as np
import pytest
from scipy.optimize import minimize

from derand.exceptions import InputError
from derand.teacher_student import TeacherStudent


@pytest.mark.parametrize(("p", "p_star"), [(1, 3), (2, 4), (3, 4)])
def test_best_loss_agrees_with_an_optimiser(p, p_star):
    T = np.diag(np.linspace(0.5, 1.5, p_star))
    model = TeacherStudent(p, p_star, T=T)
    target = np.diag(np.diag(T) / p_star)

    def loss(w):
        M = w.reshape(p, p_star).T @ w.reshape(p, p_star) / p - target
        return 0.5 * np.trace(M) ** 2 + np.sum(M**2)

    runs = [minimize(loss, np.random.default_rng(s).standard_normal(p * p_star), tol=1e-12) for s in range(3)]
    assert math.isclose(min(run.fun for run in runs), model.best_loss(), rel_tol=1e-8)


def test_flow_ends_at_the_best_loss():
    model = TeacherStudent(1, 3, lr=0.02, T=np.diag([1.5, 1.0, 0.5]))
    run = model.solve([[0.3, 0.1, 0.1]], [[1.0]], [0.0, 2000.0], second_order=False)
    assert math.isclose(run.loss[-1], model.best_loss(), rel_tol=1e-10)


def test_best_loss_is_zero_with_enough_students():
    assert TeacherStudent(3, 3).best_loss() == TeacherStudent(5, 3).best_loss() == 0.0


@pytest.mark.parametrize("T", [np.eye(2), np.diag([1.5, 0.5])])
def test_noise_floor_is_where_the_flow_ends_and_the_formula(T):
    """p = p*: the formula is exact."""
    model = TeacherStudent(2, 2, lr=0.05, noise=0.1, T=T)
    floor = model.noise_floor()
    assert math.isclose(floor.loss, floor.estimate, rel_tol=1e-10)
    root = np.sqrt(np.diag(T))
    run = model.solve(np.diag(0.9 * root**2), np.diag(root**2), [0.0, 1500.0])
    assert math.isclose(run.loss[-1], floor.loss, rel_tol=1e-8)


def test_noise_floor_with_spare_neurons():
    """p > p*: the stationary point is where the flow ends; the formula is within one per cent."""
    model = TeacherStudent(4, 2, lr=0.1, noise=0.3)
    floor = model.noise_floor()
    rho = np.zeros((4, 2))
    rho[:2] = np.eye(2)
    run = model.solve(rho, 1.5 * np.eye(4), [0.0, 4000.0])
    assert math.isclose(run.loss[-1], floor.loss, rel_tol=1e-8)
    assert math.isclose(floor.estimate, floor.loss, rel_tol=1e-2)
    assert floor.estimate != floor.loss


def test_isotropic_floor_formula():
    assert math.isclose(
        TeacherStudent(2, 2, lr=0.05, noise=0.1).noise_floor().estimate,
        0.05 * 0.1 / (1 - 2 * 0.05 * 4 / 2),
        rel_tol=1e-14,
    )
    assert TeacherStudent(2, 2).noise_floor().loss == 0.0


@pytest.mark.parametrize(("p", "p_star", "T"), [(4, 2, np.eye(2)), (3, 1, np.eye(1)), (4, 2, np.diag([1.4, 0.6]))])
def test_tail_within_one_per_cent(p, p_star, T):
    """From a start on the predicted tail at alpha = 1000, the flow is still on it at 2000."""
    model = TeacherStudent(p, p_star, T=T, lr=0.1)
    tail = model.tail()
    rho = np.zeros((p, p_star))
    rho[:p_star] = np.sqrt(p / p_star) * T
    Q = tail.spare_prefactor / 1000.0 * np.eye(p)
    Q[:p_star, :p_star] = p / p_star * T
    run = model.solve(rho, Q, [1000.0], rtol=1e-7)
    assert abs(run.loss[-1] * 2000.0**2 / tail.loss_prefactor - 1) < 0.01
    assert abs(run.Q[-1][-1, -1] * 2000.0 / tail.spare_prefactor - 1) < 0.01


def test_dimension_of_the_solutions():
    """Rank of the equations W'W/p = W*'W*/p* linearised at a solution."""
    p, p_star, n = 4, 2, 6
    W = np.zeros((p, n))
    W[:p_star, :p_star] = np.sqrt(p / p_star) * np.eye(p_star)
    # Solutions keep the row space of W*, so only the first p* columns may move.
    columns = []
    for k, j in np.ndindex(p, p_star):
        d = np.zeros((p, n))
        d[k, j] = 1.0
        columns.append((d.T @ W + W.T @ d).ravel())
    assert TeacherStudent(p, p_star).solution_manifold_dimension() == p * p_star - np.linalg.matrix_rank(columns) == 5
    assert TeacherStudent(4, 2, T=np.diag([1.0, 0.0])).solution_manifold_dimension() == 3


def test_where_nothing_is_predicted():
    with pytest.raises(InputError, match="rank"):
        TeacherStudent(1, 2).solution_manifold_dimension()
    with pytest.raises(InputError, match="p > p_star"):
        TeacherStudent(2, 2).tail()
    with pytest.raises(InputError, match="noise = 0"):
        TeacherStudent(3, 2, noise=0.1).tail()
    with pytest.raises(InputError, match="positive definite"):
        TeacherStudent(3, 2, T=np.diag([1.0, 0.0])).tail()
    with pytest.raises(InputError, match="lr is beyond"):
        TeacherStudent(2, 2, lr=0.26, noise=0.1).noise_floor()
    assert TeacherStudent(2, 2, "erf").best_loss() == 0.0
    with pytest.raises(InputError, match="multiple"):
        TeacherStudent(3, 2, "erf").best_loss()
    with pytest.raises(InputError, match="constrained"):
        TeacherStudent(2, 2, constraint="norm").best_loss()
