"""The limiting spectrum of weighted sample covariance matrices with weights of any sign."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_option, check_scalar
from derand.exceptions import InputError
from derand.spectral.bounds import Range, function_range, tail_range
from derand.spectral.bulk import Bulk, check_delta
from derand.spectral.edges import find_edge, find_outliers, margin, scan_threshold
from derand.spectral.fluctuations import EdgeStatistics, FiniteSpectrum, outlier_covariance
from derand.spectral.functions import of_points
from derand.spectral.moments import SideMoments
from derand.spectral.quadrature import refined_panels
from derand.spectral.results import Edge, Edges, Outlier, Threshold
from derand.spectral.weight_rules import resolved_integrands, weight_rule

__all__ = ["SpectralLaw"]

_SIDES = ("left", "right")
_BATCHES = 8


class SpectralLaw(Bulk, FiniteSpectrum):
    r"""Limiting spectrum of :math:`H = \frac1n \sum_i G_i x_i x_i^\top` with weights of any sign.

    The :math:`x_i` are N(0, I_d), n/d tends to delta, and the weights G may depend on the coordinates
    :math:`v = \Theta_*^\top x` along k planted directions (and on anything independent of x).  With
    :math:`s(z) = \lim \frac1d \mathrm{tr}(H - z)^{-1}`, :math:`\tau = s/\delta` and :math:`T = G\tau/(1 + G\tau)`,

    .. math:: z = -\frac{1}{\delta\tau} + E\Big[\frac{G}{1 + G\tau}\Big], \qquad
              \text{edge: } \delta E[T^2] = 1, \qquad
              \text{outlier: } \delta\,(E[T] - \lambda) = 1,

    :math:`\lambda` an eigenvalue of :math:`E[T v v^\top]`.  An outlier's unit eigenvector has the squared overlap
    :math:`1/(1 + E[(G/(1 + G\tau))^2 v^2]/z'(\tau))` with the planted directions.  On each side of the bulk there are
    at most k outliers.

    The laws hold in the limit; at finite d edges move by about d^(-2/3) and outliers by d^(-1/2).

    Parameters
    ----------
    G : array_like of shape (n,)
        Weights: quadrature nodes or a sample.
    v : array_like of shape (n,) or (n, k), optional
        Coordinates along the planted directions, standard normal and independent of each other; none by default.
    weights : array_like of shape (n,), optional
        Probabilities of the nodes, >= 0.  None: a sample, every one 1/n.
    support : tuple of (float, float), optional
        Essential range of G, infinite where unbounded.  Default: judged from the tails, see Notes.
    coarse : SpectralLaw, optional
        The same law at a lower resolution, for the error estimates.

    Raises
    ------
    InputError
        If shapes don't fit or numbers are out of range.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    Weights that are unbounded on a side have no edge there, no outlier, and no threshold: the extreme eigenvalues run
    off with n.  A sample cannot show this by itself, so the extremes of n/10 and of n weights are compared; when they
    still drift, the side is taken for unbounded.  The error estimates of a sample compare eight parts of it.

    An evaluation costs O(n k^2); a threshold takes about 300 of them.  Deterministic.

    References
    ----------
    A. Montanari, Z. Wang, Phase transitions for feature learning in neural networks, arXiv:2602.01434.
    Y. M. Lu, G. Li, Phase transitions of spectral initialization for high-dimensional nonconvex estimation, Information
    and Inference 9 (2020) 507-541.
    J. W. Silverstein, S.-I. Choi, Analysis of the limiting spectral distribution of large dimensional random matrices,
    J. Multivariate Anal. 54 (1995) 295-309.

    Examples
    --------
    Equal weights are the Marchenko-Pastur law with edges (1 -+ 1/sqrt(delta))^2.

    >>> edges = SpectralLaw([1.0], weights=[1.0]).edges(4.0)
    >>> round(edges.left.value, 12), round(edges.right.value, 12)
    (0.25, 2.25)
    """

    def __init__(
        self,
        G: Any,
        v: Any = None,
        weights: Any = None,
        *,
        support: tuple[float, float] | None = None,
        coarse: SpectralLaw | None = None,
    ) -> None:
        if np.ndim(G) == 3:
            raise InputError("G must be a vector; blocks of shape (n, m, m) are for MatrixSpectralLaw")
        self.G = check_array(G, "G", ndim=1)
        n = len(self.G)
        if n == 0:
            raise InputError("G must not be empty")
        v = np.zeros((n, 0)) if v is None else check_array(v, "v")
        self.v = v[:, None] if v.ndim == 1 else v
        if self.v.ndim != 2 or len(self.v) != n:
            raise InputError(f"v must have shape ({n},) or ({n}, k), got {v.shape}")
        self.is_sample = weights is None
        self.weights = np.full(n, 1.0 / n) if weights is None else _probabilities(weights, n)
        self.support = _check_support(support, self.G) if support is not None else self._judge_support()
        self._coarse = coarse
        self._drift = ""
        bounds = self.support
        self._sides = {
            "left": SideMoments(self.G, self.weights, self.v, bounds.low),
            "right": SideMoments(-self.G, self.weights, self.v, -bounds.high),
        }

    @classmethod
    def from_function(
        cls,
        G: Callable[..., Any],
        k: int = 1,
        *,
        n_latent: int = 0,
        breakpoints: Sequence[float] = (),
        order: int = 12,
        support: tuple[float, float] | None = None,
    ) -> Self:
        r"""Return the law of weights that are a function of Gaussian coordinates, by quadrature.

        Parameters
        ----------
        G : callable
            ``G(z_1, ..., z_{k + n_latent})`` on arrays, or ``G(z)`` with z of shape (n, k + n_latent); the first k
            coordinates are those along the planted directions.
        k : int, default 1
            Number of planted directions.
        n_latent : int, default 0
            Number of further standard normal coordinates, independent of x.
        breakpoints : sequence of float
            Where G has kinks, jumps or singularities, in any coordinate.
        order : int, default 12
            Nodes in each panel of each coordinate for two or more coordinates.
        support : tuple of (float, float), optional
            Essential range of G.

        Returns
        -------
        SpectralLaw
            With a coarser one beside it for the error estimates.

        Raises
        ------
        InputError
            If a number is out of range or G doesn't return one finite weight a point.
        BudgetExceededError
            If the product rule would have more than four million nodes.

        Notes
        -----
        One coordinate: panels are halved until G and the integrands close to the ends of tau are resolved to 1e-14.
        Several coordinates: a product rule.

        Examples
        --------
        >>> law = SpectralLaw.from_function(lambda z: 1.0 - 1.0 / z**2, breakpoints=[0.0])
        >>> law.threshold("left").value, abs(law.threshold("right").value - 0.5) < 1e-9
        (inf, True)
        """
        k, n_latent = check_int(k, "k", low=0), check_int(n_latent, "n_latent", low=0)
        dim = k + n_latent
        if dim == 0:
            raise InputError("G must depend on at least one coordinate")
        order = check_int(order, "order", low=2, high=200)

        function = of_points(G, dim, "G")
        probe, mass = weight_rule(dim, breakpoints, None, 8)
        values = function(probe)
        if np.any(np.isnan(values)):
            raise InputError("G must not return NaN")
        bounds = (
            function_range(function, probe, mass, breakpoints) if support is None else _check_support(support, values)
        )
        edges = (
            refined_panels(lambda z: resolved_integrands(function(z[:, None]), z, bounds), breakpoints)
            if dim == 1
            else None
        )
        laws = []
        for size in (max(2, (2 * order) // 3), order) if dim > 1 else (12, 16):
            nodes, weights = weight_rule(dim, breakpoints, edges, size)
            values = function(nodes)
            tight = Range(min(bounds.low, float(np.min(values))), max(bounds.high, float(np.max(values))))
            laws.append(cls(values, nodes[:, :k], weights, support=(tight.low, tight.high)))
        laws[1]._coarse = laws[0]
        return laws[1]

    @classmethod
    def from_sampler(
        cls, sampler: Callable[[int, np.random.Generator], tuple[Any, Any]], n: int = 10_000, *, rng: RNGLike = None
    ) -> Self:
        """Return the law of sampled weights, with the drift from n to 10 n samples as its error.

        Parameters
        ----------
        sampler : callable
            ``sampler(n, rng)`` returns G, shape (n,), and v, shape (n,) or (n, k).
        n : int, default 10_000
            Samples of the smaller law; the larger one has ten times as many.
        rng : None, int or Generator
            Random stream.

        Returns
        -------
        SpectralLaw
            The larger law.

        Raises
        ------
        InputError
            If a number is out of range or shapes don't fit.

        Examples
        --------
        >>> law = SpectralLaw.from_sampler(lambda n, rng: (rng.standard_normal(n), None), 1000, rng=0)
        >>> law.edges(2.0).left.kind
        'none'
        """
        n = check_int(n, "n", low=100)
        generator = check_rng(rng)
        G, v = sampler(n, generator)
        small = cls(G, v)
        G, v = sampler(10 * n, generator)
        return cls(G, v, coarse=small)

    @property
    def k(self) -> int:
        """Number of planted directions."""
        return int(self.v.shape[1])

    def edges(self, delta: float) -> Edges:
        """Return both ends of the bulk.

        Parameters
        ----------
        delta : float
            Ratio of samples to dimensions, > 0.

        Returns
        -------
        Edges
            Left and right end, each with its kind and an error estimate.

        Raises
        ------
        InputError
            If delta is out of range.
        """
        delta = check_delta(delta)
        return Edges(self._edge("left", delta), self._edge("right", delta))

    def _edge_statistics(self, side: str, delta: float) -> EdgeStatistics | None:
        """Return what the extreme eigenvalue in d dimensions depends on."""
        data = self._sides[side]
        tau, z, kind = find_edge(data, delta)
        if kind != "soft":
            return None
        t = data.t(tau)
        # the density is sqrt(a |x - z|) / pi with a = delta^2 tau^3 / E[T^2 (1 - T)], and the width a^(-1/3)
        width = (float(data.p @ (t * t * (1.0 - t))) / (delta**2 * tau**3)) ** (1.0 / 3.0)
        variance = float(data.p @ t**2 - (data.p @ t) ** 2) / tau**2
        return EdgeStatistics(z, width, variance, data.planted(tau) / tau - z * np.eye(self.k), data.squared(tau))

    def _edge(self, side: str, delta: float) -> Edge:
        """Return one end of the bulk."""
        sign = 1.0 if side == "left" else -1.0
        tau, z, kind = find_edge(self._sides[side], delta)
        error = self._error(z, lambda law: find_edge(law._sides[side], delta)[1])
        return Edge(sign * z, kind, sign * tau, error)

    def outliers(self, delta: float, side: str = "both") -> tuple[Outlier, ...]:
        """Return the eigenvalues outside the bulk that the planted directions cause.

        Parameters
        ----------
        delta : float
            Ratio of samples to dimensions, > 0.
        side : {"both", "left", "right"}
            Where to look.

        Returns
        -------
        tuple of Outlier
            Left ones first, each side from the most extreme inwards.

        Raises
        ------
        InputError
            If an argument is out of range.
        """
        delta = check_delta(delta)
        check_option(side, "side", ("both", *_SIDES))
        found: list[Outlier] = []
        for name in _SIDES if side == "both" else (side,):
            sign = 1.0 if name == "left" else -1.0
            for rank, (tau, z, overlap, direction) in enumerate(find_outliers(self._sides[name], delta)):
                errors = [self._outlier_error(name, rank, delta, i, value) for i, value in ((1, z), (2, overlap))]
                found.append(Outlier(sign * z, name, overlap, direction, sign * tau, *errors))
        return tuple(found)

    def _outlier_covariance(self, side: str, delta: float, ranks: list[int]) -> tuple[FloatArray, FloatArray]:
        """Return `outlier_covariance` at the middle one of some outliers on one side."""
        data = self._sides[side]
        tau = find_outliers(data, delta)[ranks[len(ranks) // 2]][0]
        directions = np.linalg.eigh(data.planted(tau))[1].T[ranks][:, None, :]
        P = (data.G / (1.0 + data.G * tau))[:, None, None]
        return outlier_covariance(P, data.p, data.V, np.array([[delta * tau]]), directions, delta)

    def _outlier_error(self, side: str, rank: int, delta: float, index: int, value: float) -> float:
        """Return the error estimate of a number of one outlier."""
        return self._error(value, lambda law: _entry(find_outliers(law._sides[side], delta), rank, index))

    def threshold(self, side: str = "left", below: float | None = None, *, rank: int = 0) -> Threshold:
        """Return the delta from which on an outlier exists, for weights whose law doesn't depend on delta.

        Parameters
        ----------
        side : {"left", "right"}
            Side of the bulk.
        below : float, optional
            The outlier also has to lie below this level (above it, on the right side).  Gradient descent needs 0.0 on
            the left: negative curvature.
        rank : int, default 0
            0 for the first outlier on this side, 1 for the second, ...

        Returns
        -------
        Threshold
            All roots, the intervals of delta with an outlier, and the kind; infinite for unbounded weights.

        Raises
        ------
        InputError
            If an argument is out of range.

        Examples
        --------
        The best weights of phase retrieval reach delta_alg = 1/2.

        >>> law = SpectralLaw.from_function(lambda z: 1.0 - 1.0 / z**2, breakpoints=[0.0])
        >>> round(law.threshold("right").value, 12)
        0.5
        """
        check_option(side, "side", _SIDES)
        rank = check_int(rank, "rank", low=0)
        if self.k == 0:
            raise InputError("the law has no planted direction: give v")
        level = None if below is None else check_scalar(below, "below")
        if level is not None and side == "right":
            level = -level
        if self._sides[side].tau_max == 0.0:
            end = "below" if side == "left" else "above"
            return Threshold(math.inf, "none", error=0.0, reason=f"the weights are unbounded {end}: there is no edge")
        value, kind, roots, intervals = scan_threshold(self._sides[side], level, rank)
        if not math.isfinite(value):
            return Threshold(value, "none", roots, intervals, error=0.0, reason="there is no outlier at any delta")
        error = self._error(value, lambda law: scan_threshold(law._sides[side], level, rank)[0])
        width = 1e-13 * value
        return Threshold(value, kind, roots, intervals, (value - width, value + width), error)

    def margin(self, delta: float, side: str = "left", below: float | None = None, *, rank: int = 0) -> float:
        """Return how far the planted eigenvalue is from leaving the bulk: there is an outlier where it is negative.

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
            Smooth in delta; infinite for unbounded weights.

        Raises
        ------
        InputError
            If an argument is out of range.
        """
        check_option(side, "side", _SIDES)
        level = below if below is None or side == "left" else -below
        return margin(self._sides[side], check_delta(delta), level, check_int(rank, "rank", low=0))[0]

    def _judge_support(self) -> Range:
        """Return the range of the weights as far as the nodes show it."""
        return tail_range(self.G, None if self.is_sample else self.weights)

    def _error(self, value: float, compute: Callable[[SpectralLaw], float]) -> float:
        """Return the error estimate of a number from a second resolution."""
        if not math.isfinite(value):
            return 0.0
        if self._coarse is not None:
            return abs(compute(self._coarse) - value)
        if not self.is_sample or len(self.G) < 100 * _BATCHES:
            return math.nan
        values = np.array([compute(part) for part in self._parts()])
        values = values[np.isfinite(values)]
        if len(values) < _BATCHES:
            return math.inf
        bias = abs(float(np.mean(values)) - value) / (_BATCHES - 1)
        return math.hypot(bias, float(np.std(values, ddof=1)) / math.sqrt(_BATCHES))

    def _parts(self) -> list[SpectralLaw]:
        """Return laws of eight random parts of the sample."""
        order = np.random.default_rng(0).permutation(len(self.G))
        bounds = (self.support.low, self.support.high)
        return [SpectralLaw(self.G[part], self.v[part], support=bounds) for part in np.array_split(order, _BATCHES)]


def _entry(found: list[tuple[float, float, float, FloatArray]], rank: int, index: int) -> float:
    """Return a number of an outlier, or NaN where the other resolution has fewer of them."""
    return float(found[rank][index]) if rank < len(found) else math.nan


def _probabilities(weights: Any, n: int) -> FloatArray:
    """Return normalised probabilities."""
    array = check_array(weights, "weights", shape=(n,))
    total = float(np.sum(array))
    if np.any(array < 0.0) or total <= 0.0:
        raise InputError("weights must be nonnegative with a positive sum")
    return array / total


def _check_support(support: Any, G: FloatArray) -> Range:
    """Return the declared range."""
    try:
        low, high = (float(end) for end in support)
    except (TypeError, ValueError) as error:
        raise InputError(f"support must be a pair of numbers: {error}") from error
    slack = 1e-9 * max(1.0, float(np.max(np.abs(G))))
    if not (low <= float(np.min(G)) + slack and high >= float(np.max(G)) - slack):
        raise InputError(f"support must hold all weights, got ({low}, {high})")
    return Range(min(low, float(np.min(G))), max(high, float(np.max(G))), True)
