"""From the random Gaussian map to one fixed map, along bounds on the worst distortion that never rise."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from derand._utils.html import ResultRepr
from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray
from derand.embedding.log_sum_exp import SmoothMaximum
from derand.embedding.minimax import scaled_to_middle
from derand.embedding.union_bound import UnionBound
from derand.embedding.unit_differences import UnitDifferences
from derand.exceptions import InputError
from derand.optimize import SOSPStatus, minimize_sosp

__all__ = ["DerandomizationCertificate", "DerandomizationLevel", "derandomize_map"]

#: The soft bound costs an exponential a pair, the union bound a noncentral chi-square probability.
_MAX_PAIRS = {"soft": 2_000_000, "union": 200_000}
_END = 1e-3
_SHRINK = 0.8
_LEAST_STEP = 0.99  # a level that can't be passed by shrinking sigma by one per cent ends the path
_PERTURBATION = 1e-2
#: Sharpness of a level's objectives, as shares of the one with the least bound.  That one balances too long against too
#: short images where M is, which at M = 0 makes M a minimum; a softer one sees the short images and lets M grow.
_SHARES = (0.1, 0.3, 1.0)
_BETA_MAX = 1e5
#: The union bound is lowered for an eps smaller than the one that it proves so far by these shares or, once sigma is
#: small, by these multiples of sigma, where the probabilities still have a slope; the last step is for that eps itself,
#: at which F below 1/2 is all that the level needs.
_UNION_STEPS = ((0.3, 4.0), (0.1, 2.0), (0.02, 0.7), (0.0, 0.0))

#: One level's objectives, value and gradient at a flat map.
_Objectives = list[Callable[[FloatArray], tuple[float, FloatArray]]]


@dataclass(frozen=True)
class DerandomizationLevel(ResultRepr):
    """One accepted step of the path.

    Parameters
    ----------
    sigma : float
        Standard deviation of the random part.
    beta : float or None
        Sharpness that gives the least bound; None for the union bound.
    bound : float
        Upper bound on the expected largest distortion of A = M + sigma G or, for the union bound, on the largest
        distortion with probability at least 1 - `failure`.
    is_proved : bool
        Whether `minimize_sosp` proved M a second-order stationary point of the level's objective.
    n_evals : int
        Evaluations spent.
    failure : float or None
        Proved bound on the probability that A distorts a pair by more than `bound`, 1/2 at most; None for the soft
        bound.
    """

    sigma: float
    beta: float | None
    bound: float
    is_proved: bool
    n_evals: int
    failure: float | None = None


@dataclass(frozen=True)
class DerandomizationCertificate(ResultRepr):
    """What the path has shown.

    Parameters
    ----------
    start_bound : float
        Bound on the expected largest distortion of the random Gaussian map, M = 0 and sigma^2 = 1/k: what is known
        before seeing the data.
    end_bound : float
        The bound at the end of the path.
    sigma : float
        Standard deviation of the random part at the end; 0.0 when the path ended at a fixed map, whose largest
        distortion `end_bound` then bounds.
    never_rose : bool
        Whether no accepted step raised the bound.
    levels : tuple of DerandomizationLevel
        The accepted steps, the start first.
    kind : {"soft", "union"}
        Which bound: on the expected largest distortion (`SmoothMaximum`), or the union bound (`UnionBound`).
    is_interrupted : bool
        Whether an interrupt ended the path; what it had shown by then holds.
    """

    start_bound: float
    end_bound: float
    sigma: float
    never_rose: bool
    levels: tuple[DerandomizationLevel, ...]
    kind: str = "soft"
    is_interrupted: bool = False


def derandomize_map(
    coords: FloatArray,
    k: int,
    rng: np.random.Generator,
    *,
    kind: str = "soft",
    max_evals: int = 100,
    deadline: float = math.inf,
) -> tuple[FloatArray, DerandomizationCertificate]:
    """Return a fixed map whose largest distortion is below the bound for random Gaussian maps, and the record of why.

    The bound Phi of `SmoothMaximum` starts at M = 0, sigma^2 = 1/k.  At each level M becomes a second-order stationary
    point of Phi for the level's sigma and beta, by `minimize_sosp` from a perturbed start, and beta the one with the
    least bound; then sigma shrinks.  A step that would raise the bound is taken back and a shorter one tried.  At a
    point without negative curvature the derivative of exp(beta Phi) in sigma, which is sigma times the trace of its
    Hessian in M, isn't negative, so that short steps exist.

    Parameters
    ----------
    coords : ndarray, shape (n, r)
        Points in their row space.
    k : int
        Dimensions.
    rng : Generator
        Perturbations.
    kind : {"soft", "union"}
        Which bound goes along.  "union": the least eps that all pairs keep with probability at least 1/2 by the exact
        law of each and the union bound F; M becomes a second-order stationary point of log F for an eps a little
        smaller.
    max_evals : int, default 100
        Evaluations for each level.
    deadline : float
        Value of time.monotonic() at which the path ends where it is.

    Returns
    -------
    M : ndarray, shape (k, r)
        The map; the mean of the random one where the path ends before sigma is 0.
    certificate : DerandomizationCertificate
        Start, end, and all levels.

    Raises
    ------
    InputError
        If there are more than 2,000,000 pairs, or 200,000 for the union bound: a bound needs all of them.

    Notes
    -----
    Some thirty levels; memory O(n^2 k).  Ctrl-C ends the path at the last accepted level.

    References
    ----------
    A derandomization framework for structure discovery (2025), arXiv:2510.19382, section on Johnson-Lindenstrauss.
    """
    n = coords.shape[0]
    name, most = {"soft": "derand", "union": "union"}[kind], _MAX_PAIRS[kind]
    if n * (n - 1) // 2 > most:
        raise InputError(f'method="{name}" takes up to {most} pairs, X has {n * (n - 1) // 2}; use "minimax"')
    first, second = np.triu_indices(n, 1)
    distinct = (coords[first] != coords[second]).any(axis=1)
    differences = UnitDifferences(coords, first[distinct], second[distinct])
    shape = (k, coords.shape[1])
    path = _Path(
        _SoftLevels(differences, shape) if kind == "soft" else _UnionLevels(differences, shape), rng, max_evals
    )
    with blas_threads(1):
        path.run(deadline)
    levels = tuple(path.levels)
    bounds = [level.bound for level in levels]
    never_rose = all(later <= earlier for earlier, later in pairwise(bounds))
    return path.M, DerandomizationCertificate(
        bounds[0], bounds[-1], levels[-1].sigma, never_rose, levels, kind, path.is_interrupted
    )


class _SoftLevels:
    """The bound of `SmoothMaximum` at its best sharpness."""

    def __init__(self, differences: UnitDifferences, shape: tuple[int, int]) -> None:
        self.differences, self.shape = differences, shape

    def least(self, M: FloatArray, sigma: float) -> DerandomizationLevel:
        """Return the level with the least bound over the sharpness."""
        squares = _squares(self.differences, M)
        limit = min(_BETA_MAX, 0.4999 / sigma**2) if sigma > 0.0 else _BETA_MAX

        def bound(log_beta: float) -> float:
            """Return the bound for one inverse temperature."""
            return SmoothMaximum(self.differences, math.exp(log_beta), self.shape, sigma).of_squares(squares)[0]

        ends = (math.log(1e-3), math.log(limit))
        found: Any = minimize_scalar(bound, bounds=ends, method="bounded", options={"xatol": 1e-3})
        return DerandomizationLevel(sigma, math.exp(float(found.x)), float(found.fun), False, 0)

    def objectives(self, level: DerandomizationLevel) -> _Objectives:
        """Return the objectives to be made stationary one after the other."""
        sharpest = 1.0 if level.beta is None else level.beta
        return [
            SmoothMaximum(self.differences, share * sharpest, self.shape, level.sigma).value_and_grad
            for share in _SHARES
        ]


class _UnionLevels:
    """The least eps at which the union bound leaves even odds."""

    def __init__(self, differences: UnitDifferences, shape: tuple[int, int]) -> None:
        self.differences, self.shape = differences, shape
        self.union = UnionBound(differences, shape)

    def least(self, M: FloatArray, sigma: float) -> DerandomizationLevel:
        """Return the level with the least eps."""
        eps, failure = self.union.least_eps(_squares(self.differences, M), sigma)
        return DerandomizationLevel(sigma, None, eps, False, 0, failure)

    def objectives(self, level: DerandomizationLevel) -> _Objectives:
        """Return log F for smaller eps; none without randomness, where F only counts."""
        if level.sigma == 0.0:
            return []
        return [
            partial(
                self.union.log_value_and_grad,
                sigma=level.sigma,
                eps=level.bound - min(share * level.bound, factor * level.sigma),
            )
            for share, factor in _UNION_STEPS
        ]


class _Path:
    """The accepted steps so far."""

    def __init__(self, problem: _SoftLevels | _UnionLevels, rng: np.random.Generator, max_evals: int) -> None:
        self.problem, self.rng, self.max_evals = problem, rng, max_evals
        self.M: FloatArray = np.zeros(problem.shape)
        self.levels = [problem.least(self.M, 1.0 / math.sqrt(problem.shape[0]))]
        self.is_interrupted = False

    def run(self, deadline: float) -> None:
        """Shrink sigma to 0, as far as the bound doesn't rise."""
        shrink, sigma = _SHRINK, self.levels[0].sigma * _SHRINK
        while time.monotonic() < deadline:
            try:
                accepted = self._step(sigma)
            except KeyboardInterrupt:
                self.is_interrupted = True
                return
            if accepted and sigma == 0.0:
                break
            if accepted:
                shrink = max(_SHRINK, shrink**1.5)
            else:
                shrink = math.sqrt(shrink)
                if shrink > _LEAST_STEP:
                    break
            current = self.levels[-1].sigma
            sigma = 0.0 if current <= _END else current * shrink

    def _step(self, sigma: float) -> bool:
        """Try one level; keep it when the bound doesn't rise."""
        M = self.M
        if sigma == 0.0:
            # A's squared lengths are k sigma^2 longer than M's: without the random part M needs its own scale.
            squares = _squares(self.problem.differences, M)
            M = scaled_to_middle(M, float(squares.min()), float(squares.max()))
        best, chosen, n_evals = self.problem.least(M, sigma), M, 0
        goal = replace(best, bound=min(best.bound, self.levels[-1].bound))
        for objective in self.problem.objectives(goal):
            noise = self.rng.standard_normal(M.shape) * (_PERTURBATION / math.sqrt(M.size))
            outcome: Any = minimize_sosp(
                objective,
                (M + noise).ravel(),
                gtol=1e-3,
                curv_tol=1e-1,
                max_evals=self.max_evals,
                memory=20,
                rng=self.rng,
            )
            if outcome.status is SOSPStatus.INTERRUPTED:
                raise KeyboardInterrupt
            n_evals += int(outcome.nfev)
            M = outcome.x.reshape(M.shape)
            level = self.problem.least(M, sigma)
            if level.bound < best.bound:
                best, chosen = replace(level, is_proved=bool(outcome.success)), M
        if best.bound > self.levels[-1].bound:
            return False
        self.M = chosen
        self.levels.append(replace(best, n_evals=n_evals))
        return True


def _squares(differences: UnitDifferences, M: FloatArray) -> FloatArray:
    """Return the squared lengths of the unit differences under a map."""
    images = differences.apply(M)
    squares: FloatArray = np.einsum("ij,ij->i", images, images)
    return squares
