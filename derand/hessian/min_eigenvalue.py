"""The smallest eigenvalue of a symmetric matrix, with a proven lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from scipy.special import betaincinv

from derand._utils.reductions import norm
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import InputError
from derand.hessian.lanczos import LanczosProcess
from derand.hessian.preconditioner import SpectralPreconditioner

__all__ = ["MinEigenvalue", "min_eigenvalue"]

_EPS = float(np.finfo(np.float64).eps)
_DENSE_LIMIT = 1000  # a dense eigenvalue decomposition of an explicit matrix is quicker than Lanczos below this order


@dataclass(frozen=True)
class MinEigenvalue:
    """Smallest eigenvalue: an upper estimate, a lower bound that holds with the stated confidence, and a direction.

    Parameters
    ----------
    value : float
        Rayleigh quotient of `vector`: the smallest eigenvalue is at most this (up to ``product_error``).
    lower : float
        The smallest eigenvalue is at least this, with probability `confidence` over the random start.
    vector : ndarray of shape (n,)
        Unit vector that attains `value`.
    confidence : float
        Probability with which `lower` holds; 1.0 when the whole spectrum was computed.
    n_products : int
        Matrix-vector products spent.
    method : str
        ``"dense"``, ``"lanczos"`` or ``"preconditioned lanczos"``.
    """

    value: float
    lower: float
    vector: FloatArray
    confidence: float
    n_products: int
    method: str


def min_eigenvalue(
    A: Any,
    *,
    threshold: float | None = None,
    tol: float | None = None,
    confidence: float = 1.0 - 1e-6,
    max_products: int | None = None,
    product_error: float | None = None,
    preconditioner: SpectralPreconditioner | None = None,
    rng: RNGLike = None,
) -> MinEigenvalue:
    r"""Return the smallest eigenvalue of a symmetric matrix and a proven lower bound.

    Lanczos from a start vector v that is uniform on the sphere gives orthonormal polynomials p_0, ..., p_m.  If some
    eigenvalue t lies below the smallest Ritz value, the component of v along its eigenvector satisfies

    .. math:: \gamma^2 \le 1 \Big/ \sum_{j=0}^m p_j(t)^2 ,

    while :math:`\gamma^2` falls below the Beta(1/2, (n-1)/2) quantile :math:`\tau` of :math:`\delta` with probability
    :math:`\delta` only.  Hence the largest t with :math:`\sum_j p_j(t)^2 \ge 1/\tau` is a lower bound with confidence
    :math:`1-\delta`.  No bound on the norm and no spectral gap is assumed, and it may be checked after each product
    at no loss of confidence, since every check speaks of the same component.

    Parameters
    ----------
    A : ndarray, sparse array or LinearOperator of shape (n, n)
        Real symmetric matrix.  Of an array the lower triangle is used.  An array with n <= 1000 is decomposed
        densely, which is exact (confidence 1).
    threshold : float, optional
        Stop as soon as it is decided whether the smallest eigenvalue is above this: when ``lower >= threshold`` or
        ``value < threshold``.
    tol : float, optional
        Without a threshold: stop when ``value - lower <= tol``.  Default: 1e-6 times the largest absolute Ritz value.
    confidence : float in (0, 1), default 1 - 1e-6
        Probability, over the random start, with which `lower` holds.
    max_products : int, optional
        Most products to spend; the bound that these give is returned.  Default: n, after which the Krylov space is
        everything.
    product_error : float, optional
        Bound on the error of a product with a unit vector; sqrt(m) times it is subtracted from the bound.  Default:
        the operator's own ``error_bound`` where it has one, else 0.
    preconditioner : SpectralPreconditioner, optional
        With a threshold only: decide on P (A - threshold I) P, which has the same inertia.  It must not depend on
        `rng`.
    rng : int, Generator or None
        Source of the start vector.

    Returns
    -------
    MinEigenvalue
        Estimate, lower bound, direction, confidence and cost.

    Raises
    ------
    InputError
        If A isn't square, a product isn't finite, or a parameter lies outside its range.
    InputTypeError
        If A or a parameter has the wrong type.

    Notes
    -----
    m products, O(m^2 n) operations and O(m n) memory.  Rounding is allowed for: ``10 eps`` times the norm is
    subtracted. Deterministic for a given `rng` and number of BLAS threads.

    References
    ----------
    J. Kuczynski, H. Wozniakowski, SIAM J. Matrix Anal. Appl. 13 (1992) 1094-1122 (random start, a-priori bound).
    J. L. M. van Dorsselaer, M. E. Hochstenbach, H. A. van der Vorst, SIAM J. Matrix Anal. Appl. 22 (2001) 837-852
    (the a-posteriori bound used here).

    Examples
    --------
    >>> import numpy as np
    >>> found = min_eigenvalue(np.diag([-1.0, 0.0, 3.0]))
    >>> round(found.value, 12), found.confidence, bool(found.lower <= -1.0)
    (-1.0, 1.0, True)
    """
    confidence = check_scalar(confidence, "confidence", low=0.0, high=1.0, low_open=True, high_open=True)
    if threshold is not None:
        threshold = check_scalar(threshold, "threshold")
    elif preconditioner is not None:
        raise InputError("preconditioner needs a threshold: only the sign of a shifted matrix is the same")
    operator, dense = _as_operator(A)
    n = operator.shape[0]
    if dense is not None:
        return _dense(dense)
    if product_error is None:
        product_error = float(getattr(operator, "error_bound", 0.0))
    product_error = check_scalar(product_error, "product_error", low=0.0)
    limit = n if max_products is None else min(n, check_int(max_products, "max_products", low=1))
    start = check_rng(rng).standard_normal(n)
    if preconditioner is not None and threshold is not None:
        return _preconditioned(operator, start, threshold, confidence, limit, product_error, preconditioner)
    process = LanczosProcess(operator.matvec, start)
    log_target = -math.log(_start_component_quantile(n, 1.0 - confidence))
    if threshold is not None:
        _run_to_threshold(process, threshold, log_target, limit, product_error)
    else:
        _run_to_width(process, tol, log_target, limit, product_error)
    lower = _lower_bound(process, log_target) - _slack(process, product_error)
    values, vectors, _ = process.ritz_pairs(1)
    return MinEigenvalue(float(values[0]), lower, vectors[0], confidence, process.n_steps, "lanczos")


def _as_operator(A: Any) -> tuple[LinearOperator, FloatArray | None]:
    """Return A as an operator, and as a dense array where that's the quicker way."""
    matrix: Any = A if isinstance(A, LinearOperator) or sp.issparse(A) else check_array(A, "A", ndim=2)
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InputError(f"A must be square and not empty, got shape {matrix.shape}")
    if isinstance(matrix, LinearOperator):
        return matrix, None
    small = matrix.shape[0] <= _DENSE_LIMIT
    dense = (matrix.toarray() if sp.issparse(matrix) else matrix) if small else None
    return aslinearoperator(matrix), dense


