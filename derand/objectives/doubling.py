"""Sampled optimisation that isn't fooled by its sample: solve, judge on fresh points, double, repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import BudgetExceededError, InputError, NonConvergenceError
from derand.objectives.diagnostics import DerandomizationCheck
from derand.objectives.smoothed import SmoothedObjective

__all__ = ["DoublingResult", "solve_by_doubling"]


@dataclass(frozen=True, repr=False)
class DoublingResult(ResultRepr):
    """The last round of `solve_by_doubling`.

    Attributes
    ----------
    x : ndarray
        The point reached.
    objective : SmoothedObjective
        The objective it was reached with.
    check : DerandomizationCheck
        Whether it may be called derandomized.
    result : object
        What the solver returned.
    n_rounds : int
        Number of rounds.
    """

    x: FloatArray
    objective: SmoothedObjective
    check: DerandomizationCheck
    result: Any
    n_rounds: int


def solve_by_doubling(
    objective: SmoothedObjective,
    x0: Any,
    solver: Callable[[SmoothedObjective, FloatArray], Any],
    *,
    tol: float = 1e-3,
    max_rounds: int = 10,
) -> DoublingResult:
    """Return a point that is derandomized, on as many points as this takes.

    A batch can have stationary points far from W = 0 that the expectation doesn't have, and each is a certified one of
    the batch.  A fresh batch doesn't share them: every round starts where the last one ended, on twice as many new
    points.

    Parameters
    ----------
    objective : SmoothedObjective
        The first objective; an exact one gets one round.
    x0 : array, shape (n_variables,)
        Start.
    solver : callable
        ``solver(objective, x0)`` returns an object with the attribute ``x``; for example
        ``lambda f, x: minimize_sosp(f.value_and_grad, x, hessp=f.hessp, curv_tol=1e-4)``.
    tol : float, default 1e-3
        Largest ||W||_F that counts as zero.
    max_rounds : int, default 10
        Most rounds, >= 1.

    Returns
    -------
    DoublingResult
        The last round, with a check that holds.

    Raises
    ------
    InputError
        If ``x0`` or a solver's answer has the wrong shape or isn't finite.
    NonConvergenceError
        If no round passed its check; ``partial`` holds the last one.

    Notes
    -----
    The last round costs as much as all before it.  Deterministic for the seed of ``objective``.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.optimize import minimize
    >>> from derand.objectives import SmoothedObjective, double_well, solve_by_doubling
    >>> f = SmoothedObjective(double_well(2), 2, 5, 0.1, expectation="mc", rng=0)
    >>> start = f.pack(np.full((2, 5), 0.1), [0.5, -0.5])
    >>> done = solve_by_doubling(f, start, lambda f, x: minimize(f.value_and_grad, x, jac=True, tol=1e-8))
    >>> np.abs(done.objective.unpack(done.x)[1]).round(4).tolist()
    [1.0, 1.0]
    """
    rounds = check_int(max_rounds, "max_rounds", low=1)
    x = check_array(x0, "x0", shape=(objective.n_variables,))
    current = objective
    for n_rounds in range(1, rounds + 1):
        result = solver(current, x)
        if not hasattr(result, "x"):
            raise InputError(f"solver must return an object with the attribute x, got {type(result).__name__}")
        x = check_array(result.x, "solver(...).x", shape=x.shape)
        last = DoublingResult(x, current, current.derandomization_check(x, tol=tol), result, n_rounds)
        if last.check or current.expectation == "exact":
            break
        try:
            current = current.refined()
        except (InputError, BudgetExceededError):  # more points than can be had
            break
    if not last.check:
        raise NonConvergenceError(f"not derandomized after {last.n_rounds} round(s): {last.check.reason}", partial=last)
    return last
