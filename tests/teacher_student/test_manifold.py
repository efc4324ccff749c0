import numpy as np
import pytest

from derand.exceptions import InputError
from derand.teacher_student import TeacherStudent
from derand.teacher_student.manifold import closest_solution, sample_solutions, solution_distance
from tests.teacher_student.reference import random_start, weights_for

P, P_STAR, N = 4, 2, 15


def setting():
    rho, Q, T = random_start(P, P_STAR)
    return TeacherStudent(P, P_STAR, T=T).parameters, rho, Q


def test_samples_have_zero_loss_and_a_uniform_frame():
    parameters, _, _ = setting()
    model = TeacherStudent(P, P_STAR, T=parameters.gram)
    rho, Q = sample_solutions(parameters, 4000, 0)
    assert np.max(np.abs(model.loss(rho, Q))) < 1e-13
    rotation = rho @ np.linalg.inv(parameters.gram) / np.sqrt(P / P_STAR)
    # uniform: mean 0, and every squared entry has mean 1/p
    assert np.all(np.abs(rotation.mean(axis=0)) < 4 * 0.5 / np.sqrt(4000))
    assert np.all(np.abs((rotation**2).mean(axis=0) - 1 / P) < 4 * 0.3 / np.sqrt(4000))


def test_distances_are_those_of_the_weights():
    parameters, rho, Q = setting()
    W, W_star = weights_for(rho, Q, parameters.gram, N)
    sigma = np.block([[Q, rho], [rho.T, parameters.gram]])
    solutions, _ = sample_solutions(parameters, 5, 1)
    for solution in solutions:
        weights = solution @ np.linalg.inv(parameters.gram) @ W_star
        direct = np.linalg.norm(weights - W) / np.sqrt(N)
        assert np.isclose(solution_distance(parameters, sigma, solution), direct, rtol=1e-12)


def test_closest_solution_beats_its_neighbours():
    parameters, rho, Q = setting()
    sigma = np.block([[Q, rho], [rho.T, parameters.gram]])
    closest, own = closest_solution(parameters, rho)
    assert float(TeacherStudent(P, P_STAR, T=parameters.gram).loss(closest, own)) < 1e-14
    least = solution_distance(parameters, sigma, closest)
    rng = np.random.default_rng(2)
    for size in (1e-3, 0.1, 3.0):
        skew = size * rng.standard_normal((50, P, P))
        turned = np.linalg.qr(np.eye(P) + skew - np.swapaxes(skew, 1, 2))[0] @ closest
        assert np.all(solution_distance(parameters, sigma, turned) >= least)


def test_what_is_no_solution():
    parameters, rho, Q = setting()
    sigma = np.block([[Q, rho], [rho.T, parameters.gram]])
    with pytest.raises(InputError, match="isn't that of a zero-loss solution"):
        solution_distance(parameters, sigma, rho)
    with pytest.raises(InputError, match="rho must have shape"):
        solution_distance(parameters, sigma, rho.T)
    with pytest.raises(InputError, match="rho0 must have shape"):
        closest_solution(parameters, np.eye(3))
    with pytest.raises(InputError, match="full column rank"):
        closest_solution(parameters, np.ones((P, P_STAR)))
    with pytest.raises(InputError, match="n must"):
        sample_solutions(parameters, 0, 0)
    singular = TeacherStudent(2, 2, T=np.diag([1.0, 0.0])).parameters
    with pytest.raises(InputError, match="positive definite"):
        solution_distance(singular, np.eye(4), np.eye(2))
