"""Exact conditional moments for a link of one Gaussian coordinate: the branches of its inverse."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from derand._utils.validation import FloatArray
from derand.spectral.bracketed import bracketed_roots
from derand.spectral.conditional import ConditionalMoments
from derand.spectral.quadrature import RADIUS, legendre, panel_edges

__all__ = ["Branches", "Piece", "derivative"]

_CELLS = 3000
_ORDER = 24
_TABLE = 400
_STEP = 0.01
_STENCIL = ((1, 0.75), (2, -0.15), (3, 1.0 / 60.0))

Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Piece:
    """Interval on which the link is monotone or constant.

    Parameters
    ----------
    low, high : float
        Ends of the interval.
    at_low, at_high : float
        One-sided values of the link there.
    is_constant : bool
        Whether it is constant.
    is_smooth_low, is_smooth_high : bool
        Whether the link continues smoothly beyond each end, so that difference stencils may cross it.
    """

    low: float
    high: float
    at_low: float
    at_high: float
    is_constant: bool
    is_smooth_low: bool = True
    is_smooth_high: bool = True


class Branches:
    """Branches of the inverse of a function of one Gaussian coordinate.

    Parameters
    ----------
    h : callable
        The link, on arrays.
    breakpoints : sequence of float
        Known kinks and jumps; others are looked for on a grid of 3000 cells.
    order : int
        Nodes in each panel of the integrals over the branches.

    Notes
    -----
    Turning points closer than 0.007 to each other are missed, and so are jumps that are smaller than the change of the
    link over such a cell.  Deterministic.
    """

    def __init__(self, h: Function, breakpoints: Sequence[float] = (), order: int = _ORDER) -> None:
        self.h, self.order = h, order
        self.pieces = self._find_pieces(breakpoints)

    def moments(self) -> ConditionalMoments:
        r"""Return the moments at nodes on every branch.

        The average over the response is taken in z, branch by branch, since the density of the response diverges at
        turning points; every branch is cut where the number of branches changes, and the panels are mapped by
        3u^2 - 2u^3, which takes away square roots at their ends.

        Returns
        -------
        ConditionalMoments
            One coordinate.
        """
        z, mass = self.rule()
        y = self.h(z)
        first, second, size = self.posterior(y, z)
        values, atoms = self._atoms()
        return ConditionalMoments(
            np.concatenate([y, values]),
            np.concatenate([mass, atoms[:, 0]]),
            np.concatenate([first, atoms[:, 1]])[:, None],
            np.concatenate([second, atoms[:, 2]])[:, None, None],
            np.concatenate([size, atoms[:, 3]]),
        )

    def rule(self) -> tuple[FloatArray, FloatArray]:
        """Return nodes on all monotone branches and their normal masses.

        Returns
        -------
        z, mass : ndarray of shape (q,)
            Constant pieces are left out.
        """
        nodes, masses = [np.zeros(0)], [np.zeros(0)]
        levels = np.array([v for piece in self.pieces for v in (piece.at_low, piece.at_high)])
        for piece in self.pieces:
            if not piece.is_constant:
                x, w = self._piece_rule(piece, levels)
                nodes.append(x)
                masses.append(w)
        return np.concatenate(nodes), np.concatenate(masses)

    def posterior(self, y: FloatArray, known: FloatArray | None = None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return E[z|y], E[z^2|y] - 1 and E[z^2|y] + 1.

        Parameters
        ----------
        y : ndarray of shape (q,)
            Responses; NaN comes back where there is no preimage.
        known : ndarray of shape (q,), optional
            One preimage of each, which then needn't be searched for.

        Returns
        -------
        first, second, size : ndarray of shape (q,)
            The moments.
        """
        total, first, second = np.zeros_like(y), np.zeros_like(y), np.zeros_like(y)
        for piece in self.pieces:
            if piece.is_constant:
                continue
            z = self._preimages(piece, y, known)
            inside = np.isfinite(z)
            z = z[inside]
            with np.errstate(divide="ignore"):
                weight = np.exp(-0.5 * z**2) / np.abs(derivative(self.h, z, *_room(piece, z)))
            weight = np.where(np.isfinite(weight), weight, 0.0)
            total[inside] += weight
            first[inside] += weight * z
            second[inside] += weight * z**2
        with np.errstate(invalid="ignore", divide="ignore"):
            mean_square = second / total
            return first / total, mean_square - 1.0, mean_square + 1.0

    def evaluate(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return E[z|y] and E[z^2|y] - 1 at any responses; those of constant pieces are atoms.

        Parameters
        ----------
        y : ndarray of shape (q,)
            Responses.

        Returns
        -------
        first, second : ndarray of shape (q,)
            The moments; NaN where the response is impossible.
        """
        first, second, _ = self.posterior(y)
        values, atoms = self._atoms()
        for value, row in zip(values, atoms, strict=True):
            here = np.abs(y - value) <= 1e-9 * max(1.0, abs(value))
            first[here], second[here] = row[1], row[2]
        return first, second

    def _atoms(self) -> tuple[FloatArray, FloatArray]:
        """Return values with a probability, and for each (mass, E[z|y], E[z^2|y] - 1, E[z^2|y] + 1)."""
        table: dict[float, FloatArray] = {}
        for piece in self.pieces:
            if piece.is_constant:
                known = [value for value in table if abs(value - piece.at_low) <= 1e-12 * max(1.0, abs(value))]
                key = known[0] if known else piece.at_low
                table[key] = table.get(key, np.zeros(3)) + _normal_moments(piece.low, piece.high)
        rows = [[m[0], m[1] / m[0], m[2] / m[0], m[2] / m[0] + 2.0] for m in table.values() if m[0] > 0.0]
        values = [value for value, m in table.items() if m[0] > 0.0]
        return np.array(values), np.array(rows).reshape(-1, 4)

    def _piece_rule(self, piece: Piece, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return nodes and normal masses on one monotone piece."""
        low, high = sorted((piece.at_low, piece.at_high))
        margin = 1e-12 * max(abs(low), abs(high))  # levels that differ by rounding are one
        inner = np.unique(levels[(levels > low + margin) & (levels < high - margin)])
        cuts = self._preimages(piece, inner, None) if len(inner) else np.zeros(0)
        cuts = np.sort(cuts[np.isfinite(cuts)])
        ends = np.concatenate([[piece.low], cuts, [piece.high]])
        line, line_weights = legendre(self.order)
        u, du = 0.5 * (1.0 + line), 0.5 * line_weights
        nodes, masses = [np.zeros(0)], [np.zeros(0)]
        for a, b in itertools.pairwise(ends):
            if b - a <= 1e-12:
                continue
            grid = np.linspace(a, b, max(1, math.ceil((b - a) / 1.4)) + 1)
            width = np.diff(grid)[:, None]
            # from the nearer end, so that nodes next to a singular end keep their distance to it
            x = np.where(
                u < 0.5,
                grid[:-1, None] + width * u**2 * (3 - 2 * u),
                grid[1:, None] - width * (1 - u) ** 2 * (1 + 2 * u),
            )
            weight = width * 6.0 * u * (1.0 - u) * du * np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi)
            nodes.append(x.reshape(-1))
            masses.append(weight.reshape(-1))
        return np.concatenate(nodes), np.concatenate(masses)

    def _preimages(self, piece: Piece, y: FloatArray, known: FloatArray | None) -> FloatArray:
        """Return the preimages in one piece, NaN where there is none."""
        low, high = sorted((piece.at_low, piece.at_high))
        result = np.full(y.shape, np.nan)
        inside = (y >= low) & (y <= high)
        if known is not None:
            own = (known >= piece.low) & (known <= piece.high)
            result[own] = known[own]
            inside &= ~own
        if np.any(inside):
            result[inside] = _solve(self.h, piece, y[inside])
        return result

    def _find_pieces(self, breakpoints: Sequence[float]) -> list[Piece]:
        """Return the pieces in ascending order."""
        grid = np.unique(np.concatenate([panel_edges(breakpoints, 2.0 * RADIUS / _CELLS), [0.0]]))
        values = self.h(grid)
        change = np.diff(values)
        cuts = {float(b) for b in breakpoints if abs(b) < RADIUS}
        size = np.abs(change)
        level = 1e-13 * (np.abs(values[1:]) + np.abs(values[:-1]))
        direction = np.where(size <= level, 0.0, np.sign(change))
        # a turn lies at a node where the direction changes, or in one of the cells beside it
        for i in np.flatnonzero(direction[1:] * direction[:-1] < 0.0):
            cuts.add(self._turn(grid[i], grid[i + 1], grid[i + 2], float(direction[i])))
        for i in np.flatnonzero((direction[1:] == 0.0) != (direction[:-1] == 0.0)):
            beyond = grid[i] if direction[i + 1] == 0.0 else grid[i + 2]
            cuts.add(self._flat_end(float(grid[i + 1]), float(beyond)))
        neighbours = np.minimum(np.concatenate([size[1:2], size[:-1]]), np.concatenate([size[1:], size[-2:-1]]))
        for i in np.flatnonzero(size > 5.0 * neighbours + 1e-12):
            jump = self._jump(float(grid[i]), float(grid[i + 1]))
            if jump is not None:
                cuts.add(jump)
        ends = np.array([-RADIUS, *sorted(cuts), RADIUS])
        ends = ends[np.concatenate([[True], np.diff(ends) > 1e-11])]
        return [self._piece(float(a), float(b)) for a, b in itertools.pairwise(ends)]

    def _flat_end(self, node: float, beyond: float) -> float:
        """Return where the flat part that reaches a node ends on the way to a point beyond it."""
        value = float(self.h(np.array([node]))[0])
        flat, other = node, beyond
        for _ in range(60):
            middle = 0.5 * (flat + other)
            if abs(float(self.h(np.array([middle]))[0]) - value) <= 1e-13 * abs(value):
                flat = middle
            else:
                other = middle
        return node if abs(flat - node) <= 1e-6 * abs(beyond - node) else flat

    def _turn(self, a: float, middle: float, b: float, direction: float) -> float:
        """Return the turning point between a and b, exactly the node in the middle when it is as good."""

        def height(z: float) -> float:
            """Return the link with the turn as a minimum."""
            return -direction * float(self.h(np.array([z]))[0])

        found = minimize_scalar(height, bounds=(a, b), method="bounded", options={"xatol": 1e-12})
        best = middle if height(middle) <= found.fun + 4e-16 * abs(found.fun) else float(found.x)
        # a minimum is known to half the digits only; where the link is smooth, the zero of its slope to nearly all
        step = np.array([0.5 * (b - a)])
        slopes = [_stencil(self.h, np.array([z]), step)[0] for z in (a, b)]
        if best == middle or slopes[0] * slopes[1] >= 0.0:
            return best
        polished = float(brentq(lambda z: _stencil(self.h, np.array([z]), step)[0], a, b, xtol=1e-15))
        return polished if height(polished) <= height(best) + 1e-15 * abs(height(best)) else best

    def _jump(self, a: float, b: float) -> float | None:
        """Return the place of a jump inside a cell, or None when the change is only steep."""
        left, right = (float(v) for v in self.h(np.array([a, b])))
        start = abs(right - left)
        for _ in range(60):
            middle = 0.5 * (a + b)
            if not a < middle < b:
                break
            value = float(self.h(np.array([middle]))[0])
            if abs(value - left) > abs(right - value):
                b, right = middle, value
            else:
                a, left = middle, value
        return 0.5 * (a + b) if abs(right - left) > 0.3 * start else None

    def _piece(self, a: float, b: float) -> Piece:
        """Return the piece between two cuts."""
        inset = 1e-15 * max(1.0, abs(a)), 1e-15 * max(1.0, abs(b))
        at = self.h(np.array([a + inset[0], 0.5 * (a + b), b - inset[1]]))
        is_constant = bool(np.ptp(at) <= 1e-13 * max(1e-300, float(np.max(np.abs(at)))))
        return Piece(a, b, float(at[0]), float(at[2]), is_constant, self._is_smooth(a, 1.0), self._is_smooth(b, -1.0))

    def _is_smooth(self, end: float, inwards: float) -> bool:
        """Return whether a stencil across the end agrees with one that stays inside."""
        if abs(end) >= RADIUS:
            return True
        point = np.array([end + inwards * 2.0 * _STEP])
        across = _stencil(self.h, point, np.array([_STEP]))
        inside = _stencil(self.h, point, np.array([0.6 * _STEP]))
        return bool(abs(across[0] - inside[0]) <= 1e-8 * (abs(inside[0]) + _STEP * _STEP))


