"""Conditional moments for a link of two Gaussian coordinates: the response along families of lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from derand._utils.validation import FloatArray
from derand.spectral.bracketed import bracketed_roots
from derand.spectral.conditional import ConditionalMoments
from derand.spectral.fibres import derivative
from derand.spectral.quadrature import RADIUS, gaussian_panels, panel_edges, tensor_panels

__all__ = ["LineFamily", "PlaneFibres", "line_families"]

_SECTORS = 8
_PROBES = 20_000

PlaneFunction = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class LineFamily:
    """Lines or rays that cover the plane.

    Parameters
    ----------
    origins, directions : ndarray of shape (l, 2)
        A point of each line and its unit direction.
    mass : ndarray of shape (l,)
        Quadrature weights over the family.
    grid : ndarray
        Places along a line between which roots are looked for.
    is_radial : bool
        Rays from the origin, with the density r exp(-r^2/2), or whole lines with the normal density.
    """

    origins: FloatArray
    directions: FloatArray
    mass: FloatArray
    grid: FloatArray
    is_radial: bool

    def density(self, t: FloatArray) -> FloatArray:
        """Return the density of the place along a line."""
        bell = np.exp(-0.5 * t**2)
        return t * bell if self.is_radial else bell / math.sqrt(2.0 * math.pi)


def line_families(h: PlaneFunction, breakpoints: Sequence[float], step: float) -> list[LineFamily]:
    """Return rays from the origin, and the lines along either axis.

    Parameters
    ----------
    h : callable
        The link; sectors of rays end where it crosses h(0) on the unit circle.
    breakpoints : sequence of float
        Kinks and jumps along the axes.
    step : float
        Step of the double exponential rule over the angle; lines have ``1.2 / step`` nodes in each panel.

    Returns
    -------
    list of LineFamily
        Three families.
    """
    ends = _sector_ends(h)
    shares, weights = _double_exponential(step)
    widths = np.diff(ends)[:, None]
    theta = (ends[:-1, None] + widths * shares).reshape(-1)
    radii = np.concatenate([[1e-12], RADIUS * (np.arange(1, 121) / 120.0) ** 1.5])
    rays = LineFamily(
        np.zeros((len(theta), 2)),
        np.stack([np.cos(theta), np.sin(theta)], axis=1),
        (widths * weights).reshape(-1) / (2.0 * math.pi),
        radii,
        True,
    )
    place, mass = gaussian_panels(panel_edges(breakpoints), max(4, round(1.2 / step)))
    kept = mass > 1e-20
    place, mass = place[kept], mass[kept]
    # an irrational offset: no grid point falls on a kink at a round number
    along = np.linspace(-RADIUS, RADIUS + 1e-3 * math.sqrt(2.0), 240)
    zero, one = np.zeros_like(place), np.ones_like(place)
    lines = [
        LineFamily(np.stack(pair, axis=1), np.stack(way, axis=1), mass, along, False)
        for pair, way in (((place, zero), (zero, one)), ((zero, place), (one, zero)))
    ]
    return [rays, *lines]


class PlaneFibres:
    r"""Fibres of a function of two Gaussian coordinates, met along lines.

    The density of the response and its conditional moments are integrals over a family of lines z(t),

    .. math:: D(y) = \int d\mu \sum_{t:\, h(z(t)) = y} \frac{p(t)}{|\partial_t h(z(t))|},

    over the rays from the origin (for products and other homogeneous functions) or over the lines along an axis (for
    functions that are monotone in one coordinate), whichever depends least on the resolution.  The response itself is
    a double exponential rule on either side of h(0).  Values that are taken with a positive probability are treated
    apart, by a product rule.

    Parameters
    ----------
    h : callable
        ``h(z)`` with z of shape (n, 2) returns shape (n,).
    breakpoints : sequence of float
        Kinks and jumps along the axes.
    step : float
        Step of the double exponential rules.

    Notes
    -----
    Exact to about ten digits where h is monotone and smooth along every line; turning points along the lines cost
    digits, which the missing probability shows.  About (30/step)^2 roots; deterministic.
    """

    def __init__(self, h: PlaneFunction, breakpoints: Sequence[float] = (0.0,), step: float = 0.08) -> None:
        self.h, self.step = h, step
        self.nodes, self.node_mass = tensor_panels(2, breakpoints, order=12)
        self.node_values = h(self.nodes)
        self.atoms = self._find_atoms()
        self.atom_mass = [float(np.sum(self.node_mass[mask])) for _, mask in self.atoms]
        self.family = self._choose(breakpoints)

    def moments(self) -> ConditionalMoments:
        """Return the moments at nodes of the response.

        Returns
        -------
        ConditionalMoments
            Two coordinates; what the masses miss of 1 is an estimate of the error.
        """
        first, second = self._atom_moments()
        parts = (
            [np.array([value for value, _ in self.atoms])],
            [np.array(self.atom_mass)],
            [first],
            [second],
        )
        if 1.0 - sum(self.atom_mass) > 1e-9:
            y, weight = self._response_rule(self.step)
            density, one, two = self.integrals(y)
            good = density > 0.0
            parts[0].append(y[good])
            parts[1].append(density[good] * weight[good])
            parts[2].append(one[good] / density[good, None])
            parts[3].append(two[good] / density[good, None, None] - np.eye(2))
        squares = np.concatenate(parts[3])
        size = np.trace(squares, axis1=1, axis2=2) + 3.0
        return ConditionalMoments(
            np.concatenate(parts[0]), np.concatenate(parts[1]), np.concatenate(parts[2]), squares, size
        )

    def evaluate(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return E[z|y], shape (q, 2), and E[z z^T|y] - I, shape (q, 2, 2), at any responses.

        Parameters
        ----------
        y : ndarray of shape (q,)
            Responses.

        Returns
        -------
        first, second : ndarray
            The moments; NaN where the response is impossible.
        """
        first, second = np.full((len(y), 2), np.nan), np.full((len(y), 2, 2), np.nan)
        is_atom = np.zeros(len(y), dtype=bool)
        atom_first, atom_second = self._atom_moments()
        for (value, _), one, two in zip(self.atoms, atom_first, atom_second, strict=True):
            here = np.abs(y - value) <= 1e-9 * max(1.0, abs(value))
            first[here], second[here] = one, two
            is_atom |= here
        if not np.all(is_atom):
            density, one, two = self.integrals(y[~is_atom])
            with np.errstate(invalid="ignore", divide="ignore"):
                first[~is_atom] = one / density[:, None]
                second[~is_atom] = two / density[:, None, None] - np.eye(2)
        return first, second

    def integrals(self, y: FloatArray, family: LineFamily | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the density of the response, and its integrals with z and z z^T over the fibres.

        Parameters
        ----------
        y : ndarray of shape (q,)
            Responses.
        family : LineFamily, optional
            Lines; those chosen at construction by default.

        Returns
        -------
        density : ndarray of shape (q,)
            D(y).
        first : ndarray of shape (q, 2)
            D(y) E[z|y].
        second : ndarray of shape (q, 2, 2)
            D(y) E[z z^T|y].
        """
        family = self.family if family is None else family
        q = len(y)
        sums = np.zeros((7, q))
        rows = max(1, 4_000_000 // (max(q, 1) * len(family.grid)))
        for start in range(0, len(family.mass), rows):
            line, index, t = self._roots(y, family, start, start + rows)
            if not len(line):
                continue
            origin, way = family.origins[line], family.directions[line]
            room = t if family.is_radial else np.full(t.shape, np.inf)
            slope = self._slope(origin, way, t, room)
            with np.errstate(divide="ignore", invalid="ignore"):
                weight = family.mass[line] * family.density(t) / np.abs(slope)
            weight = np.where(np.isfinite(weight), weight, 0.0)
            a, b = (origin + t[:, None] * way).T
            for row, values in enumerate((1.0, a, b, a * a, a * b, a * b, b * b)):
                sums[row] += np.bincount(index, weight * values, q)
        return sums[0], sums[1:3].T, sums[3:].T.reshape(q, 2, 2)

    def _slope(self, origin: FloatArray, way: FloatArray, t: FloatArray, room: FloatArray) -> FloatArray:
        """Return the derivative of the link along the lines."""
        return derivative(lambda x: self.h(origin + x[:, None] * way), t, room)

    def _roots(
        self, y: FloatArray, family: LineFamily, start: int, stop: int
    ) -> tuple[np.ndarray, np.ndarray, FloatArray]:
        """Return for every root the line, the index of the response and the place along the line."""
        origins, ways = family.origins[start:stop], family.directions[start:stop]
        points = origins[:, None, :] + family.grid[None, :, None] * ways[:, None, :]
        table = self.h(points.reshape(-1, 2)).reshape(len(origins), -1)
        above = table[:, :, None] > y
        line, cell, index = np.nonzero(above[:, 1:] != above[:, :-1])
        if not len(line):
            return line, index, np.zeros(0)
        t = self._place(family.grid[cell], family.grid[cell + 1], origins[line], ways[line], y[index])
        kept = np.isfinite(t)
        return line[kept] + start, index[kept], t[kept]

    def _place(
        self, low: FloatArray, high: FloatArray, origin: FloatArray, way: FloatArray, y: FloatArray
    ) -> FloatArray:
        """Return the roots inside brackets, NaN where the response jumps across the value."""

        def excess(t: FloatArray, index: NDArray[np.intp]) -> FloatArray:
            """Return h minus its target."""
            return np.asarray(self.h(origin[index] + t[:, None] * way[index]) - y[index], dtype=np.float64)

        roots, residuals = bracketed_roots(excess, low, high)
        is_root = np.abs(residuals) <= 1e-6 * np.abs(y) + 1e-12
        return np.where(np.isfinite(roots) & is_root, roots, np.nan)

    def _atom_moments(self) -> tuple[FloatArray, FloatArray]:
        """Return E[z|y] and E[z z^T|y] - I at the atoms."""
        first, second = [], []
        for (_, mask), mass in zip(self.atoms, self.atom_mass, strict=True):
            z, p = self.nodes[mask], self.node_mass[mask] / mass
            first.append(p @ z)
            second.append((z * p[:, None]).T @ z - np.eye(2))
        return np.array(first).reshape(-1, 2), np.array(second).reshape(-1, 2, 2)

    def _find_atoms(self) -> list[tuple[float, np.ndarray]]:
        """Return values with a positive probability, and where the product rule takes them."""
        # random points, not a lattice: on a lattice a function of one coordinate repeats its values too
        probes = self.h(np.random.default_rng(0).standard_normal((_PROBES, 2)))
        values, counts = np.unique(probes, return_counts=True)
        scale = max(float(np.max(np.abs(self.node_values))), 1e-300)
        found = []
        for value in values[counts >= 20]:
            mask = np.abs(self.node_values - value) <= 1e-12 * scale
            if np.any(mask):
                found.append((float(value), mask))
        return found

    def _choose(self, breakpoints: Sequence[float]) -> LineFamily:
        """Return the family whose answers depend least on the resolution."""
        # The probability alone doesn't tell: along every line it is exact, whatever the fibres between the lines do.
        fine = line_families(self.h, breakpoints, self.step)
        if 1.0 - sum(self.atom_mass) <= 1e-9:
            return fine[0]
        sums = []
        for step in (0.3, 0.21):
            y, weight = self._response_rule(step)
            row = []
            for family in line_families(self.h, breakpoints, step):
                density, _, second = self.integrals(y, family)
                density = np.maximum(density, 1e-300)
                square = np.sum(second**2, axis=(1, 2)) / density
                row.append((float(weight @ density), float(weight @ square)))
            sums.append(row)
        change = np.abs(np.array(sums[0]) - np.array(sums[1])) / (1.0 + np.abs(np.array(sums[1])))
        defect = np.abs(np.array(sums[1])[:, 0] + sum(self.atom_mass) - 1.0)
        return fine[int(np.argmin(np.sum(change, axis=1) + defect))]

    def _response_rule(self, step: float) -> tuple[FloatArray, FloatArray]:
        """Return nodes and weights for the response on either side of h(0)."""
        free = np.ones(len(self.node_values), dtype=bool)
        for _, mask in self.atoms:
            free &= ~mask
        values, mass = self.node_values[free], self.node_mass[free]
        centre = float(self.h(np.zeros((1, 2)))[0])
        nodes, weights = [np.zeros(0)], [np.zeros(0)]
        for sign in (-1.0, 1.0):
            distance = sign * (values - centre)
            there = distance > 0.0
            if not np.any(there):
                continue
            order = np.argsort(distance[there])
            cumulative = np.cumsum(mass[there][order])
            scale = float(distance[there][order][np.searchsorted(cumulative, 0.5 * cumulative[-1])])
            top = math.log(float(np.max(distance[there])) / scale) + 1.0
            t = np.arange(-4.2, top, 0.8 * step)
            x = np.exp(t - np.exp(-t))
            nodes.append(centre + sign * scale * x)
            weights.append(scale * x * (1.0 + np.exp(-t)) * 0.8 * step)
        return np.concatenate(nodes), np.concatenate(weights)


def _sector_ends(h: PlaneFunction) -> FloatArray:
    """Return the angles between which rays are integrated: eighths of the circle, and where h crosses h(0)."""

    def excess(theta: FloatArray) -> FloatArray:
        """Return h on the unit circle minus h at the centre."""
        return h(np.stack([np.cos(theta), np.sin(theta)], axis=1)) - centre

    centre = float(h(np.zeros((1, 2)))[0])
    ends = list(np.arange(_SECTORS + 1) * (2.0 * math.pi / _SECTORS))
    grid = np.arange(722) * (2.0 * math.pi / 721.3) + 1e-3
    sign = excess(np.asarray(grid, dtype=np.float64)) > 0.0
    for i in np.flatnonzero(sign[1:] != sign[:-1]):
        root = brentq(lambda theta: float(excess(np.array([theta]))[0]), grid[i], grid[i + 1], xtol=1e-15)
        if 0.0 < root < 2.0 * math.pi and min(abs(root - end) for end in ends) > 1e-9:
            ends.append(float(root))
    return np.array(sorted(ends))


def _double_exponential(step: float) -> tuple[FloatArray, FloatArray]:
    """Return the tanh-sinh rule on [0, 1]."""
    t = np.arange(-round(3.4 / step), round(3.4 / step) + 1) * step
    u = 0.5 * math.pi * np.sinh(t)
    # from the nearer end: small angles keep all their digits
    return 1.0 / (1.0 + np.exp(-2.0 * u)), step * 0.25 * math.pi * np.cosh(t) / np.cosh(u) ** 2
