"""Exponents that tell how hard a direction is to learn: information, power and leap exponents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_int, check_scalar
from derand.exceptions import InputError, InputTypeError, NonConvergenceError
from derand.gaussian import HermiteExpansion, hermite_expansion

__all__ = ["information_exponent", "leap_exponent", "power_exponent"]


def information_exponent(
    f: Callable[[FloatArray], Any], *, max_degree: int = 24, kinks: Sequence[float] = (), tol: float = 1e-9
) -> float:
    """Return the smallest k >= 1 with E[f(z) He_k(z)] != 0.

    Parameters
    ----------
    f : callable
        Takes an array of shape (m,) and returns the values there.
    max_degree : int, default 24
        Largest degree looked at.
    kinks : sequence of float, default ()
        Points where f or a derivative jumps; a kink at 0 is found without being declared.
    tol : float, default 1e-9
        Coefficients in the orthonormal basis below ``tol`` times the standard deviation of f count as zero.

    Returns
    -------
    float
        The exponent, a whole number; infinity for a constant, or where nothing up to `max_degree` is nonzero.

    Raises
    ------
    InputError
        If f returns the wrong shape or non-finite values or grows too fast to have a second moment.
    InputTypeError
        If f isn't callable.
    NonConvergenceError
        If the quadrature doesn't settle, most often because of an undeclared kink.

    Notes
    -----
    A numerical test, no proof: a coefficient smaller than `tol` is taken for zero.  Deterministic.

    References
    ----------
    Ben Arous, Gheissari, Jagannath, Online stochastic gradient descent on non-convex losses from high-dimensional
    inference, JMLR 22 (2021), Definition 1.2; arXiv 2003.10409.

    Examples
    --------
    >>> information_exponent(lambda z: z**3 - 3 * z), information_exponent(np.abs)
    (3, 2)
    """
    max_degree = check_int(max_degree, "max_degree", low=1, high=2000)
    tol = check_scalar(tol, "tol", low=0.0, high=1.0)
    found = _expansion(_function(f), max_degree, tuple(kinks))
    spread = math.sqrt(max(found.norm**2 - float(found.coefficients[0]) ** 2, 0.0))
    if spread <= 1e-7 * found.norm:
        return math.inf
    threshold = np.maximum(tol * spread, 4.0 * found.error)
    nonzero = np.flatnonzero(np.abs(found.coefficients[1:]) > threshold[1:])
    return int(nonzero[0]) + 1 if nonzero.size else math.inf


def power_exponent(
    f: Callable[[FloatArray], Any],
    *,
    max_power: int = 6,
    max_degree: int = 24,
    kinks: Sequence[float] = (),
    tol: float = 1e-9,
) -> float:
    """Return the smallest information exponent of the powers f, f^2, ..., f^max_power.

    Reusing a batch applies polynomials to the labels, so this is what a reused batch can bring a link down to.

    Parameters
    ----------
    f : callable
        Takes an array of shape (m,) and returns the values there.
    max_power : int, default 6
        Highest power of the labels.
    max_degree : int, default 24
        Largest Hermite degree looked at.
    kinks : sequence of float, default ()
        Points where f or a derivative jumps; a kink at 0 is found without being declared.
    tol : float, default 1e-9
        As in `information_exponent`.

    Returns
    -------
    float
        The exponent, a whole number, or infinity.

    Raises
    ------
    InputError
        If a power of f has no second moment within reach, or an argument is out of range.
    InputTypeError
        If f isn't callable.
    NonConvergenceError
        If the quadrature doesn't settle.

    Notes
    -----
    Odd polynomials have power exponent 1, even functions at least 2.  The generative exponent allows any function of
    the label and can't exceed this.

    References
    ----------
    Lee, Oko, Suzuki, Wu, Neural network learns low-dimensional polynomials with SGD near the information-theoretic
    limit (2024), arXiv 2406.01581.

    Examples
    --------
    >>> power_exponent(lambda z: z**3 - 3 * z), power_exponent(lambda z: z**2 * np.exp(-z**2))
    (1, 4)
    """
    max_power = check_int(max_power, "max_power", low=1, high=64)
    best, f = math.inf, _function(f)
    for power in range(1, max_power + 1):

        def raised(z: FloatArray, power: int = power) -> FloatArray:
            """Return a power of f."""
            return np.asarray(np.asarray(f(z), dtype=np.float64) ** power)

        best = min(best, information_exponent(raised, max_degree=max_degree, kinks=kinks, tol=tol))
        if best == 1:
            break
    return best


def _function(f: Any) -> Callable[[FloatArray], Any]:
    """Return a link after checking that it can be called."""
    if not callable(f):
        raise InputTypeError(f"f must be a function of an array, got {type(f).__name__}")
    return f  # type: ignore[no-any-return]


def _expansion(f: Callable[[FloatArray], Any], degree: int, kinks: tuple[float, ...]) -> HermiteExpansion:
    """Return the Hermite expansion, with a kink at zero tried before giving up."""
    try:
        return hermite_expansion(f, degree, kinks=kinks)
    except NonConvergenceError:
        if 0.0 in kinks:
            raise
        return hermite_expansion(f, degree, kinks=(*kinks, 0.0))


def leap_exponent(indices: Iterable[Any]) -> int:
    r"""Return the leap of a function of several directions from the terms that its expansion has.

    .. math:: \min_\pi \max_i \sum_{k} S_{\pi(i)}(k)\, 1[S_{\pi(j)}(k) = 0 \text{ for all } j < i]

    over the orders :math:`\pi` of the terms: the most that any term brings in new directions at once.

    Parameters
    ----------
    indices : iterable
        The terms with nonzero coefficient.  Each is a multi-index, a sequence with the Hermite degree in every
        direction (all of one length), or a set of coordinates, the parity of those.

    Returns
    -------
    int
        The leap; 0 for a constant function.

    Raises
    ------
    InputError
        If multi-indices differ in length or have negative entries.
    InputTypeError
        If a term is neither a sequence of integers nor a set.

    Notes
    -----
    Taking the cheapest term next is optimal, because a term never gets dearer when others come first.
    O(m^2 r) for m terms in r directions; exact.

    References
    ----------
    Abbe, Boix-Adsera, Misiakiewicz, SGD learning on neural networks: leap complexity and saddle-to-saddle dynamics
    (2023), Definitions 1 and 2; arXiv 2302.11055.

    Examples
    --------
    >>> leap_exponent([{0}, {0, 1}, {0, 1, 2}]), leap_exponent([{0, 1, 2}])  # a staircase, a parity
    (1, 3)
    >>> leap_exponent([(1, 0), (1, 2)])  # z_1 + z_1 He_2(z_2)
    2
    """
    terms = list(indices)
    if len({len(term) for term in terms if isinstance(term, (tuple, list, np.ndarray))}) > 1:
        raise InputError("indices must hold multi-indices of one length")
    rest = [_as_degrees(term) for term in terms]
    seen: set[Any] = set()
    leap = 0
    while rest:
        costs = [sum(degree for key, degree in term.items() if key not in seen) for term in rest]
        cheapest = int(np.argmin(costs))
        leap = max(leap, costs[cheapest])
        seen |= set(rest.pop(cheapest))
    return leap


def _as_degrees(term: Any) -> dict[Any, int]:
    """Return the nonzero degrees of a term by direction."""
    if isinstance(term, AbstractSet):
        return dict.fromkeys(term, 1)
    if isinstance(term, (str, bytes)) or not isinstance(term, (Sequence, np.ndarray)):
        raise InputTypeError(f"indices must hold multi-indices or sets of coordinates, got {type(term).__name__}")
    degrees = [check_int(degree, "indices") for degree in term]
    if any(degree < 0 for degree in degrees):
        raise InputError(f"indices must hold degrees of at least 0, got {tuple(degrees)}")
    return {k: degree for k, degree in enumerate(degrees) if degree}
