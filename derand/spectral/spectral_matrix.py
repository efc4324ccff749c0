"""The matrix X' diag(T(y)) X / n of a spectral estimator, applied without being formed, and its top eigenvectors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int, check_scalar
from derand.exceptions import InputError
from derand.hessian import LanczosProcess

__all__ = ["ExtremeVectors", "WeightedGram", "extreme_vectors"]

_ROWS = 96
# From so many entries on the start vector comes from a part of the rows.
_LARGE = 2_000_000
_PART, _PART_STEPS, _NOISE = 8, 10, 0.05
_LEAST = 12


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
        Products with the matrix; a start from a part of the rows costs as much as one or two more.
    is_converged : bool
        Whether the residuals are below the tolerance times the distance to the rest of the spectrum.
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
    edge: float | None = None,
) -> ExtremeVectors:
    """Return the k largest eigenpairs by Lanczos with full reorthogonalisation.

    Parameters
    ----------
    product : WeightedGram
        The matrix.
    k : int, default 1
        How many.
    tol : float, default 1e-2
        Angle: residual divided by the distance to the rest of the spectrum.
    max_products : int, default 500
        Most products.
    rng : None, int or Generator
        Source of the start vector.
    sign : {1.0, -1.0}
        -1.0 for the smallest eigenpairs instead.
    edge : float, optional
        Where the rest of the spectrum ends, as far as it is known.  None: at the next Ritz value, which after few steps
        lies far inside the spectrum, so that angles come out too small.

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
    From 2,000,000 entries of X on the start vector comes from ten steps on the eighth of the rows whose weights pull
    most towards that end of the spectrum.  They carry most of what there is to learn about the direction, at the cost
    of little more than one product, and halve the number of products that follow.  A little of a random vector is mixed
    in, so that no eigenvector is shut out.  Below the threshold there is no gap at the end of the spectrum, and
    convergence takes more products.

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
    start = _start(product, k, check_rng(rng).standard_normal(product.size), sign)
    process = LanczosProcess(lambda v: sign * product(v), start)
    rest = -math.inf if edge is None else sign * edge
    least = k + 2 if edge is not None else max(k + 2, _LEAST)
    is_open = True
    while is_open and process.n_steps < max_products:
        is_open = process.step()
        if is_open and process.n_steps < least:
            continue
        values, _, residuals = process.ritz_pairs(min(k + 1, process.n_steps), largest=True)
        if _is_settled(values, residuals, k, tol, rest):
            break
    values, vectors, residuals = process.ritz_pairs(min(k + 1, process.n_steps), largest=True)
    is_converged = not is_open or _is_settled(values, residuals, k, tol, rest)
    kept = slice(-k, None)
    order = np.argsort(-values[kept])
    return ExtremeVectors(
        sign * values[kept][order], vectors[kept][order], residuals[kept][order], process.n_steps, is_converged
    )


def _is_settled(values: FloatArray, residuals: FloatArray, k: int, tol: float, rest: float) -> bool:
    """Return whether the last k of the ascending Ritz values have residuals below tol times their distance."""
    if len(values) <= k:
        return False
    # to each other and to the next one, which mustn't be taken to lie inside the rest
    gaps = np.diff(np.concatenate([[max(values[0], rest)], values[1:]]))
    return bool(np.all(residuals[1:] <= tol * np.maximum(gaps, 1e-3 * abs(values[-1]))))


def _start(product: WeightedGram, k: int, noise: FloatArray, sign: float) -> FloatArray:
    """Return the start vector: noise, or for many samples the eigenvectors of those that pull most, and some noise."""
    X, T = product.X, product.T
    count = len(X) // _PART
    if X.size < _LARGE or count < 1:
        return noise
    pull = sign * T if T.ndim == 1 else np.linalg.eigvalsh(sign * T)[:, -1]
    rows = np.sort(np.argpartition(pull, len(X) - count)[-count:])
    part = WeightedGram(X[rows], T[rows])
    process = LanczosProcess(lambda v: sign * part(v), noise)
    while process.n_steps < _PART_STEPS and process.step():
        pass
    _, vectors, _ = process.ritz_pairs(k, largest=True)
    return np.asarray(np.sum(vectors, axis=0) + _NOISE / np.linalg.norm(noise) * noise)
