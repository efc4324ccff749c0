r"""The bulk of the weights after two steps, whose edge is not that of the weights at the start.

Given the samples, the rows of W2 are independent: a neuron's steps depend on its own weights alone.  So W2 is a
low-rank mean plus a full-rank part with independent rows.  Rows with large |a_i| have a larger variance, which moves
the edge of the bulk, and rows whose variance exceeds a threshold make outliers of their own, localised on one neuron.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from derand._utils.html import result_html
from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import InputError

__all__ = ["BulkEdge", "RowProfile", "bulk_edge", "localised_rows"]


class BulkEdge(NamedTuple):
    """Upper edge of a bulk of singular values.

    Attributes
    ----------
    location : float
        The edge for N to infinity.
    scale : float
        Unit of the Tracy-Widom fluctuations of the largest singular value.
    """

    location: float
    scale: float

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


class RowProfile:
    r"""Noise with independent rows of different variances.

    With :math:`e = d^{-1} tr (B^\top B - \lambda)^{-1}` the spectrum of rows with squared norms v_i over d columns
    obeys

    .. math:: \lambda(e) = -\frac1e + \frac1d \sum_i \frac{v_i}{1 + v_i e},

    and the edge is where :math:`\lambda'(e) = 0`.

    Parameters
    ----------
    variances : ndarray of shape (N,)
        Squared norms v_i of the rows, at least 0, not all 0.
    n_columns : int
        d.
    """

    def __init__(self, variances: FloatArray, n_columns: int) -> None:
        self.variances = check_array(variances, "variances", ndim=1)
        self.n_columns = check_int(n_columns, "n_columns", low=1)
        top = float(np.max(self.variances, initial=0.0))
        if top <= 0.0 or float(np.min(self.variances)) < 0.0:
            raise InputError("variances must be at least 0, and one of them positive")
        self.corner = float(brentq(self._slope, -(1.0 - 1e-12) / top, -1e-12 / top))

    def _square(self, e: float) -> float:
        """Return lambda(e)."""
        v = self.variances
        return -1.0 / e + float(np.sum(v / (1.0 + v * e))) / self.n_columns

    def _slope(self, e: float) -> float:
        """Return e^2 lambda'(e), which increases from -infinity to 1 as e goes to 0."""
        v = self.variances
        return 1.0 - float(np.sum((v * e / (1.0 + v * e)) ** 2)) / self.n_columns

    def edge(self) -> BulkEdge:
        """Return the upper edge of the singular values and the scale of its fluctuations.

        Returns
        -------
        BulkEdge
            The edge.

        Notes
        -----
        The scale is El Karoui's for sample covariances, translated from squares to singular values.
        """
        v, e = self.variances, self.corner
        ratio = v * (-e) / (1.0 + v * e)
        location = math.sqrt(self._square(e))
        third = (1.0 + float(np.sum(ratio**3)) / self.n_columns) ** (1.0 / 3.0)
        return BulkEdge(location, third / (-e) * self.n_columns ** (-2.0 / 3.0) / (2.0 * location))

    def resolvents(self, s: float) -> tuple[FloatArray, float]:
        """Return the diagonal of s (s^2 - B B^T)^{-1} and the multiple of 1 that s (s^2 - B^T B)^{-1} is.

        Parameters
        ----------
        s : float
            Beyond the edge.

        Returns
        -------
        tuple
            ndarray of shape (N,) and float.
        """
        e = float(brentq(lambda x: self._square(x) - s * s, self.corner, -1e-3 / (s * s)))
        return 1.0 / (s * (1.0 + self.variances * e)), -s * e


def localised_rows(variances: Any, n_columns: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return the rows whose variance makes an outlier of its own.

    Row i does if v_i (-e) >= 1 at the edge of the bulk of the others.

    Parameters
    ----------
    variances : array_like of shape (N,)
        Squared norms of the rows.
    n_columns : int
        d.

    Returns
    -------
    ndarray of int
        Their indices, the largest variance first.

    Examples
    --------
    >>> localised_rows([1.0] * 50 + [9.0], 50).tolist()
    [50]
    """
    v = check_array(variances, "variances", ndim=1).copy()
    order = np.argsort(-v, kind="stable")
    found: list[int] = []
    for i in order[: max(v.size // 4, 1)].tolist():
        own, v[i] = float(v[i]), 0.0
        if not np.any(v) or own * -RowProfile(v, n_columns).corner < 1.0:
            break
        found.append(i)
    return np.array(found, dtype=np.intp)


def bulk_edge(variances: Any, n_columns: int) -> BulkEdge:
    """Return the deformed edge of noise with independent rows, localised rows left out.

    Parameters
    ----------
    variances : array_like of shape (N,)
        Squared norms of the rows; all 1 for weights at the start.
    n_columns : int
        d.

    Returns
    -------
    BulkEdge
        Edge of the singular values and scale of its fluctuations.

    Examples
    --------
    >>> round(bulk_edge([1.0] * 100, 100).location, 12)  # 1 + sqrt(c)
    2.0
    >>> round(bulk_edge([1.0] * 50 + [2.0] * 50, 100).location, 3)
    2.556
    """
    v = check_array(variances, "variances", ndim=1).copy()
    v[localised_rows(v, n_columns)] = 0.0
    return RowProfile(v, n_columns).edge()
