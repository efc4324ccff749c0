import math

import numpy as np

from derand.gaussian import tensor_gauss_hermite
from derand.teacher_student import TeacherStudent
from derand.teacher_student.erf import Erf
from tests.teacher_student.reference import random_start


def test_moments_agree_with_quadrature():
    # variances of 0.3 keep the quadrature's own error below 1e-14 with 60 nodes (45 nodes give the same digits)
    rho, Q, T = random_start(2, 1, scale=math.sqrt(0.3))
    sigma, c, g = np.block([[Q, rho], [rho.T, T]]), np.array([0.5, -0.7, -0.8]), Erf()
    nodes, weights = tensor_gauss_hermite(60, 3)
    z = nodes @ np.linalg.cholesky(sigma).T
    u, slopes = g.value(z) @ c, g.derivative(z[:, :2])
    predicted = (
        weights @ u**2,
        np.einsum("n,nk,nj->kj", weights * u, slopes, z),
        np.einsum("n,nk,nj->kj", weights * u**2, slopes, slopes),
        np.einsum("n,nk,nj->kj", weights, slopes, slopes),
        (weights * u) @ g.value(z[:, :2]),
    )
    for computed, value in zip(g.moments(sigma, c, 2), predicted, strict=True):
        assert np.allclose(computed, value, rtol=0, atol=1e-13)


def test_symmetric_plateau_of_saad_and_solla_is_stationary():
    # Q = 1/(2K-1), R = 1/sqrt(K(2K-1)) is the fixed point of gradient flow in the symmetric subspace
    for K in (2, 3, 5):
        model = TeacherStudent(
            K, K, "erf", second_layer=np.full(K, K), teacher_second_layer=np.full(K, K), lr_scaling="standard", lr=1.0
        )
        rho, Q = np.full((K, K), 1 / math.sqrt(K * (2 * K - 1))), np.full((K, K), 1 / (2 * K - 1))
        d_rho, d_q = model.rhs(rho, Q, second_order=False)
        assert max(np.max(np.abs(d_rho)), np.max(np.abs(d_q))) < 1e-14
        loss = K / math.pi * (math.pi / 6 - K * math.asin(1 / (2 * K)))
        assert math.isclose(model.loss(rho, Q), loss, rel_tol=1e-13)


def test_derivative_by_differences():
    z, h = np.linspace(-2, 2, 9), 1e-6
    slope = (Erf().value(z + h) - Erf().value(z - h)) / (2 * h)
    assert np.allclose(Erf().derivative(z), slope, rtol=0, atol=1e-9)


def test_zero_loss_where_student_and_teacher_agree():
    assert float(TeacherStudent(2, 2, "erf").loss(np.eye(2), np.eye(2))) == 0.0
