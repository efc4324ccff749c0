"""Directional derivatives from differences, with an error estimate, for functions of unknown scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from derand._utils.validation import FloatArray

__all__ = ["Difference", "directional_difference", "remainder_slope"]

_RATIO = 10.0
_LEVELS = 7
_ENOUGH = 1e-8  # relative error at which no further window of steps is tried


@dataclass(frozen=True)
class Difference:
    """Derivative along a line, component by component; every array has shape (m,).

    Parameters
    ----------
    value, error : ndarray
        Derivative by extrapolated central differences, and the estimate of its error (infinite where no step could be
        used).
    left, left_error, right, right_error : ndarray
        The one-sided derivatives and the estimates of their errors.
    is_kink : ndarray of bool
        Where the one-sided derivatives differ by much more than their errors, or the function jumps.
    """

    value: FloatArray
    error: FloatArray
    left: FloatArray
    left_error: FloatArray
    right: FloatArray
    right_error: FloatArray
    is_kink: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def directional_difference(
    line: Callable[[float], FloatArray],
    scales: tuple[float, ...],
    *,
    eps: float,
    argument: float = 0.0,
    trusted: float | None = None,
) -> Difference:
    r"""Return the derivative at 0 of a function of one real variable, with error estimates.

    In a window of steps h_j = s 10^{-j}, j = 0..6, the central differences are extrapolated once,
    :math:`R_j = (c^2 D_{j+1} - D_j) / (c^2 - 1)` with c = 10, and two neighbours R_j, R_{j+1} are compared; rounding
    adds :math:`\epsilon (2 |f| + |D| a) / h`.  The best value of all windows is kept.  One-sided differences likewise
    with c.

    Parameters
    ----------
    line : callable
        Function of t with values of shape (m,); values that aren't finite make a step unusable.
    scales : tuple of float
        Largest steps s of the windows, in the order in which they are tried; the search ends when all errors are small.
    eps : float
        Relative rounding error of the function's values.
    argument : float, default 0.0
        Size a of the argument relative to which the step is rounded: the largest |x_i| / |d_i| along the direction d.
    trusted : float, optional
        Up to this step a derivative may be found to be zero; longer ones must see it with three digits.  Default: the
        first scale.

    Returns
    -------
    Difference
        Two-sided and one-sided derivatives.  The errors are estimates, not bounds.

    References
    ----------
    C. J. F. Ridders, Accurate computation of F'(x) and F'(x) F''(x), Advances in Engineering Software 4 (1982) 75-76.

    Examples
    --------
    >>> import numpy as np
    >>> d = directional_difference(lambda t: np.array([np.sin(t)]), (1.0,), eps=2.2e-16)
    >>> bool(abs(d.value[0] - 1.0) <= d.error[0] < 1e-8)
    True
    """
    center = np.atleast_1d(line(0.0))
    both, left, right = (_Estimates(center.shape, trusted or scales[0]) for _ in range(3))
    is_jump = np.zeros(center.shape, dtype=bool)
    for scale in scales:
        h: FloatArray = scale * _RATIO ** -np.arange(_LEVELS, dtype=np.float64)
        forward = np.stack([np.atleast_1d(line(float(t))) for t in h])
        backward = np.stack([np.atleast_1d(line(-float(t))) for t in h])
        steps = h[:, None]
        with np.errstate(all="ignore"):
            size = eps * (np.maximum(np.abs(forward), np.abs(backward)) + np.abs(center)) / steps
            both.add(h, (forward - backward) / (2.0 * steps), size, eps * argument, _RATIO**2)
            right.add(h, (forward - center) / steps, size, eps * argument, _RATIO)
            left.add(h, (center - backward) / steps, size, eps * argument, _RATIO)
            is_jump |= _jumps(forward - backward, size * steps)
        value, error = both.best()
        if np.all(error <= _ENOUGH * np.abs(value)):
            break
    (left_value, left_error), (right_value, right_error) = left.best(), right.best()
    with np.errstate(invalid="ignore"):
        top = np.maximum(np.abs(left_value), np.abs(right_value))
        is_apart = np.abs(right_value - left_value) > 4.0 * (left_error + right_error) + 1e-5 * top
    is_kink = (is_apart & np.isfinite(left_error + right_error)) | (is_jump & ~(error <= 1e-3 * np.abs(value)))
    return Difference(value, error, left_value, left_error, right_value, right_error, is_kink)


def remainder_slope(line: Callable[[float], FloatArray], slope_at_0: float, scale: float, *, eps: float) -> float:
    r"""Return the exponent p of :math:`|f(t) - f(0) - t f'(0)| \sim t^p` for small t.

    It is 2 (or more) for a correct derivative of a smooth function and 1 for a wrong one.

    Parameters
    ----------
    line : callable
        Function of t with values of shape (1,).
    slope_at_0 : float
        The claimed derivative f'(0).
    scale : float
        Largest step.
    eps : float
        Relative rounding error of the function's values.

    Returns
    -------
    float
        The exponent between the two smallest steps whose remainder stands out of rounding; infinite when no remainder
        does (the function is linear to rounding), NaN when only one does.
    """
    h = scale * 0.25 ** np.arange(22)
    center = float(line(0.0)[0])
    values = np.array([float(line(float(t))[0]) for t in h])
    with np.errstate(all="ignore"):
        remainder = np.abs(values - center - h * slope_at_0)
        floor = 100.0 * eps * (np.abs(values) + abs(center) + np.abs(h * slope_at_0))
        usable = np.flatnonzero(np.isfinite(remainder) & (remainder > floor))
        if usable.size == 0:
            return float("inf")
        pairs = usable[:-1][np.diff(usable) == 1]
        if pairs.size == 0:
            return float("nan")
        i = int(pairs[-1])
        return float(np.log(remainder[i] / remainder[i + 1]) / np.log(4.0))


class _Estimates:
    """Extrapolated differences of one kind for many steps, and the choice among them."""

    def __init__(self, shape: tuple[int, ...], trusted: float) -> None:
        self._trusted = trusted
        self._steps: list[float] = []
        self._values: list[FloatArray] = []
        self._errors: list[FloatArray] = []
        self._nothing = (np.full(shape, np.nan), np.full(shape, np.inf))

    def add(self, h: FloatArray, table: FloatArray, size: FloatArray, argument_noise: float, factor: float) -> None:
        """Enter a window: differences and the rounding of the values over h, both of shape (levels, m)."""
        noise = size + argument_noise * np.abs(table) / h[:, None]
        # A step that the argument swallows, or rounds to a few bits, shows a difference of 0 or of nothing.
        resolved = h[2:] >= 100.0 * argument_noise
        once = (factor * table[1:] - table[:-1]) / (factor - 1.0)
        errors = np.abs(np.diff(once, axis=0)) + 2.0 * noise[2:]
        for step, value, error in zip(h[2:][resolved], once[1:][resolved], errors[resolved], strict=True):
            # Far from 0 the function may be flat: a small absolute error there says nothing about the derivative at 0.
            usable = np.isfinite(error) & ((step <= self._trusted) | (error <= 1e-3 * np.abs(value)))
            self._steps.append(float(step))
            self._values.append(value)
            self._errors.append(np.where(usable, error, np.inf))

    def best(self) -> tuple[FloatArray, FloatArray]:
        """Return the value with the least error, shape (m,), except that a smaller step wins a contradiction."""
        value, error = self._nothing
        for i in np.argsort(-np.asarray(self._steps), kind="stable"):
            with np.errstate(invalid="ignore"):
                contradicts = np.abs(self._values[i] - value) > 4.0 * (self._errors[i] + error)
            is_new = contradicts | (self._errors[i] < error)
            value, error = np.where(is_new, self._values[i], value), np.where(is_new, self._errors[i], error)
        return value, error


def _jumps(differences: FloatArray, noise: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return where f(h) - f(-h) keeps its size while h falls a thousandfold."""
    size = np.abs(differences)
    return np.asarray((size[-1] > 0.5 * size[-4]) & (size[-4] > 0.0) & (size[-1] > 100.0 * noise[-1]))
