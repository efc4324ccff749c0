"""Rules for Gaussian averages of functions with steep places and declared kinks: panels, refined where it is needed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import BudgetExceededError, InputError

__all__ = ["RADIUS", "gaussian_panels", "panel_edges", "refined_panels", "tensor_panels"]

#: Beyond this the normal distribution has a mass below 1e-22, and a fourth moment below 1e-18.
RADIUS = 9.8
_WIDTH = 1.4
_MAX_DEPTH = 40
_MAX_PANELS = 1000
_MAX_NODES = 4_000_000


@cache
def legendre(order: int) -> tuple[FloatArray, FloatArray]:
    """Return the Gauss-Legendre rule on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return nodes, weights


def panel_edges(breakpoints: Sequence[float] = (), width: float = _WIDTH, radius: float = RADIUS) -> FloatArray:
    """Return the ends of panels that cover [-radius, radius] and end at each breakpoint.

    Parameters
    ----------
    breakpoints : sequence of float
        Places of kinks and jumps; those outside the range are dropped.
    width : float
        Largest width of a panel.
    radius : float
        Half of the range.

    Returns
    -------
    ndarray of shape (n_panels + 1,)
        Ascending.

    Raises
    ------
    InputError
        If a breakpoint isn't finite.

    Examples
    --------
    >>> panel_edges([0.5], width=2.0, radius=2.0).tolist()
    [-2.0, -0.75, 0.5, 2.0]
    """
    inner = np.unique(check_array(list(breakpoints), "breakpoints", ndim=1))
    inner = inner[np.abs(inner) < radius]
    ends = np.concatenate([[-radius], inner, [radius]])
    pieces = [
        np.linspace(a, b, max(1, math.ceil((b - a) / width - 1e-9)) + 1)[:-1] for a, b in itertools.pairwise(ends)
    ]
    return np.concatenate([*pieces, [radius]])


def gaussian_panels(edges: FloatArray, order: int) -> tuple[FloatArray, FloatArray]:
    """Return the composite Gauss-Legendre rule with normal weights on panels.

    Parameters
    ----------
    edges : ndarray of shape (n_panels + 1,)
        Ends of the panels, ascending.
    order : int
        Nodes in each panel.

    Returns
    -------
    nodes : ndarray of shape (n_panels * order,)
        Ascending.
    weights : ndarray of the same shape
        With sum 1: what the range cuts off is put right by normalisation.

    Examples
    --------
    >>> nodes, weights = gaussian_panels(panel_edges(), 16)
    >>> round(float(weights @ nodes**4), 12)
    3.0
    """
    line, line_weights = legendre(order)
    half = 0.5 * np.diff(edges)
    middle = 0.5 * (edges[1:] + edges[:-1])
    nodes = (middle[:, None] + half[:, None] * line).reshape(-1)
    weights = (half[:, None] * line_weights).reshape(-1) * np.exp(-0.5 * nodes**2)
    return nodes, weights / np.sum(weights)


