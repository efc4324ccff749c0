"""Activations with the derivatives and Hermite coefficients that two gradient steps need.

The Hermite coefficients are those in sigma = sum_k c_k He_k with the probabilists' polynomials, c_k = E[sigma He_k]/k!;
the orthonormal ones of `derand.gaussian` are c_k sqrt(k!).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.polynomial import hermite_e, polynomial
from scipy.special import erf, eval_hermite, eval_hermitenorm, ndtr

from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import InputError, InputTypeError, NonConvergenceError
from derand.gaussian import hermite_expansion

__all__ = ["ACTIVATIONS", "TwoStepActivation", "as_activation", "hermite_coefficients"]

ACTIVATIONS = ("relu", "abs", "tanh", "erf", "gelu")


@dataclass(frozen=True)
class TwoStepActivation:
    """An activation sigma with its derivatives.

    Build one with `as_activation`.

    Attributes
    ----------
    name : str
        What it is called in messages.
    derivative_of_order : callable
        ``derivative_of_order(u, k)`` returns the k-th derivative at the points u; k = 0 for sigma itself.
    kinks : tuple of float
        Points where a derivative jumps.
    max_order : int or None
        Highest derivative there is; None for all of them.
    series : tuple of float or None
        Coefficients c_k where sigma is a polynomial.
    """

    name: str
    derivative_of_order: Callable[[Any, int], Any]
    kinks: tuple[float, ...] = ()
    max_order: int | None = None
    series: tuple[float, ...] | None = None

    def __call__(self, u: Any) -> Any:
        """Return sigma(u), element by element."""
        return self.derivative_of_order(u, 0)

    def derivative(self, u: Any, order: int = 1) -> Any:
        """Return the derivative of the given order at ``u``.

        Parameters
        ----------
        u : array
            Points.
        order : int, default 1
            Order, at least 0.

        Returns
        -------
        array
            Values, in the precision of ``u``.

        Raises
        ------
        InputError
            If the activation has no derivative of that order, as the ReLU beyond the first.
        """
        if self.max_order is not None and order > self.max_order:
            raise InputError(
                f"activation {self.name} has no derivative of order {order}: at most {self.max_order} are known"
            )
        return self.derivative_of_order(u, order)

    @property
    def degree(self) -> int | None:
        """Degree of a polynomial activation; None for any other."""
        return None if self.series is None else len(self.series) - 1

    def coefficients(self, degree: int) -> FloatArray:
        """Return c_0, ..., c_degree.

        Parameters
        ----------
        degree : int
            Largest degree.

        Returns
        -------
        ndarray of shape (degree + 1,)
            The coefficients; exact for polynomials, within 1e-13 otherwise.
        """
        degree = check_int(degree, "degree", low=0)
        if self.series is not None:
            padded = np.zeros(degree + 1)
            padded[: len(self.series)] = self.series[: degree + 1]
            return padded
        return _expanded(self, degree).copy()


@lru_cache(maxsize=64)
def _expanded(activation: TwoStepActivation, degree: int) -> FloatArray:
    """Return the coefficients by quadrature; they are asked for again and again."""
    return _by_quadrature(activation, degree, activation.kinks)


def hermite_coefficients(f: Any, degree: int, *, kinks: Sequence[float] = ()) -> FloatArray:
    r"""Return the coefficients c_k of :math:`f = \sum_k c_k He_k`, :math:`c_k = E[f(z) He_k(z)]/k!`.

    Parameters
    ----------
    f : str, sequence of float, callable or activation
        One of "relu", "abs", "tanh", "erf", "gelu"; or a function of an array.  See `as_activation`.
    degree : int
        Largest degree, 0 to 2,000.
    kinks : sequence of float, default ()
        Points where f or a derivative jumps.  A kink at 0 is found without being declared.

    Returns
    -------
    ndarray of shape (degree + 1,)
        c_0, ..., c_degree, with absolute errors of about 1e-13 relative to the root mean square of f.

    Raises
    ------
    InputError
        If f returns the wrong shape or non-finite values or grows too fast to have a second moment.
    InputTypeError
        If f is none of these.
    NonConvergenceError
        If the quadrature doesn't settle, most often because of an undeclared kink.

    See Also
    --------
    derand.gaussian.hermite_coefficients : In the orthonormal basis He_k / sqrt(k!), with error estimates.

    Notes
    -----
    Piecewise Gauss-Legendre quadrature between the kinks; Gauss-Hermite rules converge slowly there.  Deterministic.

    Examples
    --------
    >>> hermite_coefficients("relu", 2).round(9).tolist()  # 1/sqrt(2 pi), 1/2, 1/(2 sqrt(2 pi))
    [0.39894228, 0.5, 0.19947114]
    >>> hermite_coefficients(lambda z: z**3, 3).round(9).tolist()  # z^3 = He_3 + 3 He_1
    [0.0, 3.0, 0.0, 1.0]
    """
    check_int(degree, "degree", low=0, high=2000)
    if isinstance(f, (str, TwoStepActivation)) or not callable(f):
        return as_activation(f).coefficients(degree)
    return _by_quadrature(f, degree, tuple(kinks))


def _by_quadrature(f: Callable[[Any], Any], degree: int, kinks: tuple[float, ...]) -> FloatArray:
    """Return c_0..c_degree by quadrature, with a kink at zero tried before giving up."""
    try:
        found = hermite_expansion(f, degree, kinks=kinks)
    except NonConvergenceError:
        if 0.0 in kinks:
            raise
        found = hermite_expansion(f, degree, kinks=(*kinks, 0.0))
    # Beyond 300 the factorials overflow, and coefficients are below the smallest number: 1/infinity is their zero.
    with np.errstate(over="ignore"):
        root_factorials = np.exp(0.5 * np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, degree + 1.0)))]))
    return np.asarray(found.coefficients / root_factorials)


def as_activation(activation: Any) -> TwoStepActivation:
    """Return an activation from a name, Hermite coefficients, or an object with derivatives.

    Parameters
    ----------
    activation : str, sequence of float, object or TwoStepActivation
        One of "relu", "abs", "tanh", "erf" (of z itself), "gelu" (the exact one); or the coefficients c_0, c_1, ... of
        a polynomial in He_k; or an object with methods ``value``, ``first`` and ``second``, such as those of
        `derand.objectives`; or a pair of callables (sigma, derivative of sigma).

    Returns
    -------
    TwoStepActivation
        The activation.

    Raises
    ------
    InputError
        If the name is unknown or the coefficients aren't finite.
    InputTypeError
        If it is none of these.

    Examples
    --------
    >>> cubic = as_activation([0.0, 1.0, 0.5, 1.0 / 6.0])  # He_1 + He_2/2 + He_3/6
    >>> cubic.degree, float(cubic(2.0)), float(cubic.derivative(2.0))
    (3, 3.8333333, 4.5)
    """
    if isinstance(activation, TwoStepActivation):
        return activation
    if isinstance(activation, str):
        return _named(activation)
    if all(callable(getattr(activation, name, None)) for name in ("value", "first", "second")):
        return _from_protocol(activation)
    if isinstance(activation, (tuple, list)) and len(activation) == 2 and all(map(callable, activation)):
        return _from_pair(activation[0], activation[1])
    if callable(activation) or isinstance(activation, (int, float)):
        raise InputTypeError(
            "activation must come with its derivative: give a name, Hermite coefficients, a pair (sigma, derivative) "
            f"or an object with value, first and second, not {type(activation).__name__}"
        )
    coefficients = check_array(activation, "activation", ndim=1)
    if coefficients.size == 0:
        raise InputError("activation must have at least one Hermite coefficient")
    return _polynomial(coefficients)


def _polynomial(coefficients: FloatArray) -> TwoStepActivation:
    """Return the polynomial with given coefficients in He_k."""
    series = np.trim_zeros(coefficients, "b")
    series = series if series.size else np.zeros(1)
    powers = tuple(map(float, hermite_e.herme2poly(series)))
    # Module-level functions, so that activations can be pickled for other processes.
    return TwoStepActivation("polynomial", partial(_horner, powers), series=tuple(map(float, series)))


def _horner(powers: tuple[float, ...], u: Any, order: int) -> Any:
    """Return a derivative of a polynomial by Horner's rule, in the precision of u."""
    terms = polynomial.polyder(powers, order) if order < len(powers) else np.zeros(1)
    points = np.asarray(u)
    values = np.full_like(points, terms[-1], dtype=points.dtype if points.dtype.kind == "f" else np.float64)
    for term in terms[-2::-1]:
        values = values * points
        values += values.dtype.type(term)
    return values


