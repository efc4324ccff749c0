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

    With many pairs among few points, M z_p comes from the images of the points; with few pairs, or points close
    together, from the vectors themselves.

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
        lengths = np.sqrt(np.square(coords[first] - coords[second]).sum(axis=1))
        top = float(np.abs(points).max(initial=0.0))
        self.is_factored = 2 * used.size < m and bool(lengths.min(initial=np.inf) > _SHORT * top)
        # z = incidence @ points, with rows (1, -1)/length, or the vectors themselves.
        self._incidence: Any = None
        if self.is_factored:
            weights = np.concatenate([1.0 / lengths, -1.0 / lengths])
            rows = np.tile(np.arange(m), 2)
            self._incidence = sp.csr_array((weights, (rows, where)), shape=(m, used.size))
            self._transposed: Any = self._incidence.T.tocsr()
            self._vectors = points
        else:
            self._vectors = (coords[first] - coords[second]) / lengths[:, None]

    def apply(self, M: FloatArray) -> FloatArray:
        """Return M z_p for all pairs, shape (m, k)."""
        image: FloatArray = self._vectors @ M.T
        return self._incidence @ image if self.is_factored else image

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """Return sum_p weights_p z_p' of shape (k, r) for weights of shape (m, k)."""
        gathered: FloatArray = self._transposed @ weights if self.is_factored else weights
        total: FloatArray = gathered.T @ self._vectors
        return total
