import math

import numpy as np
import pytest
from scipy.integrate import quad

from derand.exceptions import InputError
from derand.two_step import bbp, mp_edges, tracy_widom_cdf, tracy_widom_quantile, tw_threshold


@pytest.mark.parametrize(("n", "d"), [(600, 600), (400, 800), (800, 400)])
def test_against_one_large_matrix(n, d):
    """Location and overlaps of spikes at 2 and 3: fluctuations are of order n^(-1/2) of the distance to the limit."""
    rng = np.random.default_rng(0)
    left, right = np.linalg.qr(rng.standard_normal((n, 2)))[0], np.linalg.qr(rng.standard_normal((d, 2)))[0]
    theta = np.array([3.0, 2.0])
    u, s, vt = np.linalg.svd((left * theta) @ right.T + rng.standard_normal((n, d)) / math.sqrt(d))
    spike = bbp(theta, n / d)
    np.testing.assert_allclose(s[:2], spike.location, rtol=0.03)
    np.testing.assert_allclose(np.sum(left * u[:, :2], axis=0) ** 2, spike.left_cos2, atol=0.05)
    np.testing.assert_allclose(np.sum(right * vt[:2].T, axis=0) ** 2, spike.right_cos2, atol=0.05)
    assert spike.is_outlier.all()
    assert s[2] < 1 + math.sqrt(n / d) + 0.05


@pytest.mark.parametrize("c", [0.25, 1.0, 3.0])
def test_at_the_threshold(c):
    """The location meets the edge with slope 0 and the overlaps vanish."""
    root = c**0.25
    spike = bbp([root * (1 + 1e-7), root, 0.0], c)
    np.testing.assert_allclose(spike.location, 1 + math.sqrt(c), rtol=1e-12)
    np.testing.assert_allclose(spike.left_cos2, 0.0, atol=1e-6)
    np.testing.assert_allclose(spike.right_cos2, 0.0, atol=1e-6)
    assert spike.is_outlier.tolist() == [True, False, False]


def test_transposition():
    """Rows and columns swapped: c becomes 1/c and everything scales by sqrt(c)."""
    c, theta = 2.5, 3.0
    there, back = bbp(theta, c), bbp(theta / math.sqrt(c), 1 / c)
    assert there.location == pytest.approx(float(back.location) * math.sqrt(c))
    assert there.left_cos2 == pytest.approx(float(back.right_cos2))


def test_edges():
    assert mp_edges(1.0) == (0.0, 2.0)
    assert mp_edges(0.25) == (0.5, 1.5)
    values = np.linalg.svd(np.random.default_rng(1).standard_normal((300, 1200)) / math.sqrt(1200), compute_uv=False)
    assert mp_edges(0.25)[0] - 0.02 < values[-1] < values[0] < mp_edges(0.25)[1] + 0.02


@pytest.mark.medium
def test_tracy_widom_against_tables():
    """Mean and variance of F_1 to the digits in print, and Bornemann's quantiles of common tables."""
    mean = -quad(tracy_widom_cdf, -12, 0)[0] + quad(lambda x: 1 - tracy_widom_cdf(x), 0, 14)[0]
    second = 2 * (
        quad(lambda x: x * (1 - tracy_widom_cdf(x)), 0, 14)[0] - quad(lambda x: x * tracy_widom_cdf(x), -12, 0)[0]
    )
    assert mean == pytest.approx(-1.2065335745820, abs=1e-9)
    assert second - mean**2 == pytest.approx(1.6077810345810, abs=1e-8)
    for level, value in ((0.95, 0.9793), (0.99, 2.0234), (0.5, -1.2685)):
        assert tracy_widom_quantile(level) == pytest.approx(value, abs=1e-4)
    assert tracy_widom_cdf(50.0) == 1.0
    assert tracy_widom_cdf(-50.0) == 0.0


def test_threshold_in_simulation():
    """200 noise matrices: about half exceed the median, few the 95 per cent point (binomial, four standard errors)."""
    rng = np.random.default_rng(2)
    top = [np.linalg.norm(rng.standard_normal((60, 90)) / math.sqrt(90), 2) for _ in range(200)]
    assert abs(np.mean(np.array(top) > tw_threshold(60, 90, 0.5)) - 0.5) < 4 * math.sqrt(0.25 / 200)
    assert np.mean(np.array(top) > tw_threshold(60, 90, 0.95)) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 200)


def test_bad_input():
    for call in (lambda: bbp(-1.0, 1.0), lambda: bbp(1.0, 0.0), lambda: mp_edges(-1.0)):
        with pytest.raises(InputError):
            call()
    with pytest.raises(InputError, match="level"):
        tracy_widom_quantile(1.0)
    with pytest.raises(InputError, match="n_rows"):
        tw_threshold(0, 5)


def test_out_of_range():
    with pytest.raises(InputError, match="theta must lie in"):
        bbp([1e200], 1.0)
    for level in (1e-300, 1.0 - 1e-15):
        with pytest.raises(InputError, match="level must be at least"):
            tracy_widom_quantile(level)
