"""Bivariate normal probabilities and the expected product of two shifted signs, with derivatives.

For standard normal X and Y with correlation rho,

    Phi2(h, k, rho) = P(X <= h, Y <= k),        F(h, k, rho) = E[sgn(X + h) sgn(Y + k)].

Both follow from Owen's function T(h, a) = P(X > h, 0 < Z < a X) for independent normals, h > 0:

    F = 1 - 4 T(h, a) - 4 T(k, c) - 2 [h and k have opposite signs],
    a = (k - rho h) / (h q),   c = (h - rho k) / (k q),   q = sqrt(1 - rho^2),

and Phi2 is a quarter of the same expression plus terms in one variable.  Infinite and zero biases and |rho| = 1 are
limits of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, ndtr, owens_t

from derand._utils.html import result_html
from derand._utils.validation import FloatArray
from derand.exceptions import InputError, InputTypeError
from derand.gaussian.plackett import normal_interval, plackett_integral

__all__ = [
    "SignProductDerivatives",
    "bivariate_normal_cdf",
    "expected_sign_product",
    "expected_sign_product_derivatives",
    "sign_disagreement_probability",
]

# Beyond this bias Phi and phi are 0 or 1 to the last bit, and clipping to it turns infinities into ordinary numbers.
_BIAS_LIMIT = 64.0
# Rounding in a normalised inner product can leave [-1, 1] by a few units in the last place.
_CORRELATION_SLACK = 1e-14
# Arrays are worked through in pieces whose temporaries stay in the cache.
_BLOCK = 1 << 14
# Probabilities below this are computed again as sums of positive terms: Owen's formula is accurate in absolute terms
# only.
_TAIL = 1e-3
_TINY = 1e-150
_TAIL_BLOCK = 1 << 11
_LARGEST_INTERIOR_CORRELATION = math.nextafter(1.0, 0.0)


class SignProductDerivatives(NamedTuple):
    """First and second derivatives of F(h, k, rho) = E[sgn(X + h) sgn(Y + k)], arrays of the broadcast shape.

    The second derivatives are None when only first ones were asked for.
    """

    h: FloatArray
    k: FloatArray
    rho: FloatArray
    hh: FloatArray | None = None
    hk: FloatArray | None = None
    kk: FloatArray | None = None
    hrho: FloatArray | None = None
    krho: FloatArray | None = None
    rhorho: FloatArray | None = None

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


def bivariate_normal_cdf(h: Any, k: Any, rho: Any) -> FloatArray:
    """Return P(X <= h, Y <= k) for standard normals with correlation rho.

    Accurate to 1e-15 in absolute terms for all correlations, +1 and -1 included, and all h and k, infinities included;
    the relative error is about 1e-12 however small the probability.

    Parameters
    ----------
    h, k : array_like
        Upper limits; any shapes that broadcast, infinities allowed.
    rho : array_like
        Correlations in [-1, 1].  Values outside by at most 1e-14, as rounding leaves them, are taken as -1 or 1.

    Returns
    -------
    ndarray
        Probabilities, of the broadcast shape.

    Raises
    ------
    InputError
        If an argument holds NaN, a correlation lies outside [-1, 1], or the shapes don't broadcast.
    InputTypeError
        If an argument isn't an array of real numbers.

    Notes
    -----
    Two values of Owen's T and two of Phi for each element, and an integral by quadrature (some fifty times the work)
    where the result is below 1e-3; deterministic.

    References
    ----------
    D. B. Owen (1956), Tables for computing bivariate normal probabilities, Ann. Math. Statist. 27, equation 2.1.

    Examples
    --------
    >>> float(bivariate_normal_cdf(0.0, 0.0, 0.5))  # 1/4 + asin(1/2) / (2 pi)
    0.3333333333333333
    """
    return _in_blocks(_cdf_block, *_check(h, k, rho))


def expected_sign_product(h: Any, k: Any, rho: Any) -> FloatArray:
    """Return F = E[sgn(X + h) sgn(Y + k)] for standard normals with correlation rho.

    This is 1 - 2 P(the two signs differ), in [-1, 1]; F(0, 0, rho) = (2/pi) asin(rho).  Accurate to 1e-15 in absolute
    terms for all correlations and biases, limits included.

    Parameters
    ----------
    h, k : array_like
        Biases; any shapes that broadcast, infinities allowed.
    rho : array_like
        Correlations in [-1, 1].  Values outside by at most 1e-14, as rounding leaves them, are taken as -1 or 1.

    Returns
    -------
    ndarray
        Expected products, of the broadcast shape.

    Raises
    ------
    InputError
        If an argument holds NaN, a correlation lies outside [-1, 1], or the shapes don't broadcast.
    InputTypeError
        If an argument isn't an array of real numbers.

    Notes
    -----
    Two values of Owen's T for each element; deterministic.

    References
    ----------
    D. B. Owen (1956), Tables for computing bivariate normal probabilities, Ann. Math. Statist. 27, equation 2.1.

    Examples
    --------
    >>> float(expected_sign_product(0.0, 0.0, 1.0)), float(expected_sign_product(float("inf"), 0.0, 0.3))
    (1.0, 0.0)
    """
    return _in_blocks(_sign_block, *_check(h, k, rho))


def sign_disagreement_probability(h: Any, k: Any, rho: Any) -> FloatArray:
    """Return P(sgn(X + h) != sgn(Y + k)) = (1 - F)/2 with a small relative error, however small it is.

    1 - `expected_sign_product` loses its digits as F tends to 1; this doesn't: the relative error is about 1e-12.  The
    probability of agreement is ``sign_disagreement_probability(h, -k, -rho)``.

    Parameters
    ----------
    h, k : array_like
        Biases; any shapes that broadcast, infinities allowed.
    rho : array_like
        Correlations in [-1, 1].  Values outside by at most 1e-14, as rounding leaves them, are taken as -1 or 1.

    Returns
    -------
    ndarray
        Probabilities, of the broadcast shape.

    Raises
    ------
    InputError
        If an argument holds NaN, a correlation lies outside [-1, 1], or the shapes don't broadcast.
    InputTypeError
        If an argument isn't an array of real numbers.

    Notes
    -----
    Two values of Owen's T for each element, and an integral by quadrature (some fifty times the work) where the result
    is below 1e-3; deterministic.

    Examples
    --------
    >>> float(sign_disagreement_probability(0.0, 0.0, 1 - 2.0**-53) / 2.0**-26)  # acos(1 - e)/pi = sqrt(2 e)/pi
    0.318309886183...
    """
    return _in_blocks(_disagreement_block, *_check(h, k, rho))


def expected_sign_product_derivatives(h: Any, k: Any, rho: Any, *, order: int = 2) -> SignProductDerivatives:
    """Return the first and second derivatives of F(h, k, rho) = E[sgn(X + h) sgn(Y + k)].

    With u = (k - rho h)/q, v = (h - rho k)/q, q^2 = 1 - rho^2 and D = (2/pi) exp(-(h^2 + u^2)/2)/q:

        F_h  = 2 phi(h) erf(u/sqrt 2)    F_k  = 2 phi(k) erf(v/sqrt 2)    F_rho    = D  (Plackett)
        F_hh = -h F_h - rho D            F_kk = -k F_k - rho D            F_hk     = D
        F_hrho = -D v/q                  F_krho = -D u/q                  F_rhorho = D (rho + u v)/q^2

    All values are finite: at ``|rho| = 1``, where F_rho is 0 or infinite and F may have a kink, the result is that at
    the nearest correlation inside (-1, 1).

    Parameters
    ----------
    h, k : array_like
        Biases; any shapes that broadcast, infinities allowed.
    rho : array_like
        Correlations in [-1, 1].  Values outside by at most 1e-14, as rounding leaves them, are taken as -1 or 1.
    order : {2, 1}, default=2
        1 leaves the second derivatives out.

    Returns
    -------
    SignProductDerivatives
        Named tuple (h, k, rho, hh, hk, kk, hrho, krho, rhorho).

    Raises
    ------
    InputError
        If an argument holds NaN, a correlation lies outside [-1, 1], the shapes don't broadcast, or ``order`` isn't 1
        or 2.
    InputTypeError
        If an argument isn't an array of real numbers.

    Notes
    -----
    Three exponentials and two error functions for each element; deterministic.

    References
    ----------
    R. L. Plackett (1954), A reduction formula for normal multivariate integrals, Biometrika 41, equation 3.

    Examples
    --------
    >>> float(expected_sign_product_derivatives(0.0, 0.0, 0.0).rho)  # 2/pi
    0.6366197723675814
    """
    if order not in (1, 2):
        raise InputError(f"order must be 1 or 2, got {order!r}")
    h, k, rho = _check(h, k, rho)
    rho = np.clip(rho, -_LARGEST_INTERIOR_CORRELATION, _LARGEST_INTERIOR_CORRELATION)
    fields: list[FloatArray] = [np.empty(h.shape) for _ in range(3 if order == 1 else 9)]
    inputs = [np.ravel(a) for a in (h, k, rho)]
    outputs = [field.reshape(-1) for field in fields]
    with np.errstate(under="ignore"):
        for start in range(0, h.size, _BLOCK):
            piece = slice(start, start + _BLOCK)
            _derivative_block(*(a[piece] for a in inputs), out=[field[piece] for field in outputs])
    return SignProductDerivatives(*fields)


def _check(h: Any, k: Any, rho: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the broadcast arguments, biases clipped to +-_BIAS_LIMIT and correlations to [-1, 1]."""
    arrays = []
    for value, name in ((h, "h"), (k, "k"), (rho, "rho")):
        if np.iscomplexobj(value):
            raise InputTypeError(f"{name} must be real, got complex numbers")
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputTypeError(f"{name} must be an array of real numbers: {error}") from error
        if np.isnan(array).any():
            raise InputError(f"{name} must not hold NaN")
        arrays.append(array)
    worst = float(np.max(np.abs(arrays[2]), initial=0.0))
    if worst > 1.0 + _CORRELATION_SLACK:
        raise InputError(f"rho must lie in [-1, 1], got a value of size {worst!r}")
    try:
        first, second, third = np.broadcast_arrays(*arrays)
    except ValueError as error:
        raise InputError(
            f"h, k and rho must have shapes that broadcast, got {[array.shape for array in arrays]}"
        ) from error
    # adding 0.0 turns a negative zero, whose sign would choose the wrong limit below, into a positive one
    first = np.clip(first, -_BIAS_LIMIT, _BIAS_LIMIT) + 0.0
    second = np.clip(second, -_BIAS_LIMIT, _BIAS_LIMIT) + 0.0
    return first, second, np.clip(third, -1.0, 1.0)


