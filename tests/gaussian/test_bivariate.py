import itertools

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from derand.exceptions import InputError, InputTypeError
from derand.gaussian.bivariate import (
    bivariate_normal_cdf,
    expected_sign_product,
    expected_sign_product_derivatives,
    sign_disagreement_probability,
)
from tests.gaussian.mp_reference import phi2, sign_disagreement

# Absolute errors: a handful of roundings of numbers of size one; the library promises 1e-15, the bar is 1e-12.
ABSOLUTE = 1e-15

biases = st.floats(-45.0, 45.0) | st.sampled_from([0.0, -0.0, 1e-300, 3e-311, -5e-324, -1e-9, 40.0, np.inf, -np.inf])
correlations = st.floats(-1.0, 1.0) | st.sampled_from(
    [s * (1 - 10.0**-j) for j in (4, 8, 12, 16) for s in (1, -1)] + [1.0, -1.0]
)

PAIRS = [(1.0, 1.0), (0.0, 0.7), (1.0, -1.0), (-3.1, -3.1), (0.3, 0.3 * (1 + 1e-9)), (40.0, -40.0), (0.0, 0.0)]
RHOS = [s * (1 - 10.0**-j) for j in (1, 3, 6, 9, 12, 15, 16) for s in (1, -1)] + [0.0, 0.3, -0.8, 1.0, -1.0]
HARD = [(*pair, rho) for pair, rho in zip(itertools.cycle(PAIRS), RHOS, strict=False)]


def error(value, exact):
    return float(abs(mp.mpf(float(value)) - exact))


@pytest.mark.medium
@pytest.mark.parametrize(("h", "k", "rho"), HARD)
def test_hard_cases_against_mpmath(h, k, rho):
    assert error(bivariate_normal_cdf(h, k, rho), phi2(h, k, rho)) <= ABSOLUTE
    assert error(expected_sign_product(h, k, rho), 1 - 2 * sign_disagreement(h, k, rho)) <= ABSOLUTE


@pytest.mark.slow
def test_designed_grid_against_mpmath():
    rhos = [0.0, 0.3, -0.8, 1.0, -1.0] + [s * (1 - 10.0**-j) for j in (4, 12, 16) for s in (1, -1)]
    firsts = [0.0, 1e-9, 0.3, -1.0, 3.0, -10.0, 40.0, -np.inf]
    worst = 0.0
    for h in firsts:
        for k in (h, -h, 0.7):
            for rho in rhos:
                worst = max(worst, error(bivariate_normal_cdf(h, k, rho), phi2(h, k, rho, digits=40)))
    assert worst <= ABSOLUTE


@given(biases, biases, correlations)
def test_symmetries(h, k, rho):
    value = bivariate_normal_cdf(h, k, rho)
    assert abs(value - bivariate_normal_cdf(k, h, rho)) <= ABSOLUTE
    assert abs(value + bivariate_normal_cdf(h, -k, -rho) - ndtr(h)) <= ABSOLUTE
    product = expected_sign_product(h, k, rho)
    assert -1.0 <= product <= 1.0
    assert abs(product - expected_sign_product(k, h, rho)) <= ABSOLUTE
    assert abs(product + expected_sign_product(h, -k, -rho)) <= ABSOLUTE
    assert abs(product - expected_sign_product(-h, -k, rho)) <= ABSOLUTE
    # E s t = 4 P(both signs positive) - 2 P(s = 1) - 2 P(t = 1) + 1
    assert abs(product - (4 * value - 2 * ndtr(h) - 2 * ndtr(k) + 1)) <= 4 * ABSOLUTE


@given(biases, biases, correlations, correlations)
def test_monotone_in_the_correlation(h, k, first, second):
    low, high = sorted((first, second))
    assert bivariate_normal_cdf(h, k, low) <= bivariate_normal_cdf(h, k, high) + ABSOLUTE
    assert expected_sign_product(h, k, low) <= expected_sign_product(h, k, high) + ABSOLUTE


@given(biases, biases, biases, correlations)
def test_monotone_in_the_limits(h, k, other, rho):
    low, high = sorted((h, other))
    assert bivariate_normal_cdf(low, k, rho) <= bivariate_normal_cdf(high, k, rho) + ABSOLUTE


