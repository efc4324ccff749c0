"""Unit difference vectors of some pairs, as a linear operator, and functions of their squared lengths under a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from derand._utils.validation import FloatArray
from derand.embedding.points import IndexArray

__all__ = ["UnitDifferences"]

#: Relative length of a difference below which the images of points, subtracted, would lose too many digits.
_SHORT = 1e-5


class UnitDifferences:
    """The unit vectors z_p = (x_i - x_j)/|x_i - x_j| of pairs p = (i, j) of distinct points, never all formed at once.

    With many pairs among few points, M z_p comes from the images of the points, except where two points are so close
    that these would cancel; with few pairs, from the vectors themselves.

    Parameters
    ----------
    coords : ndarray, shape (n, r)
        Points.
    first, second : ndarray of int64, shape (m,)
        Pairs of distinct points.

    Examples
    --------
    >>> z = UnitDifferences(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([1]), np.array([0]))
    >>> z.apply(np.eye(2)).round(12).tolist()
    [[0.6, 0.8]]
    """

    def __init__(self, coords: FloatArray, first: IndexArray, second: IndexArray) -> None:
        used, where = np.unique(np.concatenate([first, second]), return_inverse=True)
        points = coords[used]
        m = self.n_pairs = first.size
        apart = coords[first] - coords[second]
        lengths = np.sqrt(np.square(apart).sum(axis=1))
        is_short = lengths <= _SHORT * float(np.abs(points).max(initial=0.0))
        self.is_factored = 2 * used.size < m and 2 * int(is_short.sum()) < m
        # z = incidence @ points, with rows (1, -1)/length, or the vectors themselves.
        self._incidence: Any = None
        if self.is_factored:
            far = np.flatnonzero(~is_short)
            weights = np.concatenate([1.0 / lengths[far], -1.0 / lengths[far]])
            columns = np.concatenate([where[far], where[far + m]])
            self._incidence = sp.csr_array((weights, (np.tile(far, 2), columns)), shape=(m, used.size))
            self._transposed: Any = self._incidence.T.tocsr()
            self._points = points
            self._dense = np.flatnonzero(is_short)
        else:
            self._dense = np.arange(m)
        self._vectors = apart[self._dense] / lengths[self._dense, None]

    def apply(self, M: FloatArray) -> FloatArray:
        """Return M z_p for all pairs, shape (m, k)."""
        image: FloatArray = self._vectors @ M.T
        if not self.is_factored:
            return image
        images: FloatArray = self._incidence @ (self._points @ M.T)
        images[self._dense] = image
        return images

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return sum_p weights_p z_p' of shape (k, r) for weights of shape (m, k)."""
        if not self.is_factored:
            return np.asarray(weights.T @ self._vectors)
        total: FloatArray = (self._transposed @ weights).T @ self._points
        total += weights[self._dense].T @ self._vectors
        return total
