"""ReLU averages against Gauss-Legendre quadrature of the density over orthants, and exact integrals over the circle."""

import itertools
import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.teacher_student import TeacherStudent
from derand.teacher_student.relu import Relu, _averages
from tests.teacher_student.reference import random_start


def orthant_moments(sigma):
    """Return E[1(all z > 0)], E[z 1] and E[z z' 1] by 40 nodes in each direction; good to 1e-11 if well conditioned."""
    n = len(sigma)
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = 4.5 * (x + 1.0), 4.5 * w
    sizes = np.sqrt(np.diag(sigma))
    z = np.stack(np.meshgrid(*[x] * n, indexing="ij"), axis=-1).reshape(-1, n)
    weights = np.prod(np.stack(np.meshgrid(*[w] * n, indexing="ij"), axis=-1).reshape(-1, n), axis=1)
    r = sigma / np.outer(sizes, sizes)
    density = np.exp(-0.5 * np.einsum("ni,ij,nj->n", z, np.linalg.inv(r), z, optimize=True))
    weights = weights * density / math.sqrt((2 * math.pi) ** n * np.linalg.det(r))
    z = z * sizes
    return np.sum(weights), weights @ z, (z * weights[:, None]).T @ z


def quadrature(sigma, c, p):
    """Return all averages by summing over the orthants of all fields (two to four of them)."""
    n = len(sigma)
    squared, drift, noise, slope = 0.0, np.zeros((p, n)), np.zeros((p, p)), np.zeros((p, p))
    for signs in itertools.product([1.0, -1.0], repeat=n):
        signs = np.array(signs)
        mass, _, second = orthant_moments(sigma * np.outer(signs, signs))
        second = second * np.outer(signs, signs)
        active = (signs > 0).astype(float)
        coefficients, on = c * active, active[:p]
        error = coefficients @ second @ coefficients
        squared += error
        drift += on[:, None] * (second @ coefficients)
        noise += np.outer(on, on) * error
        slope += np.outer(on, on) * mass
    return squared, drift, noise, slope


@pytest.mark.parametrize(("p", "p_star", "seed"), [(1, 1, 0), (2, 1, 1)])
def test_moments_agree_with_quadrature(p, p_star, seed):
    rho, Q, T = random_start(p, p_star, seed)
    sigma = np.block([[Q, rho], [rho.T, T]])
    c = np.array([0.5, -0.7, -0.4])[: p + p_star]
    found = Relu().moments(sigma, c, p)
    for computed, predicted in zip(found, quadrature(sigma, c, p), strict=False):
        assert np.allclose(computed, predicted, rtol=0, atol=1e-11)
    assert np.allclose(found.readout, np.diagonal(found.drift), rtol=0, atol=1e-15)  # g(z) = z g'(z)
    assert np.allclose(Relu().squared_error(sigma, c), found.squared_error, rtol=1e-15)


@pytest.mark.medium
def test_four_different_fields_by_quadrature():
    """All six ways to take two of four fields by their sign and two by their value, from one orthant."""
    rho, Q, T = random_start(3, 1, seed=5)
    sigma = np.block([[Q, rho], [rho.T, T]])
    sizes = np.sqrt(np.diag(sigma))
    r = sigma / np.outer(sizes, sizes)
    second = orthant_moments(r)[2]
    for k, l in itertools.combinations(range(4), 2):
        i, j = (index for index in range(4) if index not in (k, l))
        found = _averages(r, *(np.array([index]) for index in (k, l, i, j)))
        assert np.allclose(found, second[i, j], rtol=0, atol=1e-11)


def on_the_circle(vectors, c, p):
    """Return E[u^2 g'_k g'_l] for fields z_i = v_i . x, x in the plane: r^2 has mean 2, the angle is an integral."""

    angles = np.arctan2(vectors[:, 1], vectors[:, 0])
    breaks = np.sort(np.concatenate([(angles + s * math.pi / 2) % (2 * math.pi) for s in (1, -1)]))
    breaks = np.concatenate([[0.0], breaks, [2 * math.pi]])
    x, w = np.polynomial.legendre.leggauss(20)  # trigonometric polynomials of degree two on every piece
    noise = np.zeros((p, p))
    for a, b in itertools.pairwise(breaks):
        t = a + (b - a) * (x + 1.0) / 2.0
        z = np.stack([np.cos(t), np.sin(t)], axis=-1) @ vectors.T
        active = (vectors[:p] @ [math.cos((a + b) / 2), math.sin((a + b) / 2)] > 0).astype(float)
        mass = (b - a) / 2.0 * (w @ (np.maximum(z, 0.0) @ c) ** 2)
        noise += 2.0 * mass / (2.0 * math.pi) * np.outer(active, active)
    return noise