@given(biases, biases)
def test_perfect_and_no_correlation(h, k):
    assert abs(bivariate_normal_cdf(h, k, 1.0) - ndtr(min(h, k))) <= ABSOLUTE
    assert abs(bivariate_normal_cdf(h, k, -1.0) - max(0.0, ndtr(h) - ndtr(-k))) <= ABSOLUTE
    assert abs(bivariate_normal_cdf(h, k, 0.0) - ndtr(h) * ndtr(k)) <= ABSOLUTE


# (h, k, rho) with small P(X <= h, Y <= k); the first six with a small disagreement probability too
TAILS = [
    (-26.397018223465594, -26.397018223465594, 0.6678894055713512),
    (-15.283855077549301, 15.283855557998967, -0.9999999998997823),
    (-9.0, -9.0 * (1 + 1e-12), 1 - 1e-15),
    (-3.0, 3.0, -1.0),
    (-3.0 - 1e-11, 3.0 + 2e-11, 1.0 - 1e-16),
    (-20.0, -21.0, 0.99),
    (3.7890089142778223, -26.119377596433303, 0.677798778095959),
    (-1.917867415588444, 0.0, -0.9970102930724918),
    (-10.610647445177463, -10.610647445221112, -0.8158535541215322),
    (-6.0, 5.0, 0.0),
    (0.0, 0.0, -1 + 1e-14),
    (1e-8, -3e-8, -1 + 1e-15),
]


@pytest.mark.parametrize(
    ("h", "k", "rho"), [pytest.param(*tail, marks=pytest.mark.medium if k else []) for k, tail in enumerate(TAILS)]
)
def test_relative_accuracy_of_tails(h, k, rho):
    """The exponent of the integrand, at most 700 in size, carries one rounding error: 1e-13, and 1e-12 is promised."""
    tail = phi2(h, k, rho)
    assert error(bivariate_normal_cdf(h, k, rho), tail) <= 1e-12 * tail
    for first, second, correlation in ((h, k, rho), (h, -k, -rho)):
        exact = sign_disagreement(first, second, correlation)
        assert error(sign_disagreement_probability(first, second, correlation), exact) <= 1e-12 * exact


@given(biases, biases, correlations)
def test_disagreement_complements_the_product(h, k, rho):
    value = sign_disagreement_probability(h, k, rho)
    assert abs(1.0 - 2.0 * value - expected_sign_product(h, k, rho)) <= 2 * ABSOLUTE
    assert abs(value + sign_disagreement_probability(h, -k, -rho) - 1.0) <= 2 * ABSOLUTE
    swapped, mirrored = sign_disagreement_probability(k, h, rho), sign_disagreement_probability(-h, -k, rho)
    for other in (swapped, mirrored):
        assert abs(value - other) <= 1e-12 * value + 1e-300


def test_zero_biases_give_the_arcsine_law():
    rho = np.linspace(-1.0, 1.0, 1001)
    assert np.max(np.abs(expected_sign_product(0.0, -0.0, rho) - 2 / np.pi * np.arcsin(rho))) <= ABSOLUTE
    assert expected_sign_product(0.0, 0.0, 1.0) == 1.0
    assert expected_sign_product(0.0, 0.0, -1.0) == -1.0


def test_agrees_with_scipy():
    rng = np.random.default_rng(3)
    for h, k, rho in zip(rng.normal(size=40) * 2, rng.normal(size=40) * 2, rng.uniform(-0.999, 0.999, 40), strict=True):
        peer = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([h, k])
        assert abs(bivariate_normal_cdf(h, k, rho) - peer) < 1e-12  # scipy's own accuracy


def test_sampled_signs_have_the_expected_product():
    rng = np.random.default_rng(11)
    x, z = rng.standard_normal((2, 200_000))
    for h, k, rho in ((0.4, -1.1, 0.8), (-0.2, -0.3, -0.95), (1.5, 0.0, 0.1)):
        signs = np.sign(x + h) * np.sign(rho * x + np.sqrt(1 - rho**2) * z + k)
        assert abs(signs.mean() - expected_sign_product(h, k, rho)) < 4.5 * signs.std() / np.sqrt(x.size)


def plackett_form(h, k, rho):
    """Return F as F(h, k, 0) plus the integral of Plackett's density over the correlation."""

    def density(r):
        exponent = (h * h - 2 * r * h * k + k * k) / (2 * (1 - r * r))
        return 2 / mp.pi * mp.exp(-exponent) / mp.sqrt(1 - r * r)

    root = mp.sqrt(2)
    return mp.erf(h / root) * mp.erf(k / root) + mp.quad(density, [0, rho], method="gauss-legendre")


