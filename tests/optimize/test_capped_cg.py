"""Capped conjugate gradients against numpy's solver, and negative curvature on indefinite matrices."""

import numpy as np
import pytest

from derand.optimize.capped_cg import capped_cg

DAMPING = 1e-2


def _matrix(eigenvalues, seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((len(eigenvalues), len(eigenvalues))))[0]
    return (Q * eigenvalues) @ Q.T, rng.standard_normal(len(eigenvalues))


@pytest.mark.parametrize("seed", range(5))
def test_solves_like_numpy(seed):
    H, g = _matrix(np.geomspace(0.1, 10.0, 30), seed)
    found = capped_cg(lambda v: H @ v, g, DAMPING, accuracy=1e-8)
    exact = np.linalg.solve(H + 2 * DAMPING * np.eye(30), -g)
    assert not found.is_negative
    # residual <= accuracy/2 * damping * |d|, over the smallest damped eigenvalue 0.12.
    assert np.linalg.norm(found.direction - exact) <= 0.5e-8 * DAMPING / 0.12 * np.linalg.norm(exact) * 1.01 + 1e-13
    assert found.n_products <= 40


@pytest.mark.parametrize("accuracy", [0.9, 0.5, 1e-3])
@pytest.mark.parametrize("seed", range(5))
def test_promises_of_a_solution(seed, accuracy):
    H, g = _matrix(np.concatenate([[0.0, 1e-4], np.geomspace(1e-3, 10.0, 38)]), seed)
    found = capped_cg(lambda v: H @ v, g, DAMPING, accuracy=accuracy)
    d = found.direction
    damped = H + 2 * DAMPING * np.eye(40)
    residual = np.linalg.norm(damped @ d + g)
    assert not found.is_negative
    assert residual <= 0.5 * accuracy * DAMPING * np.linalg.norm(d) * (1 + 1e-9)
    assert found.residual == pytest.approx(residual, rel=1e-6)
    assert d @ damped @ d >= DAMPING * (d @ d)
    assert np.linalg.norm(d) <= 1.1 / DAMPING * np.linalg.norm(g)
    assert found.curvature == pytest.approx(d @ H @ d / (d @ d), abs=1e-12)
    assert found.stretch == pytest.approx(np.linalg.norm(H @ d) / np.linalg.norm(d), rel=1e-9)
    assert found.iterate is d


@pytest.mark.parametrize("n_negative", [1, 3, 20])
@pytest.mark.parametrize("seed", range(10))
def test_negative_curvature_is_certified(seed, n_negative):
    eigenvalues = np.geomspace(0.1, 10.0, 40)
    eigenvalues[:n_negative] = -0.3
    H, g = _matrix(eigenvalues, seed)
    found = capped_cg(lambda v: H @ v, g, DAMPING)
    d = found.direction
    assert found.is_negative
    assert d @ H @ d <= -DAMPING * (d @ d)
    # The scaled direction of the method obeys |d| = curvature, and so d.H d = -|d|^3.
    scaled = d / np.linalg.norm(d) * abs(found.curvature)
    assert scaled @ H @ scaled == pytest.approx(-(np.linalg.norm(scaled) ** 3), rel=1e-9)
    # The iterate before it is still a step on which the damped quadratic falls.
    y = found.iterate
    assert y @ (H + 2 * DAMPING * np.eye(40)) @ y >= DAMPING * (y @ y)
    assert g @ y <= 0.0


def test_first_direction_may_be_the_negative_one():
    g = np.array([2.0, 0.0])
    found = capped_cg(lambda v: np.array([-1.0, 1.0]) * v, g, DAMPING)
    assert found.is_negative
    assert found.n_products == 1
    assert found.curvature == -1.0
    assert not found.iterate.any()


def test_negative_curvature_orthogonal_to_the_gradient_stays_unseen():
    # Not guaranteed, and the docstring says so: no Krylov space of g meets the eigenvector.
    found = capped_cg(lambda v: np.array([1.0, -1.0]) * v, np.array([1.0, 0.0]), DAMPING)
    assert not found.is_negative
    assert found.direction == pytest.approx([-1.0 / 1.02, 0.0])


def test_slight_negative_curvature_needs_the_cap_or_an_iterate():
    # One eigenvalue below -damping that g barely meets: whatever test fires, the direction has to keep its promise.
    eigenvalues = np.concatenate([[-0.05], np.geomspace(0.05, 10.0, 59)])
    H, g = np.diag(eigenvalues), np.ones(60)
    g[0] = 1e-6
    found = capped_cg(lambda v: H @ v, g, DAMPING, accuracy=1e-10)
    d = found.direction
    if found.is_negative:
        assert d @ H @ d <= -DAMPING * (d @ d)
    else:
        assert found.residual <= 0.5e-10 * DAMPING * np.linalg.norm(d) * (1 + 1e-9)


def test_slow_residuals_end_the_iteration_through_differences_of_iterates():
    # A matrix that is not the same twice breaks conjugacy as nothing else does; the cap must end the loop.
    rng = np.random.default_rng(0)
    found = capped_cg(lambda v: rng.random() * 5.0 * v + rng.standard_normal(8), np.ones(8), 1.0, accuracy=1e-6)
    assert found.n_products < 2000
