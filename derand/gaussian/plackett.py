"""Small bivariate normal probabilities as sums of positive terms, for tails that subtraction would destroy.

Plackett's identity, integrated from perfect correlation:

    P(sgn(X + h) != sgn(Y + k)) = |Phi(h) - Phi(k)|        + J(h, k, rho)
    P(X <= h, Y <= k)           = max(0, Phi(h) - Phi(-k)) + J(h, -k, -rho)/2

    J(h, k, rho) = (1/pi) int_0^{acos rho} exp(-(h^2 - 2 h k cos t + k^2)/(2 sin^2 t)) dt

and by tan(t/2) = e^y

    J(h, k, rho) = (1/pi) exp(-(h^2 + k^2)/4) int_{-inf}^{-atanh rho} exp(-((h-k)^2 e^{-2y} + (h+k)^2 e^{2y})/8)/cosh y
    dy.

This integrand is log-concave: it lives on one interval, found by bisection and cut into Gauss-Legendre panels.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from derand._utils.validation import FloatArray

__all__ = ["normal_interval", "plackett_integral"]

_NODES = 20
# exp(-exp(2y)) and 1/cosh y are analytic at distance pi/4: panels no wider than twice that converge as fast as 2.4^(-2
# nodes).
_PANEL_WIDTH = 1.6
_FEWEST_PANELS = 6
# The integrand is followed until it has fallen to exp(-38) = 3e-17 of its peak.
_DROP = 38.0
# 1/cosh y has fallen to 1e-26 at 60, and the largest finite atanh of a float is 18.7.
_RANGE = 60.0
# Bisections leave the peak within 5e-4 and the ends within 0.015 of their places, less than the narrowest integrand is
# wide.
_PEAK_BISECTIONS = 18
_END_BISECTIONS = 12


def normal_interval(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return Phi(high) - Phi(low) for low <= high, with a small relative error.

    Parameters
    ----------
    low, high : ndarray of one shape
        Ends, finite.

    Returns
    -------
    ndarray
        Probabilities of the interval.

    Notes
    -----
    A ten-point Gauss-Legendre rule for narrow intervals, a difference of two values in the left tail for others.

    Examples
    --------
    >>> float(normal_interval(np.array(1.0), np.array(1.0 + 1e-12)) / 1e-12)  # phi(1), up to the rounding of 1 + 1e-12
    0.24199...
    """
    mirrored = low + high > 0.0
    left, right = np.where(mirrored, -high, low), np.where(mirrored, -low, high)
    width = high - low
    nodes, weights = np.polynomial.legendre.leggauss(10)
    narrow = np.zeros_like(width)
    with np.errstate(under="ignore"):
        for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            point = left + 0.5 * (1.0 + node) * width
            narrow += weight * np.exp(-0.5 * point * point)
        narrow *= 0.5 * width / math.sqrt(2.0 * math.pi)
    is_narrow = width * np.maximum(1.0, -left) < 0.5
    return np.where(is_narrow, narrow, ndtr(right) - ndtr(left))


def plackett_integral(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Return J(h, k, rho), the integral above: positive, with a relative error of about 1e-13.

    Parameters
    ----------
    h, k : ndarray of shape (m,)
        Biases, finite.
    rho : ndarray of shape (m,)
        Correlations in [-1, 1].

    Returns
    -------
    ndarray of shape (m,)
        Integrals; 0 for rho = 1.

    Notes
    -----
    About 150 to 1,000 evaluations of the integrand for each element; memory 160 m bytes and a few arrays of that size.

    References
    ----------
    R. L. Plackett (1954), A reduction formula for normal multivariate integrals, Biometrika 41, 351-360.

    Examples
    --------
    >>> value = plackett_integral(np.zeros(1), np.zeros(1), np.array([0.5]))  # acos(1/2)/pi
    >>> float(value[0])
    0.333333333333...
    """
    with np.errstate(divide="ignore", under="ignore", over="ignore"):
        end = 0.5 * np.log((1.0 - rho) / (1.0 + rho))
        end = np.clip(end, -_RANGE, _RANGE)
        wall_left, wall_right = 0.125 * (h - k) ** 2, 0.125 * (h + k) ** 2
        peak = _peak(wall_left, wall_right, end)
        height = _log_integrand(peak, wall_left, wall_right)
        low = _where_it_drops(wall_left, wall_right, np.minimum(peak, end) - _RANGE, peak, height)
        high = _where_it_drops(wall_left, wall_right, end, peak, height)
        panels = max(_FEWEST_PANELS, math.ceil(float(np.max(high - low, initial=0.0)) / _PANEL_WIDTH))
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        half = 0.5 * (high - low) / panels
        total = np.zeros_like(h)
        for panel in range(panels):
            y = low[:, None] + half[:, None] * (2.0 * panel + 1.0 + nodes)
            values = np.exp(_log_integrand(y, wall_left[:, None], wall_right[:, None]) - height[:, None])
            total += np.sum(weights * values, axis=1)
        result = total * half * np.exp(height - 0.25 * (h * h + k * k)) / math.pi
    return np.where(rho == 1.0, 0.0, result)


def _log_integrand(y: FloatArray, wall_left: FloatArray, wall_right: FloatArray) -> FloatArray:
    """Return -wall_left e^{-2y} - wall_right e^{2y} - log cosh y, without overflow of the last term."""
    size = np.abs(y)
    log_cosh = size + np.log1p(np.exp(-2.0 * size)) - math.log(2.0)
    result: FloatArray = -wall_left * np.exp(-2.0 * y) - wall_right * np.exp(2.0 * y) - log_cosh
    return result


def _peak(wall_left: FloatArray, wall_right: FloatArray, end: FloatArray) -> FloatArray:
    """Return the maximum of the log-concave integrand on (-inf, end], by bisection on its slope."""
    low, high = np.full_like(end, -_RANGE), end.copy()
    low = np.minimum(low, high)
    for _ in range(_PEAK_BISECTIONS):
        middle = 0.5 * (low + high)
        rising = 2.0 * (wall_left * np.exp(-2.0 * middle) - wall_right * np.exp(2.0 * middle)) > np.tanh(middle)
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    # a slope that is positive all the way up puts the peak at the end itself
    return np.where(high == end, end, 0.5 * (low + high))


def _where_it_drops(
    wall_left: FloatArray, wall_right: FloatArray, far: FloatArray, peak: FloatArray, height: FloatArray
) -> FloatArray:
    """Return a point between the peak and ``far`` where the integrand has just dropped by exp(-38), or ``far``."""
    outer, inner = far.copy(), peak.copy()
    done = _log_integrand(outer, wall_left, wall_right) > height - _DROP
    for _ in range(_END_BISECTIONS):
        middle = 0.5 * (outer + inner)
        above = _log_integrand(middle, wall_left, wall_right) > height - _DROP
        inner, outer = np.where(above, middle, inner), np.where(above, outer, middle)
    return np.where(done, far, outer)
