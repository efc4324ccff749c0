"""Preprocessing functions of spectral estimators, with the spectral law that each of them leads to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from derand._utils.validation import FloatArray, check_array, check_scalar
from derand.exceptions import InputError
from derand.spectral.bracketed import bracketed_roots
from derand.spectral.fibres import Branches, Piece
from derand.spectral.law import SpectralLaw
from derand.spectral.noisy import NoisyMoments
from derand.spectral.plane import PlaneFibres
from derand.spectral.quadrature import RADIUS, legendre
from derand.spectral.results import Outlier, Threshold

__all__ = ["Preprocessing"]

PlaneFunction = Callable[[FloatArray], FloatArray]


class Preprocessing:
    r"""A function T of the response, and the law of :math:`\frac1n \sum_i T(y_i)\, x_i x_i^\top`.

    Parameters
    ----------
    function : callable
        ``function(y)`` returns T(y): shape (n,), or (n, k, k) for matrices.
    h : callable
        The link, ``h(z)`` with z of shape (n, k).
    k : int
        Number of latent coordinates.
    noise : float
        Standard deviation of the noise of the response.
    breakpoints : sequence of float
        Kinks of T(h(z)) along the axes.
    branches : Branches, optional
        Branches of the link; their nodes then carry the law, for k = 1 without noise.
    floor : float
        Lower bound of T, where it has a kink.
    """

    def __init__(
        self,
        function: Callable[[FloatArray], Any],
        h: PlaneFunction,
        k: int = 1,
        noise: float = 0.0,
        breakpoints: Sequence[float] = (0.0,),
        *,
        branches: Branches | None = None,
        floor: float = -math.inf,
    ) -> None:
        self._function, self._h, self._branches, self._floor = function, h, branches, floor
        self.k, self.noise, self.breakpoints = k, noise, tuple(breakpoints)

    def __call__(self, y: Any) -> FloatArray:
        """Return T at responses.

        Parameters
        ----------
        y : array_like of shape (n,)
            Responses.

        Returns
        -------
        ndarray of shape (n,) or (n, k, k)
            T(y); zero, which carries no information, where the link can't give such a response.

        Raises
        ------
        InputError
            If y isn't a finite vector.
        """
        values = np.asarray(self._function(check_array(y, "y", ndim=1)), dtype=np.float64)
        return np.where(np.isnan(values), 0.0, values)

    @classmethod
    def optimal(
        cls, h: PlaneFunction, k: int, noise: float, breakpoints: Sequence[float], floor: float = -math.inf
    ) -> Self:
        """Return the optimal preprocessing of a link whose directions are all hard.

        Parameters
        ----------
        h : callable
            The link, ``h(z)`` with z of shape (n, k).
        k : int
            Number of latent coordinates.
        noise : float
            Standard deviation of the noise.
        breakpoints : sequence of float
            Kinks and jumps of h along the axes.
        floor : float
            Lower bound on T, < 1.

        Returns
        -------
        Preprocessing
            1 - 1/E[z^2|y], or I - E[z z^T|y]^(-1) for several coordinates.

        Raises
        ------
        InputError
            If the conditional moments aren't known exactly (three or more coordinates without noise).
        """
        if not math.isinf(floor):
            check_scalar(floor, "floor", high=1.0, high_open=True)
        inner, branches = _second_moments(h, k, noise, breakpoints)

        def function(y: FloatArray) -> FloatArray:
            """Return T(y)."""
            second = inner(y)
            return np.maximum(_scalar_t(second), floor) if second.ndim == 1 else _matrix_t(second, floor)

        if branches is None:
            return cls(function, h, k, noise, breakpoints)
        return cls(function, h, k, noise, breakpoints, branches=branches, floor=floor)

    @cached_property
    def _law(self) -> SpectralLaw:
        """The law, computed once."""
        if self._branches is None:
            return self._quadrature_law()
        laws: list[SpectralLaw] = []
        ends = {end for piece in self._branches.pieces for end in (piece.low, piece.high) if abs(end) < RADIUS}
        kinks = sorted({*ends, *_floor_crossings(self._branches, self._floor)})
        for order in (16, 24):
            branches = Branches(self._branches.h, kinks, order)
            z, mass = branches.rule()
            pieces = [piece for piece in branches.pieces if piece.is_constant]
            flat = np.array([0.5 * (piece.low + piece.high) for piece in pieces])
            line, line_mass = _flat_rule(pieces)
            G = np.concatenate([self(branches.h(z)), np.repeat(self(branches.h(flat)), len(line) // max(1, len(flat)))])
            v, p = np.concatenate([z, line]), np.concatenate([mass, line_mass])
            kept = p > 0.0
            laws.append(SpectralLaw(G[kept], v[kept], p[kept], coarse=laws[0] if laws else None))
        return laws[1]

    def law(self) -> SpectralLaw:
        """Return the spectral law of the estimator's matrix, for scalar T.

        Returns
        -------
        SpectralLaw
            By quadrature.

        Raises
        ------
        InputError
            If T is a matrix.
        """
        return self._law

    def _quadrature_law(self) -> SpectralLaw:
        """Return the law by a product rule."""
        probe = self(self._h(np.random.default_rng(0).standard_normal((16, self.k))))
        if probe.ndim != 1:
            raise InputError("T is a matrix; its law is a MatrixSpectralLaw of the blocks T(y)")
        n_latent = 1 if self.noise > 0.0 else 0

        def weights(*columns: FloatArray) -> FloatArray:
            """Return T at latent coordinates and noise."""
            z = np.stack(columns, axis=1)
            noise = self.noise * z[:, self.k] if n_latent else 0.0
            return self(self._h(z[:, : self.k]) + noise)

        function = _as_columns(weights, self.k + n_latent)
        return SpectralLaw.from_function(function, self.k, n_latent=n_latent, breakpoints=self.breakpoints)

    def threshold(self) -> Threshold:
        """Return the threshold on the right side, where the optimal preprocessing has its outlier."""
        return self.law().threshold("right")

    def predict(self, delta: float) -> Outlier | None:
        """Return the largest outlier and its overlap, or None below the threshold.

        Parameters
        ----------
        delta : float
            Ratio of samples to dimensions.

        Returns
        -------
        Outlier or None
            On the right side.
        """
        found = self.law().outliers(delta, "right")
        return found[0] if found else None


def _second_moments(
    h: PlaneFunction, k: int, noise: float, breakpoints: Sequence[float]
) -> tuple[Callable[[FloatArray], FloatArray], Branches | None]:
    """Return E[z z^T|y] - I as a function of y, and the branches of the link where it has them."""
    if noise > 0.0 and k <= 3:
        moments = NoisyMoments(h, k, noise, breakpoints)
        if k == 1:
            return lambda y: moments.evaluate(y)[1][:, 0, 0], None
        return lambda y: moments.evaluate(y)[1], None
    if k == 1:
        branches = Branches(lambda b: h(b[:, None]), breakpoints)
        return lambda y: branches.evaluate(y)[1], branches
    if k == 2:
        fibres = PlaneFibres(h, breakpoints)
        return lambda y: fibres.evaluate(y)[1], None
    raise InputError(f"the optimal preprocessing is known for one or two latent coordinates without noise, got {k}")


def _scalar_t(second: FloatArray) -> FloatArray:
    """Return 1 - 1/E[z^2|y] without a floor."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1.0 - 1.0 / np.maximum(1.0 + second, 1e-12))


