"""A lower bound on the distortion of every map of given points into few dimensions, linear or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray, check_int
from derand.embedding.adam import Adam
from derand.embedding.points import PointSet, RowSpace

__all__ = ["EmbeddingLowerBound", "embedding_lower_bound", "lower_bound_of", "softmax"]


@dataclass(frozen=True, repr=False)
class EmbeddingLowerBound(ResultRepr):
    """A proved lower bound on the distortion, with the point weights that prove it.

    Parameters
    ----------
    value : float
        No map of the points to k dimensions whatever has a smaller distortion.
    uniform : float
        What equal weights prove.
    weights : ndarray, shape (n,)
        Weights of the points, >= 0, with sum 1.
    k : int
        Dimensions.
    """

    value: float
    uniform: float
    weights: FloatArray
    k: int


def embedding_lower_bound(X: Any, k: int, *, max_iter: int = 400) -> EmbeddingLowerBound:
    r"""Return a lower bound on the distortion of any map of the points to k dimensions.

    Let eps be the largest :math:`\left| \|y_i - y_j\|^2/\|x_i - x_j\|^2 - 1 \right|` for images :math:`y_i` in k
    dimensions, however made.  For weights w of the points, with the eigenvalues :math:`\lambda_1 \ge \lambda_2 \ge
    \dots` of the weighted covariance, their sum T, :math:`\tau = \sum_{i>k} \lambda_i` and
    :math:`a = \frac14 \sum_{ij} w_i w_j \|x_i - x_j\|^4`,

    .. math:: a\,\epsilon^2 \ge \sum_{i>k} \lambda_i^2 + \tau^2 / (k + 1) .

    For let E be the difference of the two weighted, centred Gram matrices :math:`(\sqrt{w_i w_j}\, c_{ij})`.  The
    squared distances differ by :math:`\delta_{ij} = c_{ii} + c_{jj} - 2 c_{ij}`, at most eps times what they are, and

    .. math:: \frac14 \sum_{ij} w_i w_j \delta_{ij}^2 = \|E\|^2 + \frac12 \sum_i w_i c_{ii}^2
              + \frac12 (\mathrm{tr}\,E)^2 \ge \|E\|^2 + (\mathrm{tr}\,E)^2 ,

    the cross terms being 0 by centring; the Gram matrix of the images is positive semidefinite of rank k at most.  With
    :math:`(\mathrm{tr} E)^2 \ge 2 t\, \mathrm{tr} E - t^2` and Eckart and Young's theorem the right side is at least
    :math:`\sum_{i>k} \lambda_i^2 + 2 t \tau - (k + 1) t^2`, which :math:`t = \tau/(k+1)` maximises.  Where that
    would be a trace above eps T, which no map has, t is chosen for :math:`\mathrm{tr} E \le \epsilon T` instead.  The
    bound is the root eps; the weights are optimised.

    Parameters
    ----------
    X : array_like or sparse, shape (n, d)
        Points; n >= 2.
    k : int
        Dimensions of the images, at least 1.
    max_iter : int, default 400
        Iterations that improve the weights; 0 for equal weights.

    Returns
    -------
    EmbeddingLowerBound
        The bound, less an allowance for rounding, and its weights.  0.0 where k is the rank of the points or more.

    Raises
    ------
    InputError
        If X isn't finite or has the wrong shape, or k or max_iter is out of range.
    InputTypeError
        If X doesn't hold real numbers, or k or max_iter isn't an integer.

    Notes
    -----
    O(n r^2 + r^3) per iteration for points of rank r, without forming the n^2 distances; deterministic.  Any weights
    prove a bound, so that an optimisation cut short loses sharpness only.

    References
    ----------
    K. G. Larsen, J. Nelson, Optimality of the Johnson-Lindenstrauss lemma, FOCS 2017, arXiv:1609.02094, for the worst
    point sets; L. R. Welch, Lower bounds on the maximum cross correlation of signals, IEEE Trans. Inf. Theory 20 (1974)
    397-399, for the simplex.

    Examples
    --------
    The three corners of an equilateral triangle on a line: the best map has distortion 3/5, since the squared distances
    are 1, 1, 4 times something; the bound proves part of it.

    >>> bound = embedding_lower_bound([[1, 0, 0], [0, 1, 0], [0, 0, 1]], 1)
    >>> 0.499 < bound.value <= 0.6
    True
    """
    points = PointSet(X)
    check_int(k, "k", low=1)
    check_int(max_iter, "max_iter", low=0)
    return lower_bound_of(RowSpace.of(points).coords, k, max_iter=max_iter)


def lower_bound_of(coords: FloatArray, k: int, *, max_iter: int = 400) -> EmbeddingLowerBound:
    """Return the bound for points in coordinates of their row space.

    Parameters
    ----------
    coords : ndarray, shape (n, r)
        Points.
    k : int
        Dimensions.
    max_iter : int, default 400
        Iterations.

    Returns
    -------
    EmbeddingLowerBound
        See `embedding_lower_bound`.
    """
    n, r = coords.shape
    equal = np.full(n, 1.0 / n)
    if k >= r:
        return EmbeddingLowerBound(0.0, 0.0, equal, k)
    top = math.sqrt(float(np.square(coords).sum(axis=1).max()))
    problem = _WeightedBound(coords / top, k)
    with blas_threads(1):
        best = uniform = problem.bound(equal)[0]
        weights = equal
        if max_iter:
            value, found = _ascend(problem, n, max_iter)
            if value > best:
                best, weights = value, found
    return EmbeddingLowerBound(best, uniform, weights, k)


def _ascend(problem: _WeightedBound, n: int, max_iter: int) -> tuple[float, FloatArray]:
    """Return the best bound and its weights on a path of Adam's method; L-BFGS stops at the kinks of the spectrum."""
    theta, steps = np.zeros(n), Adam(n)
    best, weights = 0.0, np.full(n, 1.0 / n)
    for _ in range(max_iter):
        candidate = softmax(theta)
        value, slope = problem.bound(candidate)
        if value > best:
            best, weights = value, candidate
        theta += steps.step(candidate * (slope - candidate @ slope), 0.1)
    return best, weights