def _named(name: str) -> TwoStepActivation:
    """Return one of the built-in activations."""
    if name not in ACTIVATIONS:
        raise InputError(f"activation must be one of {', '.join(map(repr, ACTIVATIONS))}, got {name!r}")
    smooth = {"tanh": _tanh, "erf": _erf, "gelu": _gelu}
    if name in smooth:
        return TwoStepActivation(name, smooth[name])
    return TwoStepActivation(name, _relu if name == "relu" else _abs, kinks=(0.0,), max_order=1)


def _relu(u: Any, order: int) -> Any:
    """Return max(u, 0) or its derivative."""
    return np.maximum(u, 0.0) if order == 0 else np.heaviside(u, np.asarray(u).dtype.type(0.5))


def _abs(u: Any, order: int) -> Any:
    """Return |u| or its derivative."""
    return np.abs(u) if order == 0 else np.sign(u)


def _tanh(u: Any, order: int) -> Any:
    """Return a derivative of tanh, a polynomial in tanh."""
    terms = np.array([0.0, 1.0])
    for _ in range(order):
        terms = polynomial.polymul(polynomial.polyder(terms), [1.0, 0.0, -1.0])
    t = np.tanh(u)
    return polynomial.polyval(t, terms.astype(t.dtype))


def _erf(u: Any, order: int) -> Any:
    """Return a derivative of erf: Hermite polynomial times Gaussian."""
    if order == 0:
        return erf(u)
    sign = -1.0 if order % 2 == 0 else 1.0
    return sign * 2.0 / math.sqrt(math.pi) * eval_hermite(order - 1, u) * np.exp(-np.square(u))