def _floor_crossings(branches: Branches, floor: float) -> list[float]:
    """Return where T(h(z)) leaves its floor."""
    z = np.sort(branches.rule()[0])

    def excess(x: FloatArray, _: Any) -> FloatArray:
        """Return how far T is above the floor."""
        return _scalar_t(branches.posterior(branches.h(x), x)[1]) - max(floor, -1e300)

    sign = excess(z, None) > 0.0
    index = np.flatnonzero(sign[1:] != sign[:-1])
    return [float(root) for root in bracketed_roots(excess, z[index], z[index + 1])[0]] if len(index) else []


def _flat_rule(pieces: list[Piece]) -> tuple[FloatArray, FloatArray]:
    """Return nodes and normal masses on pieces where the link is constant, equally many on each."""
    nodes, masses = [np.zeros(0)], [np.zeros(0)]
    for piece in pieces:
        z, w = legendre(96)
        half = 0.5 * (piece.high - piece.low)
        x = 0.5 * (piece.high + piece.low) + half * z
        nodes.append(x)
        masses.append(half * w * np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi))
    return np.concatenate(nodes), np.concatenate(masses)


def _as_columns(function: Callable[..., FloatArray], dim: int) -> Callable[..., FloatArray]:
    """Return the function with a signature that shows how many arrays it takes."""
    if dim == 1:
        return function
    if dim == 2:
        return lambda a, b: function(a, b)  # noqa: PLW0108 - the arity is what counts
    return lambda z: function(*z.T)


def _matrix_t(second: FloatArray, floor: float) -> FloatArray:
    """Return I - (I + second)^(-1) with its eigenvalues bounded below, shape (n, k, k)."""
    bad = np.any(np.isnan(second), axis=(1, 2))
    values, vectors = np.linalg.eigh(np.where(bad[:, None, None], 0.0, second))
    t = np.maximum(1.0 - 1.0 / np.maximum(1.0 + values, 1e-12), floor)
    return np.asarray(np.einsum("nij,nj,nkj->nik", vectors, t, vectors))
