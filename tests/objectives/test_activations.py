import mpmath
import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.objectives import Cosine, Exponential, ProbitSign, ReLU, ScalarPolynomial

MP = {
    "exp": (Exponential(), mpmath.exp),
    "cos": (Cosine(), mpmath.cos),
    "probit": (ProbitSign(0.6), lambda u: mpmath.erf(u / (mpmath.sqrt(2) * mpmath.mpf(0.6)))),
    "relu": (ReLU(), lambda u: u if u > 0 else mpmath.mpf(0)),
    "poly": (
        ScalarPolynomial([0.5, -1.0, 0.0, 2.0, 0.25, -0.1]),
        lambda u: 0.5 - u + 2 * u**3 + 0.25 * u**4 - 0.1 * u**5,
    ),
}


def mp_derivative(phi, m, s, j):
    """E[phi^(j)] = E[phi(u) He_j(xi)] / s^(j/2) by mpmath, exact for kinks as well; u = m + sqrt(s) xi."""
    root = mpmath.sqrt(s)
    hermite = [lambda t: 1, lambda t: t, lambda t: t**2 - 1, lambda t: t**3 - 3 * t, lambda t: t**4 - 6 * t**2 + 3][j]
    kink = max(min(-m / root, 12), -12)
    ends = sorted({-12, -4, kink, 0, 4, 12})
    return mpmath.quad(lambda t: phi(m + root * t) * hermite(t) * mpmath.npdf(t), ends) / root**j


@pytest.mark.medium
@pytest.mark.parametrize("name", sorted(MP))
@pytest.mark.parametrize(("m", "s"), [(0.3, 0.5), (-1.2, 1.7)])
def test_gaussian_derivatives_against_mpmath(name, m, s):
    activation, phi = MP[name]
    got = activation.gaussian_derivatives(np.array([m]), np.array([s]), 4)[:, 0]
    with mpmath.workdps(25):
        want = [float(mp_derivative(phi, mpmath.mpf(m), mpmath.mpf(s), j)) for j in range(5)]
    np.testing.assert_allclose(got, want, rtol=2e-14, atol=2e-14)


@pytest.mark.parametrize("name", sorted(MP))
def test_pointwise_derivatives_are_those_of_the_function(name):
    activation, phi = MP[name]
    u = np.array([-2.0, -0.7, 0.4, 1.9])
    np.testing.assert_allclose(activation.value(u), [float(phi(mpmath.mpf(t))) for t in u], rtol=1e-14, atol=1e-15)
    h = 1e-5
    np.testing.assert_allclose(
        activation.first(u), (activation.value(u + h) - activation.value(u - h)) / (2 * h), atol=1e-8
    )
    np.testing.assert_allclose(
        activation.second(u), (activation.first(u + h) - activation.first(u - h)) / (2 * h), atol=1e-8
    )


@pytest.mark.parametrize("name", sorted(MP))
def test_no_variance_gives_the_function_itself(name):
    activation, _ = MP[name]
    u = np.array([-1.5, 0.25, 2.0])
    got = activation.gaussian_derivatives(u, np.zeros(3), 2)
    for row, want in zip(got, (activation.value(u), activation.first(u), activation.second(u)), strict=True):
        np.testing.assert_allclose(row, want, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_order_gives_the_leading_rows(order):
    for activation, _ in MP.values():
        full = activation.gaussian_derivatives(np.array([0.2, -1.0]), np.array([0.3, 2.0]), 4)
        np.testing.assert_array_equal(
            activation.gaussian_derivatives(np.array([0.2, -1.0]), np.array([0.3, 2.0]), order), full[: order + 1]
        )


def test_relu_at_its_kink():
    relu = ReLU()
    np.testing.assert_array_equal(relu.gaussian_derivatives(np.zeros(1), np.zeros(1), 1)[:, 0], [0.0, 0.5])
    with pytest.raises(InputError, match="kink"):
        relu.gaussian_derivatives(np.zeros(1), np.zeros(1), 2)
    # Off the kink a vanishing variance leaves nothing of the smoothing; no NaN from 0 * inf.
    np.testing.assert_array_equal(
        relu.gaussian_derivatives(np.array([2.0, -2.0]), np.zeros(2), 4)[2:], np.zeros((3, 2))
    )


def test_bad_input_is_named():
    with pytest.raises(InputError, match="width"):
        ProbitSign(0.0)
    with pytest.raises(InputTypeError, match="width"):
        ProbitSign("1")
    with pytest.raises(InputError, match="coefficients"):
        ScalarPolynomial([])
    with pytest.raises(InputError, match="coefficients"):
        ScalarPolynomial([1.0, np.nan])
