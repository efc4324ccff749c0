"""Roots of many monotone functions at once, each in its own bracket."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from derand._utils.validation import FloatArray

__all__ = ["bracketed_roots"]

_MAX_ROUNDS = 130


def bracketed_roots(
    function: Callable[[FloatArray, NDArray[np.intp]], FloatArray], low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return roots and residuals, one for each bracket, to the last digits.

    Chandrupatla's method: inverse quadratic interpolation where the last three points show that it is safe, and a
    bisection elsewhere, so that the bracket shrinks whatever the function does.

    Parameters
    ----------
    function : callable
        ``function(x, index)`` returns the values of the functions with the given indices at x.
    low, high : ndarray of shape (q,)
        Brackets; where the function has equal signs at both ends, the end with the smaller value comes back.

    Returns
    -------
    roots : ndarray of shape (q,)
        Where the functions change sign.
    residuals : ndarray of shape (q,)
        Values of the functions there.

    References
    ----------
    T. R. Chandrupatla, A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function without
    using derivatives, Advances in Engineering Software 28 (1997) 145-149.

    Examples
    --------
    >>> roots, _ = bracketed_roots(lambda x, i: x**2 - np.array([2.0, 9.0])[i], np.zeros(2), np.full(2, 5.0))
    >>> roots.round(12).tolist()
    [1.414213562373, 3.0]
    """
    every = np.arange(len(low))
    # x1 is the newest end, x2 the other one, x3 the end that was given up last
    x1, x2 = low.astype(np.float64).copy(), high.astype(np.float64).copy()
    f1, f2 = function(x1, every), function(x2, every)
    best = np.where(np.abs(f1) <= np.abs(f2), x1, x2)
    value = np.where(np.abs(f1) <= np.abs(f2), f1, f2)
    active = every[(f1 != 0.0) & (f2 != 0.0) & (np.sign(f1) != np.sign(f2))]
    x1, x2, f1, f2 = x1[active], x2[active], f1[active], f2[active]
    t = np.full(len(active), 0.5)
    for _ in range(_MAX_ROUNDS):
        if not len(active):
            break
        x = x1 + t * (x2 - x1)
        fx = function(x, active)
        better = np.abs(fx) <= np.abs(value[active])
        best[active[better]], value[active[better]] = x[better], fx[better]
        is_same = np.sign(fx) == np.sign(f1)
        x3, f3 = np.where(is_same, x1, x2), np.where(is_same, f1, f2)
        x2, f2 = np.where(is_same, x2, x1), np.where(is_same, f2, f1)
        x1, f1 = x, fx
        width = np.abs(x2 - x1)
        size = 2.3e-16 * np.maximum(np.abs(x1), np.abs(x2)) + 1e-300
        kept = (width > size) & (fx != 0.0)
        x1, x2, x3, f1, f2, f3 = (array[kept] for array in (x1, x2, x3, f1, f2, f3))
        active = active[kept]
        # a step of half the last digit beyond the interpolated root, so that the bracket closes from both sides
        least = 0.5 * size[kept] / width[kept]
        t = np.clip(_interpolated(x1, x2, x3, f1, f2, f3), least, 1.0 - least)
    return best, value


def _interpolated(
    x1: FloatArray, x2: FloatArray, x3: FloatArray, f1: FloatArray, f2: FloatArray, f3: FloatArray
) -> FloatArray:
    """Return where to look next from x1 to x2: inverse quadratic interpolation where it is safe, else the middle."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        is_safe = (1.0 - np.sqrt(1.0 - xi) < phi) & (phi < np.sqrt(xi))
        t = f1 / (f2 - f1) * (f3 / (f2 - f3)) + (x3 - x1) / (x2 - x1) * (f1 / (f3 - f1)) * (f2 / (f3 - f2))
    return np.where(is_safe & np.isfinite(t), t, 0.5)
