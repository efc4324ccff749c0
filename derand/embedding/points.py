"""Points whose pairs are to be measured: checked, scaled without rounding, centred, and their own coordinates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray, check_array
from derand.embedding.blocks import BlockedRows, is_lazy
from derand.exceptions import InputError, InputTypeError

__all__ = ["PointSet", "RowSpace", "check_points"]

IndexArray = NDArray[np.int64]

_CHUNK = 1 << 20  # numbers in one temporary array of differences
_WHOLE = 1 << 24  # numbers up to which a dense array is copied whole in double precision
_SIDE = 768  # rows of a tile of pairs
_LEAST_SIDE = 64  # the same of points that are read anew for each tile
_DENSE_LIMIT = 50_000_000  # numbers up to which a sparse matrix is made dense for its singular value decomposition


def check_points(X: Any, name: str = "X", *, min_points: int = 2) -> Any:
    """Return points as a finite float64 array or csr array of shape (n, d), or as rows that are read in blocks.

    Parameters
    ----------
    X : array_like or sparse, shape (n, d)
        Points, one a row.
    name : str
        Name of the argument, for messages.
    min_points : int, default 2
        Least number of rows.

    Returns
    -------
    ndarray, csr_array or BlockedRows
        The points; an array of more than 2^24 numbers stays where it is, and its entries are checked by `PointSet`.

    Raises
    ------
    InputError
        If the shape is wrong, there are too few rows or no columns, or an entry isn't finite.
    InputTypeError
        If the entries aren't real numbers.
    """
    points: Any = X
    if (isinstance(X, np.ndarray) and X.dtype.kind in "biuf") or is_lazy(X):
        points = BlockedRows(X, name)
        # Where the entries are kept doesn't matter for the bits of what comes out, only how many they are.
        if points.shape[0] * points.shape[1] <= _WHOLE:
            points = np.ascontiguousarray(check_array(X, name, ndim=2))
    elif _is_sparse(points):
        if points.dtype.kind not in "biuf":
            raise InputTypeError(f"{name} must hold real numbers, got entries of type {points.dtype}")
        given, points = points, sp.csr_array(points, dtype=np.float64)
        if not points.has_canonical_format:
            # Sorting and summing work in place, on arrays that may be the caller's.
            points = points.copy() if points.format == given.format else points
            points.sum_duplicates()
        if not np.isfinite(points.data).all():
            raise InputError(f"{name} must be finite")
    else:
        # Sums run along memory: the order of its layout would change their last bits.
        points = np.ascontiguousarray(check_array(X, name, ndim=2))
    if points.shape[0] < min_points:
        raise InputError(f"{name} must have at least {min_points} rows (samples), got {points.shape[0]}")
    if points.shape[1] == 0:
        raise InputError(f"{name} must have at least one column (feature)")
    return points


def _is_sparse(X: Any) -> bool:
    """Return whether X is one of scipy's sparse matrices or arrays."""
    return bool(sp.issparse(X))


