"""The semidefinite relaxation of MAXCUT, solved for unit vectors instead of a matrix."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import InputError
from derand.maxcut.factor import principal_axes, quasi_random_vectors
from derand.maxcut.mixing import ColourBlocks, row_dots
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.sphere_newton import SpherePoint, newton_step

__all__ = ["Relaxation", "expected_cut", "relaxation_value", "solve_relaxation"]

# The rank starts near that of optima of random graphs, lower where the factor would have more entries than this.
_LARGE_FACTOR = 500_000
# Products times stored entries by default: seconds, not minutes, on the largest graphs.
_DEFAULT_WORK = 60_000_000
_DEFAULT_PRODUCTS = 2000
# A factor whose smallest singular value is above this share of the largest needs more columns.
_CLEARLY_FULL = 0.3
_LAST_SWEEPS = 40


@dataclass(frozen=True, eq=False, repr=False)
class Relaxation(ResultRepr):
    """Unit vectors for the vertices and what they say about the best cut.

    Attributes
    ----------
    vectors : ndarray, shape (n, k)
        Unit rows v_i, columns along the principal directions of V in descending order.
    value : float
        sum_ij w_ij (1 - v_i.v_j)/2 over the edges: a lower bound on the optimum of the relaxation, *not* a bound on
        cuts.
    multipliers : ndarray, shape (n,)
        y_i = |(A V)_i|, the dual vector that ``derand.maxcut.bound`` makes feasible.
    residual : float
        sqrt(sum |g_i|^2/y_i / sum y_i) for the Riemannian gradient g.
    is_converged : bool
        Whether the residual reached ``tol`` with a rank-deficient factor, at the Barvinok-Pataki rank, or with a factor
        that gained nothing from more columns.
    n_products : int
        Products of the adjacency matrix with a block of k columns.
    history : tuple of (int, float)
        Products used and value reached, after every stage.
    """

    vectors: FloatArray
    value: float
    multipliers: FloatArray
    residual: float
    is_converged: bool
    n_products: int
    history: tuple[tuple[int, float], ...]

    @property
    def rank(self) -> int:
        """Number of columns of the factor."""
        return int(self.vectors.shape[1])


def solve_relaxation(
    problem: MaxCutProblem,
    *,
    tol: float = 1e-6,
    max_rank: int | None = None,
    max_products: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[int, float], object] | None = None,
) -> Relaxation:
    """Return near-optimal unit vectors of max sum_ij w_ij (1 - v_i.v_j)/2.

    Exact ascent over colour classes, then truncated Newton steps on the product of spheres; the number of columns grows
    until the factor is rank deficient.  A rank-deficient second-order stationary point is a global optimum of the
    relaxation (Boumal, Voroninski and Bandeira, theorem 2); the method doesn't prove second-order stationarity, so the
    value is certified only together with ``derand.maxcut.bound.prove_bound``.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph; any weights.
    tol : float, default 1e-6
        Target for `Relaxation.residual`, in (0, 1).
    max_rank : int, optional
        Largest number of columns; by default one more than the Barvinok-Pataki rank sqrt(2 n).
    max_products : int, optional
        Limit on products of the adjacency matrix with the factor, apart from 40 closing sweeps; 2000 by
        default, 100 for 10^6 edges.
    time_limit : float, optional
        Seconds after which the best factor so far is returned.  Results then depend on the machine.
    callback : callable, optional
        Called as ``callback(n_products, value)`` after every stage; a true return value stops the method.

    Returns
    -------
    Relaxation
        Vectors, value, dual vector and residual.

    Raises
    ------
    InputError
        If an argument is out of range.

    Notes
    -----
    Deterministic: the start is a fixed quasi-random point and no sum depends on the number of threads.  A product costs
    O(m k); memory about 8 blocks of shape (n, k).

    References
    ----------
    Goemans and Williamson (1995); Burer and Monteiro (2003); Boumal, Voroninski and Bandeira (2016), arXiv:1606.04970;
    Wang, Chang and Kolter (2017), arXiv:1706.00476.

    Examples
    --------
    The pentagon's relaxation has the value (25 + 5 sqrt 5)/8.

    >>> pentagon = MaxCutProblem.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    >>> round(solve_relaxation(pentagon).value, 6) == round((25 + 5 * 5**0.5) / 8, 6)
    True
    """
    tol = check_scalar(tol, "tol", low=0.0, high=1.0, low_open=True, high_open=True)
    if max_products is None:
        budget = min(_DEFAULT_PRODUCTS, max(100, _DEFAULT_WORK // max(problem.n + 2 * problem.n_edges, 1)))
    else:
        budget = check_int(max_products, "max_products", low=1)
    limit = barvinok_pataki_rank(problem.n)
    if max_rank is not None:
        limit = min(limit, check_int(max_rank, "max_rank", low=1))
    deadline = math.inf if time_limit is None else time.monotonic() + check_scalar(time_limit, "time_limit", low=0.0)
    return _Solver(problem, tol, limit, budget, deadline, callback).run()


def barvinok_pataki_rank(n: int) -> int:
    """Return a number of columns that suffices for some optimum of the relaxation on n vertices."""
    return max(1, min(n, math.isqrt(2 * n) + 1))


class _Solver:
    """One run of the method: the state that its stages share."""

    def __init__(
        self,
        problem: MaxCutProblem,
        tol: float,
        max_rank: int,
        max_products: int,
        deadline: float,
        callback: Callable[[int, float], object] | None,
    ) -> None:
        self.problem, self.blocks = problem, ColourBlocks(problem)
        self.tol, self.max_rank, self.max_products = tol, max_rank, max_products
        self.deadline, self.callback = deadline, callback
        self.used = 0
        self.history: list[tuple[int, float]] = []

    def run(self) -> Relaxation:
        """Return the relaxation: stages of ascent and Newton steps with a growing number of columns."""
        n = self.problem.n
        first = max(8, min(int(8 + 0.2 * math.sqrt(2 * n)), _LARGE_FACTOR // max(n, 1)))
        vectors, last = quasi_random_vectors(n, min(first, self.max_rank)), math.inf
        # Vertices without edges would keep their start and make every factor look full.
        vectors[self.blocks.isolated] = np.eye(1, vectors.shape[1])
        while True:
            self._ascend(vectors)
            widest = vectors.shape[1] >= self.max_rank
            point = self._polish(SpherePoint.at(self.blocks.matrix, vectors), self.tol if widest else 1e-3)
            turned, rank = principal_axes(point.vectors, _CLEARLY_FULL)
            if rank < turned.shape[1] and not widest:
                # Some direction fades away, so this width may do: find out by solving hard.
                point = self._polish(point, self.tol)
                turned, rank = principal_axes(point.vectors)
            # A wider factor that gained nothing is as good a sign as a rank-deficient one.
            stalled = last - point.value <= 1e-8 * abs(point.value)
            full = rank < turned.shape[1] or turned.shape[1] >= barvinok_pataki_rank(n) or stalled
            if full or turned.shape[1] >= self.max_rank or self._is_over():
                return self._finish(turned, is_full=full)
            vectors, last = _widen(turned, min(self.max_rank, turned.shape[1] * 3 // 2 + 1)), point.value

    def _ascend(self, vectors: FloatArray) -> None:
        """Sweep until ten sweeps gain less than 1e-4 of the value, which is where Newton steps become cheaper."""
        last = -math.inf
        for sweep in range(1, 201):
            total = self.blocks.sweep(vectors)
            self.used += 1
            if self._is_over():
                return
            if sweep % 10 == 0:
                if total - last <= 1e-4 * abs(total):
                    return
                last = total

    def _polish(self, point: SpherePoint, tol: float) -> SpherePoint:
        """Return the point after Newton steps down to the residual ``tol``."""
        while not self._is_over() and point.residual() > tol:
            moved, used = newton_step(self.blocks.matrix, point, min(300, self.max_products - self.used))
            self.used += used
            if moved is point:
                break
            point = moved
            if self._report(point):
                self.deadline = -math.inf
        return point

    def _report(self, point: SpherePoint) -> bool:
        """Record progress; return whether the callback wants to stop."""
        value = float(self.problem.total_weight) / 2 - self.blocks.unit * point.value / 2
        self.history.append((self.used, value))
        return bool(self.callback(self.used, value)) if self.callback is not None else False

    def _is_over(self) -> bool:
        """Whether products or time are used up."""
        return self.used >= self.max_products or time.monotonic() >= self.deadline

    def _finish(self, vectors: FloatArray, *, is_full: bool) -> Relaxation:
        """Return the result in the problem's own vertex order and units."""
        if SpherePoint.at(self.blocks.matrix, vectors).residual() > self.tol:
            # A Newton step leaves errors that vary from vertex to vertex; sweeps damp them, and the dual bound gains.
            for _ in range(_LAST_SWEEPS):
                self.blocks.sweep(vectors)
            self.used += _LAST_SWEEPS
        point = SpherePoint.at(self.blocks.matrix, vectors)
        residual = point.residual()
        multipliers = np.empty(self.problem.n)
        multipliers[self.blocks.order] = self.blocks.unit * np.sqrt(row_dots(point.product, point.product))
        factor = np.empty_like(vectors)
        factor[self.blocks.order] = vectors
        value = relaxation_value(self.problem, factor)
        self.history.append((self.used, value))
        converged = is_full and residual <= self.tol
        return Relaxation(factor, value, multipliers, residual, converged, self.used, tuple(self.history))


