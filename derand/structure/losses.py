"""Smooth losses of a network's outputs, with gradient and Hessian products, in operations of the array API standard."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from derand._utils.arrays import array_namespace
from derand._utils.validation import FloatArray, check_option, check_scalar
from derand.exceptions import InputError, InputTypeError

__all__ = ["LOSSES", "Huber", "Logistic", "Loss", "Multinomial", "PointwiseLoss", "Squared", "make_loss"]

#: Names that `make_loss` knows.
LOSSES = ("squared", "logistic", "multinomial", "huber")

_PROBABILITY_SLACK = 1e-8


class Loss(Protocol):
    """A loss l(f, y); outputs f and targets y have shape (n, c), arrays of one library."""

    def value(self, f: Any, y: Any) -> Any:
        """Return l(f_i, y_i), shape (n,)."""

    def gradient(self, f: Any, y: Any) -> Any:
        """Return the derivatives by f, shape (n, c)."""

    def hessian_product(self, f: Any, y: Any, v: Any) -> Any:
        """Return the second derivative by f, applied to each row of v, shape (n, c)."""


class _ElementwiseLoss:
    """A loss that is a sum over outputs; subclasses give the second derivative for each of them."""

    def curvature(self, f: Any, y: Any) -> Any:
        """Return the second derivatives, shape (n, c)."""
        raise NotImplementedError

    def hessian_product(self, f: Any, y: Any, v: Any) -> Any:
        """Return the diagonal second derivative times v."""
        return self.curvature(f, y) * v


class Squared(_ElementwiseLoss):
    """l = |f - y|^2 / 2."""

    def value(self, f: Any, y: Any) -> Any:
        """Return half the squared distance."""
        return 0.5 * array_namespace(f).sum((f - y) ** 2, axis=1)

    def gradient(self, f: Any, y: Any) -> Any:
        """Return f - y."""
        return f - y

    def curvature(self, f: Any, y: Any) -> Any:
        """Return ones."""
        return 1.0 + 0.0 * f


class Logistic(_ElementwiseLoss):
    """l = sum log(1 + exp(f)) - y f for targets in [0, 1]: labels, or the probabilities of label 1."""

    def value(self, f: Any, y: Any) -> Any:
        """Return the negative log likelihood, without overflow."""
        xp = array_namespace(f)
        positive = xp.where(f > 0.0, f, 0.0 * f)
        return xp.sum(positive + xp.log1p(xp.exp(-xp.abs(f))) - y * f, axis=1)

    def gradient(self, f: Any, y: Any) -> Any:
        """Return p - y for the probability p = 1 / (1 + exp(-f))."""
        xp = array_namespace(f)
        e = xp.exp(-xp.abs(f))
        return xp.where(f >= 0.0, 1.0 + 0.0 * f, e) / (1.0 + e) - y

    def curvature(self, f: Any, y: Any) -> Any:
        """Return p (1 - p)."""
        xp = array_namespace(f)
        e = xp.exp(-xp.abs(f))
        return e / (1.0 + e) ** 2


class Multinomial:
    """l = log sum exp(f) - y.f for targets that are rows of probabilities (one-hot rows for labels)."""

    def value(self, f: Any, y: Any) -> Any:
        """Return the negative log likelihood, without overflow."""
        xp = array_namespace(f)
        top = xp.max(f, axis=1, keepdims=True)
        total = xp.log(xp.sum(xp.exp(f - top), axis=1))
        return total + xp.sum(y * (top - f), axis=1)

    def gradient(self, f: Any, y: Any) -> Any:
        """Return p - y for the softmax p."""
        return _softmax(f) - y

    def hessian_product(self, f: Any, y: Any, v: Any) -> Any:
        """Return (diag(p) - p p') v."""
        p = _softmax(f)
        return p * (v - array_namespace(f).sum(p * v, axis=1, keepdims=True))


class Huber(_ElementwiseLoss):
    r"""l = sum delta^2 (sqrt(1 + r^2/delta^2) - 1), r = f - y: the smooth Huber loss.

    Huber's own loss has a second derivative that jumps, so that neither second-order stationarity nor the theorems
    apply to it; this one has all derivatives, behaves like r^2/2 near 0 and like delta |r| far away.

    Parameters
    ----------
    delta : float, default 1.0
        Residual where the square turns into the absolute value, > 0.

    Raises
    ------
    InputError
        If delta isn't positive and finite.
    """

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = check_scalar(delta, "delta", low=0.0, low_open=True, high=math.inf, high_open=True)

    def value(self, f: Any, y: Any) -> Any:
        """Return the loss; r^2 / (1 + root) avoids the difference of two ones."""
        xp = array_namespace(f)
        r = f - y
        return xp.sum(r * r / (1.0 + self._root(r)), axis=1)

    def gradient(self, f: Any, y: Any) -> Any:
        """Return r / sqrt(1 + r^2/delta^2)."""
        r = f - y
        return r / self._root(r)

    def curvature(self, f: Any, y: Any) -> Any:
        """Return (1 + r^2/delta^2)^(-3/2)."""
        return self._root(f - y) ** -3.0

    def _root(self, r: Any) -> Any:
        """Return sqrt(1 + r^2/delta^2)."""
        return array_namespace(r).sqrt(1.0 + (r / self.delta) ** 2)


@dataclass(frozen=True)
class PointwiseLoss(_ElementwiseLoss):
    """A user's loss: the sum over outputs of a smooth function of (f, y).

    Parameters
    ----------
    function : callable
        ``function(f, y)`` returns the loss of every output, for arrays (n, c) of one library.
    first : callable
        Its derivative by f, of the same form.
    second : callable
        Its second derivative by f, of the same form.

    Examples
    --------
    >>> import numpy as np
    >>> quartic = PointwiseLoss(lambda f, y: (f - y)**4, lambda f, y: 4*(f - y)**3, lambda f, y: 12*(f - y)**2)
    >>> quartic.value(np.array([[2.0]]), np.array([[0.0]])).item()
    16.0
    """

    function: Callable[[Any, Any], Any]
    first: Callable[[Any, Any], Any]
    second: Callable[[Any, Any], Any]

    def value(self, f: Any, y: Any) -> Any:
        """Return the sum of the function over outputs."""
        return array_namespace(f).sum(self.function(f, y), axis=1)

    def gradient(self, f: Any, y: Any) -> Any:
        """Return the user's derivative."""
        return self.first(f, y)

    def curvature(self, f: Any, y: Any) -> Any:
        """Return the user's second derivative."""
        return self.second(f, y)


def make_loss(loss: str | Loss, *, delta: float = 1.0) -> Loss:
    """Return a loss from its name, or the user's own.

    Parameters
    ----------
    loss : {"squared", "logistic", "multinomial", "huber"} or object of the form of `Loss`
        The loss.
    delta : float, default 1.0
        Transition of "huber", > 0.

    Returns
    -------
    Loss
        The loss.

    Raises
    ------
    InputError
        If the name is unknown or delta isn't positive.
    InputTypeError
        If the loss is neither a name nor has the methods of `Loss`.

    Examples
    --------
    >>> import numpy as np
    >>> make_loss("squared").value(np.array([[3.0]]), np.array([[1.0]])).item()
    2.0
    """
    if isinstance(loss, str):
        name = check_option(loss, "loss", LOSSES)
        if name == "huber":
            return Huber(delta)
        named: dict[str, Loss] = {"squared": Squared(), "logistic": Logistic(), "multinomial": Multinomial()}
        return named[name]
    if not all(callable(getattr(loss, name, None)) for name in ("value", "gradient", "hessian_product")):
        raise InputTypeError("loss must be a name or have the methods value, gradient and hessian_product")
    return loss


def check_targets(loss: Loss, y: FloatArray) -> None:
    """Raise InputError where targets (n, c) lie outside of what a loss of this module is defined for."""
    if isinstance(loss, Logistic) and (np.min(y, initial=0.0) < 0.0 or np.max(y, initial=0.0) > 1.0):
        raise InputError("y must lie in [0, 1] for the logistic loss")
    if isinstance(loss, Multinomial):
        off = np.max(np.abs(np.sum(y, axis=1) - 1.0), initial=0.0)
        if y.shape[1] < 2 or np.min(y, initial=0.0) < 0.0 or off > _PROBABILITY_SLACK:
            raise InputError("y must have rows of probabilities (one column a class) for the multinomial loss")


def _softmax(f: Any) -> Any:
    """Return exp(f) over its row sums, without overflow."""
    xp = array_namespace(f)
    e = xp.exp(f - xp.max(f, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)