def derivative(h: Function, z: FloatArray, room: FloatArray, step: float = _STEP) -> FloatArray:
    """Return h'(z) by central differences of order six.

    Parameters
    ----------
    h : callable
        The function.
    z : ndarray
        Points.
    room : ndarray
        Distance up to which h is smooth around each point.
    step : float
        Largest step.

    Returns
    -------
    ndarray
        With an error of about step^6 h^(7) / 140, and 1e-16 h / step from rounding.

    Examples
    --------
    >>> float(derivative(lambda z: z**2, np.array([3.0]), np.array([1.0]))[0])
    6.0
    """
    return _stencil(h, z, np.minimum(step, 0.3 * room))


def _stencil(h: Function, z: FloatArray, step: FloatArray) -> FloatArray:
    """Return the difference quotient of order six."""
    total = np.zeros_like(z)
    for multiple, coefficient in _STENCIL:
        total += coefficient * (h(z + multiple * step) - h(z - multiple * step))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / step)


def _room(piece: Piece, z: FloatArray) -> tuple[FloatArray]:
    """Return how far difference stencils may reach."""
    room = np.full(z.shape, np.inf)
    if not piece.is_smooth_low:
        room = np.minimum(room, z - piece.low)
    if not piece.is_smooth_high:
        room = np.minimum(room, piece.high - z)
    return (np.maximum(room, 1e-300),)