def _in_blocks(
    function: Callable[[FloatArray, FloatArray, FloatArray], FloatArray], *arguments: FloatArray
) -> FloatArray:
    """Return function(h, k, rho) for checked arguments of one shape, computed in pieces."""
    shape = arguments[0].shape
    h, k, rho = (np.ravel(argument) for argument in arguments)
    result = np.empty(h.size)
    for start in range(0, h.size, _BLOCK):
        piece = slice(start, start + _BLOCK)
        result[piece] = function(h[piece], k[piece], rho[piece])
    return result.reshape(shape)


def _conditional_numerators(h: FloatArray, k: FloatArray, rho: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return k - rho h, h - rho k and q = sqrt(1 - rho^2), without cancellation as |rho| tends to 1."""
    # 1 - |rho| is exact for |rho| >= 1/2, and so is the difference of two neighbouring biases
    sign = np.where(rho < 0.0, -1.0, 1.0)
    gap = 1.0 - np.abs(rho)
    signed_h, signed_k = sign * h, sign * k
    return (k - signed_h) + gap * signed_h, (h - signed_k) + gap * signed_k, np.sqrt(gap * (1.0 + np.abs(rho)))


def _owen_sum(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Return T(h, a) + T(k, c) + [signs differ]/2, which is P(sgn(X + h) != sgn(Y + k))/2."""
    # a denormal bias would spoil the ratio of the two; F moves by less than the bias when that is set to 0
    h, k = (np.where(np.abs(bias) < _TINY, 0.0, bias) for bias in (h, k))
    numerator_h, numerator_k, q = _conditional_numerators(h, k, rho)
    with np.errstate(all="ignore"):
        slope_h = numerator_h / (h * q)
        slope_k = numerator_k / (k * q)
        limit = (1.0 - rho) / q
    undefined = np.flatnonzero(np.isnan(slope_h) | np.isnan(slope_k))
    if undefined.size:
        # 0/0 comes from h = k = 0, where both slopes tend to (1 - rho)/q, or from |rho| = 1 with k = rho h, where they
        # tend to 0
        both_zero = (h[undefined] == 0.0) & (k[undefined] == 0.0)
        value = np.where(both_zero, np.nan_to_num(limit[undefined], nan=0.0, posinf=np.inf), 0.0)
        for slope in (slope_h, slope_k):
            slope[undefined] = np.where(both_zero | np.isnan(slope[undefined]), value, slope[undefined])
    total: FloatArray = owens_t(h, slope_h) + owens_t(k, slope_k) + 0.5 * ((h < 0.0) != (k < 0.0))
    return total


def _sign_block(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Return E[sgn(X + h) sgn(Y + k)] for one-dimensional checked arguments."""
    return np.clip(1.0 - 4.0 * _owen_sum(h, k, rho), -1.0, 1.0)


def _cdf_block(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Return P(X <= h, Y <= k) for one-dimensional checked arguments."""
    below_h, below_k = ndtr(h), ndtr(k)
    value = 0.5 * (below_h + below_k) - _owen_sum(h, k, rho)
    _refine_tails(value, (value < _TAIL) & (below_h > 0.0) & (below_k > 0.0), h, -k, -rho, scale=0.5)
    return np.clip(value, 0.0, np.minimum(below_h, below_k))


def _disagreement_block(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Return P(sgn(X + h) != sgn(Y + k)) for one-dimensional checked arguments."""
    value = 2.0 * _owen_sum(h, k, rho)
    _refine_tails(value, value < _TAIL, h, k, rho, scale=1.0)
    return np.clip(value, 0.0, 1.0)


def _refine_tails(
    value: FloatArray, chosen: NDArray[np.bool_], h: FloatArray, k: FloatArray, rho: FloatArray, *, scale: float
) -> None:
    """Overwrite the chosen values by scale J + |Phi(h) - Phi(k)| for scale 1, or the positive part for scale 1/2."""
    where = np.flatnonzero(chosen)
    for start in range(0, where.size, _TAIL_BLOCK):
        index = where[start : start + _TAIL_BLOCK]
        first, second = h[index], k[index]
        rest = normal_interval(np.minimum(first, second), np.maximum(first, second))
        if scale != 1.0:
            rest = np.where(first > second, rest, 0.0)
        value[index] = rest + scale * plackett_integral(first, second, rho[index])


def _derivative_block(h: FloatArray, k: FloatArray, rho: FloatArray, *, out: list[FloatArray]) -> None:
    """Write the derivatives for one-dimensional checked arguments with |rho| < 1 into three or nine arrays."""
    numerator_h, numerator_k, q = _conditional_numerators(h, k, rho)
    u, v = numerator_h / q, numerator_k / q
    scale = 2.0 / math.sqrt(2.0 * math.pi)
    by_h = scale * np.exp(-0.5 * h * h) * erf(u * math.sqrt(0.5))
    by_k = scale * np.exp(-0.5 * k * k) * erf(v * math.sqrt(0.5))
    density = (2.0 / math.pi) * np.exp(-0.5 * (h * h + u * u)) / q
    out[0][...], out[1][...], out[2][...] = by_h, by_k, density
    if len(out) == 3:
        return
    shared = rho * density
    slope = density / q
    out[3][...] = -h * by_h - shared
    out[4][...] = density
    out[5][...] = -k * by_k - shared
    out[6][...] = -v * slope
    out[7][...] = -u * slope
    out[8][...] = slope * ((rho + u * v) / q)
