"""What the spectral functions accept as a symmetric matrix, and what rounding does to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from derand._utils.validation import FloatArray, check_array
from derand.exceptions import InputError, InputTypeError

__all__ = ["SymmetricMatrix", "as_symmetric", "materialise", "rounding_bound"]

_EPS = float(np.finfo(np.float64).eps)
_ASYMMETRY = 1e-8  # an array that is less symmetric than this was not meant to be symmetric


@dataclass(frozen=True)
class SymmetricMatrix:
    """A checked symmetric matrix of order `n`.

    Parameters
    ----------
    n : int
        Order, at least 1.
    operator : LinearOperator of shape (n, n)
        Products with it.
    array : ndarray of shape (n, n), optional
        The dense array where one was given.
    sparse : sparse array of shape (n, n), optional
        The sparse array where one was given.
    """

    n: int
    operator: LinearOperator
    array: FloatArray | None
    sparse: Any

    @property
    def error_bound(self) -> float:
        """Bound on the error of a product with a unit vector: the operator's own, computed when it is asked for."""
        return float(getattr(self.operator, "error_bound", 0.0))

    @property
    def is_explicit(self) -> bool:
        """Whether the entries are known, not only products."""
        return self.array is not None or self.sparse is not None


def as_symmetric(A: Any) -> SymmetricMatrix:
    """Return A as a checked symmetric matrix.

    Parameters
    ----------
    A : ndarray, sparse array or LinearOperator of shape (n, n)
        Arrays are checked for symmetry and finite entries and replaced by (A + A') / 2; an operator is taken at its
        word.

    Returns
    -------
    SymmetricMatrix
        The matrix and its products.

    Raises
    ------
    InputError
        If A isn't square, is empty, or is an array that isn't finite or not symmetric.
    InputTypeError
        If A is complex or no matrix at all.

    Examples
    --------
    >>> as_symmetric([[2.0, 1.0], [1.0, 2.0]]).n
    2
    """
    if isinstance(A, LinearOperator):
        n = _order(A.shape)
        if A.dtype is not None and np.issubdtype(A.dtype, np.complexfloating):
            raise InputTypeError("A must be real, got a complex operator")
        return SymmetricMatrix(n, A, None, None)
    if sp.issparse(A):
        return _as_symmetric_sparse(A)
    array = check_array(A, "A", ndim=2)
    n = _order(array.shape)
    _check_symmetry(np.max(np.abs(array - array.T)), np.max(np.abs(array)))
    array = array / 2.0 + array.T / 2.0
    return SymmetricMatrix(n, aslinearoperator(array), array, None)


def materialise(matrix: SymmetricMatrix) -> FloatArray:
    """Return the dense array; n products when only products are known.

    Parameters
    ----------
    matrix : SymmetricMatrix
        The matrix.

    Returns
    -------
    ndarray of shape (n, n)
        Its entries, symmetrised.

    Raises
    ------
    InputError
        If a product isn't finite.
    """
    if matrix.array is not None:
        return matrix.array
    if matrix.sparse is not None:
        return np.asarray(matrix.sparse.toarray(), dtype=np.float64)
    columns = np.empty((matrix.n, matrix.n))
    unit = np.zeros(matrix.n)
    for j in range(matrix.n):
        unit[j] = 1.0
        columns[:, j] = np.asarray(matrix.operator.matvec(unit), dtype=np.float64).ravel()
        unit[j] = 0.0
    if not np.all(np.isfinite(columns)):
        raise InputError("A has a product with a unit vector that isn't finite")
    return columns / 2.0 + columns.T / 2.0


def rounding_bound(n: int, norm: float) -> float:
    """Return a bound on what LAPACK's symmetric eigenvalues are off by.

    Parameters
    ----------
    n : int
        Order of the matrix.
    norm : float
        Its 2-norm.

    Returns
    -------
    float
        ``max(n, 10) * eps * norm``.

    Notes
    -----
    The backward error of the tridiagonal reduction and QL is a modest multiple of eps ||A|| in practice and p(n) eps
    ||A|| in theory; n eps ||A|| (with n at least 10) covers both the dense solver and full reorthogonalisation.
    """
    return max(n, 10) * _EPS * norm


def _order(shape: tuple[int, ...]) -> int:
    """Return n for the shape (n, n)."""
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise InputError(f"A must be square and not empty, got shape {shape}")
    return int(shape[0])


def _check_symmetry(asymmetry: float, largest: float) -> None:
    """Raise when the largest |A - A'| is more than rounding of the largest |A|."""
    if asymmetry > _ASYMMETRY * largest:
        raise InputError(f"A must be symmetric, but A and its transpose differ by {asymmetry:g}")


def _as_symmetric_sparse(A: Any) -> SymmetricMatrix:
    """Return a sparse matrix, checked and symmetrised."""
    n = _order(A.shape)
    check_array(A.tocoo().data, "A")
    matrix = sp.csr_array(A, dtype=np.float64)
    _check_symmetry(abs(matrix - matrix.T).max(), abs(matrix).max())
    matrix = sp.csr_array((matrix + matrix.T) / 2.0)
    return SymmetricMatrix(n, aslinearoperator(matrix), None, matrix)
