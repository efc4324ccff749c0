"""Easy and hard directions of a link: what E[z|y] shows, step by step, and what it never shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray
from derand.exceptions import InputError
from derand.spectral.conditional import ConditionalMoments, join
from derand.spectral.fibres import Branches
from derand.spectral.noisy import NoisyMoments, sampled_moments
from derand.spectral.plane import PlaneFibres
from derand.spectral.quadrature import gaussian_panels, panel_edges, tensor_panels

__all__ = ["EasyHardSplit", "conditional_moments", "split_directions"]

# Squared correlations: exact ones are zero or not, sampled ones have to be an effect, not only significant.
_EXACT_EFFECT, _SAMPLED_EFFECT = 1e-8, 1e-2

PlaneFunction = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, repr=False)
class EasyHardSplit(ResultRepr):
    """Orthogonal split of the latent space.

    Parameters
    ----------
    easy : ndarray of shape (k, e)
        Orthonormal columns: directions that gradient descent finds in a constant number of steps.
    hard : ndarray of shape (k, h)
        Orthonormal columns: E[P_H z | y, P_E z] = 0.
    steps : tuple of int
        Number of easy directions after each round.
    strengths : tuple of float
        Squared correlations E|E[u.z | ...]|^2 of the easy directions, in the order they were found.
    method : str
        "exact" or "sampled": a sampled split misses directions with a squared correlation below 0.01.
    """

    easy: FloatArray
    hard: FloatArray
    steps: tuple[int, ...]
    strengths: tuple[float, ...]
    method: str


def split_directions(h: PlaneFunction, k: int, noise: float, breakpoints: Sequence[float]) -> EasyHardSplit:
    """Return the split: U_E grows by the span of E[P_H z | y, P_E z] until it stops.

    Parameters
    ----------
    h : callable
        ``h(z)`` with z of shape (n, k) returns shape (n,).
    k : int
        Number of latent directions.
    noise : float
        Standard deviation of additive noise.
    breakpoints : sequence of float
        Kinks and jumps along the axes.

    Returns
    -------
    EasyHardSplit
        Easy and hard directions.

    Raises
    ------
    InputError
        If the moments aren't finite, as for a flat part whose ends aren't among the breakpoints.
    """
    easy, hard = np.zeros((k, 0)), np.eye(k)
    steps: list[int] = []
    strengths: list[float] = []
    method = "exact"
    while hard.shape[1]:
        with np.errstate(over="ignore", invalid="ignore"):  # what isn't finite is refused below
            moments = conditional_moments(h, easy, hard, noise, breakpoints)
        method = moments.method if moments.method != "exact" else method
        covariance = moments.first_covariance()
        if not np.all(np.isfinite(covariance)):
            raise InputError(
                "h has conditional moments that aren't finite: name its kinks and the ends of its flat parts in "
                "breakpoints, and check that it doesn't overflow"
            )
        values, vectors = np.linalg.eigh(covariance)
        found = values > (_EXACT_EFFECT if moments.method == "exact" else _SAMPLED_EFFECT)
        if not np.any(found):
            break
        easy = np.concatenate([easy, hard @ _snap(vectors[:, found])], axis=1)
        hard = hard @ _snap(vectors[:, ~found])
        steps.append(easy.shape[1])
        strengths += values[found][::-1].tolist()
    return EasyHardSplit(easy, hard, tuple(steps), tuple(strengths), method)


def conditional_moments(
    h: PlaneFunction,
    easy: FloatArray,
    hard: FloatArray,
    noise: float,
    breakpoints: Sequence[float],
    *,
    quality: float = 1.0,
) -> ConditionalMoments:
    """Return the moments of the hard coordinates given the response and the easy coordinates.

    Parameters
    ----------
    h : callable
        ``h(z)`` with z of shape (n, k) returns shape (n,).
    easy, hard : ndarray of shape (k, e) and (k, h)
        Orthonormal columns.
    noise : float
        Standard deviation of additive noise.
    breakpoints : sequence of float
        Kinks and jumps along the axes.
    quality : float
        Multiple of the default resolution, for error estimates.

    Returns
    -------
    ConditionalMoments
        Exact (by quadrature) for one or two hard coordinates, for links that take a few values, and for up to three
        coordinates with noise; sampled otherwise.
    """
    if easy.shape[1] == 0:
        return _moments(lambda b: h(b @ hard.T), hard.shape[1], noise, breakpoints, quality)
    if _is_constant(h, easy, hard):
        return ConditionalMoments(
            np.zeros(1), np.ones(1), np.zeros((1, hard.shape[1])), np.zeros((1, hard.shape[1], hard.shape[1])),
            np.array([hard.shape[1] + 1.0]),
        )  # fmt: skip
    nodes, masses = _outer_rule(easy.shape[1], breakpoints, quality)
    parts = [_moments(_slice(h, a @ easy.T, hard), hard.shape[1], noise, breakpoints, quality) for a in nodes]
    return join(parts, masses)


def _is_constant(h: PlaneFunction, easy: FloatArray, hard: FloatArray) -> bool:
    """Return whether the hard coordinates change the link by rounding only, at points near and far."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((512, easy.shape[1])) @ easy.T
    b = rng.standard_normal((512, hard.shape[1])) @ hard.T * np.linspace(0.5, 4.0, 512)[:, None]
    without, with_hard = h(a), h(a + b)
    return bool(np.all(np.abs(with_hard - without) <= 1e-12 * (1.0 + np.abs(without))))


