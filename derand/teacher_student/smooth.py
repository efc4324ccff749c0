"""Gaussian averages of networks with any smooth activation, by a Gauss-Hermite rule on the numerical rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_int
from derand.exceptions import InputError, InputTypeError
from derand.gaussian.quadrature import tensor_gauss_hermite
from derand.teacher_student.parameters import Moments

__all__ = ["SmoothActivation"]

_RANK_TOLERANCE = 1e-13


class SmoothActivation:
    """A function g given by itself and its derivative, averaged with a product Gauss-Hermite rule.

    The rule has `n_nodes` points in each direction of the fields' covariance whose variance isn't rounding.  It is
    exact when g is a polynomial of degree at most (2 n_nodes + 1) / 4; for an analytic g the error falls exponentially
    with the root of `n_nodes`, and for a function with kinks (ReLU) only like a power: don't use it there.

    Parameters
    ----------
    value : callable
        ``value(z)`` returns g(z) for an array z, with its shape.
    derivative : callable
        ``derivative(z)`` returns g'(z).
    n_nodes : int, default 32
        Points in each direction, at least 2.  Their number to the power p + p_star must not exceed ten million.

    Raises
    ------
    InputError
        If `n_nodes` is out of range, or (in use) a function returns something of another shape or not finite.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    O(n_nodes^r (p + p_star)^2) operations for each covariance of rank r; deterministic.

    Examples
    --------
    >>> import numpy as np
    >>> cube = SmoothActivation(lambda z: z**3, lambda z: 3 * z**2, n_nodes=8)
    >>> float(cube.squared_error(np.eye(1), np.ones(1)))  # E[z^6]
    15.0
    """

    name = "smooth"
    degrees: tuple[int, int] | None = None

    def __init__(
        self, value: Callable[[FloatArray], Any], derivative: Callable[[FloatArray], Any], n_nodes: int = 32
    ) -> None:
        for name, function in (("value", value), ("derivative", derivative)):
            if not callable(function):
                raise InputTypeError(f"{name} must be callable, got {type(function).__name__}")
        self._value, self._derivative = value, derivative
        self.n_nodes = check_int(n_nodes, "n_nodes", low=2, high=1000)

    def value(self, z: FloatArray) -> FloatArray:
        """Return g(z)."""
        return _checked(self._value(z), z, "value")

    def derivative(self, z: FloatArray) -> FloatArray:
        """Return g'(z)."""
        return _checked(self._derivative(z), z, "derivative")

    def squared_error(self, sigma: FloatArray, c: FloatArray) -> FloatArray:
        """Return E[u^2] for each covariance."""
        flat = sigma.reshape(-1, *sigma.shape[-2:])
        values = [weights @ (self.value(fields) @ c) ** 2 for fields, weights in map(self._rule, flat)]
        return np.array(values).reshape(sigma.shape[:-2])

    def moments(self, sigma: FloatArray, c: FloatArray, p: int) -> Moments:
        """Return the averages for each covariance."""
        flat = sigma.reshape(-1, *sigma.shape[-2:])
        parts = [self._moments(matrix, c, p) for matrix in flat]
        lead = sigma.shape[:-2]
        stacked = [np.stack(column) for column in zip(*parts, strict=True)]
        return Moments(*(array.reshape((*lead, *array.shape[1:])) for array in stacked))

    def _moments(self, sigma: FloatArray, c: FloatArray, p: int) -> Moments:
        """Return the averages for one covariance."""
        fields, weights = self._rule(sigma)
        error = self.value(fields) @ c
        slopes = self.derivative(fields[:, :p])
        weighted = slopes * weights[:, None]
        return Moments(
            np.asarray(weights @ error**2),
            (weighted * error[:, None]).T @ fields,
            (weighted * (error**2)[:, None]).T @ slopes,
            weighted.T @ slopes,
        )

    def _rule(self, sigma: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return fields, shape (n_nodes^r, n), and weights for one covariance."""
        variances, vectors = np.linalg.eigh(sigma)
        kept = variances > _RANK_TOLERANCE * max(float(variances[-1]), 0.0)
        factor = vectors[:, kept] * np.sqrt(variances[kept])
        if factor.shape[1] == 0:
            return np.zeros((1, sigma.shape[0])), np.ones(1)
        nodes, weights = tensor_gauss_hermite(self.n_nodes, factor.shape[1])
        return nodes @ factor.T, weights


def _checked(values: Any, z: FloatArray, name: str) -> FloatArray:
    """Return the user's values as a finite array of z's shape."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != z.shape:
        raise InputError(f"{name} must return an array of the shape {z.shape} of its argument, got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise InputError(f"{name} must return finite numbers")
    return array
