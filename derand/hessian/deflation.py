"""Lanczos runs from random starts in the complement of what was found, so that no copy of an eigenvalue can hide."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigh_tridiagonal

from derand._utils.reductions import norm
from derand._utils.validation import FloatArray
from derand.hessian.christoffel import christoffel_lower_bound, spectrum_slack, start_component_target
from derand.hessian.lanczos import LanczosProcess
from derand.hessian.symmetric import SymmetricMatrix, rounding_bound

__all__ = ["Deflation", "Target", "enclosures", "search", "search_budget"]

_DENSE_FALLBACK = 3000  # up to this order a search that doesn't end is given up for the whole spectrum

BoolArray = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


class Target(Protocol):
    """What a search looks for."""

    def wanted(self, locked: FloatArray, ritz: FloatArray, margin: float) -> BoolArray:
        """Return which Ritz values of the complement still belong to the answer, shape of ``ritz``."""

    def is_complete(self, locked: FloatArray, low: float, high: float, margin: float) -> bool:
        """Return whether the answer is complete when the rest of the spectrum lies in [low, high]."""


@dataclass
class Deflation:
    """Orthonormal vectors V (rows), their products, and bounds of the spectrum on the complement.

    Parameters
    ----------
    matrix : SymmetricMatrix
        The matrix A of order n.
    vectors, products : ndarray of shape (l, n)
        V and A V.
    low, high : float
        The compression of A to the complement of V has its spectrum in [low, high], with the confidence of the search.
    n_products : int
        Products spent.
    scale : float
        Largest absolute Ritz value seen.
    is_complete : bool
        Whether the search ended because the target was complete.
    """

    matrix: SymmetricMatrix
    vectors: FloatArray
    products: FloatArray
    low: float = -math.inf
    high: float = math.inf
    n_products: int = 0
    scale: float = 0.0
    is_complete: bool = False

    @property
    def values(self) -> FloatArray:
        """Rayleigh quotients, ascending after `refine`, shape (l,)."""
        return np.asarray(np.sum(self.vectors * self.products, axis=1))

    def multiply(self, v: FloatArray) -> FloatArray:
        """Return A v and count it, shape (n,)."""
        self.n_products += 1
        return np.asarray(self.matrix.operator.matvec(v), dtype=np.float64).ravel()

    def project(self, v: FloatArray) -> FloatArray:
        """Return v minus its part in V, shape (n,)."""
        return v - (self.vectors @ v) @ self.vectors

    def lock(self, vectors: FloatArray) -> None:
        """Add the span of some rows of shape (r, n) to V, with their products."""
        for v in vectors:
            for _ in range(2):
                v = self.project(v)
                v = v / norm(v)
            self.vectors = np.vstack([self.vectors, v])
            self.products = np.vstack([self.products, self.multiply(v)])
        self.refine()

    def refine(self) -> None:
        """Turn V within its span so that V A V' is diagonal, with ascending values (Rayleigh-Ritz)."""
        gram = self.vectors @ self.products.T
        _, turn = np.linalg.eigh((gram + gram.T) / 2.0)
        self.vectors, self.products = turn.T @ self.vectors, turn.T @ self.products

    def residuals(self) -> FloatArray:
        """Return the rows A v - theta v, shape (l, n)."""
        return self.products - self.values[:, None] * self.vectors

    def residual_norms(self) -> FloatArray:
        """Return ||A v - theta v||, shape (l,)."""
        return np.array([norm(row) for row in self.residuals()])


class _DeflatedProcess(LanczosProcess):
    """Lanczos on the complement of V."""

    def __init__(self, deflation: Deflation, start: FloatArray) -> None:
        self._deflation = deflation
        super().__init__(
            lambda v: deflation.project(deflation.multiply(v)), deflation.project(deflation.project(start))
        )

    def _append(self, q: FloatArray) -> None:
        # Rounding would bring V back, with the eigenvalue 0, and the iteration amplify it.
        q = self._deflation.project(q)
        super()._append(q / norm(q))


def search(
    matrix: SymmetricMatrix,
    target: Target,
    *,
    tol: float,
    delta: float,
    max_products: int,
    rng: np.random.Generator,
) -> Deflation:
    r"""Collect the eigenpairs that a target wants, until a fresh random start proves that none is left.

    Each run is a Lanczos process on the complement of the vectors V found so far, from a start that is uniform on the
    unit sphere of that complement.  It ends when all wanted Ritz pairs have converged (they join V) or when no Ritz
    value is wanted and the a-posteriori bounds of `min_eigenvalue`, applied to both ends of the complement's
    spectrum, show that no eigenvalue is.  A further copy of an eigenvalue is invisible to the run that found the
    first one, and visible to the next.  Run j spends :math:`6 \delta / (\pi j)^2` of the error probability.

    Parameters
    ----------
    matrix : SymmetricMatrix
        The matrix.
    target : Target
        What is wanted.
    tol : float
        Residual, relative to the largest absolute Ritz value, at which a pair is converged.
    delta : float
        Total probability of error of ``low`` and ``high``.
    max_products : int
        Most products to spend.
    rng : Generator
        Source of the starts.

    Returns
    -------
    Deflation
        The vectors and the bounds; ``is_complete`` is False when the products ran out.

    Raises
    ------
    InputError
        If a product isn't finite.
    """
    n = matrix.n
    found = Deflation(matrix, np.empty((0, n)), np.empty((0, n)))
    run = 0
    while not found.is_complete and len(found.vectors) < n and found.n_products < max_products:
        run += 1
        _run(found, target, tol, delta * 6.0 / (math.pi * run) ** 2, max_products, rng)
    if len(found.vectors) == n:
        found.low, found.high, found.is_complete = math.inf, -math.inf, True
    return found


