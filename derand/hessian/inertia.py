"""Numbers of negative, zero and positive eigenvalues."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike
from derand._utils.validation import check_int, check_option, check_scalar
from derand.exceptions import InputError
from derand.hessian.density import Estimate, spectral_density
from derand.hessian.symmetric import SymmetricMatrix, as_symmetric, materialise, rounding_bound

__all__ = ["Inertia", "InertiaEstimate", "estimate_inertia", "inertia"]

_EPS = float(np.finfo(np.float64).eps)
_STABLE = 1e-6  # backward error, relative to the norm, above which a factorisation counts as failed


@dataclass(frozen=True)
class Inertia(ResultRepr):
    """Numbers of eigenvalues below -tol, in [-tol, tol] and above tol.

    Parameters
    ----------
    negative, zero, positive : int
        The counts; they sum to n.
    undecided : int
        How many of them lie so close to -tol or tol that rounding (or the error of products) decides on which side.
    tol : float
        What counts as zero.
    method : str
        ``"dense"`` (eigenvalues) or ``"factorisation"`` (signs of pivots).
    n_products : int
        Matrix-vector products spent.
    """

    negative: int
    zero: int
    positive: int
    undecided: int
    tol: float
    method: str
    n_products: int

    @property
    def is_proven(self) -> bool:
        """Whether no eigenvalue is undecided: then the counts are exact."""
        return self.undecided == 0


@dataclass(frozen=True)
class InertiaEstimate(ResultRepr):
    """Estimated numbers of eigenvalues below -tol, in [-tol, tol] and above tol.

    Parameters
    ----------
    negative, zero, positive : Estimate
        Counts (not whole numbers) with their standard errors over the random vectors.
    quadrature_error : float
        How much the two borders' counts could change, for the same vectors, by going on with Lanczos to the end.
    tol : float
        What counts as zero.
    n_products : int
        Matrix-vector products spent.
    """

    negative: Estimate
    zero: Estimate
    positive: Estimate
    quadrature_error: float
    tol: float
    n_products: int


def inertia(A: Any, *, tol: float | None = None, max_order: int = 3000, method: str = "auto") -> Inertia:
    r"""Return the numbers of negative, zero and positive eigenvalues of a symmetric matrix.

    Dense: all eigenvalues are computed, with a bound e on their error, and those within e of -tol or tol are
    `undecided`. Factorisation (sparse): by Sylvester's law, :math:`A - \sigma I + E = L D L^T` has as many negative
    pivots as eigenvalues below zero, and the residual E is computed.  Counts at :math:`\sigma - e` and :math:`\sigma
    + e` with :math:`e \ge \|E\|` enclose the number of eigenvalues of A below sigma; where they agree, it is exact.

    Parameters
    ----------
    A : ndarray, sparse array or LinearOperator of shape (n, n)
        Real symmetric matrix.
    tol : float, optional
        Eigenvalues in [-tol, tol] count as zero.  Default: ten times the rounding bound n eps ||A||, plus the error
        of the products of an operator that states one.
    max_order : int, default 3000
        Largest n for which an operator is turned into a dense array (n products), or a sparse array into a dense one.
    method : {"auto", "dense", "factorisation"}, default "auto"
        ``"auto"`` factorises sparse arrays with n > 1000 and takes the dense way where that fails or otherwise.

    Returns
    -------
    Inertia
        Counts, and how many are undecided.

    Raises
    ------
    InputError
        If A isn't square, symmetric and finite, a parameter lies outside its range, or n is above `max_order` and
        there is no factorisation (`estimate_inertia` may serve).
    InputTypeError
        If A or a parameter has the wrong type.

    Notes
    -----
    O(n^3) operations for the dense way, four sparse factorisations (or a few more) otherwise.  Deterministic.

    References
    ----------
    B. N. Parlett, The Symmetric Eigenvalue Problem, SIAM 1998, section 3.3 (Sylvester's law and spectrum slicing).

    Examples
    --------
    >>> import numpy as np
    >>> found = inertia(np.diag([-1.0, 0.0, 0.0, 2.0, 5.0]))
    >>> found.negative, found.zero, found.positive, found.is_proven
    (1, 2, 2, True)
    """
    matrix = as_symmetric(A)
    method = check_option(method, "method", ("auto", "dense", "factorisation"))
    max_order = check_int(max_order, "max_order", low=1)
    if tol is not None:
        tol = check_scalar(tol, "tol", low=0.0, high=math.inf, high_open=True)
    if method == "factorisation" and matrix.sparse is None:
        raise InputError("method='factorisation' needs A as a sparse array")
    if method == "factorisation" or (method == "auto" and matrix.sparse is not None and matrix.n > 1000):
        found = _by_factorisation(matrix, tol)
        if found is not None and (found.is_proven or method == "factorisation" or matrix.n > max_order):
            return found
        if found is None and method == "factorisation":
            raise InputError("A has no stable factorisation without interchanges: use method='dense'")
    if matrix.array is None and matrix.n > max_order:
        raise InputError(f"A has order {matrix.n}, above max_order = {max_order}: raise that, or use estimate_inertia")
    return _by_eigenvalues(matrix, tol)


def estimate_inertia(
    A: Any, *, tol: float, n_vectors: int = 10, n_steps: int = 80, rng: RNGLike = None
) -> InertiaEstimate:
    """Return estimates of the numbers of negative, zero and positive eigenvalues, with standard errors.

    For operators too large for `inertia`.  Nothing is proved: the standard error is that of the random vectors, and
    `quadrature_error` says how far the Lanczos runs were from resolving the borders.

    Parameters
    ----------
    A : ndarray, sparse array or LinearOperator of shape (n, n)
        Real symmetric matrix.
    tol : float
        Eigenvalues in [-tol, tol] count as zero; not negative.
    n_vectors, n_steps : int
        Random vectors and Lanczos steps for each, see `spectral_density`.
    rng : int, Generator or None
        Source of the vectors.

    Returns
    -------
    InertiaEstimate
        Counts with standard errors.

    Raises
    ------
    InputError
        If A isn't square, symmetric and finite, a product isn't finite, or a parameter lies outside its range.
    InputTypeError
        If A or a parameter has the wrong type.

    Notes
    -----
    ``n_vectors * n_steps`` products.  Deterministic for a given `rng` and number of BLAS threads.

    Examples
    --------
    >>> import numpy as np
    >>> found = estimate_inertia(np.diag(np.repeat([-1.0, 0.0, 1.0], [100, 200, 300])), tol=1e-6, rng=0)
    >>> bool(abs(found.zero.value - 200) < 4 * found.zero.standard_error + 1e-9)
    True
    """
    tol = check_scalar(tol, "tol", low=0.0, high=math.inf, high_open=True)
    density = spectral_density(A, n_vectors=n_vectors, n_steps=n_steps, rng=rng)
    n = density.n
    # A Ritz value on the lower border belongs to "zero".
    borders = np.array([-tol - 3.0 * density.resolution, tol])
    counts = n * np.diff(density.cdf_samples(borders), axis=1, prepend=0.0, append=1.0)
    errors = np.zeros(3) if density.is_exact else np.std(counts, axis=0, ddof=1) / math.sqrt(len(counts))
    values = np.mean(counts, axis=0)
    negative, zero, positive = (Estimate(float(v), float(e)) for v, e in zip(values, errors, strict=True))
    bounds = density.cdf(borders)
    quadrature_error = n * float(np.max(bounds.upper - bounds.lower))
    return InertiaEstimate(negative, zero, positive, quadrature_error, tol, density.n_products)


def _by_eigenvalues(matrix: SymmetricMatrix, tol: float | None) -> Inertia:
    """Count computed eigenvalues."""
    values = np.linalg.eigvalsh(materialise(matrix))
    error = rounding_bound(matrix.n, float(np.max(np.abs(values)))) + math.sqrt(matrix.n) * matrix.error_bound
    tol = 10.0 * error if tol is None else tol
    negative, positive = int(np.sum(values < -tol)), int(np.sum(values > tol))
    distance = np.abs(np.abs(values) - tol)
    # A matrix without any rounding error (the zero matrix) has error 0 and decides even on the border.
    undecided = int(np.sum(distance <= error)) if error > 0.0 else 0
    n_products = 0 if matrix.is_explicit else matrix.n
    return Inertia(negative, matrix.n - negative - positive, positive, undecided, tol, "dense", n_products)


def _by_factorisation(matrix: SymmetricMatrix, tol: float | None) -> Inertia | None:
    """Count negative pivots around -tol and tol; None when a factorisation isn't stable."""
    norm = float(abs(matrix.sparse).sum(axis=0).max())  # at least the 2-norm
    tol = 10.0 * rounding_bound(matrix.n, norm) if tol is None else tol
    low, high = _count_below(matrix, -tol, norm), _count_below(matrix, tol, norm)
    if low is None or high is None:
        return None
    negative, positive = low[0], matrix.n - high[1]
    undecided = (low[1] - low[0]) + (high[1] - high[0])
    zero = matrix.n - negative - positive
    return Inertia(negative, zero, positive, undecided, tol, "factorisation", 0)


def _count_below(matrix: SymmetricMatrix, sigma: float, norm: float) -> tuple[int, int] | None:
    """Return two numbers that enclose the number of eigenvalues below sigma, or None."""
    error = 10.0 * _EPS * norm
    while error <= _STABLE * norm:
        down, up = _pivots(matrix, sigma - error), _pivots(matrix, sigma + error)
        if down is None or up is None:
            return None
        if max(down[1], up[1]) <= error:
            return down[0], up[0]
        error = 2.0 * max(down[1], up[1])
    return None


def _pivots(matrix: SymmetricMatrix, shift: float) -> tuple[int, float] | None:
    """Return the number of negative pivots of A - shift I and a bound of the backward error, or None."""
    shifted = sp.csc_array(matrix.sparse - shift * sp.eye_array(matrix.n, format="csr"))
    try:
        factors = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:
        return None
    if not np.array_equal(factors.perm_r, factors.perm_c):
        return None
    lower, pivots = sp.csc_array(factors.L), factors.U.diagonal()
    if not np.all(np.isfinite(pivots)) or np.any(pivots == 0.0):
        return None
    order = np.argsort(factors.perm_c)
    scaled = lower @ sp.diags_array(pivots)
    residual = _row_norm(scaled @ lower.T - shifted[order][:, order])
    # The residual is itself computed, with an error of at most (terms of a dot product) eps |L| |D| |L'|.
    terms = int(np.max(np.diff(sp.csr_array(lower).indptr))) + 2
    return int(np.sum(pivots < 0.0)), residual + terms * _EPS * _row_norm(abs(scaled) @ abs(lower.T))


def _row_norm(matrix: Any) -> float:
    """Return the largest absolute row sum, a bound of the 2-norm of a symmetric matrix."""
    return float(abs(matrix).sum(axis=1).max())