def softmax(theta: FloatArray) -> FloatArray:
    """Return exp(theta), normalised to sum 1.

    Parameters
    ----------
    theta : ndarray, shape (n,)
        Logarithms.

    Returns
    -------
    ndarray, shape (n,)
        Weights.
    """
    weights = np.exp(theta - theta.max())
    return np.asarray(weights / weights.sum())


class _WeightedBound:
    """The bound as a function of the weights, for points in the unit ball."""

    def __init__(self, coords: FloatArray, k: int) -> None:
        self.coords, self.k = coords, k

    def bound(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the bound for weights with sum 1, and its derivative in each of them."""
        centred = self.coords - weights @ self.coords
        norms = np.einsum("ij,ij->i", centred, centred)
        values, vectors = np.linalg.eigh(centred.T @ (weights[:, None] * centred))
        values = np.maximum(values, 0.0)
        small = values[: -self.k]  # eigh sorts upwards
        # Rounding may have raised an eigenvalue, or lowered a, by this much.
        slack = 8.0 * sum(self.coords.shape) * float(np.finfo(np.float64).eps) * float(values[-1])
        trusted = np.maximum(small - slack, 0.0)
        trace, quartic = float(weights @ norms), float(weights @ norms**2)
        # sum_ij w_i w_j |x_i - x_j|^4 for points with weighted mean 0 needs no distances.
        spread = 0.5 * quartic + 0.5 * trace**2 + float(np.sum(values**2))
        squares, tail = float(np.sum(trusted**2)), float(np.sum(trusted))
        total = trace + slack
        value = _root(spread * (1.0 + 1e-12), squares, tail, total, self.k)
        slope = self._slope(weights, centred, norms, vectors, (value, spread, tail, total), (values, small))
        return value, slope

    def _slope(
        self,
        weights: FloatArray,
        centred: FloatArray,
        norms: FloatArray,
        vectors: FloatArray,
        state: tuple[float, float, float, float],
        spectrum: tuple[FloatArray, FloatArray],
    ) -> FloatArray:
        """Return the derivative of the root in each weight, by the implicit function theorem."""
        value, spread, tail, total = state
        values, small = spectrum
        along = np.square(centred @ vectors)  # derivative of each eigenvalue in each weight
        d_trace = norms
        d_quartic = norms**2 - 4.0 * centred @ ((weights * norms) @ centred)
        d_spread = 0.5 * d_quartic + float(weights @ norms) * d_trace + 2.0 * along @ values
        part = along[:, : small.size]
        d_right = 2.0 * part @ small
        if value * total >= tail / (self.k + 1):
            d_right += 2.0 * tail / (self.k + 1) * part.sum(axis=1)
            slope_value = 2.0 * spread * value
        else:
            shortfall = tail - value * total
            d_right += 2.0 * shortfall / self.k * (part.sum(axis=1) - value * d_trace)
            d_spread -= 2.0 * total * d_trace
            slope_value = 2.0 * (spread - total**2) * value + 2.0 * shortfall * total / self.k
        return np.asarray((d_right - value**2 * d_spread) / max(slope_value, np.finfo(np.float64).tiny))


def _root(spread: float, squares: float, tail: float, total: float, k: int) -> float:
    """Return the least eps >= 0 that the inequality allows, tr E being at most eps total."""
    if spread <= 0.0:
        return 0.0
    plain = math.sqrt((squares + tail**2 / (k + 1)) / spread)
    if plain * total >= tail / (k + 1):
        return plain
    # spread eps^2 = squares + (tail - eps total)^2/k + (eps total)^2, by the formula that doesn't cancel.
    a, b, c = k * (spread - total**2) - total**2, tail * total, k * squares + tail**2
    return c / (b + math.sqrt(max(b * b + a * c, 0.0)))
