import array_api_strict
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special as scipy_special

from derand.exceptions import InputTypeError
from derand.gaussian.special import erf, erfc, log_normal_cdf, normal_cdf, normal_pdf, owens_t

POINTS = np.r_[-37.0:37.0:149j, 0.0, 1e-300, -1e-9, 0.999999, 1.0, 1.000001, -1.0]
PAIRS = {
    "pdf": (normal_pdf, mp.npdf),
    "cdf": (normal_cdf, mp.ncdf),
    "log_cdf": (log_normal_cdf, lambda z: mp.log(mp.ncdf(z)) if z < 5 else mp.log1p(-mp.ncdf(-z))),
    "erf": (erf, mp.erf),
    "erfc": (erfc, mp.erfc),
}
# scipy's own tails lose up to x^2 roundings in the exponential
SCIPY_TAIL = 1e-10


def strict(x, dtype=array_api_strict.float64):
    return array_api_strict.asarray(x, dtype=dtype)


@pytest.mark.parametrize("name", PAIRS)
def test_relative_accuracy_against_mpmath(name):
    function, exact = PAIRS[name]
    used = POINTS[np.abs(POINTS) < 26.0] if name in {"erf", "erfc"} else POINTS
    with mp.workdps(40):
        reference = [exact(mp.mpf(float(z))) for z in used]
        for array, tolerance in ((strict(used), 2e-15), (used, SCIPY_TAIL)):
            values = np.asarray(function(array))
            worst = max(
                float(abs(mp.mpf(float(v)) / r - 1)) for v, r in zip(values, reference, strict=True) if abs(r) > 1e-300
            )
            assert worst <= tolerance


@pytest.mark.parametrize("name", PAIRS)
def test_limits(name):
    function, _ = PAIRS[name]
    x = np.array([np.inf, -np.inf, np.nan, 1e200, -1e200, 0.0])
    expected = function(x)
    assert np.allclose(np.asarray(function(strict(x))), expected, rtol=3e-16, atol=0, equal_nan=True)
    assert np.isnan(expected[2])


@pytest.mark.parametrize("name", PAIRS)
def test_single_precision_stays_single(name):
    function, _ = PAIRS[name]
    values = function(strict(POINTS, array_api_strict.float32))
    assert values.dtype == array_api_strict.float32
    assert np.all(np.isfinite(np.asarray(values[strict(np.abs(POINTS) < 5, array_api_strict.bool)])))
    assert np.max(np.abs(np.asarray(values) - function(POINTS)) / np.maximum(1.0, np.abs(function(POINTS)))) < 2e-6
    assert function(POINTS.astype(np.float32)).dtype == np.float32


@settings(max_examples=40)
@given(st.floats(-30, 30))
def test_reflections(x):
    for array in (np.array([x]), strict([x])):
        assert abs(float(normal_cdf(array)[0]) + float(normal_cdf(-array)[0]) - 1) <= 3e-16
        assert float(erf(array)[0]) == -float(erf(-array)[0])
        assert float(normal_pdf(array)[0]) == float(normal_pdf(-array)[0])


@settings(max_examples=40)
@given(st.floats(-40, 40), st.floats(-1e3, 1e3))
def test_owens_t_agrees_with_scipy(h, a):
    value = float(owens_t(strict([h]), strict([a]))[0])
    assert abs(value - scipy_special.owens_t(h, a)) <= 2e-16


@pytest.mark.parametrize(
    ("h", "a", "exact"),
    [
        (0.0, np.inf, 0.25),
        (0.0, -np.inf, -0.25),
        (np.inf, 3.0, 0.0),
        (0.0, 0.0, 0.0),
        (0.0, 1.0, 0.125),
        (1.0, np.inf, 0.5 * scipy_special.ndtr(-1.0)),
        (-2.0, 1.0, 0.5 * scipy_special.ndtr(2.0) * scipy_special.ndtr(-2.0)),
    ],
)
def test_owens_t_limits(h, a, exact):
    for value in (owens_t(h, a), owens_t(strict(h), strict(a)), owens_t(strict(h), a), owens_t(h, strict(a))):
        assert abs(float(value) - exact) <= 1e-16


def test_owens_t_broadcasts():
    h, a = np.linspace(-3, 3, 5)[:, None], np.linspace(-2, 2, 4)
    assert np.allclose(np.asarray(owens_t(strict(h), strict(a))), owens_t(h, a), rtol=0, atol=2e-16)


@pytest.mark.parametrize("function", [normal_pdf, normal_cdf, log_normal_cdf, erf, erfc])
def test_bad_input(function):
    for bad in (1j, "a", strict([1], array_api_strict.int64)):
        with pytest.raises(InputTypeError, match="x must"):
            function(bad)


def test_owens_t_bad_input():
    with pytest.raises(InputTypeError, match="a must"):
        owens_t(1.0, 2j)
    with pytest.raises(InputTypeError, match="h must"):
        owens_t(strict([1], array_api_strict.int64), strict([1.0]))