class PointSet:
    """Points in the form that the scan of all pairs needs.

    Parameters
    ----------
    X : array_like or sparse, shape (n, d)
        Points, one a row.  An array of more than 2^24 numbers, in memory, in a memory-mapped file or dask's, is read in
        blocks, several times, and never copied whole.
    name : str, default "X"
        Name for messages.
    min_points : int, default 2
        Least number of rows.

    Attributes
    ----------
    n, d : int
        Shape.
    raw : ndarray, csr_array or BlockedRows, shape (n, d)
        The points divided by a power of two that brings the largest entry to [1, 2): no digit is lost, and squares
        neither overflow nor vanish.
    centred : ndarray, csr_array or BlockedRows
        `raw` less the mean of its rows, where dense.  Centring changes no difference and makes inner products cancel
        less; a sparse matrix stays as it is.

    Raises
    ------
    InputError, InputTypeError
        See `check_points`.

    Examples
    --------
    >>> points = PointSet([[3e200, 0.0], [0.0, 4e200]])
    >>> float(np.linalg.norm(points.differences(np.array([0]), np.array([1]))) * points.unit)
    5e+200
    """

    def __init__(self, X: Any, name: str = "X", *, min_points: int = 2) -> None:
        points: Any = check_points(X, name, min_points=min_points)
        self.n, self.d = (int(size) for size in points.shape)
        self.is_sparse, self.is_blocked = _is_sparse(points), isinstance(points, BlockedRows)
        if isinstance(points, BlockedRows):
            top = points.checked_top()
        else:
            top = float(np.max(np.abs(points.data if self.is_sparse else points), initial=0.0))
        self.unit = math.ldexp(1.0, math.frexp(top)[1] - 1) if top > 0.0 else 1.0
        self.raw: Any
        self.mean: FloatArray
        self.centred: Any
        if isinstance(points, BlockedRows):
            rows = BlockedRows(points.source, name, unit=self.unit)
            self.raw, self.mean = rows, rows.column_means()
            self.centred = BlockedRows(points.source, name, unit=self.unit, mean=self.mean)
        else:
            self.raw = points / self.unit
            self.mean = np.asarray(self.raw.mean(axis=0)).ravel()
            self.centred = self.raw if self.is_sparse else self.raw - self.mean

    @property
    def side(self) -> int:
        """Rows of a tile of pairs: as many as keep its temporary arrays near the cache and below 20 MB together."""
        return max(_LEAST_SIDE, min(_SIDE, 2 * _CHUNK // self.d)) if self.is_blocked else _SIDE

    def squares(self) -> FloatArray:
        """Return the squared norms of the rows of `centred`, shape (n,)."""
        if self.is_sparse:
            return np.asarray(self.centred.power(2).sum(axis=1)).ravel()
        squares: FloatArray = (
            self.centred.squares() if self.is_blocked else np.einsum("ij,ij->i", self.centred, self.centred)
        )
        return squares

    def image(self, M: FloatArray) -> FloatArray:
        """Return the centred image of the points under a matrix of shape (k, d), shape (n, k)."""
        image: FloatArray = np.ascontiguousarray(self.centred @ M.T)
        return image - self.mean @ M.T if self.is_sparse else image

    def differences(self, first: IndexArray, second: IndexArray) -> FloatArray:
        """Return raw[first] - raw[second] as a dense array, shape (m, d)."""
        difference = self.raw[first] - self.raw[second]
        return np.asarray(difference.toarray() if self.is_sparse else difference)

    def chunks(self, m: int) -> list[slice]:
        """Return slices of range(m) for which the differences take bounded memory."""
        step = max(1, _CHUNK // self.d)
        return [slice(start, min(start + step, m)) for start in range(0, m, step)]


@dataclass(frozen=True)
class RowSpace:
    """Coordinates of points in the space that their differences span.

    Parameters
    ----------
    coords : ndarray, shape (n, r)
        Centred coordinates along the principal axes, in units of the `PointSet`; r is the numerical rank.
    basis : ndarray, shape (r, d)
        The axes, orthonormal rows, by falling variance.
    """

    coords: FloatArray
    basis: FloatArray

    @property
    def rank(self) -> int:
        """Numerical rank of the centred points."""
        return int(self.basis.shape[0])

    @classmethod
    def of(cls, points: PointSet) -> RowSpace:
        """Return the row space of points, by a singular value decomposition.

        Parameters
        ----------
        points : PointSet
            The points.

        Returns
        -------
        RowSpace
            Coordinates and axes.

        Notes
        -----
        Costs n d min(n, d).  A sparse matrix too large to be made dense goes through the Gram matrix of the shorter
        side, which sees singular values above 1e-7 of the largest only.  A large array with at least as many rows as
        columns is read in blocks, and only the coordinates are kept; a wider one is read whole.  The sign of each axis
        is fixed by its largest entry, so that the axes don't depend on the LAPACK in use.
        """
        with blas_threads(1):  # the same digits for any number of threads
            if points.is_sparse and points.n * points.d > _DENSE_LIMIT:
                coords, basis = _by_gram(points)
            elif points.is_blocked and points.d <= points.n:
                coords, basis = _by_triangle(points)
            else:
                dense = points.raw.toarray() - points.mean if points.is_sparse else points.centred[:]
                U, s, basis = scipy.linalg.svd(dense, full_matrices=False)
                rank = _rank(s, max(dense.shape))
                coords, basis = U[:, :rank] * s[:rank], basis[:rank]
        lead = np.argmax(np.abs(basis), axis=1)
        sign = np.sign(basis[np.arange(basis.shape[0]), lead])
        coords = np.ascontiguousarray(coords * sign)
        # Rounding must not set equal points apart: the direction of their difference would be noise.
        return cls(coords[_representatives(points)], np.ascontiguousarray(basis * sign[:, None]))


def _rank(s: FloatArray, size: int) -> int:
    """Return how many singular values of a matrix stand out of its rounding."""
    return int(np.sum(s > size * np.finfo(float).eps * max(float(s[0]), np.finfo(float).tiny)))


def _by_triangle(points: PointSet) -> tuple[FloatArray, FloatArray]:
    """Return coordinates and axes of points that are read in blocks, with all digits."""
    _, s, basis = scipy.linalg.svd(points.centred.triangle(), full_matrices=False)
    basis = np.ascontiguousarray(basis[: _rank(s, points.n)])
    return points.centred @ basis.T, basis


def _representatives(points: PointSet) -> IndexArray:
    """Return for each point the number of one equal to it, the same for all of these; shape (n,)."""
    weights = np.random.default_rng(0).standard_normal(points.d)
    # Equal rows have equal sums, taken in the same order; different rows hardly ever do.
    if points.is_blocked:
        sums = points.raw.row_sums(weights)
    else:
        sums = np.asarray(points.raw @ weights) if points.is_sparse else np.einsum("ij,j->i", points.raw, weights)
    order = np.argsort(sums, kind="stable")
    group = np.arange(points.n)
    ties = np.flatnonzero(sums[order[1:]] == sums[order[:-1]])
    for before, after in zip(order[ties], order[ties + 1], strict=True):
        if abs(points.raw[[before]] - points.raw[[after]]).max() == 0.0:
            group[after] = group[before]
    return group


def _by_gram(points: PointSet) -> tuple[FloatArray, FloatArray]:
    """Return coordinates and axes of large sparse points from the Gram matrix of the shorter side."""
    X, mean, n = points.raw, points.mean, points.n
    if n <= points.d:
        gram = (X @ X.T).toarray()
        shift = X @ mean
        values, vectors = np.linalg.eigh(gram - shift[:, None] - shift + mean @ mean)
    else:
        values, vectors = np.linalg.eigh((X.T @ X).toarray() - n * np.outer(mean, mean))
    keep = np.flatnonzero(values > 1e-14 * max(float(values[-1]), np.finfo(float).tiny))[::-1]
    values, vectors = values[keep], vectors[:, keep]
    if n <= points.d:
        root = np.sqrt(values)
        return vectors * root, ((X.T @ vectors).T - np.outer(vectors.sum(axis=0), mean)) / root[:, None]
    return X @ vectors - mean @ vectors, vectors.T