def _widen(vectors: FloatArray, rank: int) -> FloatArray:
    """Return the vectors with more columns, shape (n, rank): a small generic part leaves the lower-rank saddle."""
    extra = quasi_random_vectors(vectors.shape[0], rank - vectors.shape[1])
    wide = np.concatenate([vectors, 0.05 * extra], axis=1)
    return np.ascontiguousarray(wide / np.sqrt(row_dots(wide, wide))[:, None])


def _check_vectors(problem: MaxCutProblem, vectors: FloatArray) -> FloatArray:
    """Return ``vectors`` as (n, k) with unit rows up to 1e-6."""
    array = check_array(vectors, "vectors", shape=(problem.n, None))
    off = np.flatnonzero(np.abs(row_dots(array, array) - 1.0) > 1e-6)
    if off.size:
        length = math.sqrt(float(row_dots(array, array)[off[0]]))
        raise InputError(f"vectors must have rows of length 1, row {int(off[0])} has length {length:.6g}")
    return array


def relaxation_value(problem: MaxCutProblem, vectors: FloatArray) -> float:
    """Return sum_ij w_ij (1 - v_i.v_j)/2 over the edges for unit rows.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    vectors : ndarray, shape (n, k)
        Unit rows.

    Returns
    -------
    float
        The objective of the relaxation.

    Raises
    ------
    InputError
        If the shape is wrong or a row isn't a unit vector.

    Examples
    --------
    >>> relaxation_value(MaxCutProblem.from_edges([0], [1], [3]), np.array([[1.0], [-1.0]]))
    3.0
    """
    return _edge_sum(problem, _check_vectors(problem, vectors), lambda cosine: (1.0 - cosine) / 2)