def search_budget(n: int, limit: int) -> tuple[int, bool]:
    """Return how many products a search may spend, and whether the whole spectrum is computed when it doesn't end.

    After n products without an end, the n columns cost no more than was spent: at most twice the cheaper of the two
    ways.

    Parameters
    ----------
    n : int
        Order of the matrix.
    limit : int
        Most products of both together.

    Returns
    -------
    budget : int
        Products for the search.
    has_fallback : bool
        Whether `limit` leaves n products for the columns, and n is at most 3000.
    """
    has_fallback = n <= _DENSE_FALLBACK and limit >= 3 * n
    return (n, True) if has_fallback else (limit, False)


def enclosures(found: Deflation, product_error: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    r"""Return intervals for the eigenvalues of A, counted from below and from above.

    In a basis (V, complement), A is diag(Theta, C) plus an off-diagonal block of norm rho = ||A V - V Theta||.  The
    i-th smallest eigenvalue is at most theta_i (Cauchy); by Weyl's inequality it is at least min(theta_i, low) - rho,
    and by Li and Li's quadratic bound at least :math:`\theta_i - 2\rho^2 / (\eta + \sqrt{\eta^2 + 4 \rho^2})` when
    the gap :math:`\eta = low - \theta_i` is positive.  From above likewise.

    Parameters
    ----------
    found : Deflation
        Vectors with ascending values, and the bounds of the complement.
    product_error : float
        Bound on the error of a product with a unit vector.

    Returns
    -------
    bottom_lower, bottom_upper : ndarray of shape (l,)
        The i-th smallest eigenvalue lies between them.
    top_lower, top_upper : ndarray of shape (l,)
        The eigenvalue that is the (l - i)-th largest lies between them, for i = 0, ..., l - 1.

    References
    ----------
    C.-K. Li, R.-C. Li, A note on eigenvalues of perturbed Hermitian matrices, Linear Algebra Appl. 395 (2005) 183-190,
    theorem 2.
    """
    values, count = found.values, len(found.vectors)
    if count == 0:
        return (np.empty(0),) * 4
    residual = found.residuals()
    slack = rounding_bound(len(residual[0]), found.scale) + math.sqrt(count) * product_error
    coupling = float(np.linalg.norm(residual, 2)) + slack
    bottom = _one_sided(values, found.low, coupling) - slack
    top = -_one_sided(-values, -found.high, coupling) + slack
    return bottom, values + slack, values - slack, top


def _one_sided(values: FloatArray, low: float, coupling: float) -> FloatArray:
    """Return lower bounds of the smallest eigenvalues from Ritz values and the lower bound of the rest, shape (l,)."""
    gap = np.maximum(low - values, 0.0)
    denominator = np.maximum(gap + np.hypot(gap, 2.0 * coupling), np.finfo(np.float64).tiny)
    quadratic = 2.0 * coupling * (coupling / denominator)
    return np.minimum(values, low) - np.where(gap > 0.0, np.fmin(quadratic, coupling), coupling)


def _run(
    found: Deflation, target: Target, tol: float, delta: float, max_products: int, rng: np.random.Generator
) -> None:
    """One Lanczos run on the complement: lock what is wanted, or find that nothing is."""
    dimension = found.matrix.n - len(found.vectors)
    process = _DeflatedProcess(found, rng.standard_normal(found.matrix.n))
    log_target = start_component_target(dimension, delta / 2.0)
    locked = found.values
    next_look = 4
    while True:
        process.step()
        m = process.n_steps
        is_full = process.is_exhausted or m == dimension
        is_last = is_full or found.n_products >= max_products
        if m < next_look and not is_last:
            continue
        next_look = m + max(2, m // 8)
        pair = eigh_tridiagonal(process.alpha, process.beta[:-1])
        values, s = np.asarray(pair[0], dtype=np.float64), np.asarray(pair[1], dtype=np.float64)
        found.scale = max(found.scale, float(np.max(np.abs(values))))
        wanted = target.wanted(locked, values, tol * found.scale)
        errors = (0.0 if is_full else process.beta[-1]) * np.abs(s[-1])
        if np.any(wanted) and not is_last and np.any(errors[wanted] > tol * found.scale):
            continue
        low, high = _complement_bounds(process, log_target, found.matrix.error_bound, is_full)
        found.low, found.high = max(found.low, low), min(found.high, high)
        if np.any(wanted):
            found.lock(s[:, wanted].T @ process.basis)
        found.is_complete = target.is_complete(found.values, found.low, found.high, tol * found.scale)
        if found.is_complete or is_last or np.any(wanted):
            return


def _complement_bounds(
    process: LanczosProcess, log_target: float, product_error: float, is_full: bool
) -> tuple[float, float]:
    """Return bounds of the spectrum on the complement, from one process read from both ends."""
    forward, mirrored = copy.copy(process), copy.copy(process)
    mirrored.alpha = [-a for a in process.alpha]
    # A run that fills the complement is exact, though its last beta needn't have been seen to vanish.
    forward.is_exhausted = mirrored.is_exhausted = is_full
    slack = spectrum_slack(process, product_error)
    return christoffel_lower_bound(forward, log_target) - slack, slack - christoffel_lower_bound(mirrored, log_target)