def _dense(matrix: FloatArray) -> MinEigenvalue:
    """Exact answer; LAPACK's eigenvalues are off by a small multiple of n eps ||A|| at most."""
    matrix = check_array(matrix, "A")
    values, vectors = np.linalg.eigh(matrix)
    error = 4.0 * len(values) * _EPS * float(np.max(np.abs(values)))
    return MinEigenvalue(float(values[0]), float(values[0]) - error, vectors[:, 0], 1.0, len(values), "dense")


def _start_component_quantile(n: int, delta: float) -> float:
    """Return tau with P(gamma^2 < tau) = delta for one coordinate gamma of a uniform unit vector."""
    return 1.0 if n == 1 else float(betaincinv(0.5, 0.5 * (n - 1), delta))


def _slack(process: LanczosProcess, product_error: float) -> float:
    """Return how far rounding and inexact products can move the spectrum."""
    # The products with the m basis vectors carry an error matrix F, and ||F|| <= sqrt(m) max_j ||f_j||.
    return 10.0 * _EPS * process.scale + math.sqrt(process.n_steps) * product_error


class _ChristoffelSum:
    """Running sum of p_j(t)^2 at one point t, and whether t still lies below all Ritz values (Sturm sequence)."""

    def __init__(self, t: float) -> None:
        self.t, self.log_sum, self.is_below = t, 0.0, True
        self._previous, self._current, self._total, self._log_scale, self._beta = 0.0, 1.0, 1.0, 0.0, 0.0

    def update(self, alpha: float, beta: float) -> None:
        """Take in the coefficients of one Lanczos step; beta = 0 ends the recurrence with an infinite sum."""
        unscaled = (self.t - alpha) * self._current - self._beta * self._previous
        self.is_below = self.is_below and unscaled * self._current < 0.0
        if beta == 0.0:
            self.log_sum = math.inf
            return
        self._previous, self._current, self._beta = self._current, unscaled / beta, beta
        self._total += self._current**2
        if self._total > 1e200:
            self._previous, self._current, self._total = (
                self._previous * 1e-100,
                self._current * 1e-100,
                self._total * 1e-200,
            )
            self._log_scale += 200.0 * math.log(10.0)
        self.log_sum = math.log(self._total) + self._log_scale


