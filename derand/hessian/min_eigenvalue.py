"""The smallest eigenvalue of a symmetric matrix, with a proven lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int, check_scalar
from derand.hessian.christoffel import (
    ChristoffelSum,
    christoffel_lower_bound,
    log_christoffel,
    spectrum_slack,
    start_component_target,
)
from derand.hessian.lanczos import LanczosProcess
from derand.hessian.symmetric import SymmetricMatrix, as_symmetric, materialise, rounding_bound

__all__ = ["MinEigenvalue", "min_eigenvalue"]

_DENSE_LIMIT = 1000  # a dense eigenvalue decomposition of an explicit matrix is quicker than Lanczos below this order


@dataclass(frozen=True, repr=False)
class MinEigenvalue(ResultRepr):
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
        ``"dense"`` or ``"lanczos"``.
    asymmetry : float
        Largest deviation from symmetry that the products showed, as an absolute size.
    start : ndarray of shape (n,)
        The random unit vector of the Lanczos process (`vector` when dense): with `start_product` a free sample of A.
    start_product : ndarray of shape (n,)
        A times `start`.
    product_error : float
        Bound on the error of a product with a unit vector that `lower` allows for; nan where `lower` wasn't needed.
    """

    value: float
    lower: float
    vector: FloatArray
    confidence: float
    n_products: int
    method: str
    asymmetry: float
    start: FloatArray
    start_product: FloatArray
    product_error: float


def min_eigenvalue(
    A: Any,
    *,
    threshold: float | None = None,
    tol: float | None = None,
    confidence: float = 1.0 - 1e-6,
    max_products: int | None = None,
    product_error: float | None = None,
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
        Real symmetric matrix.  An array with n <= 1000 is decomposed densely, which is exact (confidence 1).
    threshold : float, optional
        Stop as soon as it is decided whether the smallest eigenvalue is above this: when ``lower >= threshold`` or
        ``value < threshold``.  In the second case nothing is proved, and `lower` is -inf.
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
    m products, O(m^2 n) operations and O(m n) memory.  Rounding is allowed for: ``n eps`` times the norm is
    subtracted.  Deterministic for a given `rng` and number of BLAS threads.

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
    threshold = None if threshold is None else check_scalar(threshold, "threshold")
    tol = None if tol is None else check_scalar(tol, "tol", low=0.0)
    matrix = as_symmetric(A)
    if matrix.is_explicit and matrix.n <= _DENSE_LIMIT:
        return _dense(matrix)
    if product_error is not None:
        product_error = check_scalar(product_error, "product_error", low=0.0)
    limit = matrix.n if max_products is None else min(matrix.n, check_int(max_products, "max_products", low=1))
    process = LanczosProcess(matrix.operator.matvec, check_rng(rng).standard_normal(matrix.n))
    log_target = start_component_target(matrix.n, 1.0 - confidence)
    is_above = True
    if threshold is not None:
        is_above = _run_to_threshold(process, threshold, log_target, limit)
    # The error may cost products to estimate: it isn't asked for once a value below the threshold has been seen.
    error = math.nan if not is_above else matrix.error_bound if product_error is None else product_error
    if threshold is None:
        _run_to_width(process, tol, log_target, limit, error)
    elif is_above:
        _extend_to_threshold(process, threshold, log_target, limit, error)
    values, vectors, _ = process.ritz_pairs(1)
    proved = christoffel_lower_bound(process, log_target) - spectrum_slack(process, error) if is_above else -math.inf
    return MinEigenvalue(
        value=float(values[0]),
        lower=proved,
        vector=vectors[0],
        confidence=confidence,
        n_products=process.n_steps,
        method="lanczos",
        asymmetry=process.asymmetry,
        start=process.basis[0].copy(),
        start_product=process.start_product,
        product_error=error,
    )


def _dense(matrix: SymmetricMatrix) -> MinEigenvalue:
    """Exact answer up to the rounding of LAPACK."""
    array = materialise(matrix)
    values, vectors = np.linalg.eigh(array)
    error = rounding_bound(matrix.n, float(np.max(np.abs(values))))
    value, vector = float(values[0]), vectors[:, 0].copy()
    return MinEigenvalue(value, value - error, vector, 1.0, matrix.n, "dense", 0.0, vector, array @ vector, 0.0)


def _run_to_threshold(process: LanczosProcess, threshold: float, log_target: float, limit: int) -> bool:
    """Step until exact products would prove the threshold, or the limit; False once a Ritz value lies below it."""
    total = ChristoffelSum(threshold)
    while process.n_steps < limit and not process.is_exhausted and total.log_sum < log_target:
        process.step()
        total.update(process.alpha[-1], process.beta[-1])
        if not total.is_below:
            _improve_direction(process, limit)
            return False
    return True


def _extend_to_threshold(
    process: LanczosProcess, threshold: float, log_target: float, limit: int, product_error: float
) -> None:
    """Step on until the bound passes the threshold with the slack for rounding and inexact products."""
    while process.n_steps < limit and not process.is_exhausted:
        if log_christoffel(process, threshold + spectrum_slack(process, product_error)) >= log_target:
            return
        process.step()


def _improve_direction(process: LanczosProcess, limit: int) -> None:
    """Step on while each product still lowers the smallest Ritz value by a fifth: whoever escapes along it gains."""
    value = float(process.ritz_values()[0])
    while process.n_steps < limit and process.step():
        last, value = value, float(process.ritz_values()[0])
        if value - last > 0.2 * last:
            return


def _run_to_width(
    process: LanczosProcess, tol: float | None, log_target: float, limit: int, product_error: float
) -> None:
    """Step until the bound is within ``tol`` of the smallest Ritz value."""
    next_look = 8
    while process.n_steps < limit and not process.is_exhausted:
        process.step()
        if process.n_steps < next_look:
            continue
        # Looking costs O(m), so it is done only after each further tenth of the way.
        next_look = process.n_steps + max(2, process.n_steps // 10)
        width = 1e-6 * process.scale if tol is None else tol
        smallest = float(process.ritz_values()[0])
        if log_christoffel(process, smallest - width + spectrum_slack(process, product_error)) >= log_target:
            return
