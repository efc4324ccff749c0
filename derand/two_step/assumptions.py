"""The assumptions behind two gradient steps, and what is said where one doesn't hold."""

from __future__ import annotations

import math
import warnings

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import DerandWarning, InputError

__all__ = ["AssumptionWarning", "check_first_coefficient", "warn_about_labels", "warn_about_orders", "warn_about_step"]

#: Standard errors by which the mean of the labels may differ from zero.
_MEAN_LIMIT = 5.0
#: Kurtosis beyond which averages of powers of the labels are far from their limits: 15 for He_2, 93 for He_3.
_KURTOSIS_LIMIT = 18.0
_ZERO = 1e-10


class AssumptionWarning(DerandWarning):
    """An assumption of the asymptotic theory doesn't hold; the message names it."""


def warn_about_labels(y: FloatArray, *, stacklevel: int = 3) -> None:
    """Warn where the labels have a mean, or tails so heavy that sample averages of their powers say little.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels.
    stacklevel : int, default 3
        As in `warnings.warn`.

    Warns
    -----
    AssumptionWarning
        If the mean differs from zero by more than five standard errors, or the kurtosis exceeds 18.

    Notes
    -----
    O(n); deterministic.
    """
    scale = float(np.max(np.abs(y), initial=0.0))
    if scale == 0.0:
        return
    unit = y / scale
    mean, square = float(np.mean(unit)), float(np.mean(unit**2))
    if abs(mean) > _MEAN_LIMIT * math.sqrt(max(square - mean**2, 0.0) / y.size) + 1e-12:
        warnings.warn(
            f"assumption E[y] = 0 violated: the labels have mean {mean * scale:.3g}; subtract it before the steps",
            AssumptionWarning,
            stacklevel=stacklevel,
        )
    centred = unit - mean
    variance = float(np.mean(centred**2))
    kurtosis = float(np.mean(centred**4)) / variance**2 if variance > 0.0 else 0.0
    if kurtosis > _KURTOSIS_LIMIT:
        warnings.warn(
            f"assumption of light-tailed labels violated: kurtosis {kurtosis:.0f} > {_KURTOSIS_LIMIT:.0f}, so sample "
            "averages of powers of y, and alignments with them, are far from their limits; bounded links are safe",
            AssumptionWarning,
            stacklevel=stacklevel,
        )


def warn_about_step(eta2: float, n_neurons: int, *, name: str = "eta2", stacklevel: int = 3) -> None:
    """Warn where the second step is so large that its full-rank part isn't small.

    Parameters
    ----------
    eta2 : float
        Second step size.
    n_neurons : int
        N.
    name : str, default "eta2"
        How to call it.
    stacklevel : int, default 3
        As in `warnings.warn`.

    Warns
    -----
    AssumptionWarning
        If eta2 sqrt(log N / N) >= 1.
    """
    size = eta2 * math.sqrt(math.log(max(n_neurons, 2)) / n_neurons)
    if size >= 1.0:
        warnings.warn(
            f"assumption of a small full-rank part violated: {name} sqrt(log N / N) = {size:.3g} is not below 1; "
            "the bulk is deformed, and neurons with large |a_i| make outliers of their own",
            AssumptionWarning,
            stacklevel=stacklevel,
        )


def warn_about_orders(coefficients: FloatArray, orders: list[int], *, stacklevel: int = 3) -> None:
    """Warn about spikes that vanish because their Hermite coefficient does.

    Parameters
    ----------
    coefficients : ndarray
        c_0, c_1, ... of the activation.
    orders : list of int
        Orders k asked for whose direction vanishes.
    stacklevel : int, default 3
        As in `warnings.warn`.

    Warns
    -----
    AssumptionWarning
        If there is any.
    """
    if orders:
        shown = ", ".join(f"c_{k + 1}" for k in orders)
        warnings.warn(
            f"assumption c_(k+1) != 0 violated: {shown} of {coefficients.size} coefficients vanish, so there is "
            f"no spike of order k = {', '.join(map(str, orders))}",
            AssumptionWarning,
            stacklevel=stacklevel,
        )


def check_first_coefficient(coefficients: FloatArray) -> float:
    """Return c_1 after checking that it isn't zero.

    Parameters
    ----------
    coefficients : ndarray
        c_0, c_1, ... of the activation.

    Returns
    -------
    float
        c_1.

    Raises
    ------
    InputError
        If c_1 = 0 within rounding: the first step then moves nothing at leading order.
    """
    scale = float(np.max(np.abs(coefficients[1:]), initial=0.0))
    if coefficients.size < 2 or abs(float(coefficients[1])) <= _ZERO * scale:
        raise InputError(
            "activation must have c_1 = E[sigma(z) z] != 0: with c_1 = 0 the first step has no spike, and the step "
            "sizes can't be normalised by it"
        )
    return float(coefficients[1])
