"""The smooth maximum: its definition, its sandwich, its gradient by finite differences."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import logsumexp
from scipy.stats import ncx2

from derand.embedding.log_sum_exp import SmoothMaximum
from derand.embedding.unit_differences import UnitDifferences
from tests.embedding.data import brute_distortion, brute_ratios, gaussian

_X = gaussian(12, 5)
_DIFFERENCES = UnitDifferences(_X, *np.triu_indices(12, 1))


@pytest.mark.parametrize("beta", [0.5, 10.0, 1e4])
def test_definition_and_sandwich(beta):
    M = gaussian(3, 5, 1)
    value = SmoothMaximum(_DIFFERENCES, beta, (3, 5)).value_and_grad(M.ravel())[0]
    excess = brute_ratios(_X, M) - 1
    assert value == pytest.approx(logsumexp(beta * np.concatenate([excess, -excess])) / beta, rel=1e-12)
    top = brute_distortion(_X, M)
    assert top - 1e-12 <= value <= top + np.log(2 * excess.size) / beta + 1e-12


def test_weights_count_as_copies():
    first, second = np.triu_indices(12, 1)
    copies = np.arange(first.size) % 3 + 1
    weighted = SmoothMaximum(_DIFFERENCES, 7.0, (3, 5), log_weights=np.log(copies))
    repeated = UnitDifferences(_X, np.repeat(first, copies), np.repeat(second, copies))
    x = gaussian(3, 5, 1).ravel()
    value, gradient = weighted.value_and_grad(x)
    expected = SmoothMaximum(repeated, 7.0, (3, 5)).value_and_grad(x)
    assert value == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-10)


@pytest.mark.parametrize("beta", [0.5, 10.0])
def test_gradient(beta):
    smooth = SmoothMaximum(_DIFFERENCES, beta, (3, 5))
    x, v, h = gaussian(3, 5, 1).ravel() / 2, gaussian(1, 15, 2).ravel(), 1e-5
    slope = (smooth.value_and_grad(x + h * v)[0] - smooth.value_and_grad(x - h * v)[0]) / (2 * h)
    # Central differences: an error of h^2 times third derivatives (up to beta^2), and of 1e-16/h from rounding.
    assert smooth.value_and_grad(x)[1] @ v == pytest.approx(slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(("beta", "sigma"), [(0.7, 0.3), (2.0, 0.4)])
def test_expectation_by_the_noncentral_chi_square_density(beta, sigma):
    """E cosh by quadrature of scipy's density, which shares nothing with the moment generating function."""
    M = gaussian(3, 5, 1) / 2
    root = np.linspace(1e-9, 20.0, 8001)  # the square root of the variable, in which the density is smooth at 0
    density = ncx2(3, brute_ratios(_X, M)[:, None] / sigma**2).pdf(root**2).sum(axis=0)
    total = trapezoid(2 * np.cosh(beta * (sigma**2 * root**2 - 1)) * density * 2 * root, root)
    value = SmoothMaximum(_DIFFERENCES, beta, (3, 5), sigma).value_and_grad(M.ravel())[0]
    assert value == pytest.approx(np.log(total) / beta, rel=1e-7)


def test_bounds_the_expected_worst_distortion():
    M, sigma, rng = gaussian(3, 5, 1) / 2, 0.3, np.random.default_rng(0)
    worst = [brute_distortion(_X, M + sigma * rng.standard_normal((3, 5))) for _ in range(500)]
    bounds = [SmoothMaximum(_DIFFERENCES, b, (3, 5), sigma).value_and_grad(M.ravel())[0] for b in (0.5, 1.0, 3.0)]
    # The mean of 500 draws has a standard error of about 0.05 here.
    assert np.mean(worst) - 4 * np.std(worst) / np.sqrt(500) <= min(bounds)


def test_derivative_in_sigma_is_the_trace_of_the_hessian():
    """d/dsigma f = sigma tr Hess_M f for f = exp(beta Phi), Stein's identity; by differences."""
    beta, sigma, h, M = 0.8, 0.3, 1e-4, gaussian(2, 5, 1) / 2

    def f(x, s):
        return np.exp(beta * SmoothMaximum(_DIFFERENCES, beta, (2, 5), s).value_and_grad(x)[0])

    x = M.ravel()
    trace = sum(f(x + h * e, sigma) + f(x - h * e, sigma) - 2 * f(x, sigma) for e in np.eye(10)) / h**2
    slope = (f(x, sigma + h) - f(x, sigma - h)) / (2 * h)
    assert slope == pytest.approx(sigma * trace, rel=1e-4)


def test_gradient_with_sigma():
    smooth = SmoothMaximum(_DIFFERENCES, 2.0, (3, 5), 0.3)
    x, v, h = gaussian(3, 5, 1).ravel() / 2, gaussian(1, 15, 2).ravel(), 1e-5
    slope = (smooth.value_and_grad(x + h * v)[0] - smooth.value_and_grad(x - h * v)[0]) / (2 * h)
    assert smooth.value_and_grad(x)[1] @ v == pytest.approx(slope, rel=1e-6, abs=1e-8)
