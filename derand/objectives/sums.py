"""Sums of integrands: E of a sum is the sum of the expectations, each in its own closed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import InputError, InputTypeError
from derand.objectives.activations import ScalarPolynomial
from derand.objectives.protocol import GaussianExpectation, HasExpectation, Integrand
from derand.objectives.ridge import RidgeSum

__all__ = ["ExpectationSum", "IntegrandSum", "double_well"]


class IntegrandSum:
    """g(z) = constant + sum_i weights[i] g_i(z).

    The sum has a closed-form expectation exactly when each of its terms has one; `has_closed_form` says so.

    Parameters
    ----------
    terms : sequence of Integrand
        Integrands of one dimension.
    weights : array, shape (n_terms,), optional
        One when left out.
    constant : float, default 0.0
        Added to the value.

    Raises
    ------
    InputError
        If there is no term, dimensions differ or weights don't fit.

    Examples
    --------
    >>> import numpy as np
    >>> from derand.objectives import Cosine, Exponential, IntegrandSum, RidgeSum
    >>> both = IntegrandSum([RidgeSum(Exponential(), 1), RidgeSum(Cosine(), 1)], weights=[1.0, -1.0])
    >>> both.value(np.zeros((1, 1))).tolist()
    [0.0]
    """

    def __init__(self, terms: Sequence[Integrand], *, weights: Any = None, constant: float = 0.0) -> None:
        self.terms = tuple(terms)
        if not self.terms:
            raise InputError("terms must hold at least one integrand, got none")
        if len({term.dim for term in self.terms}) > 1:
            raise InputError(f"terms must have one dimension, got {[term.dim for term in self.terms]}")
        shape = (len(self.terms),)
        self.weights = np.ones(shape) if weights is None else check_array(weights, "weights", shape=shape)
        self.constant = float(check_array(constant, "constant", ndim=0))

    @property
    def dim(self) -> int:
        """Number of coordinates of z."""
        return self.terms[0].dim

    @property
    def has_closed_form(self) -> bool:
        """Whether every term has a closed-form expectation."""
        return all(has_closed_form(term) for term in self.terms)

    def _combine(self, parts: list[Any]) -> Any:
        """Return the weighted sum of the terms' answers."""
        total = float(self.weights[0]) * parts[0]
        for weight, part in zip(self.weights[1:], parts[1:], strict=True):
            total = total + float(weight) * part
        return total

    def value(self, z: Any) -> Any:
        """Return g at the rows of ``z``."""
        return self._combine([term.value(z) for term in self.terms]) + self.constant

    def gradient(self, z: Any) -> Any:
        """Return the gradient of g at each row of ``z``."""
        return self._combine([term.gradient(z) for term in self.terms])

    def hessian_product(self, z: Any, v: Any) -> Any:
        """Return the Hessian at each row of ``z`` times the same row of ``v``."""
        return self._combine([term.hessian_product(z, v) for term in self.terms])

    def expectation(self, mean: FloatArray, factor: FloatArray) -> ExpectationSum:
        """Return E[g] and its derivatives under N(mean, factor factor').

        Parameters
        ----------
        mean : array, shape (dim,)
            Mean.
        factor : array, shape (dim, r)
            Factor of the covariance.

        Returns
        -------
        ExpectationSum
            The sum of the terms' closed forms.

        Raises
        ------
        InputTypeError
            If a term has no closed form.
        """
        parts = []
        for term in self.terms:
            if not isinstance(term, HasExpectation) or not has_closed_form(term):
                raise InputTypeError(f"the integrand {type(term).__name__} has no closed-form expectation")
            parts.append(term.expectation(mean, factor))
        return ExpectationSum(parts, self.weights, self.constant)


class ExpectationSum:
    """The weighted sum of expectations; see `GaussianExpectation` for the meaning of its members."""

    def __init__(self, parts: Sequence[GaussianExpectation], weights: FloatArray, constant: float) -> None:
        self._parts = tuple(zip(weights.tolist(), parts, strict=True))
        self._constant = constant

    @property
    def value(self) -> float:
        """E[g(z)]."""
        return float(self._constant + sum(weight * part.value for weight, part in self._parts))

    @property
    def gradient(self) -> FloatArray:
        """E[grad g(z)]."""
        return np.asarray(sum(weight * part.gradient for weight, part in self._parts))

    @property
    def factor_gradient(self) -> FloatArray:
        """E[grad g(z) xi']."""
        return np.asarray(sum(weight * part.factor_gradient for weight, part in self._parts))

    def hessian(self, size: int) -> FloatArray:
        """Return the leading block of E[Hess g]."""
        return np.asarray(sum(weight * part.hessian(size) for weight, part in self._parts))

    def derivative(self, dmean: FloatArray, dfactor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the directional derivatives of both gradients."""
        both = [(weight, part.derivative(dmean, dfactor)) for weight, part in self._parts]
        return np.asarray(sum(w * d[0] for w, d in both)), np.asarray(sum(w * d[1] for w, d in both))


def has_closed_form(integrand: Integrand) -> bool:
    """Return whether E[g] is known without sampling over all coordinates at once."""
    return isinstance(integrand, HasExpectation) and bool(getattr(integrand, "has_closed_form", True))


def double_well(dim: int, *, height: float = 1.0, separation: float = 1.0, tilt: Any = 0.0) -> IntegrandSum:
    """Return a sum of double wells, g(z) = sum_i height ((z_i/separation)^2 - 1)^2 + tilt_i z_i.

    Parameters
    ----------
    dim : int
        Number of coordinates, >= 1.
    height : float, default 1.0
        Barrier between the wells, > 0.
    separation : float, default 1.0
        The wells lie at +-separation, > 0, when there is no tilt.
    tilt : float or array, shape (dim,), default 0.0
        Slope that tells the two wells of a coordinate apart.

    Returns
    -------
    IntegrandSum
        The integrand, with its Gaussian mean in closed form.

    Raises
    ------
    InputError
        If a number is out of range or ``tilt`` has another shape.

    Examples
    --------
    >>> import numpy as np
    >>> from derand.objectives import double_well
    >>> double_well(2).value(np.array([[0.0, 0.0], [1.0, -1.0]])).tolist()
    [2.0, 0.0]
    """
    size = check_int(dim, "dim", low=1)
    top = check_scalar(height, "height", low=0.0, low_open=True, high=np.inf, high_open=True)
    width = check_scalar(separation, "separation", low=0.0, low_open=True, high=np.inf, high_open=True)
    slopes = check_array(tilt, "tilt")
    if slopes.shape not in ((), (size,)):
        raise InputError(f"tilt must be a number or have shape {(size,)}, got {slopes.shape}")
    quartic = RidgeSum(ScalarPolynomial([top, 0.0, -2.0 * top / width**2, 0.0, top / width**4]), size)
    linear = RidgeSum(ScalarPolynomial([0.0, 1.0]), size, coefficients=np.broadcast_to(slopes, (size,)))
    return IntegrandSum([quartic, linear])
