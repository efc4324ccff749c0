"""Activation functions of two-layer networks with their first two derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import erf, expit, ndtr

from derand._utils.validation import FloatArray
from derand.exceptions import InputError, InputTypeError

__all__ = ["ACTIVATIONS", "SmoothFunction", "as_activation"]

_PEAK = 1.0 / math.sqrt(2.0 * math.pi)


@dataclass(frozen=True)
class SmoothFunction:
    """A function of one variable with two derivatives.

    Its second derivative must be a function: kinks (ReLU), where it has atoms, aren't covered by the theory.

    Parameters
    ----------
    value, first, second : callable
        On arrays.
    name : str
        For messages and results.

    Examples
    --------
    >>> cube = SmoothFunction(lambda u: u**3, lambda u: 3 * u**2, lambda u: 6 * u, "cube")
    >>> cube.second(np.array([2.0])).tolist()
    [12.0]
    """

    value: Callable[[FloatArray], FloatArray]
    first: Callable[[FloatArray], FloatArray]
    second: Callable[[FloatArray], FloatArray]
    name: str = "custom"


def _pdf(u: FloatArray) -> FloatArray:
    """Return the standard normal density."""
    return np.asarray(_PEAK * np.exp(-0.5 * u * u))


def _tanh_first(u: FloatArray) -> FloatArray:
    """Return 1 - tanh(u)^2."""
    return np.asarray(1.0 - np.tanh(u) ** 2)


def _silu_first(u: FloatArray) -> FloatArray:
    """Return the derivative of u times the logistic function."""
    s = expit(u)
    return np.asarray(s * (1.0 + u * (1.0 - s)))


def _silu_second(u: FloatArray) -> FloatArray:
    """Return the second derivative of u times the logistic function."""
    s = expit(u)
    slope = s * (1.0 - s)
    return np.asarray(slope * (2.0 + u * (1.0 - 2.0 * s)))


#: Activations by name.
ACTIVATIONS: Mapping[str, SmoothFunction] = MappingProxyType(
    {
        "linear": SmoothFunction(lambda u: 1.0 * u, np.ones_like, np.zeros_like, "linear"),
        "quad": SmoothFunction(lambda u: u * u, lambda u: 2.0 * u, lambda u: np.full_like(u, 2.0), "quad"),
        "half-quad": SmoothFunction(lambda u: 0.5 * u * u, lambda u: 1.0 * u, np.ones_like, "half-quad"),
        "gelu": SmoothFunction(
            lambda u: u * ndtr(u), lambda u: ndtr(u) + u * _pdf(u), lambda u: (2.0 - u * u) * _pdf(u), "gelu"
        ),
        "tanh": SmoothFunction(np.tanh, _tanh_first, lambda u: -2.0 * np.tanh(u) * _tanh_first(u), "tanh"),
        "erf": SmoothFunction(
            lambda u: erf(u / math.sqrt(2.0)), lambda u: 2.0 * _pdf(u), lambda u: -2.0 * u * _pdf(u), "erf"
        ),
        "softplus": SmoothFunction(lambda u: np.logaddexp(0.0, u), expit, lambda u: expit(u) * expit(-u), "softplus"),
        "silu": SmoothFunction(lambda u: u * expit(u), _silu_first, _silu_second, "silu"),
        "cos": SmoothFunction(np.cos, lambda u: -np.sin(u), lambda u: -np.cos(u), "cos"),
    }
)


def as_activation(activation: Any) -> SmoothFunction:
    """Return an activation from its name or as it is.

    Parameters
    ----------
    activation : str or SmoothFunction
        A name of `ACTIVATIONS`, in any case, with "_" for "-" if liked.  "erf" is erf(u / sqrt 2), as in
        `derand.teacher_student` (`derand.structure` and `derand.two_step` call erf(u) by this name).

    Returns
    -------
    SmoothFunction
        The function with its derivatives.

    Raises
    ------
    InputError
        If the name is unknown; "relu" has no second derivative.
    InputTypeError
        If it is neither a name nor a `SmoothFunction`.

    Examples
    --------
    >>> as_activation("GeLU").name
    'gelu'
    """
    if isinstance(activation, SmoothFunction):
        return activation
    if not isinstance(activation, str):
        raise InputTypeError(f"activation must be a name or a SmoothFunction, got {type(activation).__name__}")
    name = activation.lower().replace("_", "-")
    if name not in ACTIVATIONS:
        hint = "; ReLU has no second derivative, which the Hessian needs" if name == "relu" else ""
        raise InputError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {activation!r}{hint}")
    return ACTIVATIONS[name]
