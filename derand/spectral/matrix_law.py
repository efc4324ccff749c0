"""The limiting spectrum of Hessians of m neurons: sums of m x m blocks times rank-one matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq

from derand._utils.validation import FloatArray, check_array, check_option
from derand.exceptions import InputError, NonConvergenceError
from derand.spectral.block_path import BlockPath, Point
from derand.spectral.bounds import tail_range
from derand.spectral.bulk import check_delta
from derand.spectral.fluctuations import EdgeStatistics, FiniteSpectrum, outlier_covariance
from derand.spectral.results import Edge, Edges, Outlier, Threshold

__all__ = ["MatrixSpectralLaw"]

_SIDES = ("left", "right")
_BATCHES = 4
_DOMINANT = 0.3


class MatrixSpectralLaw(FiniteSpectrum):
    r"""Limiting spectrum of :math:`H = \frac1n \sum_i S_i \otimes x_i x_i^\top` with symmetric m x m blocks S.

    The :math:`x_i` are N(0, I_d), n/d tends to delta, and the blocks may depend on the coordinates v along k planted
    directions.  With :math:`K(z) = \lim \frac1d (\mathrm{id} \otimes \mathrm{tr}) (H - z)^{-1}` and
    :math:`P = S(I + KS/\delta)^{-1}`,

    .. math:: K = (-zI + E[P])^{-1}, \qquad
              \text{edge: largest eigenvalue of } D \mapsto K\, E[P D P]\, K/\delta \text{ is } 1, \qquad
              \text{outlier: } \det(-zI + E[P \otimes v v^\top]) = 0.

    Parameters
    ----------
    S : array_like of shape (n, m, m)
        Symmetric blocks: a sample, or quadrature nodes.
    v : array_like of shape (n,) or (n, k), optional
        Coordinates along the planted directions, standard normal and independent of each other.
    weights : array_like of shape (n,), optional
        Probabilities of the nodes; None: a sample.
    is_bounded : tuple of (bool, bool), optional
        Whether the smallest and the largest eigenvalue of S are bounded.  Default: judged from the tails.

    Raises
    ------
    InputError
        If shapes don't fit, a block isn't symmetric, or numbers are out of range.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    One evaluation costs O(n m^4).  The curve K(z) is followed from z = -infinity in the parameter tr K, through which
    the edge is an ordinary point: there z is largest.  The number of outliers is read off the planted matrix at the
    edge.  Deterministic.

    References
    ----------
    A. Montanari, Z. Wang, Phase transitions for feature learning in neural networks, arXiv:2602.01434.

    Examples
    --------
    Equal blocks diag(1, 4) are two Marchenko-Pastur laws side by side.

    >>> edges = MatrixSpectralLaw(np.diag([1.0, 4.0])[None], weights=[1.0]).edges(4.0)
    >>> round(edges.left.value, 9), round(edges.right.value, 9)
    (0.25, 9.0)
    """

    def __init__(
        self, S: Any, v: Any = None, weights: Any = None, *, is_bounded: tuple[bool, bool] | None = None
    ) -> None:
        self.S = check_array(S, "S", ndim=3)
        n, m = self.S.shape[:2]
        if self.S.shape != (n, m, m) or n == 0 or m == 0:
            raise InputError(f"S must have shape (n, m, m), got {self.S.shape}")
        if np.max(np.abs(self.S - self.S.transpose(0, 2, 1))) > 1e-10 * max(1.0, float(np.max(np.abs(self.S)))):
            raise InputError("S must hold symmetric blocks")
        v = np.zeros((n, 0)) if v is None else check_array(v, "v")
        self.v = v[:, None] if v.ndim == 1 else v
        if self.v.ndim != 2 or len(self.v) != n:
            raise InputError(f"v must have shape ({n},) or ({n}, k), got {v.shape}")
        self.is_sample = weights is None
        p = np.ones(n) if weights is None else check_array(weights, "weights", shape=(n,))
        if np.any(p < 0.0) or np.sum(p) <= 0.0:
            raise InputError("weights must be nonnegative with a positive sum")
        self.weights = p / np.sum(p)
        values = np.asarray(np.linalg.eigvalsh(self.S), dtype=np.float64)
        given = None if weights is None else self.weights
        if is_bounded is None:
            is_bounded = (
                math.isfinite(tail_range(values[:, 0], given).low),
                math.isfinite(tail_range(values[:, -1], given).high),
            )
        self.is_bounded = (bool(is_bounded[0]), bool(is_bounded[1]))
        self._paths: dict[tuple[str, float], BlockPath] = {}

    @property
    def m(self) -> int:
        """Size of the blocks."""
        return int(self.S.shape[1])

    @property
    def k(self) -> int:
        """Number of planted directions."""
        return int(self.v.shape[1])

    def edges(self, delta: float, *, error: bool = False) -> Edges:
        """Return both ends of the bulk.

        Parameters
        ----------
        delta : float
            Ratio of samples to dimensions, > 0.
        error : bool, default False
            Whether to estimate the errors from four parts of the sample, at the price of as much time again.

        Returns
        -------
        Edges
            Left and right end; infinite with kind "none" where the blocks are unbounded.

        Raises
        ------
        InputError
            If delta is out of range.
        NonConvergenceError
            If the curve could not be followed.
        """
        return Edges(*(self._edge(side, check_delta(delta), error) for side in _SIDES))

    def outliers(self, delta: float, side: str = "both", *, error: bool = False) -> tuple[Outlier, ...]:
        """Return the eigenvalues outside the bulk that the planted directions cause, at most m k on each side.

        Parameters
        ----------
        delta : float
            Ratio of samples to dimensions, > 0.
        side : {"both", "left", "right"}
            Where to look.
        error : bool, default False
            Whether to estimate the errors from four parts of the sample.

        Returns
        -------
        tuple of Outlier
            Left ones first, each side from the most extreme inwards.  `direction` has shape (m, k): the projection of
            the unit eigenvector on neuron j and planted direction l.

        Raises
        ------
        InputError
            If an argument is out of range.
        NonConvergenceError
            If the curve could not be followed.
        """
        delta = check_delta(delta)
        check_option(side, "side", ("both", *_SIDES))
        found: list[Outlier] = []
        for name in _SIDES if side == "both" else (side,):
            found += self._side_outliers(name, delta, error)
        return tuple(found)

    def threshold(self, side: str = "left", below: float | None = None, *, rank: int = 0) -> Threshold:
        """Return the delta from which on an outlier exists, for blocks whose law doesn't depend on delta.

        Parameters
        ----------
        side : {"left", "right"}
            Side of the bulk.
        below : float, optional
            Level that the outlier has to lie below as well (above, on the right side).
        rank : int, default 0
            0 for the first outlier, ...

        Returns
        -------
        Threshold
            The roots between delta = 0.01 and 1000, on a grid of 14; infinite for unbounded blocks.

        Raises
        ------
        InputError
            If an argument is out of range.
        NonConvergenceError
            If the curve could not be followed.
        """
        check_option(side, "side", _SIDES)
        if self.k == 0:
            raise InputError("the law has no planted direction: give v")
        if not self.is_bounded[_SIDES.index(side)]:
            return Threshold(math.inf, "none", error=0.0, reason="the blocks are unbounded: there is no edge")

        def excess(log_delta: float) -> float:
            """Return the planted eigenvalue at the edge: negative where there is an outlier."""
            return self.margin(math.exp(log_delta), side, below, rank=rank)

        grid = np.linspace(math.log(0.01), math.log(1000.0), 14)
        values = [excess(x) for x in grid]
        roots = [
            math.exp(brentq(excess, a, b, xtol=1e-9))
            for a, b, x, y in zip(grid[:-1], grid[1:], values[:-1], values[1:], strict=True)
            if (x < 0.0) != (y < 0.0)
        ]
        ends = [0.0, *roots] if values[0] < 0.0 else roots
        if not ends:
            reason = "no outlier at any delta up to 1000"
            return Threshold(math.inf, "none", tuple(roots), error=0.0, reason=reason)
        intervals = tuple(zip(ends[::2], [*ends[1::2], math.inf], strict=False))
        value = intervals[-1][0]
        return Threshold(value, "soft", tuple(roots), intervals, (value * (1 - 1e-8), value * (1 + 1e-8)))

    def margin(self, delta: float, side: str = "left", below: float | None = None, *, rank: int = 0) -> float:
        """Return the rank-th eigenvalue of E[P (x) v v'] - z at the edge: there is an outlier where it is negative.

        Parameters
        ----------
        delta : float
            Ratio of samples to dimensions, > 0.
        side : {"left", "right"}
            Side of the bulk.
        below : float, optional
            Level at which to look instead where the edge lies beyond it.
        rank : int, default 0
            0 for the first outlier, ...

        Returns
        -------
        float
            The margin, in the units of the weights.

        Raises
        ------
        InputError
            If an argument is out of range.
        NonConvergenceError
            If the curve could not be followed.
        """
        delta = check_delta(delta)
        path = self._path(side, delta)
        point = path.edge()
        level = below if side == "left" or below is None else -below
        if level is not None and point.z > level:
            point = path.at_level(level)
        return float(path.planted_values(point)[rank])

    def _path(self, side: str, delta: float, part: Any = slice(None)) -> BlockPath:
        """Return the curve on one side, of all blocks or of some."""
        sign = 1.0 if check_option(side, "side", _SIDES) == "left" else -1.0
        key = (side, delta)
        is_whole = isinstance(part, slice)
        if is_whole and key in self._paths:
            return self._paths[key]
        p = self.weights[part]
        path = BlockPath(sign * self.S[part], p / np.sum(p), self.v[part], delta)
        if is_whole:
            self._paths = {**dict(list(self._paths.items())[-3:]), key: path}  # the last few: each holds the blocks
        return path

    def _edge(self, side: str, delta: float, error: bool) -> Edge:
        """Return one end of the bulk."""
        sign = 1.0 if side == "left" else -1.0
        if not self.is_bounded[_SIDES.index(side)]:
            return Edge(-sign * math.inf, "none", math.nan, 0.0)
        path = self._path(side, delta)
        point = path.edge()
        kind = "support" if path.dominance(point) > _DOMINANT and len(self.S) > 10 else "soft"
        spread = self._spread(lambda part: self._path(side, delta, part).edge().z, point.z) if error else math.nan
        return Edge(sign * point.z, kind, sign * float(np.trace(point.K)) / (self.m * delta), spread)

    def _side_outliers(self, side: str, delta: float, error: bool) -> list[Outlier]:
        """Return the outliers on one side."""
        if not self.is_bounded[_SIDES.index(side)] or self.k == 0:
            return []
        sign = 1.0 if side == "left" else -1.0
        path = self._path(side, delta)
        found = []
        for rank, point in enumerate(path.outliers()):
            overlap, direction = path.overlap(point, rank)
            spread, overlap_spread = math.nan, math.nan
            if error:
                spread, overlap_spread = self._outlier_spread(side, delta, rank, point.z, overlap)
            found.append(Outlier(sign * point.z, side, overlap, direction, sign * point.K, spread, overlap_spread))
        return found

    def _edge_statistics(self, side: str, delta: float) -> EdgeStatistics | None:
        """Return what the extreme eigenvalue in d dimensions depends on."""
        if self._edge(side, delta, False).kind != "soft":
            return None
        path = self._path(side, delta)
        point = path.edge()
        curvature, variance = path.edge_statistics(point)
        if not curvature < 0.0:
            return None
        # with t = tr K / m, z = z* - |z''| (t - t*)^2 / 2, so that the density is sqrt(2 |x - z*| / |z''|) / pi
        width = (0.5 * abs(curvature)) ** (1.0 / 3.0) * self.m ** (-2.0 / 3.0)
        return EdgeStatistics(point.z, width, variance, path.planted_matrix(point), path.planted_squares(point))

    def _outlier_covariance(self, side: str, delta: float, ranks: list[int]) -> tuple[FloatArray, FloatArray]:
        """Return `outlier_covariance` at the middle one of some outliers on one side."""
        path = self._path(side, delta)
        point = path.outliers()[ranks[len(ranks) // 2]]
        P = path.resolvent(point.K)
        assert P is not None
        return outlier_covariance(P, path.p, path.V, point.K, path.planted_directions(point)[ranks], delta)

    def _outlier_spread(self, side: str, delta: float, rank: int, z: float, overlap: float) -> tuple[float, float]:
        """Return the error estimates of value and overlap of one outlier."""
        return (
            self._spread(lambda part: _value_of(self._path(side, delta, part), rank)[0], z),
            self._spread(lambda part: _value_of(self._path(side, delta, part), rank)[1], overlap),
        )

    def _spread(self, compute: Callable[[Any], float], value: float) -> float:
        """Return the standard error from four parts of the sample, with the bias that their mean shows."""
        order = np.random.default_rng(0).permutation(len(self.S))
        try:
            values = np.array([compute(part) for part in np.array_split(order, _BATCHES)])
        except NonConvergenceError:
            return math.inf
        bias = abs(float(np.mean(values)) - value) / (_BATCHES - 1)
        return math.hypot(bias, float(np.std(values, ddof=1)) / math.sqrt(_BATCHES))


def _value_of(path: BlockPath, rank: int) -> tuple[float, float]:
    """Return value and overlap of an outlier, NaN where there is none."""
    points: list[Point] = path.outliers()
    return (points[rank].z, path.overlap(points[rank], rank)[0]) if rank < len(points) else (math.nan, math.nan)
