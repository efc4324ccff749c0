"""Functions of one variable, with the derivatives of their Gaussian means in closed form.

For u ~ N(m, s) put F_j(m, s) = E[phi^(j)(u)], the j-th derivative of E[phi(u)] with respect to m.  The heat equation
dF_j/ds = F_{j+2}/2 turns the five functions F_0, ..., F_4 into all derivatives that a Hessian product needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtr

from derand._utils.arrays import array_namespace
from derand._utils.validation import FloatArray, check_array, check_scalar
from derand.exceptions import InputError
from derand.gaussian.special import normal_cdf, normal_pdf

__all__ = ["Activation", "Cosine", "Exponential", "ProbitSign", "ReLU", "ScalarPolynomial"]

_HEAD_ROOM = 1e-300


class Activation(Protocol):
    """A function phi: R -> R; the first three methods take arrays of any array library."""

    def value(self, u: Any) -> Any:
        """Return phi(u)."""

    def first(self, u: Any) -> Any:
        """Return phi'(u)."""

    def second(self, u: Any) -> Any:
        """Return phi''(u)."""

    def gaussian_derivatives(self, mean: FloatArray, variance: FloatArray, order: int) -> FloatArray:
        """Return E[phi^(j)(u)], u ~ N(mean, variance), for j = 0..order <= 4; shape ``(order + 1, *mean.shape)``."""


class Exponential:
    """phi(u) = exp(u); E[phi(u)] = exp(m + s/2) and so are all its derivatives."""

    def value(self, u: Any) -> Any:
        """Return exp(u)."""
        return array_namespace(u).exp(u)

    first = value
    second = value

    def gaussian_derivatives(self, mean: FloatArray, variance: FloatArray, order: int) -> FloatArray:
        """Return exp(mean + variance/2), order + 1 times."""
        return np.broadcast_to(np.exp(mean + variance / 2), (order + 1, *mean.shape)).copy()


class Cosine:
    """phi(u) = cos(u); E[phi(u)] = exp(-s/2) cos(m).  A sine is a cosine with its offset moved by -pi/2."""

    def value(self, u: Any) -> Any:
        """Return cos(u)."""
        return array_namespace(u).cos(u)

    def first(self, u: Any) -> Any:
        """Return -sin(u)."""
        return -array_namespace(u).sin(u)

    def second(self, u: Any) -> Any:
        """Return -cos(u)."""
        return -array_namespace(u).cos(u)

    def gaussian_derivatives(self, mean: FloatArray, variance: FloatArray, order: int) -> FloatArray:
        """Return the derivatives of exp(-s/2) cos(m)."""
        damping = np.exp(-variance / 2)
        even, odd = damping * np.cos(mean), -damping * np.sin(mean)
        return np.stack([even, odd, -even, -odd, even][: order + 1])


class ProbitSign:
    """phi(u) = 2 Phi(u/width) - 1 = erf(u / (sqrt(2) width)); E[phi(u)] = 2 Phi(m/sqrt(s + width^2)) - 1.

    Parameters
    ----------
    width : float, default 1.0
        Standard deviation of the smoothing, > 0.
    """

    def __init__(self, width: float = 1.0) -> None:
        self.width = check_scalar(width, "width", low=0.0, low_open=True, high=math.inf, high_open=True)

    def value(self, u: Any) -> Any:
        """Return 2 Phi(u/width) - 1."""
        return 2.0 * normal_cdf(u / self.width) - 1.0

    def first(self, u: Any) -> Any:
        """Return the normal density of u/width, times 2/width."""
        return (2.0 / self.width) * normal_pdf(u / self.width)

    def second(self, u: Any) -> Any:
        """Return the derivative of ``first``."""
        return -(u / self.width**2) * self.first(u)

    def gaussian_derivatives(self, mean: FloatArray, variance: FloatArray, order: int) -> FloatArray:
        """Return the derivatives of 2 Phi(m/tau) - 1, tau^2 = variance + width^2."""
        tau = np.sqrt(variance + self.width**2)
        h = mean / tau
        return np.stack([2.0 * ndtr(h) - 1.0, *_density_derivatives(h, 2.0 / tau, 1.0 / tau, order - 1)])


