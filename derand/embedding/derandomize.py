"""From the random Gaussian map to one fixed map, along bounds on the worst distortion that never rise."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray
from derand.embedding.log_sum_exp import SmoothMaximum
from derand.embedding.unit_differences import UnitDifferences
from derand.exceptions import InputError
from derand.optimize import SOSPStatus, minimize_sosp

__all__ = ["DerandomizationCertificate", "DerandomizationLevel", "derandomize_map"]

_MAX_PAIRS = 2_000_000
_END = 1e-3
_SHRINK = 0.8
_LEAST_STEP = 0.99  # a level that can't be passed by shrinking sigma by one per cent ends the path
_PERTURBATION = 1e-2
#: Sharpness of a level's objectives, as shares of the one with the least bound.  That one balances too long against too
#: short images where M is, which at M = 0 makes M a minimum; a softer one sees the short images and lets M grow.
_SHARES = (0.1, 0.3, 1.0)
_BETA_MAX = 1e5


@dataclass(frozen=True)
class DerandomizationLevel:
    """One accepted step of the path.

    Parameters
    ----------
    sigma : float
        Standard deviation of the random part.
    beta : float
        Sharpness that gives the least bound.
    bound : float
        Upper bound on the expected largest distortion of A = M + sigma G.
    is_proved : bool
        Whether `minimize_sosp` proved M a second-order stationary point of the level's objective.
    n_evals : int
        Evaluations spent.
    """

    sigma: float
    beta: float
    bound: float
    is_proved: bool
    n_evals: int


@dataclass(frozen=True)
class DerandomizationCertificate:
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
    """

    start_bound: float
    end_bound: float
    sigma: float
    never_rose: bool
    levels: tuple[DerandomizationLevel, ...]


def derandomize_map(
    coords: FloatArray, k: int, rng: np.random.Generator, *, max_evals: int = 100, deadline: float = math.inf
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
    max_evals : int, default 100
        Evaluations for each level.
    deadline : float
        Value of time.monotonic() at which the path ends where it is.

    Returns
    -------
    M : ndarray, shape (k, r)
        The map.
    certificate : DerandomizationCertificate
        Start, end, and all levels.

    Raises
    ------
    InputError
        If there are more than 2,000,000 pairs: the bound needs all of them.

    Notes
    -----
    Some thirty levels; memory O(n^2 k).  Ctrl-C ends the path at the last accepted level.

    References
    ----------
    A derandomization framework for structure discovery (2025), arXiv:2510.19382, section on Johnson-Lindenstrauss.
    """
    n = coords.shape[0]
    if n * (n - 1) // 2 > _MAX_PAIRS:
        raise InputError(f'method="derand" takes up to {_MAX_PAIRS} pairs, X has {n * (n - 1) // 2}; use "minimax"')
    first, second = np.triu_indices(n, 1)
    distinct = (coords[first] != coords[second]).any(axis=1)
    differences = UnitDifferences(coords, first[distinct], second[distinct])
    path = _Path(differences, (k, coords.shape[1]), rng, max_evals)
    with blas_threads(1):
        path.run(deadline)
    levels = tuple(path.levels)
    bounds = [level.bound for level in levels]
    never_rose = all(later <= earlier for earlier, later in pairwise(bounds))
    return path.M, DerandomizationCertificate(bounds[0], bounds[-1], levels[-1].sigma, never_rose, levels)


class _Path:
    """The accepted steps so far."""

    def __init__(
        self, differences: UnitDifferences, shape: tuple[int, int], rng: np.random.Generator, max_evals: int
    ) -> None:
        self.differences, self.shape, self.rng, self.max_evals = differences, shape, rng, max_evals
        self.M: FloatArray = np.zeros(shape)
        sigma = 1.0 / math.sqrt(shape[0])
        beta, bound = self._best_beta(self.M, sigma)
        self.levels = [DerandomizationLevel(sigma, beta, bound, False, 0)]

    def run(self, deadline: float) -> None:
        """Shrink sigma to 0, as far as the bound doesn't rise."""
        shrink, sigma = _SHRINK, self.levels[0].sigma * _SHRINK
        while time.monotonic() < deadline:
            try:
                accepted = self._step(sigma)
            except KeyboardInterrupt:
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
        best_beta, bound = self._best_beta(self.M, sigma)
        sharpest, M, chosen, is_proved, n_evals = best_beta, self.M, self.M, False, 0
        for share in _SHARES:
            smooth = SmoothMaximum(self.differences, share * sharpest, self.shape, sigma)
            noise = self.rng.standard_normal(self.shape) * (_PERTURBATION / math.sqrt(self.M.size))
            outcome: Any = minimize_sosp(
                smooth.value_and_grad,
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
            M = outcome.x.reshape(self.shape)
            beta, value = self._best_beta(M, sigma)
            if value < bound:
                best_beta, bound, chosen, is_proved = beta, value, M, bool(outcome.success)
        if bound > self.levels[-1].bound:
            return False
        self.M = chosen
        self.levels.append(DerandomizationLevel(sigma, best_beta, bound, is_proved, n_evals))
        return True

    def _best_beta(self, M: FloatArray, sigma: float) -> tuple[float, float]:
        """Return the sharpness with the least bound, and that bound."""
        images = self.differences.apply(M)
        squares = np.einsum("ij,ij->i", images, images)
        limit = min(_BETA_MAX, 0.4999 / sigma**2) if sigma > 0.0 else _BETA_MAX

        def bound(log_beta: float) -> float:
            """Return the bound for one inverse temperature."""
            return SmoothMaximum(self.differences, math.exp(log_beta), self.shape, sigma).of_squares(squares)[0]

        ends = (math.log(1e-3), math.log(limit))
        found: Any = minimize_scalar(bound, bounds=ends, method="bounded", options={"xatol": 1e-3})
        return math.exp(float(found.x)), float(found.fun)
