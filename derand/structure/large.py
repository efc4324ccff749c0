"""Inputs that stay in a file or in chunks, centred and transformed in blocks when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray

__all__ = ["LargeRows", "row_blocks"]

_BLOCK = 1 << 20  # numbers in double precision that are read at a time: 8 MB


class LargeRows:
    """The rows ``(source[rows] - mean) @ matrix`` in double precision, computed when they are asked for.

    A `Sample` may hold it in place of an array: risk, gradient and Hessian products then read it chunk by chunk, and
    are the same as in memory up to rounding.

    Parameters
    ----------
    source : array_like of shape (n, d)
        Finite numbers: a memory-mapped or dask array, or whatever gives its rows for a slice.
    mean : ndarray of shape (d,), optional
        What is subtracted; default 0.
    matrix : ndarray of shape (d, r), optional
        What the centred rows are multiplied by; default I.

    Attributes
    ----------
    shape : tuple (n, r)
        Shape.
    dtype : dtype
        float64.
    ndim : int
        2.

    Examples
    --------
    >>> rows = LargeRows(np.array([[2.0, 4.0], [6.0, 8.0]]), mean=np.array([1.0, 0.0]), matrix=np.array([[1.0], [1.0]]))
    >>> rows.shape, rows[1:2, :].tolist()
    ((2, 1), [[13.0]])
    """

    ndim = 2
    dtype = np.dtype(np.float64)

    def __init__(self, source: Any, mean: FloatArray | None = None, matrix: FloatArray | None = None) -> None:
        self.source, self.mean, self.matrix = source, mean, matrix
        n, d = (int(size) for size in source.shape)
        self.shape = (n, d if matrix is None else matrix.shape[1])

    def __getitem__(self, rows: slice | tuple[slice, slice]) -> FloatArray:
        """Return rows; a second slice has to take all columns."""
        block = np.array(self.source[rows[0] if isinstance(rows, tuple) else rows], dtype=np.float64, order="C")
        if self.mean is not None:
            block -= self.mean
        return block if self.matrix is None else block @ self.matrix


def row_blocks(X: Any) -> Iterator[tuple[slice, FloatArray]]:
    """Yield slices and rows: all rows at once of an array in memory, some at a time of `LargeRows`.

    Parameters
    ----------
    X : ndarray or LargeRows, of shape (n, d)
        Inputs.

    Yields
    ------
    rows : slice
        Which.
    block : ndarray
        Their entries.
    """
    if not isinstance(X, LargeRows):
        yield slice(0, X.shape[0]), X
        return
    width = max(X.shape[1], int(X.source.shape[1]), 1)
    step = max(1, _BLOCK // width)
    for start in range(0, X.shape[0], step):
        rows = slice(start, min(start + step, X.shape[0]))
        yield rows, X[rows]
