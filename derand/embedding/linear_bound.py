"""A lower bound on the distortion of every linear map of given points into few dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from derand._utils.html import ResultRepr
from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray, check_array, check_int
from derand.embedding.adam import Adam
from derand.embedding.lower_bound import lower_bound_of, softmax
from derand.embedding.points import IndexArray, PointSet, RowSpace
from derand.embedding.scan import BlockMap, scan_pairs

__all__ = ["LinearLowerBound", "linear_lower_bound", "linear_lower_bound_of"]

_PAIRS = 5000  # taken from a scan
_ROUNDS = 3  # scans
_START = 3e-4  # root of the weight that a new pair starts with
_RATES = {"theta": 0.03, "root": 5e-4, "row": 0.003}


@dataclass(frozen=True, repr=False)
class LinearLowerBound(ResultRepr):
    """A proved lower bound on the distortion of linear maps, with the multipliers that prove it.

    Parameters
    ----------
    value : float
        No linear map of the points to k dimensions has a smaller distortion.
    any_map : float
        What is proved for any map whatever, linear or not; at most `value`.
    weights : ndarray, shape (n,)
        Weights w of the points.
    multipliers : ndarray, shape (n,)
        Multipliers t of the points, with those of the trace added.
    pairs : ndarray of int64, shape (m, 2)
        Pairs with a weight of their own.
    pair_weights : ndarray, shape (m,)
        Their weights g, of either sign.
    k : int
        Dimensions.
    """

    value: float
    any_map: float
    weights: FloatArray
    multipliers: FloatArray
    pairs: IndexArray
    pair_weights: FloatArray
    k: int


def linear_lower_bound(
    X: Any, k: int, *, M: Any = None, max_iter: int = 600, block_map: BlockMap = map
) -> LinearLowerBound:
    r"""Return a lower bound on the distortion of any linear map of the points to k dimensions.

    Let S = I - M'M for a map M with k rows and distortion eps, z a unit difference of two points, and
    :math:`\Sigma = \sum_i w_i x_i x_i'` for weights w with sum 1, the points centred by them.  Since
    :math:`(x_i - x_j)' S (x_i - x_j) = s_i + s_j - 2 x_i' S x_j` with :math:`s_i = x_i' S x_i`,

    .. math:: \frac14 \sum_{ij} w_i w_j \left((x_i - x_j)' S (x_i - x_j)\right)^2 = \mathrm{tr}(\Sigma S \Sigma S)
              + \frac12 \sum_i w_i s_i^2 + \frac12 \Big(\sum_i w_i s_i\Big)^2 ,

    and the left side is at most :math:`a \epsilon^2` with :math:`a = \frac14 \sum w_i w_j \|x_i - x_j\|^4`.  Squares
    are at least their tangents, :math:`s^2 \ge 2 t s - t^2`, for any t; and :math:`|z' S z| \le \epsilon` gives
    :math:`2 \sum_p g_p z_p' S z_p \le 2 \epsilon \sum_p |g_p|` for any weights g of pairs.  With
    :math:`\Sigma = K K'` and :math:`F = 2 \sum_p g_p z_p z_p' + \sum_i w_i t_i x_i x_i' + \tau \Sigma`,
    what remains on the left, :math:`\|K' S K\|^2 + \mathrm{tr}(F S)`, is the squared distance of
    :math:`C = K'K + \frac12 K^{-1} F K^{-T}` from the matrix :math:`K' M' M K`, which is positive semidefinite of rank
    at most k, less :math:`\|C - K'K\|^2`.  By Eckart and Young

    .. math:: a \epsilon^2 + 2 \epsilon \sum_p |g_p| \ge \|\Sigma\|^2 + \mathrm{tr} F
              - \sum_{i \le k} \max(\mu_i, 0)^2 - \frac12 \sum_i w_i t_i^2 - \frac12 \tau^2

    with the largest eigenvalues :math:`\mu_1 \ge \mu_2 \ge \dots` of C.  The bound is the root eps.

    Parameters
    ----------
    X : array_like or sparse, shape (n, d)
        Points; n >= 2.
    k : int
        Dimensions of the images, at least 1.
    M : array_like, shape (k', d), optional
        A good map, whose worst pairs then are the first to get weights of their own; it makes the bound sharper.
    max_iter : int, default 600
        Iterations that improve w, t, tau and g; 0 for what holds for any map.
    block_map : callable, default map
        Runs the tiles of the scans that choose the pairs.

    Returns
    -------
    LinearLowerBound
        The bound, less an allowance for rounding.  0.0 where k is the rank of the points or more.

    Raises
    ------
    InputError
        If X isn't finite or has the wrong shape, or k or max_iter is out of range.
    InputTypeError
        If X doesn't hold real numbers, or k or max_iter isn't an integer.

    Notes
    -----
    The right side is concave in (t, tau, g).  O((n + m) r^2 + r^3) per iteration for points of rank r and m pairs, some
    10,000 of them, and three scans of all pairs; deterministic.  A map that isn't linear can have a smaller distortion;
    `embedding_lower_bound` bounds that.

    References
    ----------
    L. R. Welch, Lower bounds on the maximum cross correlation of signals, IEEE Trans. Inf. Theory 20 (1974) 397-399,
    for the sum of squares; C. Eckart, G. Young, The approximation of one matrix by another of lower rank, Psychometrika
    1 (1936) 211-218.

    Examples
    --------
    The corners of an equilateral triangle on a line: the best map has distortion 3/5.

    >>> bound = linear_lower_bound([[1, 0, 0], [0, 1, 0], [0, 0, 1]], 1)
    >>> 0.499 < bound.any_map <= bound.value <= 0.6
    True
    """
    points = PointSet(X)
    check_int(k, "k", low=1)
    check_int(max_iter, "max_iter", low=0)
    space = RowSpace.of(points)
    with blas_threads(1):
        start = None
        if M is not None:
            start = np.ascontiguousarray(check_array(M, "M", shape=(None, points.d))) @ space.basis.T
        return linear_lower_bound_of(space.coords, k, start, max_iter=max_iter, block_map=block_map)


def linear_lower_bound_of(
    coords: FloatArray, k: int, M: FloatArray | None = None, *, max_iter: int = 600, block_map: BlockMap = map
) -> LinearLowerBound:
    """Return the bound for points in coordinates of their row space.

    Parameters
    ----------
    coords : ndarray, shape (n, r)
        Points.
    k : int
        Dimensions.
    M : ndarray, shape (k', r), optional
        A good map.
    max_iter : int, default 600
        Iterations.
    block_map : callable, default map
        Runs the tiles of the scans.

    Returns
    -------
    LinearLowerBound
        See `linear_lower_bound`.
    """
    n, r = coords.shape
    general = lower_bound_of(coords, k)
    none = np.empty((0, 2), dtype=np.int64)
    best = LinearLowerBound(general.value, general.value, general.weights, np.zeros(n), none, np.empty(0), k)
    if k >= r or not max_iter:
        return best
    with blas_threads(1):
        top = math.sqrt(float(np.square(coords).sum(axis=1).max()))
        ascent = _Ascent(coords / top, k, general.weights, block_map)
        ascent.run(max_iter, M)
    if ascent.best is None or ascent.best_value <= general.value:
        return best
    w, t, tau, g = ascent.best
    pairs = np.stack(ascent.pairs, axis=1)[: g.size]
    return LinearLowerBound(ascent.best_value, general.value, w, t + tau, pairs, g, k)


class _Slopes(NamedTuple):
    """Derivatives of the bound in w, t, tau and g."""

    w: FloatArray
    t: FloatArray
    tau: float
    g: FloatArray


class _LinearProblem:
    """The bound as a function of w, t, tau, g, for points in the unit ball; see `linear_lower_bound`."""

    def __init__(self, coords: FloatArray, k: int) -> None:
        self.coords, self.k = coords, k
        self.Z: FloatArray = np.empty((0, coords.shape[1]))

    def bound(self, w: FloatArray, t: FloatArray, tau: float, g: FloatArray) -> tuple[float, _Slopes, FloatArray]:
        """Return the bound, its derivatives and the map, shape (k, r), that the multipliers single out."""
        x = self.coords - w @ self.coords
        norms = np.einsum("ij,ij->i", x, x)
        cov = x.T @ (w[:, None] * x)
        F = 2.0 * (self.Z.T @ (g[:, None] * self.Z)) + x.T @ ((w * t)[:, None] * x) + tau * cov
        mu, Y, rounding = self._top(x, w, F)
        trace = float(w @ norms)
        spread = (0.5 * float(w @ norms**2) + 0.5 * trace**2 + float(np.sum(cov**2))) * (1.0 + 1e-12)
        right = float(np.sum(cov**2)) * (1.0 - 1e-12) + float(np.trace(F)) - float(np.sum(mu**2))
        right -= 0.5 * float(w @ t**2) + 0.5 * tau**2 + rounding
        load = float(np.abs(g).sum()) * (1.0 + 1e-12)
        root = math.sqrt(max(load**2 + spread * right, 0.0))
        value = max(right, 0.0) / (load + root) if load + root > 0.0 else 0.0
        # Where nothing is proved yet the root has no slope; steps go up the right side, and their scale doesn't count.
        steep = 2.0 * (spread * max(value, 1e-4) + load)
        M = np.sqrt(mu)[:, None] * Y.T
        # d sum mu^2 = 2 tr(N dB) - 2 tr(N2 dcov) for the pencil (B, cov), B = cov^2 + F/2
        N, N2 = (Y * mu) @ Y.T, (Y * mu**2) @ Y.T
        rest = np.eye(cov.shape[0]) - N
        from_cov = 2.0 * cov - 2.0 * (cov @ N + N @ cov) + 2.0 * N2 + tau * rest
        s = np.einsum("ij,ij->i", x @ rest, x)
        d_w = np.einsum("ij,ij->i", x @ from_cov, x) + t * s - 2.0 * x @ (rest @ ((w * t) @ x)) - 0.5 * t**2
        d_spread = 0.5 * norms**2 - 2.0 * x @ ((w * norms) @ x) + trace * norms
        d_spread += 2.0 * np.einsum("ij,ij->i", x @ cov, x)
        d_g = 2.0 * np.einsum("ij,ij->i", self.Z @ rest, self.Z) - 2.0 * value * np.sign(g)
        d_tau = float(np.sum(rest * cov)) - tau
        slopes = _Slopes((d_w - value**2 * d_spread) / steep, w * (s - t) / steep, d_tau / steep, d_g / steep)
        return value, slopes, M

    def _top(self, x: FloatArray, w: FloatArray, F: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return the k largest eigenvalues of C, at least 0, the vectors K^{-T} q, and how much rounding can add."""
        # The singular values of K keep twice the digits that the eigenvalues of the covariance would.
        triangle = scipy.linalg.qr(np.sqrt(w)[:, None] * x, mode="r", check_finite=False)[0]
        _, root, Vt = scipy.linalg.svd(triangle[: x.shape[1]], check_finite=False)
        root = np.maximum(root, root[0] * 1e-12)
        whitened = (Vt @ F @ Vt.T) / (2.0 * root * root[:, None])
        r = root.size
        mu, q = scipy.linalg.eigh(np.diag(root**2) + whitened, subset_by_index=(r - self.k, r - 1))
        mu = np.maximum(mu, 0.0)
        # The factorisation is that of points moved by u |x|, the sum F has an error of u |F|; whitening enlarges both.
        unit = 4.0 * sum(self.coords.shape) * float(np.finfo(np.float64).eps)
        top, low = float(root[0]), float(root[-1])
        error = unit * (2.0 * top / low * float(np.linalg.norm(whitened)) + top**2 + float(np.linalg.norm(F)) / low**2)
        return mu, Vt.T @ (q / root[:, None]), 2.0 * error * float(mu.sum()) + self.k * error**2


class _Ascent:
    """Adam's method on theta (w = softmax theta), t, tau and the roots of |g|, with pairs that join by scans."""

    def __init__(self, coords: FloatArray, k: int, weights: FloatArray, block_map: BlockMap) -> None:
        n = coords.shape[0]
        self.problem, self.points, self.block_map = _LinearProblem(coords, k), PointSet(coords), block_map
        values = np.linalg.eigvalsh(np.cov(coords.T, aweights=weights, ddof=0).reshape(coords.shape[1], -1))
        self.scale = max(float(values[:-k].sum()) / k, 1e-12)  # that of t, tau and g
        self.theta: FloatArray = np.log(np.maximum(weights, 1e-9))
        self.row: FloatArray = np.append(np.zeros(n), 1.0)  # t and tau, in units of the scale
        self.root: FloatArray = np.empty(0)
        self.sign: FloatArray = np.empty(0)
        self.pairs: list[IndexArray] = [np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)]
        self.steps = {"theta": Adam(n), "row": Adam(n + 1), "root": Adam(0)}
        self.best: tuple[FloatArray, FloatArray, float, FloatArray] | None = None
        self.best_value = 0.0

    def run(self, max_iter: int, M: FloatArray | None) -> None:
        """Go on for max_iter iterations; pairs join in the first half, steps shrink in the second."""
        every = max(1, max_iter // (2 * _ROUNDS))
        if M is not None:
            self._join(M)
        for k in range(max_iter):
            singled_out = self._iterate(1.0 if 2 * k < max_iter else 0.2)
            if k % every == every - 1 and 2 * k < max_iter:
                self._join(singled_out)

    def _iterate(self, rate: float) -> FloatArray:
        """Evaluate, keep the best, take a step, and return the map singled out."""
        w, t, tau = softmax(self.theta), self.row[:-1] * self.scale, float(self.row[-1]) * self.scale
        g = self.sign * self.root**2 * self.scale
        value, slopes, M = self.problem.bound(w, t, tau, g)
        if value > self.best_value:
            self.best, self.best_value = (w, t, tau, g), value
        gradients = {
            "theta": w * (slopes.w - w @ slopes.w),
            "row": self.scale * np.append(slopes.t, slopes.tau),
            "root": 2.0 * self.scale * self.sign * self.root * slopes.g,
        }
        for name, gradient in gradients.items():
            setattr(self, name, getattr(self, name) + self.steps[name].step(gradient, rate * _RATES[name]))
        return M

    def _join(self, M: FloatArray) -> None:
        """Let the worst pairs of a map join that aren't there yet."""
        scan = scan_pairs(self.points, M, keep=_PAIRS, block_map=self.block_map)
        n = self.points.n
        fresh = ~np.isin(scan.first * n + scan.second, self.pairs[0] * n + self.pairs[1])
        first, second = scan.first[fresh], scan.second[fresh]
        Z = self.problem.coords[first] - self.problem.coords[second]
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        self.problem.Z = np.concatenate([self.problem.Z, Z])
        self.pairs = [np.append(self.pairs[0], first), np.append(self.pairs[1], second)]
        self.sign = np.append(self.sign, np.sign(1.0 - scan.ratios[fresh]))
        self.root = np.append(self.root, np.full(first.size, _START))
        self.steps["root"].extend(first.size)