def _solve(h: Function, piece: Piece, y: FloatArray) -> FloatArray:
    """Return the preimages of values in the range of a monotone piece."""
    a = piece.low + 1e-15 * max(1.0, abs(piece.low))
    b = piece.high - 1e-15 * max(1.0, abs(piece.high))
    grid = np.linspace(a, b, _TABLE + 1) if len(y) > _TABLE else np.array([a, b])
    values = h(grid)
    if values[-1] < values[0]:
        grid, values = grid[::-1], values[::-1]
    # many responses share one table of the link, which shortens their brackets
    cell = np.clip(np.searchsorted(values, y), 1, len(grid) - 1)
    return bracketed_roots(lambda z, index: h(z) - y[index], grid[cell - 1], grid[cell])[0]


def _normal_moments(low: float, high: float) -> FloatArray:
    """Return the integrals of 1, z and z^2 - 1 against the normal density, the outermost ends at infinity."""
    from scipy.special import ndtr

    a, b = (-math.inf if low <= -RADIUS else low), (math.inf if high >= RADIUS else high)
    pdf = [0.0 if math.isinf(x) else math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) for x in (a, b)]
    edge = [0.0 if math.isinf(x) else x * p for x, p in zip((a, b), pdf, strict=True)]
    mass = float(ndtr(b) - ndtr(a)) if a < 0.0 else float(ndtr(-a) - ndtr(-b))
    return np.array([mass, pdf[0] - pdf[1], edge[0] - edge[1]])