def refined_panels(
    functions: Callable[[FloatArray], FloatArray], breakpoints: Sequence[float] = (), *, tol: float = 1e-14
) -> FloatArray:
    """Return panel ends on which Gauss-Legendre rules resolve the given functions under the normal weight.

    A panel is halved while the rule with 16 nodes and the one with 12 differ by more than `tol` of the function's
    whole absolute integral, up to a thousand panels.

    Parameters
    ----------
    functions : callable
        ``functions(z)`` returns an array of shape (q, len(z)): all that has to be resolved.
    breakpoints : sequence of float
        Places of kinks and jumps.
    tol : float, default 1e-14
        Tolerance relative to the absolute integral.

    Returns
    -------
    ndarray of shape (n_panels + 1,)
        Ascending panel ends.

    Notes
    -----
    Halving ends at width 2^-40: a singularity is then resolved down to a mass of about 1e-12.  Deterministic.

    Examples
    --------
    >>> edges = refined_panels(lambda z: (1.0 / (1e-4 + z**2))[None])
    >>> bool(np.min(np.diff(edges)) < 0.05)
    True
    """
    edges = panel_edges(breakpoints)
    scale: FloatArray | None = None
    done: list[tuple[float, float]] = []
    active = np.stack([edges[:-1], edges[1:]], axis=1)
    for _ in range(_MAX_DEPTH):
        fine, size = _panel_integrals(functions, active, 16)
        coarse, _ = _panel_integrals(functions, active, 12)
        total = np.sum(size, axis=1)
        scale = total if scale is None else np.maximum(scale, total)
        # below 1e-12 of the panel's own integral the difference is rounding in the functions, which halving can't lower
        level = np.maximum(tol * np.maximum(scale, 1e-300)[:, None], 1e-12 * size)
        bad = np.any(np.abs(fine - coarse) > level, axis=0)
        if len(done) + 2 * len(active) > _MAX_PANELS:
            bad[:] = False
        done += [(float(a), float(b)) for a, b in active[~bad]]
        if not np.any(bad):
            break
        middle = 0.5 * (active[bad, 0] + active[bad, 1])
        active = np.concatenate(
            [np.stack([active[bad, 0], middle], axis=1), np.stack([middle, active[bad, 1]], axis=1)]
        )
    else:
        done += [(float(a), float(b)) for a, b in active]
    return np.array(sorted({end for pair in done for end in pair}))


def tensor_panels(
    dim: int, breakpoints: Sequence[float] = (), *, order: int = 10, width: float = _WIDTH
) -> tuple[FloatArray, FloatArray]:
    """Return the product of one-dimensional panel rules for N(0, I) in few dimensions.

    Parameters
    ----------
    dim : int
        Number of dimensions.
    breakpoints : sequence of float
        Kinks, the same in every coordinate.
    order : int, default 10
        Nodes in each panel of each coordinate.
    width : float
        Largest width of a panel.

    Returns
    -------
    nodes : ndarray of shape (N, dim)
        The points.
    weights : ndarray of shape (N,)
        With sum 1; points of a weight below 1e-22 are left out.

    Raises
    ------
    BudgetExceededError
        If there would be more than four million nodes.
    InputError
        If a number is out of range.

    Examples
    --------
    >>> nodes, weights = tensor_panels(2, [0.0])
    >>> round(float(weights @ np.abs(nodes[:, 0] * nodes[:, 1])) - 2.0 / np.pi, 12)
    0.0
    """
    dim, order = check_int(dim, "dim", low=1), check_int(order, "order", low=1)
    if not width > 0.0:
        raise InputError(f"width must be positive, got {width}")
    line, line_weights = gaussian_panels(panel_edges(breakpoints, width), order)
    if len(line) ** dim > _MAX_NODES:
        raise BudgetExceededError(f"{len(line)} nodes in each of {dim} dimensions are too many; use a sample law")
    grids = np.meshgrid(*([line] * dim), indexing="ij")
    weights = np.ones(1)
    for _ in range(dim):
        weights = np.multiply.outer(weights, line_weights).reshape(-1)
    kept = weights > 1e-22
    nodes = np.stack([grid.reshape(-1)[kept] for grid in grids], axis=-1)
    return nodes, weights[kept] / np.sum(weights[kept])


def _panel_integrals(
    functions: Callable[[FloatArray], FloatArray], panels: FloatArray, order: int
) -> tuple[FloatArray, FloatArray]:
    """Return integrals of the functions and of their absolute values over each panel, shapes (q, n_panels)."""
    line, line_weights = legendre(order)
    half = 0.5 * (panels[:, 1] - panels[:, 0])
    nodes = (0.5 * (panels[:, 0] + panels[:, 1]))[:, None] + half[:, None] * line
    weights = half[:, None] * line_weights * np.exp(-0.5 * nodes**2) / math.sqrt(2.0 * math.pi)
    values = np.asarray(functions(nodes.reshape(-1))).reshape(-1, *nodes.shape)
    return np.sum(values * weights, axis=2), np.sum(np.abs(values) * weights, axis=2)