class ReLU:
    """phi(u) = max(u, 0); E[phi(u)] = m Phi(m/sqrt(s)) + sqrt(s) phi(m/sqrt(s)).

    The kink has no second derivative, so Stein's identity holds for the expectation only where the variance is
    positive, and a sampled expectation of a ReLU integrand proves nothing (its ``second`` is zero everywhere).
    """

    def value(self, u: Any) -> Any:
        """Return max(u, 0)."""
        return array_namespace(u).where(u > 0, u, 0.0 * u)

    def first(self, u: Any) -> Any:
        """Return 1 where u > 0, 1/2 at u = 0, else 0."""
        xp = array_namespace(u)
        return xp.where(u > 0, 0.0 * u + 1.0, xp.where(u < 0, 0.0 * u, 0.0 * u + 0.5))

    def second(self, u: Any) -> Any:
        """Return zero, the second derivative off the kink."""
        return 0.0 * u

    def gaussian_derivatives(self, mean: FloatArray, variance: FloatArray, order: int) -> FloatArray:
        """Return the derivatives of the smoothed ReLU.

        Parameters
        ----------
        mean, variance : array
            Of one shape.
        order : int
            Highest derivative, at most 4.

        Returns
        -------
        ndarray, shape ``(order + 1, *mean.shape)``
            The derivatives.

        Raises
        ------
        InputError
            If a second or higher derivative is asked for at the kink: mean 0 and variance 0.
        """
        flat = variance < _HEAD_ROOM
        if order >= 2 and bool(np.any(flat & (mean == 0.0))):
            raise InputError("the integrand has no second derivative here: a ReLU at its kink with variance 0")
        scale = np.sqrt(np.where(flat, 1.0, variance))
        h = mean / scale
        step = np.where(flat, (1.0 + np.sign(mean)) / 2.0, ndtr(h))
        rows = [np.where(flat, np.maximum(mean, 0.0), mean * step + scale * _pdf(h)), step]
        rows += [np.where(flat, 0.0, row) for row in _density_derivatives(h, 1.0 / scale, 1.0 / scale, order - 2)]
        return np.stack(rows[: order + 1])


class ScalarPolynomial:
    """phi(u) = sum_i coefficients[i] u^i; E[phi^(j)(u)] = sum_i phi^(j+2i)(m) (s/2)^i / i!, a finite sum.

    Parameters
    ----------
    coefficients : sequence of float
        From the constant term upwards.
    """

    def __init__(self, coefficients: Sequence[float] | FloatArray) -> None:
        self.coefficients = check_array(coefficients, "coefficients", ndim=1)
        if self.coefficients.size == 0:
            raise InputError("coefficients must hold at least the constant term, got none")

    def value(self, u: Any) -> Any:
        """Return phi(u)."""
        return self._horner(u, 0)

    def first(self, u: Any) -> Any:
        """Return phi'(u)."""
        return self._horner(u, 1)

    def second(self, u: Any) -> Any:
        """Return phi''(u)."""
        return self._horner(u, 2)

    def gaussian_derivatives(self, mean: FloatArray, variance: FloatArray, order: int) -> FloatArray:
        """Return the heat semigroup's finite sum for each derivative."""
        degree = self.coefficients.size - 1
        plain = [np.asarray(self._horner(mean, j)) for j in range(max(degree, order) + 1)]
        rows = []
        for j in range(order + 1):
            total, power = plain[j], np.ones_like(mean)
            for i in range(1, (degree - j) // 2 + 1):
                power = power * (variance / (2 * i))
                total = total + plain[j + 2 * i] * power
            rows.append(total)
        return np.stack(rows)

    def _horner(self, u: Any, order: int) -> Any:
        """Return the derivative of the given order at ``u``."""
        total = 0.0 * u
        for i in range(self.coefficients.size - 1, order - 1, -1):
            total = total * u + float(self.coefficients[i]) * math.perm(i, order)
        return total


def _density_derivatives(h: FloatArray, amplitude: FloatArray, rate: FloatArray, order: int) -> list[FloatArray]:
    """Return derivatives 0..order with respect to m of amplitude * pdf(h), dh/dm = rate, by Hermite's recursion."""
    base = amplitude * _pdf(h)
    hermite, previous = np.ones_like(h), np.zeros_like(h)
    rows, sign = [], np.ones_like(h)
    for j in range(order + 1):
        rows.append(sign * hermite * base)
        hermite, previous = h * hermite - j * previous, hermite
        sign = -sign * rate
    return rows


def _pdf(h: FloatArray) -> FloatArray:
    """Return the standard normal density; zero at infinity."""
    density: FloatArray = np.exp(-0.5 * np.square(h)) / math.sqrt(2.0 * math.pi)
    return density
