import mpmath
import numpy as np
import pytest

from derand.exceptions import InputError
from derand.objectives import ReLU, Softplus


def mp_means(m, s, sharpness):
    """E of softplus and its first four derivatives, by mpmath's adaptive rule."""

    def rows(u):
        p = 1 / (1 + mpmath.exp(-sharpness * u))
        d = p * (1 - p)
        return [
            mpmath.log(1 + mpmath.exp(sharpness * u)) / sharpness,
            p,
            sharpness * d,
            sharpness**2 * d * (1 - 2 * p),
            sharpness**3 * d * (1 - 6 * d),
        ]

    root = mpmath.sqrt(s)
    kink = -m / root
    width = 1 / (sharpness * root)
    ends = sorted(
        {
            -12,
            12,
            *(
                e
                for e in (kink - 30 * width, kink - 3 * width, kink, kink + 3 * width, kink + 30 * width)
                if abs(e) < 12
            ),
        }
    )
    return [float(mpmath.quad(lambda t, j=j: rows(m + root * t)[j] * mpmath.npdf(t), ends)) for j in range(5)]


@pytest.mark.parametrize(
    ("m", "s", "sharpness"),
    [(0.4, 0.05, 1.0), (-1.0, 0.999, 1.0), (-1.0, 1.001, 1.0), (0.3, 2.0, 5.0), (-0.2, 1.0, 60.0)],
)
def test_gaussian_means_against_mpmath(m, s, sharpness):
    got = Softplus(sharpness).gaussian_derivatives(np.array([m]), np.array([s]), 4)[:, 0]
    with mpmath.workdps(20):
        want = np.array(mp_means(mpmath.mpf(m), mpmath.mpf(s), mpmath.mpf(sharpness)))
    # The j-th derivative is a difference of numbers of size sharpness^(j-1) min(1, 1/spread): rounding scales with it.
    scale = sharpness ** (np.arange(5.0) - 1.0)
    assert np.all(np.abs(got - want) <= 5e-15 * np.maximum(scale, 1.0))


def test_the_two_rules_meet():
    # One unit of rounding apart in variance, the two sides use different rules; the functions themselves hardly move.
    low, high = np.array([np.nextafter(1.0, 0.0)]), np.array([np.nextafter(1.0, 2.0)])
    for m in np.linspace(-40, 40, 23):
        a, b = (Softplus().gaussian_derivatives(np.array([m]), s, 4) for s in (low, high))
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=3e-16)


def test_sharp_softplus_tends_to_relu():
    m, s = np.array([0.3, -0.7]), np.array([0.5, 1.5])
    sharp = Softplus(1e4).gaussian_derivatives(m, s, 2)
    # softplus - relu has integral pi^2/(6 sharpness^2), so that means differ by that times a density below 0.6.
    np.testing.assert_allclose(sharp, ReLU().gaussian_derivatives(m, s, 2), atol=2e-8)


def test_extreme_arguments_stay_finite():
    u = np.array([-800.0, -1.0, 0.0, 1.0, 800.0])
    sp = Softplus(2.0)
    np.testing.assert_allclose(sp.value(u)[[0, 2, 4]], [0.0, np.log(2) / 2, 800.0])
    np.testing.assert_allclose(sp.first(u)[[0, 2, 4]], [0.0, 0.5, 1.0])
    h = 1e-5
    np.testing.assert_allclose(sp.first(u), (sp.value(u + h) - sp.value(u - h)) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(sp.second(u), (sp.first(u + h) - sp.first(u - h)) / (2 * h), atol=1e-8)
    assert np.isfinite(sp.gaussian_derivatives(u, np.full(5, 1e6), 4)).all()
    assert sp.gaussian_derivatives(np.zeros((2, 3)), np.ones((2, 3)), 3).shape == (4, 2, 3)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan])
def test_bad_sharpness(bad):
    with pytest.raises(InputError, match="sharpness"):
        Softplus(bad)
