"""Rows of a large array that stays where it is, in a file, in chunks or in memory, and is read in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import InputError, InputTypeError

__all__ = ["BlockedRows", "is_lazy"]

_BLOCK = 1 << 20  # numbers in double precision that are read at a time: 8 MB


def is_lazy(X: Any) -> bool:
    """Return whether X is a dask array, told by its graph and its slices; dask itself need not be there."""
    return hasattr(X, "__dask_graph__") and all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__"))


class BlockedRows:
    """The rows ``source[rows] / unit - mean`` in double precision, computed when they are asked for.

    Parameters
    ----------
    source : array_like, shape (n, d)
        A memory-mapped or dask array, or one in memory.
    name : str
        Name for messages.
    unit : float, default 1.0
        What the entries are divided by.
    mean : ndarray, shape (d,), optional
        What is subtracted then.

    Attributes
    ----------
    shape : tuple (n, d)
        Shape.

    Raises
    ------
    InputError
        If the source isn't a matrix of known shape.
    InputTypeError
        If the entries aren't real numbers.

    Examples
    --------
    >>> rows = BlockedRows(np.array([[2, 4], [6, 8]], dtype=np.int8), "X", unit=2.0)
    >>> rows[:1].tolist(), (rows @ np.eye(2)).tolist()
    ([[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]])
    """

    def __init__(self, source: Any, name: str, *, unit: float = 1.0, mean: FloatArray | None = None) -> None:
        if np.dtype(source.dtype).kind not in "biuf":
            raise InputTypeError(f"{name} must hold real numbers, got entries of type {source.dtype}")
        if len(source.shape) != 2:
            raise InputError(f"{name} must be an array with 2 dimensions, got shape {tuple(source.shape)}")
        if any(size != size for size in source.shape):
            raise InputError(f"{name} must have a known shape, got {tuple(source.shape)}: chunks of unknown size")
        self.source, self.name, self.unit, self.mean = source, name, unit, mean
        self.shape = int(source.shape[0]), int(source.shape[1])

    def __getitem__(self, rows: Any) -> FloatArray:
        """Return rows, given by a slice or by an array of numbers in any order."""
        where = None
        if not isinstance(rows, slice):
            rows, where = np.unique(np.asarray(rows), return_inverse=True)
        block = np.array(self.source[rows], dtype=np.float64, order="C")
        block /= self.unit
        if self.mean is not None:
            block -= self.mean
        return block if where is None else block[where]

    def __matmul__(self, right: FloatArray) -> FloatArray:
        """Return the product with a matrix of shape (d, k)."""
        return self._stacked(lambda block: block @ right, right.shape[1:])

    def blocks(self) -> Iterator[FloatArray]:
        """Yield all rows in their order, some at a time."""
        for rows in self.slices():
            yield self[rows]

    def slices(self) -> list[slice]:
        """Return slices of the rows that are read together."""
        n, d = self.shape
        step = max(1, _BLOCK // max(d, 1))
        return [slice(start, min(start + step, n)) for start in range(0, n, step)]

    def row_sums(self, weights: FloatArray) -> FloatArray:
        """Return the weighted sums of the rows, each added up in the same order; shape (n,)."""
        return self._stacked(lambda block: np.einsum("ij,j->i", block, weights), ())

    def squares(self) -> FloatArray:
        """Return the squared norms of the rows, shape (n,)."""
        return self._stacked(lambda block: np.einsum("ij,ij->i", block, block), ())

    def checked_top(self) -> float:
        """Return the largest absolute entry.

        Returns
        -------
        float
            It; 0.0 without entries.

        Raises
        ------
        InputError
            If an entry isn't finite.
        """
        top = 0.0
        for rows, block in zip(self.slices(), self.blocks(), strict=True):
            if not np.isfinite(block).all():
                i, j = (int(index[0]) for index in np.nonzero(~np.isfinite(block)))
                raise InputError(f"{self.name} must be finite, got {block[i, j]} at index {(rows.start + i, j)}")
            top = max(top, float(block.max(initial=0.0)), -float(block.min(initial=0.0)))
        return top

    def column_means(self) -> FloatArray:
        """Return the mean of the rows, shape (d,)."""
        total = np.zeros(self.shape[1])
        for block in self.blocks():
            total = np.add.reduce(np.concatenate([total[None], block]), axis=0)  # row by row, as without blocks
        return total / self.shape[0]

    def triangle(self) -> FloatArray:
        """Return R of a QR decomposition, shape (min(n, d), d), from one block after another."""
        R: FloatArray = np.empty((0, self.shape[1]))
        stack: list[FloatArray] = []
        for block in self.blocks():
            stack.append(block)
            if sum(len(part) for part in stack) >= self.shape[1]:  # fewer rows would cost d^3 for little
                R, stack = np.asarray(np.linalg.qr(np.concatenate([R, *stack]), mode="r")), []
        return R if not stack else np.asarray(np.linalg.qr(np.concatenate([R, *stack]), mode="r"))

    def _stacked(self, function: Any, shape: tuple[int, ...]) -> FloatArray:
        """Return the results of a function of blocks one below the other."""
        result = np.empty((self.shape[0], *shape))
        for rows, block in zip(self.slices(), self.blocks(), strict=True):
            result[rows] = function(block)
        return result