@pytest.mark.medium
@pytest.mark.parametrize("point", [(0.3, -0.7, 0.4), (0.8, 1.1, 0.45), (0.0, 0.5, -0.6), (-1.0, 0.25, -0.4)])
def test_derivatives_against_mpmath(point):
    fields = expected_sign_product_derivatives(*point)
    names = ("h", "k", "rho")
    for index in [(i,) for i in range(3)] + [(i, j) for i in range(3) for j in range(i, 3)]:
        orders = tuple(index.count(i) for i in range(3))
        with mp.workdps(18):
            exact = mp.diff(plackett_form, tuple(mp.mpf(x) for x in point), orders)
        value = getattr(fields, "".join(names[i] for i in index))
        assert error(value, exact) <= 1e-13 * max(1.0, float(abs(exact)))


@given(st.floats(-4, 4), st.floats(-4, 4), st.floats(-0.99, 0.99))
def test_derivatives_against_central_differences(h, k, rho):
    fields = expected_sign_product_derivatives(h, k, rho)
    point = np.array([h, k, rho])
    step = 1e-5 * (1 - rho**2)  # third derivatives grow as (1 - rho^2)^(-5/2)
    for i, name in enumerate(("h", "k", "rho")):
        shift = step * np.eye(3)[i]
        slope = (expected_sign_product(*(point + shift)) - expected_sign_product(*(point - shift))) / (2 * step)
        assert abs(slope - getattr(fields, name)) <= 1e-9 * (1 - rho**2) ** -1.5


@given(biases, biases, correlations)
def test_derivatives_are_finite_and_symmetric(h, k, rho):
    fields = expected_sign_product_derivatives(h, k, rho)
    assert all(np.isfinite(field) for field in fields)
    swapped = expected_sign_product_derivatives(k, h, rho)
    for name, other in (("h", "k"), ("hh", "kk"), ("hrho", "krho"), ("rhorho", "rhorho"), ("hk", "hk")):
        a, b = getattr(fields, name), getattr(swapped, other)
        assert abs(a - b) <= 1e-9 * max(1.0, abs(a))


def test_first_order_only():
    fields = expected_sign_product_derivatives(0.3, [0.1, -0.2], 0.5, order=1)
    full = expected_sign_product_derivatives(0.3, [0.1, -0.2], 0.5)
    assert fields.hh is None
    assert all(np.array_equal(a, b) for a, b in zip(fields[:3], full[:3], strict=True))


def test_shapes_and_blocks():
    rng = np.random.default_rng(5)
    h, k, rho = rng.normal(size=(3, 1, 40_000)), rng.normal(size=(2, 1)), rng.uniform(-1, 1, 40_000)
    value = bivariate_normal_cdf(h, k, rho)
    assert value.shape == (3, 2, 40_000)
    assert value[2, 1, 39_999] == bivariate_normal_cdf(h[2, 0, -1], k[1, 0], rho[-1])
    assert expected_sign_product_derivatives(h, k, rho).hk.shape == (3, 2, 40_000)
    assert bivariate_normal_cdf([], [], 0.5).shape == (0,)


def test_rounded_correlations_are_clipped():
    assert expected_sign_product(0.2, 0.2, np.nextafter(1.0, 2.0)) == 1.0


@pytest.mark.parametrize(
    ("arguments", "exception", "name"),
    [
        ((np.nan, 0, 0), InputError, "h"),
        ((0, [0, np.nan], 0), InputError, "k"),
        ((0, 0, np.nan), InputError, "rho"),
        ((0, 0, 1.001), InputError, "rho"),
        ((0, 0, -np.inf), InputError, "rho"),
        ((0, 0, 0.5j), InputTypeError, "rho"),
        (("a", 0, 0.5), InputTypeError, "h"),
        (([0, 1], [0, 1, 2], 0.5), InputError, "broadcast"),
    ],
)
def test_bad_input(arguments, exception, name):
    functions = (expected_sign_product, expected_sign_product_derivatives, sign_disagreement_probability)
    for function in (bivariate_normal_cdf, *functions):
        with pytest.raises(exception, match=name):
            function(*arguments)


def test_bad_order():
    with pytest.raises(InputError, match="order"):
        expected_sign_product_derivatives(0, 0, 0, order=3)
