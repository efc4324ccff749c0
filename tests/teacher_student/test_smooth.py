import numpy as np
import pytest
from scipy.special import erf

from derand.exceptions import DerandError, InputError, InputTypeError, PrecisionWarning
from derand.gaussian import tensor_gauss_hermite
from derand.teacher_student import SmoothActivation, TeacherStudent
from tests.teacher_student.reference import random_start


def square(n_nodes=None):
    return SmoothActivation(lambda z: z**2, lambda z: 2 * z, n_nodes=n_nodes)


def error_function(n_nodes=None):
    return SmoothActivation(
        lambda z: erf(z / np.sqrt(2)), lambda z: np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2), n_nodes=n_nodes
    )


def test_square_is_exact_at_four_nodes():
    rho, Q, T = random_start(2, 2)
    ours = TeacherStudent(2, 2, square(4), T=T, noise=0.3).rhs(rho, Q)
    for computed, predicted in zip(ours, TeacherStudent(2, 2, T=T, noise=0.3).rhs(rho, Q), strict=True):
        assert np.allclose(computed, predicted, rtol=0, atol=1e-13)


@pytest.mark.parametrize(("p", "p_star"), [(2, 1), (4, 2)])
@pytest.mark.parametrize(("smooth", "closed"), [(square, "square"), (error_function, "erf")])
def test_closed_forms_with_the_default_number_of_nodes(p, p_star, smooth, closed):
    """Six fields of full rank: a product rule with 32 nodes in each direction would need 1e9 points."""
    rho, Q, T = random_start(p, p_star, seed=1)
    models = [TeacherStudent(p, p_star, g, T=T, noise=0.2, lr=0.3, second_layer_lr=0.1) for g in (smooth(), closed)]
    ours, predicted = ((*m.rhs(rho, Q), m.second_layer_rhs(rho, Q), m.loss(rho, Q)) for m in models)
    for computed, value in zip(ours, predicted, strict=True):
        assert np.allclose(computed, value, rtol=0, atol=1e-11)


@pytest.mark.medium
def test_hyperbolic_tangent_by_a_product_rule():
    """Three fields by a Gauss-Hermite rule with 120 nodes in each direction; variances 0.3."""
    rho, Q, T = random_start(2, 1, scale=np.sqrt(0.3))
    sigma, c = np.block([[Q, rho], [rho.T, T]]), np.array([0.5, -0.7, -0.8])
    nodes, weights = tensor_gauss_hermite(120, 3)
    z = nodes @ np.linalg.cholesky(sigma).T
    u, slopes = np.tanh(z) @ c, np.cosh(z[:, :2]) ** -2.0
    predicted = (
        weights @ u**2,
        (slopes * (weights * u)[:, None]).T @ z,
        (slopes * (weights * u**2)[:, None]).T @ slopes,
        (slopes * weights[:, None]).T @ slopes,
        (weights * u) @ np.tanh(z[:, :2]),
    )
    found = SmoothActivation(np.tanh, lambda x: np.cosh(x) ** -2.0).moments(sigma, c, 2)
    for computed, value in zip(found, predicted, strict=True):
        assert np.allclose(computed, value, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", ["solution", "parallel", "opposite", "zero"])
def test_dependent_fields(kind):
    rho = {"solution": np.eye(3, 2), "parallel": np.ones((3, 2)), "zero": np.zeros((3, 2))}
    rho["opposite"] = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    T = np.ones((2, 2)) if kind == "parallel" else np.eye(2)
    overlap = rho[kind]
    Q = overlap @ overlap.T if kind != "parallel" else np.ones((3, 3))
    ours, predicted = (TeacherStudent(3, 2, g, T=T, lr=0.3).rhs(overlap, Q) for g in (error_function(), "erf"))
    for computed, value in zip(ours, predicted, strict=True):
        assert np.allclose(computed, value, rtol=0, atol=1e-11)


def test_singular_covariances_and_batches():
    rho, Q = np.stack([np.zeros((2, 1)), np.ones((2, 1))]), np.stack([np.zeros((2, 2)), np.ones((2, 2))])
    model, closed = TeacherStudent(2, 1, square()), TeacherStudent(2, 1)
    assert np.allclose(model.loss(rho, Q), closed.loss(rho, Q), rtol=0, atol=1e-14)
    assert np.allclose(model.rhs(rho, Q)[1], closed.rhs(rho, Q)[1], rtol=0, atol=1e-13)
    assert float(square().squared_error(np.zeros((2, 2)), np.ones(2))) == 0.0


def test_a_constant_times_a_field_without_variance():
    """E[u g'(0) z_j] where a student's weights vanish: g' = 1 + z there is g'(0) E[u z_j]."""
    g = SmoothActivation(lambda z: z + 0.5 * z**2, lambda z: 1.0 + z)
    sigma = np.diag([0.0, 1.0])
    found = g.moments(sigma, np.array([1.0, -1.0]), 1)
    assert np.allclose(found.drift, [[0.0, -1.0]], rtol=0, atol=1e-14)  # -E[(z + z^2/2) z]
    assert np.allclose(found.noise, 1.0 + 0.75, rtol=1e-14)


def test_kinks_are_announced():
    kink = SmoothActivation(np.abs, np.sign)
    with pytest.warns(PrecisionWarning, match="256 nodes don't resolve"):
        TeacherStudent(1, 1, kink).loss([[0.0]], [[1.0]])


def test_bad_functions_are_named():
    with pytest.raises(InputTypeError, match="derivative"):
        SmoothActivation(np.tanh, 1.0)
    with pytest.raises(InputError, match="n_nodes"):
        SmoothActivation(np.tanh, np.cos, n_nodes=1)
    with pytest.raises(InputError, match="value must return an array"):
        TeacherStudent(1, 1, SmoothActivation(lambda z: z[0], np.cos)).loss([[0.0]], [[1.0]])
    with pytest.raises(InputError, match="value must return finite"):
        TeacherStudent(1, 1, SmoothActivation(lambda z: z * np.nan, np.cos)).loss([[0.0]], [[1.0]])


@pytest.mark.filterwarnings("ignore::derand.exceptions.PrecisionWarning")
def test_rates_that_overflow_the_overlaps_are_refused_by_name():
    tanh = SmoothActivation(np.tanh, lambda z: 1.0 - np.tanh(z) ** 2)
    model = TeacherStudent(2, 2, tanh, T=np.diag([1.4e19, 4.8e-38]), lr=1e150, constraint="norm")
    with pytest.raises(DerandError):
        model.plateau()
