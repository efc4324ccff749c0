"""How many outliers two steps leave, from the exponents of the step sizes, in exact arithmetic.

With step sizes of order N^alpha1 and N^alpha2 the spike of order k has norm of order N^(alpha2 - k (1/2 - alpha1)),
so it leaves the bulk if k <= alpha2 / (1/2 - alpha1).  Floats are read as the short decimals that they stand for:
0.29 in binary is a little below 29/100, and a floor taken in floats is wrong on 112 of the 2,500 pairs with two
decimals.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from derand._utils.validation import check_array, check_int, check_scalar
from derand.exceptions import InputError, InputTypeError
from derand.two_step.activations import TwoStepActivation, as_activation
from derand.two_step.assumptions import check_first_coefficient

__all__ = ["as_exponent", "is_single_step", "new_spike_orders", "predicted_count", "spike_exponents"]

_LARGEST_DENOMINATOR = 10**6
_HALF = Fraction(1, 2)


def as_exponent(alpha: Any, name: str = "alpha") -> Fraction:
    """Return the exponent of a step size as a fraction in [0, 1/2).

    Parameters
    ----------
    alpha : float, int, str, Fraction or Decimal
        The exponent.  A float within four units in the last place of a fraction with denominator up to 10^6 stands for
        that fraction, so that ``29 * 0.01`` and ``0.29`` are both 29/100; everything else is exact as it is.
    name : str, default "alpha"
        How to call it in messages.

    Returns
    -------
    Fraction
        The exponent.

    Raises
    ------
    InputError
        If it lies outside [0, 1/2) or isn't a number.
    InputTypeError
        If it has another type.

    Examples
    --------
    >>> as_exponent(0.1 + 0.2), as_exponent("1/3")
    (Fraction(3, 10), Fraction(1, 3))
    """
    if isinstance(alpha, (bool, np.bool_)):
        raise InputTypeError(f"{name} must be a number, got bool")
    if isinstance(alpha, (str, Decimal, Rational)):
        try:
            value = Fraction(alpha)
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            raise InputError(f"{name} must be a finite number, got {alpha!r}") from error
    else:
        number = check_scalar(alpha, name, low=-math.inf, high=math.inf, low_open=True, high_open=True)
        value, short = Fraction(number), Fraction(number).limit_denominator(_LARGEST_DENOMINATOR)
        if abs(short - value) <= 4 * Fraction(math.ulp(number)):
            value = short
    if not 0 <= value < _HALF:
        raise InputError(f"{name} must lie in [0, 1/2), got {alpha!r}")
    return value


def spike_exponents(alpha1: Any, alpha2: Any, kmax: int) -> tuple[Fraction, ...]:
    """Return the exponents of N in the norms of the spikes of order 0, ..., kmax.

    The spike of order 0 is that of the first step, max(alpha1, alpha2); the one of order k has
    alpha2 - k (1/2 - alpha1).  Positive: it diverges.  Zero: it is of order one, and the threshold `bbp` decides.

    Parameters
    ----------
    alpha1, alpha2 : number
        Exponents of the step sizes; see `as_exponent`.
    kmax : int
        Highest order.

    Returns
    -------
    tuple of Fraction
        The exponents.

    Examples
    --------
    >>> [str(exponent) for exponent in spike_exponents(0.4, 0.3, 3)]
    ['2/5', '1/5', '1/10', '0']
    """
    first, second = as_exponent(alpha1, "alpha1"), as_exponent(alpha2, "alpha2")
    kmax = check_int(kmax, "kmax", low=0)
    return (max(first, second), *(second - k * (_HALF - first) for k in range(1, kmax + 1)))


def is_single_step(alpha1: Any, alpha2: Any) -> bool:
    """Return whether alpha1 + alpha2 < 1/2: two steps then act as one of size eta1 + eta2.

    Parameters
    ----------
    alpha1, alpha2 : number
        Exponents of the step sizes; see `as_exponent`.

    Returns
    -------
    bool
        Whether no new direction is learned by the second step.

    Examples
    --------
    >>> is_single_step(0.2, 0.29), is_single_step(0.2, 0.3)
    (True, False)
    """
    return as_exponent(alpha1, "alpha1") + as_exponent(alpha2, "alpha2") < _HALF


def new_spike_orders(
    alpha1: Any,
    alpha2: Any,
    degree: int | None = None,
    *,
    coefficients: Any = None,
    memory: bool = False,
    tol: float = 1e-10,
) -> tuple[int, ...]:
    r"""Return the orders of the spikes that the second step adds.

    Those k = 1, 2, ... with :math:`k \le \alpha_2/(1/2-\alpha_1)` and :math:`c_{k+1} \ne 0`.  Their number is the
    paper's :math:`\Lambda = \min(L-1, \lfloor \alpha_2/(1/2-\alpha_1) \rfloor)` where all coefficients up to the
    degree L are nonzero.

    Parameters
    ----------
    alpha1, alpha2 : number
        Exponents of the step sizes; see `as_exponent`.
    degree : int, optional
        Degree L of the activation, all of whose coefficients are taken to be nonzero.
    coefficients : sequence of float, str or activation, optional
        Hermite coefficients c_0, c_1, ..., instead of the degree, or anything `as_activation` takes.  With neither
        there is no cap.
    memory : bool, default False
        Whether to count as well the orders that only the memory of a reused batch fills in: k with
        E[sigma^(k+1) (sigma')^m] != 0 for some m <= k.
    tol : float, default 1e-10
        Coefficients up to this, relative to the largest one, are zero.

    Returns
    -------
    tuple of int
        The orders.

    Raises
    ------
    InputError
        If an exponent is out of range, both a degree and coefficients are given, or c_1 = 0.

    Examples
    --------
    >>> new_spike_orders(0.4, 0.3, 3), new_spike_orders(0.4, 0.3, coefficients="tanh")
    ((1, 2), (2,))
    """
    first, second = as_exponent(alpha1, "alpha1"), as_exponent(alpha2, "alpha2")
    tol = check_scalar(tol, "tol", low=0.0, high=1.0)
    reached = int(second // (_HALF - first))
    if coefficients is None:
        cap = reached if degree is None else min(reached, check_int(degree, "degree", low=1) - 1)
        return tuple(range(1, cap + 1))
    if degree is not None:
        raise InputError("degree and coefficients can't both be given: the coefficients have a degree")
    if memory:
        from derand.two_step.memory import active_orders

        return tuple(k for k in active_orders(as_activation(coefficients), reached) if k >= 1)
    series = _series(coefficients, reached + 1)
    check_first_coefficient(series)
    present = np.abs(series) > tol * float(np.max(np.abs(series[1:])))
    return tuple(k for k in range(1, min(reached, series.size - 2) + 1) if present[k + 1])


def predicted_count(
    alpha1: Any,
    alpha2: Any,
    degree: int | None = None,
    *,
    coefficients: Any = None,
    memory: bool = False,
    tol: float = 1e-10,
) -> int:
    r"""Return the number of outliers after two steps for N to infinity: 1 + :math:`\Lambda`.

    One of them is the spike of the first step, which the second only makes longer; :math:`\Lambda`, the number of
    `new_spike_orders`, is what the second step adds.

    Parameters
    ----------
    alpha1, alpha2 : number
        Exponents of the step sizes in [0, 1/2); see `as_exponent`.
    degree : int, optional
        Degree L of the activation, all of whose coefficients are taken to be nonzero.
    coefficients : sequence of float, str or activation, optional
        Hermite coefficients c_0, c_1, ..., instead of the degree: only orders k with c_{k+1} != 0 count.
    memory : bool, default False
        Whether to count orders that only the memory of a reused batch fills in.
    tol : float, default 1e-10
        Coefficients up to this, relative to the largest one, are zero.

    Returns
    -------
    int
        The count.

    Raises
    ------
    InputError
        If an exponent is out of range, both a degree and coefficients are given, or c_1 = 0.

    Notes
    -----
    Exact.  Where alpha2 is exactly k (1/2 - alpha1), or alpha1 = alpha2 = 0, the last spike is of order one and its
    size decides; the count follows the paper and includes it.  At finite N use `predict_outliers`: some pairs reach
    their asymptotic count only beyond N = 10^6.

    References
    ----------
    Feature learning in linear-width two-layer networks: two steps of gradient descent (2026), arXiv 2605.17767.

    Examples
    --------
    >>> predicted_count(0.4, 0.3, 4), predicted_count(0.2, 0.29, 4), predicted_count("0.21", "0.29", 4)
    (4, 1, 2)
    >>> predicted_count(0.4, 0.3, coefficients="tanh")
    2
    """
    return 1 + len(new_spike_orders(alpha1, alpha2, degree, coefficients=coefficients, memory=memory, tol=tol))


def _series(coefficients: Any, degree: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return Hermite coefficients up to a degree at least."""
    if isinstance(coefficients, (str, TwoStepActivation)) or hasattr(coefficients, "first"):
        return as_activation(coefficients).coefficients(min(max(degree, 2), 2000))
    series = check_array(coefficients, "coefficients", ndim=1)
    if series.size < 2:
        raise InputError("coefficients must reach c_1 at least")
    return series
