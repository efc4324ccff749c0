import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from derand.gaussian.plackett import normal_interval, plackett_integral


def exact_integral(h, k, rho):
    """Return J in the angle, where the implementation integrates over log tan(t/2)."""
    with mp.workdps(30):
        h, k, top = mp.mpf(h), mp.mpf(k), mp.acos(mp.mpf(rho))

        def integrand(t):
            return mp.exp(-(((h - k) / mp.sin(t)) ** 2) / 2 - h * k / (1 + mp.cos(t))) if 0 < t < mp.pi else mp.mpf(0)

        points = [top * mp.mpf(j) / 24 for j in range(25)]
        scale = max(integrand(point) for point in points)
        return scale * mp.quad(lambda t: integrand(t) / scale, points) / mp.pi


@pytest.mark.parametrize(
    ("h", "k", "rho"),
    [
        (0.0, 0.0, 0.3),
        (0.0, 0.0, -0.99),
        (1.0, 1.0, 1 - 1e-12),
        (1.0, 1.2, 0.5),
        (2.0, -1.0, -0.7),
        (8.0, 8.0, 0.9),
        (5.0, 6.0, -0.2),
        (1e-5, -1e-5, 0.99999),
    ],
)
def test_against_the_integral_over_the_angle(h, k, rho):
    value = plackett_integral(np.array([h]), np.array([k]), np.array([rho]))[0]
    exact = exact_integral(h, k, rho)
    assert abs(mp.mpf(float(value)) / exact - 1) <= 1e-13


@given(st.floats(-1.0, 1.0))
def test_zero_biases_in_closed_form(rho):
    value = plackett_integral(np.zeros(1), np.zeros(1), np.array([rho]))[0]
    assert abs(value - np.arccos(rho) / np.pi) <= 1e-13 * value


@given(st.floats(-38, 38), st.floats(-38, 38), st.floats(-1, 1), st.floats(-1, 1))
def test_positive_symmetric_and_decreasing(h, k, first, second):
    low, high = sorted((first, second))
    h, k, rho = np.array([h, k, h, -h]), np.array([k, h, k, -k]), np.array([low, low, high, low])
    value = plackett_integral(h, k, rho)
    assert np.all(value >= 0.0)
    assert np.all(np.isfinite(value))
    assert np.allclose(value[0], value[[1, 3]], rtol=1e-12, atol=1e-300)
    assert value[2] <= value[0] * (1 + 1e-12)


def test_the_result_does_not_depend_on_the_company():
    rng = np.random.default_rng(0)
    h, k, rho = rng.normal(size=(2, 50)) * 5, None, rng.uniform(-1, 1, 50)
    h, k = h
    together = plackett_integral(h, k, rho)
    alone = np.concatenate([plackett_integral(h[i : i + 1], k[i : i + 1], rho[i : i + 1]) for i in range(50)])
    assert np.allclose(together, alone, rtol=1e-12, atol=0)


def test_no_elements():
    assert plackett_integral(np.zeros(0), np.zeros(0), np.zeros(0)).shape == (0,)


@given(st.floats(-37, 37), st.floats(1e-12, 8.0))
def test_normal_interval_against_mpmath(low, width):
    high = low + width
    with mp.workdps(40):
        a, b = mp.mpf(low), mp.mpf(high)
        exact = mp.ncdf(b) - mp.ncdf(a) if a < 0 else mp.ncdf(-a) - mp.ncdf(-b)
        if exact < mp.mpf(10) ** -290:
            return
        value = normal_interval(np.array(low), np.array(high))
        assert abs(mp.mpf(float(value)) / exact - 1) <= 1e-12


def test_normal_interval_of_everything():
    assert normal_interval(np.array(-64.0), np.array(64.0)) == 1.0
    assert normal_interval(np.array(0.3), np.array(0.3)) == 0.0
    assert normal_interval(np.array(-64.0), np.array(-2.0)) == ndtr(-2.0)