def _slice(h: PlaneFunction, offset: FloatArray, hard: FloatArray) -> PlaneFunction:
    """Return the link as a function of the hard coordinates alone."""
    return lambda b: h(b @ hard.T + offset)


def _outer_rule(dim: int, breakpoints: Sequence[float], quality: float) -> tuple[FloatArray, FloatArray]:
    """Return nodes for the easy coordinates."""
    if dim == 1:
        line, masses = gaussian_panels(panel_edges(breakpoints, 2.0), max(2, round(5 * quality)))
        nodes = line[:, None]
    else:
        nodes, masses = tensor_panels(dim, breakpoints, order=max(1, round(2 * quality)), width=2.5)
    kept = masses > 1e-14
    return nodes[kept], masses[kept] / np.sum(masses[kept])


def _moments(
    h: PlaneFunction, dim: int, noise: float, breakpoints: Sequence[float], quality: float
) -> ConditionalMoments:
    """Return the moments of all coordinates of a function, by the best method for their number."""
    if noise > 0.0:
        if dim <= 3:
            return NoisyMoments(h, dim, noise, breakpoints, quality).moments()
        return sampled_moments(h, dim, noise)
    if dim == 1:
        return Branches(lambda b: h(b[:, None]), breakpoints, order=max(8, round(24 * quality))).moments()
    if dim == 2:
        return PlaneFibres(h, breakpoints, step=0.08 / quality).moments()
    discrete = _discrete_moments(h, dim, breakpoints, quality)
    return sampled_moments(h, dim, noise) if discrete is None else discrete


def _discrete_moments(
    h: PlaneFunction, dim: int, breakpoints: Sequence[float], quality: float
) -> ConditionalMoments | None:
    """Return the moments of a function that takes a few values, by a product rule; None for any other."""
    probes = h(np.random.default_rng(0).standard_normal((4000, dim)))
    if dim > 5 or len(np.unique(probes)) > 64:
        return None
    width, order = {3: (1.4, 6), 4: (2.5, 4)}.get(dim, (5.0, 4))
    z, p = tensor_panels(dim, breakpoints, order=max(2, round(order * quality)), width=width)
    values = h(z)
    y = np.unique(values)
    mass = np.array([np.sum(p[values == v]) for v in y])
    first = np.array([p[values == v] @ z[values == v] / m for v, m in zip(y, mass, strict=True)])
    second = np.array(
        [(z[values == v] * p[values == v, None]).T @ z[values == v] / m for v, m in zip(y, mass, strict=True)]
    ) - np.eye(dim)
    return ConditionalMoments(y, mass, first, second, np.trace(second, axis1=1, axis2=2) + dim + 1.0)


def _snap(vectors: FloatArray) -> FloatArray:
    """Return orthonormal columns of the same span, along coordinate axes where the span contains them."""
    projector = vectors @ vectors.T
    axes = [i for i in range(len(vectors)) if abs(projector[i, i] - 1.0) < 1e-6]
    basis = np.eye(len(vectors))[:, axes]
    rest = vectors - basis @ (basis.T @ vectors)
    left, sizes, _ = np.linalg.svd(rest, full_matrices=False)
    return np.concatenate([basis, left[:, : vectors.shape[1] - len(axes)]], axis=1) if sizes.size else vectors
