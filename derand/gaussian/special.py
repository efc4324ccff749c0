"""Normal density, distribution and relatives for arrays of any library.

NumPy arrays go to scipy.special.  Arrays of other libraries (torch, array-api-strict, ...) are worked through in
operations of the array API standard only, on their own device and in their own precision: Chebyshev series, computed
with 40 digits, for erf(x)/x on [-1, 1] and for (1 + 2x) erfcx(x) in the variable (x - 15/4)/(x + 15/4) on [0, inf).
Both ways agree to a few units in the last place.  NaN stays NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from derand._utils.arrays import array_namespace
from derand.exceptions import InputTypeError

__all__ = ["erf", "erfc", "log_normal_cdf", "normal_cdf", "normal_pdf", "owens_t"]

_ROOT_HALF = math.sqrt(0.5)
_INVERSE_ROOT_TWO_PI = 1.0 / math.sqrt(2.0 * math.pi)
_SCALED_ERFC = (
    1.1775789345674017,
    -0.004590054580646478,
    -0.08424913336651792,
    0.05920993999819189,
    -0.026658668435305753,
    0.009074997670705265,
    -0.002413163540417608,
    0.0004907758365258086,
    -6.916973302501207e-05,
    4.13902798607301e-06,
    7.74038306619849e-07,
    -2.1886401049234397e-07,
    1.076499946567091e-08,
    4.521959811218287e-09,
    -7.754400208831351e-10,
    -6.318088340886684e-11,
    2.86879501093067e-11,
    1.9455868545777347e-13,
    -9.65469674843344e-13,
    3.25254814814874e-14,
    3.3478119482868056e-14,
    -1.864562880419313e-15,
    -1.2507950530688648e-15,
    7.418235256624044e-17,
    5.068148904796111e-17,
    -2.2370566594359995e-18,
    -2.187342944303018e-18,
    2.6766327399258762e-20,
)
_ERF_OVER_X = (
    0.9754769393826541,
    -0.14226120510371365,
    0.010035582187599796,
    -0.0005768764699767485,
    2.741993125219606e-05,
    -1.1043175507344507e-06,
    3.8488755420345036e-08,
    -1.1808582533875466e-09,
    3.2334215826050907e-11,
    -7.991015947004549e-13,
    1.7990725113961456e-14,
    -3.718635487818693e-16,
    7.103599003714253e-18,
    -1.2612455119155226e-19,
)
_OWEN_NODES = 48
# exp(-x^2/2) beyond this point is below 1e-16 of its integral from 0
_OWEN_REACH = 8.6


def normal_pdf(x: Any) -> Any:
    """Return the standard normal density exp(-x^2/2)/sqrt(2 pi).

    Parameters
    ----------
    x : array of any library, or array_like
        Points; infinities allowed.

    Returns
    -------
    array
        From the same library, of the same shape.

    Raises
    ------
    InputTypeError
        If ``x`` isn't an array of real floating-point numbers.

    Examples
    --------
    >>> float(normal_pdf(0.0))
    0.3989422804014327
    """
    xp, x = _prepare(x, "x")
    return _INVERSE_ROOT_TWO_PI * _gauss(xp, x)


def normal_cdf(x: Any) -> Any:
    """Return Phi(x), the standard normal distribution function, with full relative accuracy in the left tail.

    Parameters
    ----------
    x : array of any library, or array_like
        Points; infinities allowed.

    Returns
    -------
    array
        From the same library, of the same shape.

    Raises
    ------
    InputTypeError
        If ``x`` isn't an array of real floating-point numbers.

    Examples
    --------
    >>> float(normal_cdf(0.0))
    0.5
    """
    xp, x = _prepare(x, "x")
    if xp is np:
        return special.ndtr(x)
    tail = _upper_tail(xp, xp.abs(x))
    return xp.where(x > 0.0, 1.0 - tail, tail)


def log_normal_cdf(x: Any) -> Any:
    """Return log Phi(x), finite far in the left tail, where Phi itself underflows.

    Parameters
    ----------
    x : array of any library, or array_like
        Points; infinities allowed.

    Returns
    -------
    array
        From the same library, of the same shape.

    Raises
    ------
    InputTypeError
        If ``x`` isn't an array of real floating-point numbers.

    Examples
    --------
    >>> round(float(log_normal_cdf(-100.0)), 6)
    -5005.524209
    """
    xp, x = _prepare(x, "x")
    if xp is np:
        return special.log_ndtr(x)
    size = xp.abs(x)
    right = xp.log1p(-_upper_tail(xp, xp.where(x > -1.0, x, xp.zeros_like(x))))
    with np.errstate(divide="ignore", over="ignore"):
        left = xp.log(0.5 * _scaled_erfc(xp, size * _ROOT_HALF)) - 0.5 * x * x
    return xp.where(x > -1.0, right, left)


def erf(x: Any) -> Any:
    """Return the error function, with full relative accuracy at 0.

    Parameters
    ----------
    x : array of any library, or array_like
        Points; infinities allowed.

    Returns
    -------
    array
        From the same library, of the same shape.

    Raises
    ------
    InputTypeError
        If ``x`` isn't an array of real floating-point numbers.

    Examples
    --------
    >>> float(erf(0.0)), float(erf(-float("inf")))
    (0.0, -1.0)
    """
    xp, x = _prepare(x, "x")
    if xp is np:
        return special.erf(x)
    size = xp.abs(x)
    near = xp.where(size < 1.0, x, xp.zeros_like(x))
    small = near * _chebyshev(_ERF_OVER_X, 2.0 * near * near - 1.0)
    large = 1.0 - _gauss(xp, x / _ROOT_HALF) * _scaled_erfc(xp, size)
    return xp.where(size < 1.0, small, xp.where(x < 0.0, -large, large))


def erfc(x: Any) -> Any:
    """Return the complementary error function, with full relative accuracy in the right tail.

    Parameters
    ----------
    x : array of any library, or array_like
        Points; infinities allowed.

    Returns
    -------
    array
        From the same library, of the same shape.

    Raises
    ------
    InputTypeError
        If ``x`` isn't an array of real floating-point numbers.

    Examples
    --------
    >>> float(erfc(0.0))
    1.0
    """
    xp, x = _prepare(x, "x")
    if xp is np:
        return special.erfc(x)
    tail = _squared_gauss(xp, x) * _scaled_erfc(xp, xp.abs(x))
    return xp.where(x < 0.0, 2.0 - tail, tail)


def owens_t(h: Any, a: Any) -> Any:
    """Return Owen's T(h, a), the integral of exp(-h^2 (1 + x^2)/2)/(1 + x^2) over 0 <= x <= a, divided by 2 pi.

    Parameters
    ----------
    h, a : arrays of one library, or array_like
        Shapes that broadcast; infinities allowed.

    Returns
    -------
    array
        From the same library, of the broadcast shape.

    Raises
    ------
    InputTypeError
        If an argument isn't an array of real floating-point numbers.

    Notes
    -----
    Absolute error about 1e-16.  Outside NumPy a Gauss-Legendre rule with 48 nodes after T(h, a) = (Q(h) + Q(a h))/2 -
    Q(h) Q(a h) - T(a h, 1/a) for a > 1, Q = 1 - Phi: 48 exponentials for each element.

    References
    ----------
    D. B. Owen (1956), Tables for computing bivariate normal probabilities, Ann. Math. Statist. 27, 1075-1090.

    Examples
    --------
    >>> float(owens_t(0.0, 1.0))  # 1/8
    0.125
    """
    xp = np if any(isinstance(value, (complex, str)) for value in (h, a)) else array_namespace(h, a)
    if xp is np:
        _, h = _prepare(h, "h")
        _, a = _prepare(a, "a")
        return special.owens_t(h, a)
    h, a = (value if hasattr(value, "dtype") else xp.asarray(float(value), dtype=_dtype(h, a)) for value in (h, a))
    _, h = _prepare(h, "h")
    _, a = _prepare(a, "a")
    h, slope = xp.broadcast_arrays(xp.abs(h), xp.abs(a))
    steep = slope > 1.0
    one = xp.ones_like(h)
    scaled = _safe_product(xp, h, slope)
    inner_h = xp.where(steep, scaled, h)
    inner_a = xp.where(steep, one / xp.where(steep, slope, one), slope)
    tail_h, tail_scaled = _upper_tail(xp, h), _upper_tail(xp, scaled)
    gentle = _owen_gentle(xp, inner_h, inner_a)
    value = xp.where(steep, 0.5 * (tail_h + tail_scaled) - tail_h * tail_scaled - gentle, gentle)
    return xp.where(a < 0.0, -value, value)


def _dtype(*values: Any) -> Any:
    """Return the data type of the first array among the values."""
    return next(value.dtype for value in values if hasattr(value, "dtype"))


def _prepare(x: Any, name: str) -> tuple[Any, Any]:
    """Return the namespace and the array, a float64 NumPy array for anything without a namespace of its own."""
    xp = np if isinstance(x, (complex, str)) else array_namespace(x)
    if xp is np:
        if isinstance(x, np.ndarray) and x.dtype == np.float32:
            return xp, x
        if np.iscomplexobj(x):
            raise InputTypeError(f"{name} must be real, got complex numbers")
        try:
            return xp, np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputTypeError(f"{name} must be an array of real numbers: {error}") from error
    if not xp.isdtype(x.dtype, "real floating"):
        raise InputTypeError(f"{name} must have a real floating-point data type, got {x.dtype}")
    return xp, x


def _chebyshev(coefficients: tuple[float, ...], t: Any) -> Any:
    """Return the Chebyshev series at t in [-1, 1] by Clenshaw's recurrence."""
    twice = 2.0 * t
    later, current = 0.0 * t, 0.0 * t + coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        later, current = current, twice * current - later + coefficient
    return t * current - later + coefficients[0]


