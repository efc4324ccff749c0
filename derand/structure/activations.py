"""Smooth activations with two derivatives, in operations of the array API standard."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from derand._utils.arrays import array_namespace
from derand._utils.validation import check_int, check_option, check_scalar
from derand.exceptions import InputTypeError
from derand.gaussian.special import erf, normal_cdf, normal_pdf

__all__ = ["ACTIVATIONS", "HiddenActivation", "ThreeDerivatives", "make_activation"]

#: Names that `make_activation` knows.
ACTIVATIONS = ("softplus", "tanh", "gelu", "erf", "square")

_ROOT_TWO = math.sqrt(2.0)


class ThreeDerivatives(Protocol):
    """A user's activation; `derand.objectives` has several.  All methods take and return arrays of one library."""

    def value(self, u: Any) -> Any:
        """Return phi(u)."""

    def first(self, u: Any) -> Any:
        """Return phi'(u)."""

    def second(self, u: Any) -> Any:
        """Return phi''(u)."""


@dataclass(frozen=True)
class HiddenActivation:
    """An activation as the networks of this package use it.

    Parameters
    ----------
    name : str
        How a network's repr calls it.
    jet : callable
        ``jet(z, order)`` returns the tuple of the derivatives 0..order at ``z``, order 0, 1 or 2, sharing their work.
    """

    name: str
    jet: Callable[[Any, int], tuple[Any, ...]]

    def derivatives(self, z: Any, order: int = 2) -> tuple[Any, ...]:
        """Return phi(z) and its derivatives up to an order.

        Parameters
        ----------
        z : array
            Points, of any array library.
        order : int, default 2
            Highest derivative, 0 to 2.

        Returns
        -------
        tuple of array
            ``order + 1`` arrays of the shape of ``z``.

        Raises
        ------
        InputError
            If order isn't 0, 1 or 2.

        Examples
        --------
        >>> import numpy as np
        >>> [a.tolist() for a in make_activation("square").derivatives(np.array([3.0]))]
        [[9.0], [6.0], [2.0]]
        """
        return self.jet(z, check_int(order, "order", low=0, high=2))


def make_activation(activation: str | ThreeDerivatives | HiddenActivation, *, iota: float = 1.0) -> HiddenActivation:
    r"""Return an activation from its name or from a user's three functions.

    "softplus" is :math:`\log(1 + e^{\iota z}) / \iota`, the paper's smooth ReLU; "tanh"; "gelu" is
    :math:`z \Phi(z)`; "erf" is :math:`\mathrm{erf}(z)`; "square" is :math:`z^2`.  All but the square have bounded
    derivatives of every order from the first on, as the theorems want; the square has them on bounded sets.

    Parameters
    ----------
    activation : str or object with methods value, first, second
        Name, or the user's function with its two derivatives, in operations of the array library that is used.
    iota : float, default 1.0
        Sharpness of "softplus", > 0; the limit of large iota is ReLU, with a Hessian that is iota times as rough.

    Returns
    -------
    HiddenActivation
        The activation.

    Raises
    ------
    InputError
        If the name is unknown or iota isn't positive.
    InputTypeError
        If the activation is neither a name nor has the three methods.

    References
    ----------
    arXiv:2510.19382, section 4 (the smooth ReLU).

    Examples
    --------
    >>> import numpy as np
    >>> make_activation("softplus", iota=2.0).derivatives(np.zeros(1), 1)[1].item()
    0.5
    """
    if isinstance(activation, HiddenActivation):
        return activation
    if isinstance(activation, str):
        check_option(activation, "activation", ACTIVATIONS)
        if activation == "softplus":
            sharpness = check_scalar(iota, "iota", low=0.0, low_open=True, high=math.inf, high_open=True)
            return HiddenActivation("softplus", partial(_softplus_jet, sharpness))
        return HiddenActivation(activation, _JETS[activation])
    if not all(callable(getattr(activation, name, None)) for name in ("value", "first", "second")):
        raise InputTypeError("activation must be a name or have the methods value, first and second")
    return HiddenActivation(type(activation).__name__, partial(_own_jet, activation))


def _own_jet(activation: ThreeDerivatives, z: Any, order: int) -> tuple[Any, ...]:
    """Return a user's derivatives."""
    return tuple(method(z) for method in (activation.value, activation.first, activation.second)[: order + 1])


def _softplus_jet(sharpness: float, z: Any, order: int) -> tuple[Any, ...]:
    """Return the derivatives of log(1 + exp(sharpness z)) / sharpness, without overflow."""
    xp = array_namespace(z)
    v = sharpness * z
    e = xp.exp(-xp.abs(v))
    value = (xp.where(v > 0.0, v, 0.0 * v) + xp.log1p(e)) / sharpness
    if order == 0:
        return (value,)
    first = xp.where(v >= 0.0, 1.0 + 0.0 * v, e) / (1.0 + e)
    # The product e/(1+e)^2 keeps its digits in both tails, where p (1 - p) loses them in one.
    return (value, first, sharpness * e / (1.0 + e) ** 2)[: order + 1]


def _tanh_jet(z: Any, order: int) -> tuple[Any, ...]:
    """Return the derivatives of tanh."""
    t = array_namespace(z).tanh(z)
    slope = 1.0 - t * t
    return (t, slope, -2.0 * t * slope)[: order + 1]


def _gelu_jet(z: Any, order: int) -> tuple[Any, ...]:
    """Return the derivatives of z Phi(z)."""
    cdf = normal_cdf(z)
    if order == 0:
        return (z * cdf,)
    density = normal_pdf(z)
    return (z * cdf, cdf + z * density, (2.0 - z * z) * density)[: order + 1]


def _erf_jet(z: Any, order: int) -> tuple[Any, ...]:
    """Return the derivatives of erf(z)."""
    value = erf(z)
    if order == 0:
        return (value,)
    slope = 2.0 * _ROOT_TWO * normal_pdf(_ROOT_TWO * z)
    return (value, slope, -2.0 * z * slope)[: order + 1]


def _square_jet(z: Any, order: int) -> tuple[Any, ...]:
    """Return the derivatives of the square."""
    return (z * z, 2.0 * z, 2.0 + 0.0 * z)[: order + 1]


_JETS = {"tanh": _tanh_jet, "gelu": _gelu_jet, "erf": _erf_jet, "square": _square_jet}
