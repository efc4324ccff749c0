"""The union bound on the probability that a random map distorts some pair by more than eps, from the exact law."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import brentq
from scipy.special import chndtr, gammaln, ive

from derand._utils.validation import FloatArray
from derand.embedding.unit_differences import UnitDifferences

__all__ = ["UnionBound"]

_REACH = 8.0  # |G z| exceeds sqrt(k) + 8 with probability below exp(-32)
_EVEN_ODDS = 0.5
_NODES = (20, 4.0)  # of the interpolation of a tail: so many, and so many for each unit of |A z|/sigma
_SERIES_ERROR = 1e-12  # what a tail from the series may be wrong by, observed to be below a tenth of it
_SERIES_ABOVE = 1e-4  # a smaller F comes from the law itself


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
            F, rounded up by exp(-32) for each tail that was left out, and by 1e-12 a pair where tails come from a
            series.
        slope : ndarray, shape (m,)
            Derivatives.
        """
        slope = np.zeros_like(squares)
        if sigma == 0.0:
            return float(np.count_nonzero(np.abs(squares - 1.0) > eps)), slope
        total, slope = self._tails(squares, sigma, eps, _series_tail)
        return (total, slope) if total > _SERIES_ABOVE else self._tails(squares, sigma, eps, _exact_tail)

    def _tails(
        self, squares: FloatArray, sigma: float, eps: float, tail: Callable[..., tuple[FloatArray, FloatArray, float]]
    ) -> tuple[float, FloatArray]:
        """Return F and its slope for sigma > 0, with the probabilities of `tail`."""
        k, total, lengths, slope = self.shape[0], 0.0, np.sqrt(squares), np.zeros_like(squares)
        # |A z| lies within sigma |G z| of |M z|: tails further away than that are below exp(-32) and cost nothing.
        reach = sigma * (math.sqrt(k) + _REACH)
        for end, sign in ((1.0 + eps, 1.0), (1.0 - eps, -1.0)):
            if end <= 0.0:
                continue
            distance = sign * (lengths - math.sqrt(end))
            inside = distance <= -reach  # surely on the right side of this end
            near = np.flatnonzero(~inside & (distance < reach))
            total += float(np.count_nonzero(distance >= reach)) + math.exp(-32.0) * float(np.count_nonzero(inside))
            below, density, error = tail(end / sigma**2, k, squares[near] / sigma**2)
            total += float(np.sum(1.0 - below if sign > 0.0 else below)) + error * near.size
            slope[near] += sign * density / sigma**2
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
        """Return the least eps with F <= 1/2, and F there.

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
        tiny = float(np.finfo(np.float64).tiny)

        def excess(eps: float) -> float:
            """Return log F - log 1/2."""
            return math.log(max(self.of_squares(squares, sigma, eps)[0], tiny) / _EVEN_ODDS)

        root = low
        if high - low > 1e-10 * high and excess(low) > 0.0:
            root = float(brentq(excess, low, high, xtol=1e-10 * high, rtol=1e-10))
        step = 1e-10 * high
        while (failure := self.of_squares(squares, sigma, root)[0]) > _EVEN_ODDS:
            root, step = root + step, 2.0 * step
        return root, failure


def _exact_tail(x: float, k: int, centre: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the distribution function at x for several noncentralities, minus its derivative, and an error bound."""
    return chndtr(x, k, centre), _density(x, k + 2, centre), 0.0


def _series_tail(x: float, k: int, centre: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return what `_exact_tail` does from Chebyshev series in the root of the noncentrality, much faster for many."""
    # The density is entire in that root, where its width is 1; the distribution function is an integral of it.
    roots = np.sqrt(centre)
    low, high = (float(end) for end in (roots.min(initial=math.inf), roots.max(initial=0.0)))
    n_nodes = int(_NODES[0] + _NODES[1] * max(high - low, 0.0))
    if n_nodes >= 2 * roots.size or not high > low:
        return _exact_tail(x, k, centre)
    half, angles, orders = 0.5 * (high - low), np.pi * (np.arange(n_nodes) + 0.5) / n_nodes, np.arange(n_nodes)
    at_nodes = low + half * (np.cos(angles) + 1.0)
    density = _density(x, k + 2, np.square(at_nodes))
    # dQ/droot = -2 root density; both series from the values at Chebyshev's points, by discrete orthogonality.
    values = np.stack([-2.0 * half * at_nodes * density, density], axis=1)
    series = np.zeros((n_nodes + 2, 2))
    series[:-2] = np.cos(np.outer(orders, angles)) @ values * (2.0 / n_nodes)
    # The integral of a_0/2 + sum a_n T_n has the coefficients (a_{n-1} - a_{n+1})/2n, and Q at the upper end.
    integral = (series[:-2, 0] - series[2:, 0]) / (2.0 * (orders + 1.0))
    series[1:-1, 0], series[0] = integral, (float(chndtr(x, k, high**2)) - integral.sum(), 0.5 * series[0, 1])
    below, slope = chebyshev.chebval((roots - low) / half - 1.0, series)
    return np.clip(below, 0.0, 1.0), np.maximum(slope, 0.0), _SERIES_ERROR


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
