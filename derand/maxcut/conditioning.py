"""Rounding without losing the expectation: one Gaussian coordinate, or one vertex, at a time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int
from derand.gaussian.bivariate import expected_sign_product
from derand.maxcut.annealing import replica_cut_values
from derand.maxcut.colouring import greedy_colouring
from derand.maxcut.mixing import row_dots
from derand.maxcut.problem import MaxCutProblem, SideArray

__all__ = ["best_hyperplane", "condition_coordinates", "round_means", "sweep_threshold"]

_GRID = ndtri((np.arange(12) + 0.5) / 12)
_REFINEMENTS = 6
_BLOCK_CUTS = 64


def condition_coordinates(
    problem: MaxCutProblem, W: FloatArray, b: FloatArray, *, should_stop: Callable[[], bool] | None = None
) -> tuple[SideArray, float]:
    """Return a cut not below the expected cut of sgn(W x + b), x ~ N(0, I_d), by fixing the coordinates of x in turn.

    The expectation is an average over x_k = c, c ~ N(0, 1), so that some c doesn't lose; a search over c finds one, b
    becomes b + c W e_k and the column is dropped.  The last coordinate is fixed exactly: `sweep_threshold` looks at
    every value of it that makes a difference.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    W : ndarray, shape (n, d)
        Factor, for example unit vectors of the relaxation.
    b : ndarray, shape (n,)
        Biases.
    should_stop : callable, optional
        Asked before every column; a true answer fixes the remaining coordinates but the last at 0, which may lose.

    Returns
    -------
    side : ndarray of int8, shape (n,)
        The cut.
    expected : float
        The expectation that it was derived from, sum w (1 - E[sgn sgn])/2.

    Notes
    -----
    About 20 d evaluations of two Owen's T for each edge.  Deterministic.

    References
    ----------
    Mahajan and Ramesh (1999), Derandomizing approximation algorithms based on semidefinite programming, SIAM J.
    Comput. 28; here without their nested integrals, since the expectation has a closed form.

    Examples
    --------
    >>> triangle = MaxCutProblem.from_edges([0, 1, 2], [1, 2, 0])
    >>> angle = 2 * np.pi * np.arange(3) / 3
    >>> vectors = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> side, expected = condition_coordinates(triangle, vectors, np.zeros(3))
    >>> triangle.cut_value(side), round(expected, 9)
    (2, 2.0)
    """
    start = value = _expected_cut(problem, W, b)
    for column in range(W.shape[1] - 1):
        rest = W[:, column + 1 :]
        if should_stop is not None and should_stop():
            continue
        value, b = _best_shift(problem, rest, b, W[:, column], value)
    side, _ = sweep_threshold(problem, W[:, -1], b)
    return side, start


def _best_shift(
    problem: MaxCutProblem, rest: FloatArray, b: FloatArray, direction: FloatArray, target: float
) -> tuple[float, FloatArray]:
    """Return the best value found and its biases b + c direction; c on a grid of quantiles, then refined."""

    def value_at(c: float) -> float:
        """Return the expected cut for one value of the coordinate."""
        return _expected_cut(problem, rest, b + c * direction)

    grid = _GRID
    values = [value_at(float(c)) for c in grid]
    while max(values) < target - 1e-9 * abs(target) and grid.size < 400:
        # The mean over c is the target, so that a fine enough grid reaches it.
        grid = ndtri((np.arange(3 * grid.size) + 0.5) / (3 * grid.size))
        values = [value_at(float(c)) for c in grid]
    best = int(np.argmax(values))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)])
    choice, value = float(grid[best]), values[best]
    for _ in range(_REFINEMENTS):
        for c in ((low + choice) / 2, (choice + high) / 2):
            trial = value_at(c)
            if trial > value:
                low, high = (low, choice) if c < choice else (choice, high)
                choice, value = c, trial
                break
        else:
            low, high = (low + choice) / 2, (choice + high) / 2
    return value, b + choice * direction


def _expected_cut(problem: MaxCutProblem, W: FloatArray, b: FloatArray) -> float:
    """Return sum w (1 - E[sgn(w_i.x + b_i) sgn(w_j.x + b_j)])/2; a sign without noise is +1 at zero."""
    tau = np.sqrt(row_dots(W, W))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(tau > 0.0, b / tau, np.where(b >= 0.0, np.inf, -np.inf))
        unit = np.where(tau[:, None] > 0.0, W / tau[:, None], 0.0)
    parts = []
    for low in range(0, problem.n_edges, 1 << 17):
        heads, tails = problem.heads[low : low + (1 << 17)], problem.tails[low : low + (1 << 17)]
        rho = np.clip(row_dots(unit[heads], unit[tails]), -1.0, 1.0)
        weights = problem.weights[low : low + (1 << 17)]
        parts.append(float(np.sum(weights * (1.0 - expected_sign_product(t[heads], t[tails], rho)))))
    return math.fsum(parts) / 2.0


def sweep_threshold(problem: MaxCutProblem, u: FloatArray, b: FloatArray) -> tuple[SideArray, float]:
    """Return the best cut of the form sgn(u x + b) over all real x, and its value.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    u, b : ndarray, shape (n,)
        Slopes and biases; a vertex with slope 0 keeps the sign of its bias (+1 for 0).

    Returns
    -------
    side : ndarray of int8, shape (n,)
        The cut.
    value : float
        Its value, up to rounding.

    Notes
    -----
    Exact: vertex i changes side at x = -b_i/u_i only, and between these points all cut values follow from one
    cumulative sum.  Time O(m + n log n).

    Examples
    --------
    >>> path = MaxCutProblem.from_edges([0, 1], [1, 2])
    >>> sweep_threshold(path, np.array([1.0, -1.0, 1.0]), np.array([0.0, 0.1, 0.0]))[1]
    2.0
    """
    moving = u != 0.0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        where = np.where(moving, -b / np.where(moving, u, 1.0), np.inf)
    order = np.argsort(where, kind="stable")
    rank = np.empty(problem.n, dtype=np.int64)
    rank[order] = np.arange(problem.n)
    first = np.where(moving, np.where(u > 0.0, -1, 1), np.where(b >= 0.0, 1, -1)).astype(np.int8)
    heads, tails = problem.heads, problem.tails
    is_cut = first[heads] != first[tails]
    change = np.where(is_cut, -problem.weights, problem.weights)
    # Vertices that never move rank last, at infinity; passing them would be no move of x.
    n_moves = int(np.count_nonzero(moving & np.isfinite(where)))
    early = np.minimum(rank[heads], rank[tails])
    late = np.maximum(rank[heads], rank[tails])
    steps = np.bincount(early, change, problem.n) - np.bincount(late, change, problem.n)
    values = float(problem.weights[is_cut].sum()) + np.concatenate([[0.0], np.cumsum(steps[:n_moves])])
    # Only positions between different breakpoints are values of x.
    points = where[order][:n_moves]
    apart = np.concatenate([[True], points[1:] > points[:-1], [True]]) if n_moves else np.array([True])
    best = int(np.argmax(np.where(apart, values, -np.inf)))
    side = first.copy()
    side[order[:best]] = -side[order[:best]]
    return side, float(values[best])


def round_means(problem: MaxCutProblem, means: FloatArray) -> SideArray:
    """Return a cut not below the expected cut of independent sides with the given means.

    The expected cut is linear in each vertex's mean, so moving a vertex to the better end of [-1, 1] never loses; the
    vertices of a colour class don't interact and move together.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    means : ndarray, shape (n,)
        Values in [-1, 1].

    Returns
    -------
    ndarray of int8, shape (n,)
        The cut; ties keep the sign of the mean, +1 for 0.

    Examples
    --------
    >>> path = MaxCutProblem.from_edges([0, 1], [1, 2])
    >>> round_means(path, np.array([0.9, 0.2, 0.3])).tolist()
    [1, -1, 1]
    """
    current = np.clip(means, -1.0, 1.0)
    loose = np.flatnonzero(np.abs(current) < 1.0)
    if loose.size:
        colours = greedy_colouring(problem)
        rows = problem.adjacency[loose]
        for colour in np.unique(colours[loose]).tolist():
            chosen = np.flatnonzero(colours[loose] == colour)
            pull = rows[chosen] @ current
            at_rest = np.where(current[loose[chosen]] >= 0.0, 1.0, -1.0)
            current[loose[chosen]] = np.where(pull == 0.0, at_rest, -np.sign(pull))
    return np.where(current >= 0.0, 1, -1).astype(np.int8)


def best_hyperplane(
    problem: MaxCutProblem, vectors: FloatArray, *, n_draws: int = 1000, rng: RNGLike = 0
) -> tuple[SideArray, FloatArray]:
    """Return the best of many random hyperplane cuts, and the values of all.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    vectors : ndarray, shape (n, k)
        Unit vectors.
    n_draws : int, default 1000
        Number of hyperplanes, at least 1.
    rng : int, Generator, SeedSequence or None, default 0
        Source of the normals.

    Returns
    -------
    side : ndarray of int8, shape (n,)
        The first of the best cuts.
    values : ndarray, shape (n_draws,)
        The values of all cuts, whose mean estimates the expected cut.

    References
    ----------
    Goemans and Williamson (1995), Improved approximation algorithms for maximum cut, J. ACM 42.

    Examples
    --------
    >>> edge = MaxCutProblem.from_edges([0], [1], [3])
    >>> best_hyperplane(edge, np.array([[1.0], [-1.0]]), n_draws=5)[1].tolist()
    [3.0, 3.0, 3.0, 3.0, 3.0]
    """
    n_draws = check_int(n_draws, "n_draws", low=1)
    stream = check_rng(rng)
    best, side, values = -np.inf, np.ones(problem.n, dtype=np.int8), []
    for low in range(0, n_draws, _BLOCK_CUTS):
        normals = stream.standard_normal((vectors.shape[1], min(_BLOCK_CUTS, n_draws - low)))
        sides = np.where(vectors @ normals >= 0.0, 1, -1).astype(np.int8)
        found = replica_cut_values(problem, sides)
        values.append(found)
        if found.size and found.max() > best:
            best, side = float(found.max()), np.ascontiguousarray(sides[:, int(found.argmax())])
    return side, np.concatenate(values)
