"""Proof that a sparse symmetric matrix is positive semidefinite: Cholesky by independent sets, dense at the core.

Vertices of low degree are eliminated first, a whole independent set at a time, so that a level is one sparse matrix
product.  What is left when fill makes sparsity useless is one small dense matrix for LAPACK.  Sparse random graphs,
whose sparse factors fill up under any ordering, keep a dense core of a third of their vertices: a second of work at n
= 7,000.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf

from derand._utils.validation import FloatArray
from derand.exceptions import BudgetExceededError
from derand.maxcut.problem import IndexArray

__all__ = ["EliminationPlan", "backward_error", "plan_elimination", "try_cholesky"]

_ROUNDOFF = 2.0**-53
# Below this size LAPACK is faster than finding an order.
_DENSE_CORE = 2500
_MAX_KEY = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class EliminationPlan:
    """Which vertices are eliminated in which level, and what stays for the dense factorisation.

    Attributes
    ----------
    n : int
        Order of the matrix.
    levels : tuple of (ndarray, ndarray)
        Positions (within the matrix left by the level before) that the level eliminates, and those that it keeps.
    core : int
        Order of the dense matrix at the end.
    order : ndarray of int64, shape (n,)
        The elimination order, core last.
    """

    n: int
    levels: tuple[tuple[IndexArray, IndexArray], ...]
    core: int
    order: IndexArray

    @property
    def memory(self) -> int:
        """Bytes that the dense factorisation needs."""
        return 8 * self.core**2


def plan_elimination(
    adjacency: sp.csr_array,
    *,
    max_memory: int = 2**29,
    core: int | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> EliminationPlan:
    """Return an elimination order from the pattern of a symmetric matrix.

    Every level takes an independent set of vertices that have the least degree among their neighbours and not much more
    than the least degree of all (multiple minimum degree).  It stops where a dense matrix is the better
    representation.

    Parameters
    ----------
    adjacency : scipy.sparse.csr_array, shape (n, n)
        Symmetric pattern; values and diagonal don't matter.
    max_memory : int, default 512 MiB
        Largest number of bytes for the dense core.
    core : int, default 2500
        Order below which the dense factorisation takes over in any case.
    should_stop : callable, optional
        Called before every level; true ends the search without a plan.

    Returns
    -------
    EliminationPlan
        The order.

    Raises
    ------
    BudgetExceededError
        If the dense core or the fill would need more than ``max_memory`` bytes, or the search was stopped.

    References
    ----------
    Liu (1985), Modification of the minimum-degree algorithm by multiple elimination.
    """
    pattern = sp.csr_array(adjacency, copy=True)
    pattern.data = np.ones_like(pattern.data)
    names, order = np.arange(pattern.shape[0]), []
    levels: list[tuple[IndexArray, IndexArray]] = []
    largest = _DENSE_CORE if core is None else core
    while not _is_core(pattern, max_memory, largest):
        if should_stop is not None and should_stop():
            raise BudgetExceededError(f"there was no time for an elimination order beyond {len(levels)} levels")
        chosen = _independent_set(pattern)
        gone, kept = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        levels.append((gone, kept))
        order.append(names[gone])
        names = names[kept]
        column = pattern[kept][:, gone]
        pattern = sp.csr_array(pattern[kept][:, kept] + column @ column.T)
        pattern.setdiag(0.0)
        pattern.eliminate_zeros()
        pattern.data = np.ones_like(pattern.data)
        if 40 * pattern.nnz > max_memory:
            raise BudgetExceededError(f"the factorisation fills up beyond the limit of {max_memory} bytes")
    left = int(names.size)
    if 8 * left**2 > max_memory:
        raise BudgetExceededError(f"a dense core of order {left} needs {8 * left**2} bytes, the limit is {max_memory}")
    return EliminationPlan(int(adjacency.shape[0]), tuple(levels), left, np.concatenate([*order, names]))


def _is_core(pattern: sp.csr_array, max_memory: int, largest: int) -> bool:
    """Whether dense factorisation should take over."""
    n = pattern.shape[0]
    if n <= largest:
        return True
    # A core beyond the memory limit can only be refused or shrunk further: go on as long as it stays sparse.
    share = pattern.nnz / n**2
    return share > (0.25 if 8 * n**2 <= max_memory else 0.5)


def _independent_set(pattern: sp.csr_array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return a mask of an independent set of low-degree vertices."""
    n, degree = pattern.shape[0], np.diff(pattern.indptr).astype(np.int64)
    least = int(degree.min())
    # A hash breaks ties: index order would pick one vertex at a time along a path or a grid.
    scatter = (np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    key = (degree << 32) + scatter.astype(np.int64)
    key[degree > max(least + 1, 3 * least // 2)] = _MAX_KEY
    lowest = np.full(n, _MAX_KEY)
    occupied = np.flatnonzero(degree)
    if occupied.size:
        lowest[occupied] = np.minimum.reduceat(key[pattern.indices], pattern.indptr[occupied])
    chosen: np.ndarray[tuple[int], np.dtype[np.bool_]] = key < lowest
    return chosen


def backward_error(plan: EliminationPlan) -> float:
    """Return c such that a completed `try_cholesky` of A + diag(z) proves A + (1 + c) diag(z) positive semidefinite.

    A completed Cholesky factorisation gives R^T R = M + E with |e_ij| <= g/(1-g) sqrt(m_ii m_jj), where
    g = k u/(1 - k u) for at most k roundings per entry, in whatever order the sums are taken (Higham, theorem 10.3 and
    its proof).  Hence E >= -n g/(1-g) diag(M).

    Parameters
    ----------
    plan : EliminationPlan
        The order used.

    Returns
    -------
    float
        n g/(1-g), rounded up; k = n + number of levels + 8 covers a reciprocal in place of a division.

    References
    ----------
    Higham (2002), Accuracy and stability of numerical algorithms, 2nd edition, theorem 10.3; Rump (2006), Verification
    of positive definiteness.
    """
    terms = (plan.n + len(plan.levels) + 8) * _ROUNDOFF
    gamma = terms / (1.0 - terms)
    # Doubling stands for the roundings here and for underflow, which `try_cholesky` keeps below 1e-150 of the diagonal.
    return 2.0 * plan.n * gamma / (1.0 - gamma)


def try_cholesky(plan: EliminationPlan, adjacency: sp.csr_array, diagonal: FloatArray) -> bool:
    """Return whether Cholesky factorisation of adjacency + diag(diagonal) runs to completion with positive pivots.

    Parameters
    ----------
    plan : EliminationPlan
        From `plan_elimination` of the same pattern.
    adjacency : scipy.sparse.csr_array, shape (n, n)
        Symmetric with zero diagonal, entries of order one.
    diagonal : ndarray, shape (n,)
        The diagonal.

    Returns
    -------
    bool
        True proves adjacency + (1 + c) diag(diagonal) >= 0 with c from `backward_error`; False proves nothing.
    """
    if diagonal.size and not (float(diagonal.min()) > 1e-150 and float(diagonal.max()) < 1e150):
        return False
    matrix, pivots = sp.csr_array(adjacency), diagonal
    for gone, kept in plan.levels:
        root = pivots[gone]
        if not np.all(root > 1e-150):
            return False
        columns = sp.csr_array(matrix[kept][:, gone])
        columns.data = columns.data / np.sqrt(root)[columns.indices]
        columns.sort_indices()
        update = sp.csr_array(columns @ columns.T)
        pivots = pivots[kept] - update.diagonal()
        # Only one triangle is kept: scipy may add the terms of (i, j) and (j, i) in different orders.
        lower = sp.tril(matrix[kept][:, kept], k=-1) - sp.tril(update, k=-1)
        matrix = sp.csr_array(lower + lower.T)
    dense = matrix.toarray(order="F")
    dense[np.diag_indices(plan.core)] = pivots
    if plan.core == 0:
        return True
    factor, info = dpotrf(dense, lower=1, overwrite_a=1, clean=0)
    return bool(info == 0 and np.all(np.isfinite(np.diagonal(factor))))
