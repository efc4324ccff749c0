"""The matrix X' diag(T(y)) X / n of a spectral estimator, applied without being formed, and its top eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int, check_scalar
from derand.exceptions import InputError
from derand.hessian import LanczosProcess

__all__ = ["ExtremeVectors", "WeightedGram", "extreme_vectors"]

_ROWS = 96
_CHECK_EVERY = 2


@dataclass(frozen=True, repr=False)
class ExtremeVectors(ResultRepr):
    """Eigenvectors at the upper end of a spectrum.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Ritz values, largest first.
    vectors : ndarray of shape (k, n)
        Unit Ritz vectors.
    residuals : ndarray of shape (k,)
        ``||A u - value u||``.
    n_products : int
        Products with the matrix.
    is_converged : bool
        Whether the residuals are below the tolerance times the distance to the next Ritz value.
    """

    values: FloatArray
    vectors: FloatArray
    residuals: FloatArray
    n_products: int
    is_converged: bool


class WeightedGram:
    r"""Products with :math:`v \mapsto \frac1n \sum_i T_i x_i x_i^\top v`, or with the k d x k d matrix of blocks T_i.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples; single precision halves the time and is enough for a statistical estimate.
    T : ndarray of shape (n,) or (n, k, k)
        Weights, or symmetric blocks.

    Notes
    -----
    X is read once for each product, in blocks of rows that stay in the cache for both halves of it.
    """

    def __init__(self, X: FloatArray, T: FloatArray) -> None:
        self.X, self.T = X, T
        if len(X) != len(T):
            raise InputError(f"T must have {len(X)} entries, got {len(T)}")
        self.k = 1 if T.ndim == 1 else T.shape[1]
        self.size = self.k * X.shape[1]

    def __call__(self, v: FloatArray) -> FloatArray:
        """Return the product.

        Parameters
        ----------
        v : ndarray of shape (k d,)
            Vector.

        Returns
        -------
        ndarray of shape (k d,)
            In double precision.
        """
        n, d = self.X.shape
        directions = v.reshape(self.k, d).astype(self.X.dtype)
        total = np.zeros((self.k, d))
        rows = max(_ROWS, 1)
        for start in range(0, n, rows):
            block = self.X[start : start + rows]
            if self.k == 1:
                weight = self.T[start : start + rows] * (block @ directions[0])
                total[0] += weight.astype(self.X.dtype) @ block
            else:
                fields = np.einsum("nij,nj->ni", self.T[start : start + rows], block @ directions.T)
                total += fields.astype(self.X.dtype).T @ block
        return np.asarray(total.reshape(-1) / n, dtype=np.float64)


def extreme_vectors(
    product: WeightedGram,
    k: int = 1,
    *,
    tol: float = 1e-2,
    max_products: int = 500,
    rng: RNGLike = None,
    sign: float = 1.0,
) -> ExtremeVectors:
    """Return the k largest eigenpairs by Lanczos with full reorthogonalisation.

    Parameters
    ----------
    product : WeightedGram
        The matrix.
    k : int, default 1
        How many.
    tol : float, default 1e-2
        Angle: residual divided by the distance to the next Ritz value.
    max_products : int, default 500
        Most products.
    rng : None, int or Generator
        Source of the start vector.
    sign : {1.0, -1.0}
        -1.0 for the smallest eigenpairs instead.

    Returns
    -------
    ExtremeVectors
        Pairs from the end inwards.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    Below the threshold there is no gap at the end of the spectrum, and convergence takes more products.

    Examples
    --------
    The matrix (1/n) X^T diag(T) X of two samples along the axes is diagonal.

    >>> import numpy as np
    >>> found = extreme_vectors(WeightedGram(np.diag([2.0, 1.0]), np.array([1.0, 3.0])), rng=0)
    >>> round(float(found.values[0]), 9), np.abs(found.vectors).round(6).tolist()
    (2.0, [[1.0, 0.0]])
    """
    k = check_int(k, "k", low=1, high=product.size)
    tol = check_scalar(tol, "tol", low=0.0, high=1.0, low_open=True)
    start = check_rng(rng).standard_normal(product.size)
    process = LanczosProcess(lambda v: sign * product(v), start)
    is_open = True
    while is_open and process.n_steps < max_products:
        is_open = process.step()
        m = process.n_steps
        if is_open and (m <= k + 1 or m % _CHECK_EVERY):
            continue
        values, _, residuals = process.ritz_pairs(min(k + 1, m), largest=True)
        if m > k and np.all(residuals[-k:] <= tol * np.maximum(np.diff(values)[-k:], 1e-3 * abs(values[-1]))):
            break
    values, vectors, residuals = process.ritz_pairs(min(k + 1, process.n_steps), largest=True)
    gaps = np.diff(values)[-k:] if len(values) > k else np.full(len(values), np.inf)
    kept = slice(-k, None)
    is_converged = bool(not is_open or np.all(residuals[kept] <= tol * np.maximum(gaps, 1e-3 * abs(values[-1]))))
    order = np.argsort(-values[kept])
    return ExtremeVectors(
        sign * values[kept][order], vectors[kept][order], residuals[kept][order], process.n_steps, is_converged
    )
