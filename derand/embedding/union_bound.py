"""The union bound on the probability that a random map distorts some pair by more than eps, from the exact law."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import chndtr, gammaln, ive

from derand._utils.validation import FloatArray
from derand.embedding.unit_differences import UnitDifferences

__all__ = ["UnionBound"]

_REACH = 8.0  # |G z| exceeds sqrt(k) + 8 with probability below exp(-32)
_EVEN_ODDS = 0.5


class UnionBound:
    r"""The union bound F on the probability that A = M + sigma G, G standard normal (k, r), distorts by more than eps.

    The squared length :math:`|A z|^2/\sigma^2` is noncentral chi-square with k degrees of freedom and noncentrality
    :math:`s_p/\sigma^2`, :math:`s_p = |M z_p|^2`, so that with its distribution function Q

    .. math:: F = \sum_p \left( 1 - Q\left(\tfrac{1+\epsilon}{\sigma^2}; k, \tfrac{s_p}{\sigma^2}\right)
              + Q\left(\tfrac{1-\epsilon}{\sigma^2}; k, \tfrac{s_p}{\sigma^2}\right) \right).

    F < 1 proves that a map of distortion at most eps exists, and that a random one has it with probability 1 - F.

    Parameters
    ----------
    differences : UnitDifferences
        The unit vectors.
    shape : tuple (k, r)
        Shape of M.
    """

    def __init__(self, differences: UnitDifferences, shape: tuple[int, int]) -> None:
        self.differences, self.shape = differences, shape

    def of_squares(self, squares: FloatArray, sigma: float, eps: float) -> tuple[float, FloatArray]:
        """Return F and its derivative in each s_p, shape (m,); for sigma = 0 the number of pairs beyond eps and 0.

        Parameters
        ----------
        squares : ndarray, shape (m,)
            Squared lengths s_p under M.
        sigma : float
            Standard deviation of the entries of A.
        eps : float
            Distortion, > 0.

        Returns
        -------
        value : float
            F, rounded up by exp(-32) for each tail that was left out.
        slope : ndarray, shape (m,)
            Derivatives.
        """
        slope = np.zeros_like(squares)
        if sigma == 0.0:
            return float(np.count_nonzero(np.abs(squares - 1.0) > eps)), slope
        k, total, lengths = self.shape[0], 0.0, np.sqrt(squares)
        # |A z| lies within sigma |G z| of |M z|: tails further away than that are below exp(-32) and cost nothing.
        reach = sigma * (math.sqrt(k) + _REACH)
        for end, sign in ((1.0 + eps, 1.0), (1.0 - eps, -1.0)):
            if end <= 0.0:
                continue
            x, distance = end / sigma**2, sign * (lengths - math.sqrt(end))
            inside = distance <= -reach  # surely on the right side of this end
            near = np.flatnonzero(~inside & (distance < reach))
            total += float(np.count_nonzero(distance >= reach)) + math.exp(-32.0) * float(np.count_nonzero(inside))
            centre = squares[near] / sigma**2
            below = chndtr(x, k, centre)
            total += float(np.sum(1.0 - below if sign > 0.0 else below))
            slope[near] += sign * _density(x, k + 2, centre) / sigma**2
        return total, slope

    def log_value_and_grad(self, x: FloatArray, sigma: float, eps: float) -> tuple[float, FloatArray]:
        """Return log F and its gradient at the flat map x.

        Parameters
        ----------
        x : ndarray, shape (k r,)
            The map.
        sigma : float
            Standard deviation, > 0.
        eps : float
            Distortion.

        Returns
        -------
        value : float
            log F.
        gradient : ndarray, shape (k r,)
            Gradient.
        """
        images = self.differences.apply(x.reshape(self.shape))
        value, slope = self.of_squares(np.einsum("ij,ij->i", images, images), sigma, eps)
        value = max(value, float(np.finfo(np.float64).tiny))
        return math.log(value), self.differences.adjoint((2.0 * slope / value)[:, None] * images).ravel()

    def least_eps(self, squares: FloatArray, sigma: float) -> tuple[float, float]:
        """Return the least eps with F <= 1/2, by bisection from above, and F there.

        Parameters
        ----------
        squares : ndarray, shape (m,)
            Squared lengths under M.
        sigma : float
            Standard deviation.

        Returns
        -------
        eps : float
            With probability at least 1/2 a random map has at most this distortion; for sigma = 0 the one of M.
        failure : float
            F, 1/2 at most.
        """
        if sigma == 0.0:
            return float(np.abs(squares - 1.0).max()), 0.0
        low, high = 0.0, 1.0
        while self.of_squares(squares, sigma, high)[0] > _EVEN_ODDS:
            low, high = high, 2.0 * high
        while high - low > 1e-10 * high:
            middle = 0.5 * (low + high)
            if self.of_squares(squares, sigma, middle)[0] <= _EVEN_ODDS:
                high = middle
            else:
                low = middle
        return high, self.of_squares(squares, sigma, high)[0]


def _density(x: float, df: int, centre: FloatArray) -> FloatArray:
    """Return the density of the noncentral chi-square law at x for several noncentralities; = -dQ_{df-2}/dcentre."""
    order = 0.5 * df - 1.0
    central = np.exp(order * math.log(0.5 * x) - 0.5 * x - gammaln(order + 1.0)) / 2.0
    small = centre * x < 1e-12
    root = np.sqrt(np.where(small, 1.0, centre) * x)
    with np.errstate(divide="ignore"):  # a Bessel function that underflows is 0
        logarithm = np.log(ive(order, root))
    gap = math.sqrt(x) - np.sqrt(centre)
    shifted = np.exp(logarithm - 0.5 * gap**2 + 0.5 * order * np.log(x / np.where(small, 1.0, centre))) / 2.0
    density: FloatArray = np.where(small, central, shifted)
    return density
