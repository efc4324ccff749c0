"""The soft worst case: a smooth bound on the expected largest distortion of a random map, and the smooth maximum."""

from __future__ import annotations

import math

import numpy as np

from derand._utils.validation import FloatArray
from derand.embedding.unit_differences import UnitDifferences

__all__ = ["SmoothMaximum"]


class SmoothMaximum:
    r"""Phi(M) = (1/beta) log E sum_p 2 cosh(beta (|A z_p|^2 - 1)) for A = M + sigma G with G standard normal (k, r).

    The squared length |A z|^2 is sigma^2 times a noncentral chi-square variable, whose moment generating function gives

    .. math:: \Phi = \frac1\beta \log \sum_p \left( e^{-\beta} a^{-k/2} e^{\beta s_p/a}
              + e^{\beta} b^{-k/2} e^{-\beta s_p/b} \right)

    with s_p = |M z_p|^2, a = 1 - 2 beta sigma^2 > 0 and b = 1 + 2 beta sigma^2.  By Jensen's inequality Phi is an upper
    bound on the expected largest distortion of A.  With sigma = 0 it lies between the largest distortion of M and that
    plus log(2 m)/beta.

    Parameters
    ----------
    differences : UnitDifferences
        The m unit vectors.
    beta : float
        Sharpness, > 0; below 1/(2 sigma^2).
    shape : tuple (k, r)
        Shape of M.
    sigma : float, default 0.0
        Standard deviation of the entries of A.
    log_weights : ndarray, shape (m,), optional
        Logarithms of how many pairs each one stands for; 0 by default.
    """

    def __init__(
        self,
        differences: UnitDifferences,
        beta: float,
        shape: tuple[int, int],
        sigma: float = 0.0,
        *,
        log_weights: FloatArray | None = None,
    ) -> None:
        self.differences, self.beta, self.shape = differences, beta, shape
        self._log_weights = 0.0 if log_weights is None else log_weights
        self._a, self._b = 1.0 - 2.0 * beta * sigma**2, 1.0 + 2.0 * beta * sigma**2

    def value_and_grad(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return Phi and its gradient at the flat map x, shape (k r,)."""
        images = self.differences.apply(x.reshape(self.shape))
        value, slope = self.of_squares(np.einsum("ij,ij->i", images, images))
        return value, self.differences.adjoint((2.0 * slope)[:, None] * images).ravel()

    def of_squares(self, squares: FloatArray) -> tuple[float, FloatArray]:
        """Return Phi and its derivative in each squared length s_p, shape (m,)."""
        half, beta = 0.5 * self.shape[0], self.beta
        longer = (beta / self._a) * squares - (beta + half * math.log(self._a)) + self._log_weights
        shorter = (beta - half * math.log(self._b)) - (beta / self._b) * squares + self._log_weights
        top = max(float(longer.max()), float(shorter.max()))
        longer, shorter = np.exp(longer - top), np.exp(shorter - top)
        total = float(longer.sum() + shorter.sum())
        slope: FloatArray = longer / (self._a * total) - shorter / (self._b * total)
        return (top + math.log(total)) / beta, slope
