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

    False position with the Illinois factor, and a bisection in every third round, so that the bracket shrinks whatever
    the function does.

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

    Examples
    --------
    >>> roots, _ = bracketed_roots(lambda x, i: x**2 - np.array([2.0, 9.0])[i], np.zeros(2), np.full(2, 5.0))
    >>> roots.round(12).tolist()
    [1.414213562373, 3.0]
    """
    every = np.arange(len(low))
    a, b = low.astype(np.float64).copy(), high.astype(np.float64).copy()
    fa, fb = function(a, every), function(b, every)
    best = np.where(np.abs(fa) <= np.abs(fb), a, b)
    value = np.where(np.abs(fa) <= np.abs(fb), fa, fb)
    active = every[(fa != 0.0) & (fb != 0.0) & (np.sign(fa) != np.sign(fb))]
    ga, gb = fa.copy(), fb.copy()  # with Illinois factors
    for number in range(_MAX_ROUNDS):
        if not len(active):
            break
        left, right = a[active], b[active]
        middle = 0.5 * (left + right)
        if number % 3 == 2:
            x = middle
        else:
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                x = right - gb[active] * (right - left) / (gb[active] - ga[active])
            inside = (x > np.minimum(left, right)) & (x < np.maximum(left, right))
            x = np.where(inside, x, middle)
        fx = function(x, active)
        better = np.abs(fx) <= np.abs(value[active])
        best[active[better]], value[active[better]] = x[better], fx[better]
        is_left = np.sign(fx) == np.sign(fa[active])
        to_left, to_right = active[is_left], active[~is_left]
        a[to_left], fa[to_left], ga[to_left] = x[is_left], fx[is_left], fx[is_left]
        b[to_right], fb[to_right], gb[to_right] = x[~is_left], fx[~is_left], fx[~is_left]
        gb[to_left] *= 0.5
        ga[to_right] *= 0.5
        width = np.abs(b[active] - a[active])
        size = 2.3e-16 * np.maximum(np.abs(a[active]), np.abs(b[active])) + 1e-300
        active = active[(width > size) & (fx != 0.0)]
    return best, value