def expected_cut(problem: MaxCutProblem, vectors: FloatArray) -> float:
    """Return the expected value of a random hyperplane cut, sum_ij w_ij arccos(v_i.v_j)/pi.

    For nonnegative weights it is at least 0.87856 times `relaxation_value`; with negative weights the same holds for
    both after subtracting the sum of the negative weights.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    vectors : ndarray, shape (n, k)
        Unit rows.

    Returns
    -------
    float
        The expectation, without sampling.

    Raises
    ------
    InputError
        If the shape is wrong or a row isn't a unit vector.

    Notes
    -----
    Time O(m k), deterministic.  The angle comes from arctan2(|u - v|, |u + v|), which keeps full precision near 0 and
    pi.

    References
    ----------
    Goemans and Williamson (1995), Improved approximation algorithms for maximum cut, lemma 3.2 and theorem 3.3.

    Examples
    --------
    >>> square_root = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> expected_cut(MaxCutProblem.from_edges([0], [1], [3]), square_root)
    1.5
    """
    array = _check_vectors(problem, vectors)
    parts = []
    for block in _edge_blocks(problem, array.shape[1]):
        left, right = array[problem.heads[block]], array[problem.tails[block]]
        apart, along = left - right, left + right
        angle = 2.0 * np.arctan2(np.sqrt(row_dots(apart, apart)), np.sqrt(row_dots(along, along)))
        parts.append(float(np.sum(problem.weights[block] * angle)) / math.pi)
    return math.fsum(parts)


def _edge_blocks(problem: MaxCutProblem, width: int) -> list[slice]:
    """Return slices of the edges such that gathering both ends needs little memory."""
    step = max(1, 2_000_000 // max(width, 1))
    return [slice(low, low + step) for low in range(0, problem.n_edges, step)]


def _edge_sum(problem: MaxCutProblem, vectors: FloatArray, term: Callable[[FloatArray], FloatArray]) -> float:
    """Return sum_ij w_ij term(v_i.v_j) over the edges."""
    parts = []
    for block in _edge_blocks(problem, vectors.shape[1]):
        cosine = row_dots(vectors[problem.heads[block]], vectors[problem.tails[block]])
        parts.append(float(np.sum(problem.weights[block] * term(cosine))))
    return math.fsum(parts)
