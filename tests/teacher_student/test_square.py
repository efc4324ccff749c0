import numpy as np

from derand.gaussian import tensor_gauss_hermite
from derand.teacher_student.square import Square
from tests.teacher_student.reference import random_start


def test_moments_agree_with_exact_quadrature():
    # 6 nodes integrate degree 11 exactly, the integrands have degree 6; rounding of 6^4 terms is about 1e-14
    rho, Q, T = random_start(2, 2)
    sigma, c = np.block([[Q, rho], [rho.T, T]]), np.array([0.5, -0.7, -0.4, -0.6])
    nodes, weights = tensor_gauss_hermite(6, 4)
    z = nodes @ np.linalg.cholesky(sigma).T
    u = z**2 @ c
    found = Square().moments(sigma, c, 2)
    slopes = 2.0 * z[:, :2]
    predicted = (
        weights @ u**2,
        np.einsum("n,nk,nj->kj", weights * u, slopes, z),
        np.einsum("n,nk,nj->kj", weights * u**2, slopes, slopes),
        np.einsum("n,nk,nj->kj", weights, slopes, slopes),
        (weights * u) @ (z[:, :2] ** 2),
    )
    for computed, value in zip(found, predicted, strict=True):
        assert np.allclose(computed, value, rtol=1e-13, atol=1e-13)
    assert np.allclose(Square().squared_error(sigma, c), found.squared_error, rtol=1e-15)


def test_batches_are_their_members():
    starts = [random_start(3, 2, seed) for seed in range(4)]
    sigma = np.stack([np.block([[Q, rho], [rho.T, T]]) for rho, Q, T in starts])
    c = np.array([1.0, 1.0, -0.5, -0.5, -0.5])
    together = Square().moments(sigma, c, 3)
    for index, matrix in enumerate(sigma):
        for whole, single in zip(together, Square().moments(matrix, c, 3), strict=True):
            assert np.allclose(whole[index], single, rtol=0, atol=1e-13)


def test_derivative_by_differences():
    z, h = np.linspace(-2, 2, 9), 1e-6
    slope = (Square().value(z + h) - Square().value(z - h)) / (2 * h)
    assert np.allclose(Square().derivative(z), slope, rtol=0, atol=1e-9)
