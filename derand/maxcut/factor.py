"""Factors of Gram matrices: a fixed generic start, and principal directions."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray
from derand.maxcut.mixing import row_dots

__all__ = ["principal_axes", "quasi_random_vectors"]

# Singular values of a factor below this share of the largest count as zero.
_RANK_TOL = 1e-3
# LAPACK uses one thread up to this order anyway.
_SMALL_RANK = 32


def quasi_random_vectors(n: int, rank: int) -> FloatArray:
    """Return fixed generic unit rows, shape (n, rank): normal scores of a mixed counter, no random state involved.

    Parameters
    ----------
    n, rank : int
        Shape, rank >= 1.

    Returns
    -------
    ndarray, shape (n, rank)
        Unit rows; row i is the same whatever n is.

    References
    ----------
    Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators (the mixing function).

    Examples
    --------
    >>> bool(abs((quasi_random_vectors(3, 2) ** 2).sum(axis=1) - 1).max() < 1e-12)
    True
    """
    counter = np.arange(1, n * rank + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        counter = (counter ^ (counter >> np.uint64(shift))) * np.uint64(factor)
    counter ^= counter >> np.uint64(31)
    uniform = (counter >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54
    vectors: FloatArray = ndtri(uniform).reshape(n, rank)
    vectors /= np.sqrt(row_dots(vectors, vectors))[:, None]
    return vectors


def principal_axes(vectors: FloatArray, share: float = _RANK_TOL) -> tuple[FloatArray, int]:
    """Return V turned to its principal directions, descending, signs fixed, and its numerical rank.

    Parameters
    ----------
    vectors : ndarray, shape (n, k)
        Unit rows.
    share : float, default 1e-3
        Singular values below this share of the largest count as zero.

    Returns
    -------
    turned : ndarray, shape (n, k)
        V Q for an orthogonal Q, rows normalised again; all inner products are kept.
    rank : int
        Number of singular values that count.
    """
    # einsum instead of BLAS: its bits don't depend on the number of threads.
    with blas_threads(1 if vectors.shape[1] > _SMALL_RANK else None):
        eigenvalues, axes = np.linalg.eigh(np.einsum("ij,ik->jk", vectors, vectors))
    eigenvalues, axes = eigenvalues[::-1], np.ascontiguousarray(axes[:, ::-1])
    turned = np.einsum("ij,jk->ik", vectors, axes)
    turned *= np.where(np.sum(turned**3, axis=0) < 0.0, -1.0, 1.0)
    turned /= np.sqrt(row_dots(turned, turned))[:, None]
    rank = int(np.sum(eigenvalues > share**2 * float(eigenvalues[0])))
    return np.ascontiguousarray(turned), rank
