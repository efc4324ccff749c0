"""A few extreme eigenpairs of a symmetric matrix, with intervals that hold them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int, check_option, check_scalar
from derand.exceptions import BudgetExceededError, NonConvergenceWarning
from derand.hessian.deflation import BoolArray, Deflation, search, search_budget
from derand.hessian.eigenpairs import DENSE_EXPLICIT, DENSE_OPERATOR, Eigenpairs, pairs_of_search, pairs_of_spectrum
from derand.hessian.symmetric import SymmetricMatrix, as_symmetric

__all__ = ["extreme_eigenpairs"]


def extreme_eigenpairs(
    A: Any,
    k: int = 6,
    which: str = "SA",
    *,
    tol: float = 1e-8,
    confidence: float = 1.0 - 1e-6,
    max_products: int | None = None,
    method: str = "auto",
    rng: RNGLike = None,
) -> Eigenpairs:
    r"""Return k extreme eigenpairs of a symmetric matrix, and intervals that hold these eigenvalues.

    Lanczos runs with full reorthogonalisation from random starts in the complement of the vectors found, until a run
    proves by the a-posteriori bound of `min_eigenvalue` that the complement holds nothing more extreme.  Repeated
    eigenvalues are therefore found with their multiplicity, where a single Krylov space (and any method with one
    start vector) sees one copy.

    What is proved: with probability `confidence` over the random starts, each of the k eigenvalues lies in
    [lower, upper].  What isn't: that a vector belongs to a single eigenvalue, when eigenvalues are closer than
    `residuals`.

    Parameters
    ----------
    A : ndarray, sparse array or LinearOperator of shape (n, n)
        Real symmetric matrix.  An operator with an attribute ``error_bound`` (`HessianOperator`) has it taken into
        account.
    k : int, default 6
        How many, at most n.
    which : {"SA", "LA", "LM", "BE"}, default "SA"
        Smallest; largest; largest in absolute value; or k / 2 from each end, one more from the high end for odd k.
    tol : float in (0, 1), default 1e-8
        Residuals, and the proof of completeness, relative to the largest absolute eigenvalue.
    confidence : float in (0, 1), default 1 - 1e-6
        Probability with which `lower` and `upper` hold.
    max_products : int, optional
        Most products.  Default: 10 n + 100 k.
    method : {"auto", "dense", "lanczos"}, default "auto"
        ``"dense"`` decomposes the whole matrix (n products of an operator).  ``"auto"`` does so for arrays with
        n <= 1000, for operators with n <= 150, when k > n / 4, and, for n <= 3000, when the search doesn't end within
        n products.
    rng : int, Generator or None
        Source of the starts.

    Returns
    -------
    Eigenpairs
        Values, vectors, residuals and intervals.

    Raises
    ------
    InputError
        If A isn't square, symmetric and finite, a product isn't finite, or a parameter lies outside its range.
    InputTypeError
        If A or a parameter has the wrong type.

    BudgetExceededError
        If `max_products` ran out before k vectors were found; ``partial`` holds the values so far.

    Warns
    -----
    NonConvergenceWarning
        If `max_products` ran out; residuals and intervals hold all the same, but are wider than `tol`.

    Notes
    -----
    m products cost O(m^2 n) operations and O(m n) memory, with m the steps of the longest run; typically two runs,
    and one more for each further copy of a repeated eigenvalue.  Deterministic for a given `rng` and number of BLAS
    threads.

    References
    ----------
    B. N. Parlett, The Symmetric Eigenvalue Problem, SIAM 1998, chapters 11 and 13.
    J. L. M. van Dorsselaer, M. E. Hochstenbach, H. A. van der Vorst, SIAM J. Matrix Anal. Appl. 22 (2001) 837-852.

    Examples
    --------
    >>> import numpy as np
    >>> found = extreme_eigenpairs(np.diag([3.0, 1.0, 1.0, 2.0, 5.0]), k=3)
    >>> found.values
    array([1., 1., 2.])
    """
    matrix = as_symmetric(A)
    k = check_int(k, "k", low=1, high=matrix.n)
    which = check_option(which, "which", ("SA", "LA", "LM", "BE"))
    method = check_option(method, "method", ("auto", "dense", "lanczos"))
    tol = check_scalar(tol, "tol", low=0.0, high=1.0, low_open=True, high_open=True)
    confidence = check_scalar(confidence, "confidence", low=0.0, high=1.0, low_open=True, high_open=True)
    limit = 10 * matrix.n + 100 * k if max_products is None else check_int(max_products, "max_products", low=1)
    generator = check_rng(rng)
    if _is_dense(matrix, method, k, limit):
        return pairs_of_spectrum(matrix, lambda values: _select(values, k, which))
    budget, has_fallback = search_budget(matrix.n, limit) if method == "auto" else (limit, False)
    budget = max(budget - k, 1)
    found = search(matrix, _Extreme(k, which), tol=tol, delta=1.0 - confidence, max_products=budget, rng=generator)
    if has_fallback and not found.is_complete:
        return pairs_of_spectrum(matrix, lambda values: _select(values, k, which), n_products=found.n_products)
    return _collect(found, k, which, tol, confidence)


def _is_dense(matrix: SymmetricMatrix, method: str, k: int, limit: int) -> bool:
    """Return whether the whole spectrum is to be computed."""
    if method != "auto":
        return method == "dense"
    small = matrix.n <= (DENSE_EXPLICIT if matrix.is_explicit else DENSE_OPERATOR) or 4 * k > matrix.n
    return small and (matrix.is_explicit or matrix.n <= limit)


def _select(values: FloatArray, k: int, which: str) -> BoolArray:
    """Return a mask of the k wanted among ascending values (all, when there are fewer)."""
    mask = np.zeros(len(values), dtype=bool)
    if which == "LM":
        mask[np.argsort(-np.abs(values), kind="stable")[:k]] = True
        return mask
    low = {"SA": k, "LA": 0, "BE": k // 2}[which]
    mask[:low] = True
    mask[max(len(values) - (k - low), 0) :] |= k > low
    return mask


@dataclass(frozen=True)
class _Extreme:
    """Target of a search for the k extreme eigenvalues."""

    k: int
    which: str

    def wanted(self, locked: FloatArray, ritz: FloatArray, margin: float) -> BoolArray:
        """Return which Ritz values are among the k most extreme of all; one that ties with a locked one isn't."""
        middle = 0.5 * (float(np.min(ritz)) + float(np.max(ritz)))
        if self.which == "SA":
            favoured = locked - margin
        elif self.which == "LA":
            favoured = locked + margin
        elif self.which == "LM":
            favoured = locked + margin * np.where(locked < 0.0, -1.0, 1.0)
        else:
            favoured = locked + margin * np.where(locked < middle, -1.0, 1.0)
        everything = np.concatenate([favoured, ritz])
        order = np.argsort(everything, kind="stable")
        mask = np.zeros(len(everything), dtype=bool)
        mask[order] = _select(everything[order], self.k, self.which)
        return mask[len(locked) :]

    def is_complete(self, locked: FloatArray, low: float, high: float, margin: float) -> bool:
        """Return whether k locked values are more extreme than everything in [low, high], up to the margin."""
        if len(locked) < self.k:
            return False
        chosen = locked[_select(locked, self.k, self.which)]
        if self.which == "LM":
            return bool(max(abs(low), abs(high)) <= np.min(np.abs(chosen)) + margin)
        n_low = {"SA": self.k, "LA": 0, "BE": self.k // 2}[self.which]
        low_done = n_low == 0 or low >= chosen[n_low - 1] - margin
        high_done = n_low == self.k or high <= chosen[n_low] + margin
        return bool(low_done and high_done)


def _collect(found: Deflation, k: int, which: str, tol: float, confidence: float) -> Eigenpairs:
    """Return the wanted ones of the vectors found, with their intervals."""
    values = found.values
    if len(values) < k:
        raise BudgetExceededError(
            f"max_products gave {len(values)} of {k} eigenpairs after {found.n_products} products", partial=values
        )
    chosen = _select(values, k, which)
    # The rank of a selected value counts from its own end of the spectrum.
    n_low = {"SA": k, "LA": 0, "BE": k // 2, "LM": int(np.sum(values[chosen] < 0.0))}[which]
    pairs = pairs_of_search(found, chosen, np.arange(len(values)) < n_low, tol, confidence)
    if not pairs.is_converged:
        warnings.warn(
            f"max_products ran out after {found.n_products} products: the intervals hold but are wider than tol",
            NonConvergenceWarning,
            stacklevel=3,
        )
    return pairs
