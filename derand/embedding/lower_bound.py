"""A lower bound on the distortion of every map of given points into few dimensions, linear or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray, check_int
from derand.embedding.points import PointSet, RowSpace

__all__ = ["EmbeddingLowerBound", "embedding_lower_bound", "lower_bound_of"]


@dataclass(frozen=True)
class EmbeddingLowerBound:
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

    .. math:: a\,\epsilon^2 \ge \sum_{i>k} \lambda_i^2 + \max(\tau - \epsilon T, 0)^2 / k .

    The two weighted, centred Gram matrices differ by a matrix of Frobenius norm at most :math:`\epsilon \sqrt a`; that
    of the images has rank k at most and a trace of at least (1 - eps) T.  The bound is the root eps; the weights are
    optimised.

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
    >>> 0.4 < bound.value <= 0.6
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
    theta, mean, square = np.zeros(n), np.zeros(n), np.zeros(n)
    best, weights = 0.0, np.full(n, 1.0 / n)
    for step in range(1, max_iter + 1):
        candidate = _softmax(theta)
        value, slope = problem.bound(candidate)
        if value > best:
            best, weights = value, candidate
        gradient = candidate * (slope - candidate @ slope)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        # The scale of the gradient cancels, save where it is 0 throughout.
        size = np.sqrt(square / (1.0 - 0.99**step)) + 1e-14
        theta += 0.1 * mean / (1.0 - 0.9**step) / size
    return best, weights


def _softmax(theta: FloatArray) -> FloatArray:
    """Return exp(theta), normalised to sum 1."""
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
        shortfall = max(tail - value * total, 0.0)
        d_right = 2.0 * part @ small + 2.0 * shortfall / self.k * (part.sum(axis=1) - value * d_trace)
        slope_value = 2.0 * spread * value + 2.0 * shortfall * total / self.k
        return np.asarray((d_right - value**2 * d_spread) / max(slope_value, np.finfo(np.float64).tiny))


def _root(spread: float, squares: float, tail: float, total: float, k: int) -> float:
    """Return the least eps >= 0 with spread eps^2 >= squares + max(tail - eps total, 0)^2 / k."""
    if spread <= 0.0:
        return 0.0
    plain = math.sqrt(squares / spread)
    if plain * total >= tail:
        return plain
    # (k spread - total^2) eps^2 + 2 tail total eps - (k squares + tail^2) = 0, by the formula that doesn't cancel.
    a, b, c = k * spread - total**2, tail * total, k * squares + tail**2
    return c / (b + math.sqrt(max(b * b + a * c, 0.0)))
