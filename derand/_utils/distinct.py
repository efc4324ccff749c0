"""Distinct rows and columns, without the structured comparisons that lose a Ctrl-C.

``numpy.unique`` with an axis compares rows as structured scalars, for which NumPy calls Python code and replaces or
drops an exception raised in it, a KeyboardInterrupt included.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["distinct_columns", "distinct_rows"]


def distinct_rows(matrix: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first occurrence of each distinct row, in lexicographic order, and the number of each row's class.

    Parameters
    ----------
    matrix : ndarray, shape (n, m)
        Numbers without nan; m >= 1, and small: the cost is that of m sorts.

    Returns
    -------
    first : ndarray of int, shape (c,)
        Indices of rows.
    inverse : ndarray of int, shape (n,)
        ``matrix[first][inverse]`` is the matrix.

    Examples
    --------
    >>> first, inverse = distinct_rows(np.array([[2, 1], [1, 5], [2, 1]]))
    >>> first.tolist(), inverse.tolist()
    ([1, 0], [1, 0, 1])
    """
    order = np.lexsort(matrix.T[::-1])
    rows = matrix[order]
    is_new = np.ones(order.size, dtype=bool)
    is_new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    inverse = np.empty(order.size, dtype=np.intp)
    inverse[order] = np.cumsum(is_new) - 1
    return order[is_new], inverse


def distinct_columns(matrix: NDArray[np.int8]) -> NDArray[np.intp]:
    """Return the indices of the first occurrence of each distinct column, in their order.

    Parameters
    ----------
    matrix : ndarray of int8, shape (n, m)
        Few long columns.

    Returns
    -------
    ndarray of int, shape (c,)
        Indices.

    Examples
    --------
    >>> distinct_columns(np.array([[1, -1, 1], [1, 1, 1]], dtype=np.int8)).tolist()
    [0, 1]
    """
    first: dict[bytes, int] = {}
    for column, values in enumerate(np.ascontiguousarray(matrix.T)):
        first.setdefault(values.tobytes(), column)
    return np.array(list(first.values()), dtype=np.intp)