def _scaled_erfc(xp: Any, x: Any) -> Any:
    """Return exp(x^2) erfc(x) for x >= 0."""
    limit = 1e300 if x.dtype == xp.float64 else 1e37
    finite = xp.where(x > limit, xp.ones_like(x), x)
    series = _chebyshev(_SCALED_ERFC, (finite - 3.75) / (finite + 3.75))
    return xp.where(finite == x, series / (1.0 + 2.0 * finite), xp.zeros_like(x))


def _split_exponential(xp: Any, x: Any, factor: float) -> Any:
    """Return exp(-factor x^2) without the rounding of x^2, which the exponential would multiply by x^2."""
    size = xp.clip(xp.abs(x), max=200.0)
    coarse = xp.floor(size * 16.0) / 16.0
    return xp.exp(-factor * coarse * coarse) * xp.exp(-factor * (size - coarse) * (size + coarse))


def _gauss(xp: Any, x: Any) -> Any:
    """Return exp(-x^2/2)."""
    with np.errstate(under="ignore"):
        return _split_exponential(xp, x, 0.5)


def _squared_gauss(xp: Any, x: Any) -> Any:
    """Return exp(-x^2)."""
    with np.errstate(under="ignore"):
        return _split_exponential(xp, x, 1.0)


def _upper_tail(xp: Any, x: Any) -> Any:
    """Return 1 - Phi(x) with full relative accuracy for x >= 0."""
    size = xp.abs(x)
    tail = 0.5 * _gauss(xp, x) * _scaled_erfc(xp, size * _ROOT_HALF)
    return xp.where(x < 0.0, 1.0 - tail, tail)


def _safe_product(xp: Any, h: Any, slope: Any) -> Any:
    """Return h slope with 0 inf = 0 and at most 1e6, beyond which nothing changes."""
    bounded = xp.clip(slope, max=1e30)
    return xp.clip(h, max=1e6) * bounded if h.dtype == xp.float64 else xp.clip(xp.clip(h, max=1e6) * bounded, max=1e6)


def _owen_gentle(xp: Any, h: Any, a: Any) -> Any:
    """Return T(h, a) for 0 <= a <= 1 and h >= 0 by Gauss-Legendre on the part of [0, a] where the integrand lives."""
    h = xp.clip(h, max=1e3)
    reach = _OWEN_REACH / xp.where(h > 1.0, h, xp.ones_like(h))
    top = xp.where(a < reach, a, reach)
    nodes, weights = np.polynomial.legendre.leggauss(_OWEN_NODES)
    total = xp.zeros_like(h)
    with np.errstate(under="ignore"):
        for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            square = (0.5 * (1.0 + node) * top) ** 2
            total = total + weight * xp.exp(-0.5 * h * h * square) / (1.0 + square)
        return total * top * _gauss(xp, h) / (4.0 * math.pi)