def _log_christoffel(process: LanczosProcess, t: float) -> float:
    """Return log sum_j p_j(t)^2, or -inf when t isn't below all Ritz values."""
    total = _ChristoffelSum(t)
    for alpha, beta in zip(process.alpha, process.beta, strict=True):
        total.update(alpha, beta)
    return total.log_sum if total.is_below else -math.inf


def _lower_bound(process: LanczosProcess, log_target: float) -> float:
    """Return the largest t below the Ritz values with sum_j p_j(t)^2 >= 1/tau."""
    smallest = float(process.ritz_values()[0])
    if process.is_exhausted:
        return smallest
    step = max(process.scale, np.finfo(float).tiny)
    low = smallest - step
    while _log_christoffel(process, low) < log_target:
        step *= 4.0
        low = smallest - step
        if not math.isfinite(low):
            return -math.inf

    def excess(t: float) -> float:
        return max(_log_christoffel(process, t), -1e4) - log_target

    if excess(smallest) >= 0.0:
        return smallest
    root = float(brentq(excess, low, smallest, xtol=1e-12 * step + 1e-300, rtol=4 * _EPS))
    return root - 2e-12 * step


def _run_to_threshold(
    process: LanczosProcess, threshold: float, log_target: float, limit: int, product_error: float
) -> None:
    """Step until the bound passes the threshold, a Ritz value falls below it, or the limit is reached."""
    total = _ChristoffelSum(threshold)
    while process.n_steps < limit and not process.is_exhausted:
        process.step()
        total.update(process.alpha[-1], process.beta[-1])
        if not total.is_below:
            return
        if total.log_sum >= log_target:
            shifted = threshold + _slack(process, product_error)
            if _log_christoffel(process, shifted) >= log_target:
                return


def _run_to_width(
    process: LanczosProcess, tol: float | None, log_target: float, limit: int, product_error: float
) -> None:
    """Step until the bound is within ``tol`` of the smallest Ritz value."""
    if tol is not None:
        tol = check_scalar(tol, "tol", low=0.0)
    next_look = 8
    while process.n_steps < limit and not process.is_exhausted:
        process.step()
        if process.n_steps < next_look:
            continue
        next_look = process.n_steps + max(2, process.n_steps // 10)
        width = 1e-6 * process.scale if tol is None else tol
        smallest = float(process.ritz_values()[0])
        if _log_christoffel(process, smallest - width + _slack(process, product_error)) >= log_target:
            return


def _preconditioned(
    operator: LinearOperator,
    start: FloatArray,
    threshold: float,
    confidence: float,
    limit: int,
    product_error: float,
    preconditioner: SpectralPreconditioner,
) -> MinEigenvalue:
    """Decide the sign of the smallest eigenvalue of B = P (A - threshold I) P, and translate it back to A."""
    # B >= t I gives A - threshold I >= t P^-2, hence lambda_min(A) >= threshold + t / largest(P)^2 for t >= 0 and
    # threshold + t / smallest(P)^2 for t < 0.
    P = preconditioner

    def matvec(v: FloatArray) -> FloatArray:
        direction = P.apply(v)
        length = norm(direction)
        return P.apply(length * operator.matvec(direction / length) - threshold * direction)

    process = LanczosProcess(matvec, start)
    log_target = -math.log(_start_component_quantile(len(start), 1.0 - confidence))
    scaled_error = product_error * P.largest**2
    _run_to_threshold(process, 0.0, log_target, limit, scaled_error)
    t = _lower_bound(process, log_target) - _slack(process, scaled_error)
    lower = threshold + t / (P.largest if t >= 0.0 else P.smallest) ** 2
    values, vectors, _ = process.ritz_pairs(1)
    direction = P.apply(vectors[0])
    length = norm(direction)
    value = threshold + float(values[0]) / length**2
    return MinEigenvalue(value, lower, direction / length, confidence, process.n_steps, "preconditioned lanczos")
