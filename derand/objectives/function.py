"""Integrands given by the user's own functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from derand._utils.arrays import array_namespace
from derand._utils.validation import check_int
from derand.exceptions import InputError, InputTypeError
from derand.objectives.protocol import Integrand

__all__ = ["FunctionIntegrand"]

_STEP = float(np.finfo(np.float64).eps) ** (1.0 / 3.0)


class FunctionIntegrand:
    """An integrand from functions for its value, its gradient and, if there is one, its Hessian product.

    Without a Hessian product, products are central differences of the gradient, of relative error about 1e-10 for a
    smooth function of moderate size; an objective made of them is not exact and `has_exact_hessian` says so.

    Parameters
    ----------
    dim : int
        Number of coordinates of a point, trainable parameters included, >= 1.
    value : callable
        Points (n, dim) -> values (n,).
    gradient : callable
        Points (n, dim) -> gradients (n, dim).
    hessian_product : callable, optional
        Points and directions, both (n, dim) -> products (n, dim).

    Raises
    ------
    InputTypeError
        If a function isn't callable.

    Examples
    --------
    >>> import numpy as np
    >>> from derand.objectives import FunctionIntegrand
    >>> g = FunctionIntegrand(1, lambda z: z[:, 0] ** 3, lambda z: 3 * z**2)
    >>> g.hessian_product(np.array([[2.0]]), np.array([[1.0]])).round(6).tolist()
    [[12.0]]
    """

    def __init__(
        self,
        dim: int,
        value: Callable[[Any], Any],
        gradient: Callable[[Any], Any],
        hessian_product: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        self._dim = check_int(dim, "dim", low=1)
        for name, function in (("value", value), ("gradient", gradient), ("hessian_product", hessian_product)):
            if not callable(function) and not (name == "hessian_product" and function is None):
                raise InputTypeError(f"{name} must be callable, got {type(function).__name__}")
        self._value = value
        self._gradient = gradient
        self._product = hessian_product

    @property
    def dim(self) -> int:
        """Number of coordinates of a point."""
        return self._dim

    @property
    def has_exact_hessian(self) -> bool:
        """Whether Hessian products come from a function rather than from differences."""
        return self._product is not None

    def value(self, z: Any) -> Any:
        """Return g at the rows of ``z``."""
        return check_shape("value", self._value(z), (z.shape[0],))

    def gradient(self, z: Any) -> Any:
        """Return the gradient of g at each row of ``z``."""
        return check_shape("gradient", self._gradient(z), (z.shape[0], self._dim))

    def hessian_product(self, z: Any, v: Any) -> Any:
        """Return the Hessian at each row of ``z`` times the same row of ``v``, by differences if need be."""
        if self._product is not None:
            return check_shape("hessian_product", self._product(z, v), (z.shape[0], self._dim))
        xp = array_namespace(z)
        # A step of eps^(1/3) relative to the point balances truncation and cancellation of a central difference.
        size = xp.max(xp.abs(v), axis=1, keepdims=True)
        step = _STEP * (1.0 + xp.max(xp.abs(z), axis=1, keepdims=True)) / xp.where(size > 0, size, 0.0 * size + 1.0)
        return (self.gradient(z + step * v) - self.gradient(z - step * v)) / (2.0 * step)


def check_shape(name: str, answer: Any, shape: tuple[int, ...]) -> Any:
    """Return an integrand's answer when it has the right shape.

    Parameters
    ----------
    name : str
        The method that answered.
    answer : array
        What it returned.
    shape : tuple of int
        The shape it has to have.

    Returns
    -------
    array
        ``answer``.

    Raises
    ------
    InputError
        If the shape is wrong.
    """
    if tuple(getattr(answer, "shape", ())) != shape:
        got = getattr(answer, "shape", type(answer).__name__)
        raise InputError(f"the integrand's {name} must return shape {shape}, got {got}")
    return answer


def check_answer(integrand: Integrand, name: str, z: Any, *directions: Any) -> Any:
    """Return what a method of an integrand answers, when the shape is right and it holds no NaN.

    Infinities pass: they are the honest value of a function that overflows, and a line search steps back from them.  So
    do NaNs in derivatives where the value is infinite, such as an infinite curvature times a zero direction.

    Parameters
    ----------
    integrand : Integrand
        The integrand.
    name : {"value", "gradient", "hessian_product"}
        The method to call.
    z : array, shape (n, dim)
        Points.
    *directions : array, shape (n, dim)
        The second argument of a Hessian product.

    Returns
    -------
    array
        The answer.

    Raises
    ------
    InputError
        If the shape is wrong or a NaN is found.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        answer = getattr(integrand, name)(z, *directions)
        xp = array_namespace(z)
        check_shape(name, answer, tuple(z.shape[:1] if name == "value" else z.shape))
        bad = xp.isnan(answer)
        if bool(xp.any(bad)):
            excused = name != "value" and bool(
                xp.all(xp.logical_or(~xp.any(bad, axis=1), xp.isinf(integrand.value(z))))
            )
            if not excused:
                raise InputError(f"the integrand's {name} returned NaN")
    return answer


def has_exact_hessian(integrand: Any) -> bool:
    """Return whether the Hessian products of an integrand, and of all its parts, are exact."""
    parts = [*getattr(integrand, "terms", ()), *([integrand.inner] if hasattr(integrand, "inner") else [])]
    if any(not has_exact_hessian(part) for part in parts if hasattr(part, "hessian_product")):
        return False
    return bool(getattr(integrand, "has_exact_hessian", True))
