"""Eigenpairs with residuals and intervals, from a whole spectrum or from a search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.reductions import norm
from derand._utils.validation import FloatArray
from derand.hessian.deflation import BoolArray, Deflation, enclosures
from derand.hessian.symmetric import SymmetricMatrix, materialise, rounding_bound

__all__ = ["DENSE_EXPLICIT", "DENSE_OPERATOR", "Eigenpairs", "pairs_of_search", "pairs_of_spectrum"]

DENSE_EXPLICIT = 1000  # up to this order LAPACK on a given array is quicker than a certified search
DENSE_OPERATOR = 150  # a certified search rarely takes fewer products than this


@dataclass(frozen=True, repr=False)
class Eigenpairs(ResultRepr):
    """Some eigenvalues in ascending order, each with its proof.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Rayleigh quotients of the vectors.
    vectors : ndarray of shape (n, k)
        Orthonormal columns.
    residuals : ndarray of shape (k,)
        ||A v - theta v||, recomputed, plus rounding and the error of products: some eigenvalue lies within it of theta.
    lower, upper : ndarray of shape (k,)
        The eigenvalue of that rank (the i-th smallest at the low end, the i-th largest at the high end) lies between
        them with probability `confidence` for all k together.  Multiplicities count.
    confidence : float
        1.0 when the whole spectrum was computed.
    is_converged : bool
        Whether every residual reached the tolerance and completeness was proved.
    n_products : int
        Matrix-vector products spent.
    method : str
        ``"dense"`` or ``"lanczos"``.
    """

    values: FloatArray
    vectors: FloatArray
    residuals: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    is_converged: bool
    n_products: int
    method: str


def pairs_of_spectrum(
    matrix: SymmetricMatrix, select: Callable[[FloatArray], BoolArray], *, n_products: int = 0
) -> Eigenpairs:
    """Return selected eigenpairs of the whole spectrum.

    Parameters
    ----------
    matrix : SymmetricMatrix
        The matrix.
    select : callable
        From all eigenvalues in ascending order to the mask of the wanted ones.
    n_products : int, default 0
        Products spent before; n are added when only products are known.

    Returns
    -------
    Eigenpairs
        With the rounding of LAPACK and the error of the products as intervals, and confidence 1.

    Raises
    ------
    InputError
        If a product isn't finite.
    """
    array = materialise(matrix)
    values, vectors = np.linalg.eigh(array)
    error = rounding_bound(matrix.n, float(np.max(np.abs(values)))) + math.sqrt(matrix.n) * matrix.error_bound
    chosen = select(values)
    values, vectors = values[chosen], vectors[:, chosen]
    residuals = np.array([norm(column) for column in (array @ vectors - vectors * values).T]) + error
    n_products += 0 if matrix.is_explicit else matrix.n
    return Eigenpairs(values, vectors, residuals, values - error, values + error, 1.0, True, n_products, "dense")


def pairs_of_search(
    found: Deflation, chosen: BoolArray, is_low: BoolArray, tol: float, confidence: float
) -> Eigenpairs:
    """Return selected eigenpairs of a search.

    Parameters
    ----------
    found : Deflation
        What `search` returned.
    chosen : ndarray of bool, shape (l,)
        Which of its vectors are wanted; at each end without gaps.
    is_low : ndarray of bool, shape (l,)
        Which of its values are ranked from the low end of the spectrum.
    tol : float
        Relative tolerance of the residuals.
    confidence : float
        That of the search.

    Returns
    -------
    Eigenpairs
        With the intervals of `enclosures`.
    """
    bottom_lower, bottom_upper, top_lower, top_upper = enclosures(found, found.matrix.error_bound)
    residuals = found.residual_norms()[chosen]
    error = found.matrix.error_bound + rounding_bound(found.matrix.n, found.scale)
    return Eigenpairs(
        values=found.values[chosen],
        vectors=found.vectors[chosen].T.copy(),
        residuals=residuals + error,
        lower=np.where(is_low, bottom_lower, top_lower)[chosen],
        upper=np.where(is_low, bottom_upper, top_upper)[chosen],
        confidence=confidence,
        is_converged=found.is_complete and bool(np.all(residuals <= 2.0 * (tol * found.scale + error))),
        n_products=found.n_products,
        method="lanczos",
    )
