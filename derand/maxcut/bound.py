"""Proved upper bounds on cuts from a dual vector of the semidefinite relaxation.

If A + diag(z) is positive semidefinite, then every cut is at most (sum of weights)/2 + sum(z)/4: for x in {-1, 1}^n,
x^T A x >= -sum(z).  The proof of semidefiniteness is a completed Cholesky factorisation together with a bound on all
its rounding errors, so the result is a theorem about the given weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray, check_array
from derand.exceptions import BudgetExceededError
from derand.maxcut.elimination import EliminationPlan, backward_error, plan_elimination, try_cholesky
from derand.maxcut.problem import MaxCutProblem

__all__ = ["DualBound", "cut_lattice", "dual_value", "lattice_floor", "prove_bound", "unproved_bound"]

# Dual vectors are rounded up to multiples of 2^-30 of their mean: that costs less than 1e-9 of the bound, and the
# checker computes with short integers.
_DUAL_BITS = 30
_FIRST_SHIFT = 1e-7
# Whether a factorisation on the brink completes may depend on the number of threads; LAPACK uses one up to this order.
_ONE_THREAD = 64
_SHIFT_FACTOR = 6.0
_LAST_SHIFT = 0.5


@dataclass(frozen=True, eq=False)
class DualBound:
    """An upper bound on all cuts, or the reason why there's no proof.

    Attributes
    ----------
    upper_bound : int, float or None
        Proved upper bound on every cut: a Python int, rounded down to the cut lattice, for whole-number weights; else
        rounded up to a float.  None without a proof.
    is_proved : bool
        Whether `upper_bound` is proved.
    raw_bound : float
        (sum w)/2 + (sum z)/4 before the lattice; proved as well when `is_proved`.
    estimate : float
        The relaxation's own value for the multipliers: *not* a bound.
    dual : ndarray, shape (n,)
        The vector z: A + diag(z) is positive semidefinite when `is_proved`.
    order : ndarray of int64, shape (n,)
        Elimination order that keeps the factor of A + diag(z) sparse; empty without a proof.
    lattice : int
        Every cut is a multiple of it; 0 where weights aren't whole numbers.
    reason : str
        Why there's no proof; empty with one.
    """

    upper_bound: int | float | None
    is_proved: bool
    raw_bound: float
    estimate: float
    dual: FloatArray
    order: np.ndarray[tuple[int], np.dtype[np.int64]]
    lattice: int
    reason: str


def unproved_bound(problem: MaxCutProblem, multipliers: FloatArray, reason: str) -> DualBound:
    """Return the estimate of multipliers whose proof is out of reach, and why.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    multipliers : ndarray, shape (n,)
        As `prove_bound` takes them.
    reason : str
        Why there's no proof.

    Returns
    -------
    DualBound
        With ``is_proved=False`` and no upper bound.
    """
    estimate = float(problem.total_weight) / 2 + float(np.sum(multipliers)) / 4
    none = np.zeros(0, dtype=np.int64)
    return DualBound(None, False, math.inf, estimate, multipliers, none, cut_lattice(problem), reason)


def prove_bound(
    problem: MaxCutProblem,
    multipliers: FloatArray,
    *,
    max_memory: int = 2**29,
    plan: EliminationPlan | None = None,
) -> DualBound:
    """Return a proved upper bound on the cuts of a graph from approximate multipliers.

    The multipliers are raised by the smallest tried multiple of a positive vector for which a Cholesky factorisation
    with bounded rounding errors proves A + diag(z) positive semidefinite.  The first try is the largest that leaves
    the lattice bound as it is.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    multipliers : array_like, shape (n,)
        Any vector: `Relaxation.multipliers` gives a tight bound, others a weaker one.
    max_memory : int, default 512 MiB
        Limit in bytes for the factorisation (a dense core of order 8192), checked before it starts.
    plan : EliminationPlan, optional
        From `plan_elimination` of the graph's adjacency matrix, where that is known already.

    Returns
    -------
    DualBound
        With ``is_proved=False``, and an estimate under that name, when the factorisation doesn't fit in ``max_memory``.

    Raises
    ------
    InputError
        If ``multipliers`` has the wrong length or isn't finite.

    Notes
    -----
    Deterministic.  Time is that of at most a dozen factorisations: a core of order c costs c^3/3 operations.  The proof
    assumes IEEE double precision and a LAPACK whose `potrf` sums products in some order (no Strassen-like method).

    References
    ----------
    Delorme and Poljak (1993), Laplacian eigenvalues and the maximum cut problem; Higham (2002), theorem 10.3.

    Examples
    --------
    The largest cut of the pentagon is 4, and the bound (25 + 5 sqrt 5)/8 = 4.52 shows it.

    >>> pentagon = MaxCutProblem.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    >>> prove_bound(pentagon, np.full(5, 1.618034)).upper_bound
    4
    """
    start = check_array(multipliers, "multipliers", shape=(problem.n,))
    estimate = float(problem.total_weight) / 2 + float(np.sum(start)) / 4
    lattice = cut_lattice(problem)
    if plan is None:
        try:
            plan = plan_elimination(problem.adjacency, max_memory=max_memory)
        except BudgetExceededError as error:
            return unproved_bound(problem, start, str(error))
    with blas_threads(1 if problem.n > _ONE_THREAD else None):
        dual = _feasible_dual(problem, plan, start, lattice)
    raw = dual_value(problem, dual)
    upper = lattice_floor(raw, lattice) if lattice else round_up(raw)
    return DualBound(upper, True, round_up(raw), estimate, dual, plan.order, lattice, "")


def _feasible_dual(problem: MaxCutProblem, plan: EliminationPlan, start: FloatArray, lattice: int) -> FloatArray:
    """Return z with A + diag(z) proved positive semidefinite, A with its exact weights."""
    unit = float(np.ldexp(1.0, int(np.frexp(problem.scale)[1])))
    matrix = problem.adjacency.copy()
    matrix.data = matrix.data / unit
    spread = np.bincount(matrix.indices, np.abs(matrix.data), problem.n).astype(np.float64)
    base = np.maximum(start / unit, 0.0)
    # Small or zero multipliers must be able to grow as well.
    direction = np.maximum(base, 1e-3 * spread)
    # Three times what the proof needs: another factorisation, with other roundings, must succeed as well.
    grow = 3.0 * backward_error(plan)
    occupied = spread > 0.0

    def lifted(shift: float) -> FloatArray | None:
        """Return the shifted diagonal if it is proved to make the matrix definite."""
        diagonal = _round_to_grid(base + shift * direction)
        return diagonal if try_cholesky(plan, matrix, np.where(occupied, diagonal, 1.0)) else None

    shifts = _shifts(problem, start, float(direction.sum()) * unit, lattice)
    proved = next(((k, diagonal) for k, s in enumerate(shifts) if (diagonal := lifted(s)) is not None), None)
    if proved is None:
        # Diagonal dominance needs no factorisation: |a_i|_1 on the diagonal is always enough.
        diagonal, grow = spread, plan.n * 2.0**-52
    else:
        tries, diagonal = proved
        # The last step was coarse; one more factorisation may take back most of it.
        if tries > 0 and (finer := lifted(shifts[tries] / _SHIFT_FACTOR**0.5)) is not None:
            diagonal = finer
    dual = _round_to_grid(diagonal * (1.0 + grow) * (1.0 + 2.0**-50))
    dual = np.where(occupied, dual, 0.0) * unit
    error = _weight_error(problem)
    return np.where(error > 0.0, np.nextafter(dual + error, np.inf), dual)


def _shifts(problem: MaxCutProblem, start: FloatArray, direction_sum: float, lattice: int) -> list[float]:
    """Return the multiples of the direction to try, ascending."""
    first = _FIRST_SHIFT
    if lattice and direction_sum > 0.0:
        # Raising z by e * direction costs e * sum(direction)/4: half the room below the next lattice point is free.
        value = float(problem.total_weight) / 2 + float(np.sum(start)) / 4
        room = lattice - math.fmod(value, lattice)
        first = max(first, min(2.0 * room / direction_sum, 1e-4))
    shifts = [first]
    while shifts[-1] < _LAST_SHIFT:
        shifts.append(shifts[-1] * _SHIFT_FACTOR)
    return shifts


def _round_to_grid(values: FloatArray) -> FloatArray:
    """Return values rounded up to multiples of 2^-30 of their mean (a power of two near it)."""
    mean = float(values.mean()) if values.size else 0.0
    if not mean > 0.0:
        return values
    grid = float(np.ldexp(1.0, int(np.frexp(mean)[1]) - _DUAL_BITS))
    rounded: FloatArray = np.ceil(values / grid) * grid
    return rounded


def _weight_error(problem: MaxCutProblem) -> FloatArray:
    """Return row sums of |exact weight - double precision weight|, rounded up; zero below 2^53."""
    error = np.zeros(problem.n)
    if problem.integer_weights is None or problem.scale < 2.0**53:
        return error
    exact, rounded = problem.integer_weights.tolist(), problem.weights.tolist()
    off = np.array([float(abs(w - int(f))) for w, f in zip(exact, rounded, strict=True)])
    for ends in (problem.heads, problem.tails):
        error += np.bincount(ends, off, problem.n)
    return error * (1.0 + problem.n * 2.0**-51)


def dual_value(problem: MaxCutProblem, dual: FloatArray) -> Fraction:
    """Return (sum of weights)/2 + (sum of dual)/4 without rounding.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    dual : ndarray, shape (n,)
        Any finite vector.

    Returns
    -------
    Fraction
        The exact value.

    Examples
    --------
    >>> dual_value(MaxCutProblem.from_edges([0], [1]), np.array([1.0, 1.0]))
    Fraction(1, 1)
    """
    return exact_sum(problem) / 2 + _exact_float_sum(dual) / 4


def exact_sum(problem: MaxCutProblem) -> Fraction:
    """Return the sum of all weights without rounding."""
    if problem.is_integer:
        return Fraction(int(problem.total_weight))
    return _exact_float_sum(problem.weights)


def _exact_float_sum(values: FloatArray) -> Fraction:
    """Return the exact sum of floats: integers over one power of two, faster than adding fractions."""
    ratios = [value.as_integer_ratio() for value in values.tolist()]
    bottom = max((q for _, q in ratios), default=1)
    return Fraction(sum(p * (bottom // q) for p, q in ratios), bottom)


def cut_lattice(problem: MaxCutProblem) -> int:
    """Return g such that every cut is a multiple of g; 0 where weights aren't whole numbers or there are none.

    A cut S weighs sum of the degrees in S minus twice the weights inside S: a multiple of gcd(degrees, 2 gcd(w)).

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.

    Returns
    -------
    int
        The lattice constant.

    Examples
    --------
    Cuts of a cycle are even.

    >>> cut_lattice(MaxCutProblem.from_edges([0, 1, 2], [1, 2, 0]))
    2
    """
    if problem.integer_weights is None or problem.n_edges == 0:
        return 0
    weights = problem.integer_weights.tolist()
    degrees = [0] * problem.n
    for head, tail, weight in zip(problem.heads.tolist(), problem.tails.tolist(), weights, strict=True):
        degrees[head] += weight
        degrees[tail] += weight
    return math.gcd(2 * math.gcd(*weights), *degrees)


def lattice_floor(value: Fraction, lattice: int) -> int:
    """Return the largest multiple of ``lattice`` that isn't above ``value``."""
    return lattice * math.floor(value / lattice)


def round_up(value: Fraction) -> float:
    """Return the smallest float found that isn't below ``value``."""
    rounded = float(value)
    return rounded if Fraction(rounded) >= value else math.nextafter(rounded, math.inf)