@pytest.mark.parametrize("kind", ["general", "equal", "opposite", "student on teacher", "all"])
def test_dependent_fields(kind):
    """Five fields of rank two, with parallel and opposite pairs among and between students and teachers."""
    vectors = np.random.default_rng(3).standard_normal((5, 2))
    if kind in ("equal", "all"):
        vectors[1] = 2.0 * vectors[0]
    if kind == "opposite":
        vectors[1] = -vectors[0]
    if kind in ("student on teacher", "all"):
        vectors[3] = vectors[0]
    if kind == "all":
        vectors[4] = -vectors[2]
    c = np.array([0.5, -0.7, 0.3, -0.4, -0.9])
    found = Relu().moments(vectors @ vectors.T, c, 3).noise
    assert np.allclose(found, on_the_circle(vectors, c, 3), rtol=0, atol=1e-9)


def test_batches_and_second_layers_of_their_own():
    starts = [random_start(3, 2, seed) for seed in range(3)]
    sigma = np.stack([np.block([[Q, rho], [rho.T, T]]) for rho, Q, T in starts])
    c = np.random.default_rng(0).standard_normal((3, 5))
    together = Relu().moments(sigma, c, 3)
    for index in range(3):
        for whole, single in zip(together, Relu().moments(sigma[index], c[index], 3), strict=True):
            assert np.allclose(whole[index], single, rtol=0, atol=1e-15)


def test_permuting_fields_permutes_averages():
    rho, Q, T = random_start(3, 2)
    sigma, c = np.block([[Q, rho], [rho.T, T]]), np.array([0.3, -1.0, 0.5, -0.5, 0.7])
    order = np.array([2, 0, 1, 4, 3])
    found = Relu().moments(sigma[np.ix_(order, order)], c[order], 3)
    plain = Relu().moments(sigma, c, 3)
    assert np.allclose(found.noise, plain.noise[np.ix_(order[:3], order[:3])], rtol=0, atol=1e-14)
    assert np.allclose(found.drift, plain.drift[np.ix_(order[:3], order)], rtol=0, atol=1e-14)


def test_zero_loss_and_the_origin():
    model = TeacherStudent(2, 2, "relu")
    assert abs(float(model.loss(np.eye(2), np.eye(2)))) < 1e-16
    for part in model.rhs(np.eye(2), np.eye(2)):
        assert np.max(np.abs(part)) < 1e-14
    d_rho, d_q = model.rhs(np.zeros((2, 2)), np.zeros((2, 2)))
    assert not np.any(d_rho)
    assert not np.any(d_q)


def test_finite_size_is_the_mean_of_one_step_of_sgd():
    """g is homogeneous, so the length of the sample enters as 1 + 2/N and 1; here against many single steps."""
    rho, Q, T = random_start(2, 1)
    model = TeacherStudent(2, 1, "relu", T=T, noise=0.2, lr=0.3)
    n = 5
    run = model.simulate(rho, Q, n, [1 / n], n_replicas=200_000, rng=0)
    for found, start, speed in zip((run.rho, run.Q), (rho, Q), model.rhs(rho, Q, finite_N=n), strict=True):
        change = n * (found[:, 0] - start)
        assert np.all(np.abs(change.mean(axis=0) - speed) < 4 * change.std(axis=0) / np.sqrt(len(change)))


def test_sgd_follows_the_equations():
    rho, Q, T = random_start(3, 1, seed=2)
    model = TeacherStudent(3, 1, "relu", T=T, lr=0.3)
    alphas = np.linspace(0.0, 10.0, 6)
    predicted = model.solve(rho, Q, alphas)
    run = model.simulate(rho, Q, 500, alphas, n_replicas=30, rng=0)
    assert predicted.success
    assert np.max(np.abs(run.rho.mean(axis=0) - predicted.rho)) < 4 / np.sqrt(500)


def test_trajectory_meets_its_tolerance():
    rho, Q, T = random_start(2, 2)
    model = TeacherStudent(2, 2, "relu", T=T, lr=0.3)
    alphas = np.linspace(0.0, 20.0, 5)
    fine = model.solve(rho, Q, alphas, rtol=1e-13)
    assert np.max(np.abs(model.solve(rho, Q, alphas, rtol=1e-10).loss - fine.loss)) < 1e-9


def test_derivative_and_constraint():
    z = np.array([-1.0, 0.0, 2.0])
    assert Relu().value(z).tolist() == [0.0, 0.0, 2.0]
    assert Relu().derivative(z).tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(InputError, match="no constraint"):
        TeacherStudent(2, 1, "relu", constraint="norm").rhs(np.zeros((2, 1)), np.eye(2), finite_N=10)