def _gelu(u: Any, order: int) -> Any:
    """Return a derivative of z Phi(z); beyond the first, the density's of order k-2 less its of order k."""
    if order == 0:
        return u * ndtr(u)
    density = np.exp(-0.5 * np.square(u)) / math.sqrt(2.0 * math.pi)
    if order == 1:
        return ndtr(u) + u * density
    sign = 1.0 if order % 2 == 0 else -1.0
    return sign * density * (eval_hermitenorm(order - 2, u) - eval_hermitenorm(order, u))


def _from_protocol(source: Any) -> TwoStepActivation:
    """Return an activation from an object with value, first and second."""
    kinked = type(source).__name__ == "ReLU"
    calls = partial(_pick, (source.value, source.first, source.second))
    return TwoStepActivation(type(source).__name__, calls, (0.0,) if kinked else (), 1 if kinked else 2)


def _from_pair(value: Callable[[Any], Any], slope: Callable[[Any], Any]) -> TwoStepActivation:
    """Return an activation from a function and its derivative."""
    return TwoStepActivation("given by callables", partial(_pick, (value, slope)), max_order=1)


def _pick(calls: tuple[Callable[[Any], Any], ...], u: Any, order: int) -> Any:
    """Return one of several functions at u."""
    return calls[order](np.asarray(u))
