"""Inverse regression from slices of the response: SIR, SAVE, directional regression, pHd."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from derand._utils.validation import FloatArray, check_option

__all__ = ["METHODS", "slice_labels", "sliced_matrix"]

METHODS = ("sir", "save", "phd", "dr")


def slice_labels(y: FloatArray, n_slices: int, weight: FloatArray | None = None) -> NDArray[np.int64]:
    """Return the slice of every sample: equal weight in each, and equal responses in one slice.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Response.
    n_slices : int
        Slices wanted, at least 1.
    weight : ndarray of shape (n,), optional
        Sample weights.

    Returns
    -------
    ndarray of int, shape (n,)
        Labels 0, 1, ... without gaps; fewer than wanted where responses are tied.

    Examples
    --------
    >>> slice_labels(np.array([1.0, 5.0, 1.0, 9.0, 7.0, 2.0]), 2).tolist()
    [0, 1, 0, 1, 1, 0]
    """
    values, inverse = np.unique(y, return_inverse=True)
    mass = np.bincount(inverse, weights=weight, minlength=values.size)
    if values.size <= n_slices:
        return np.asarray(inverse)
    middle = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    raw = np.minimum((middle * n_slices).astype(np.int64), n_slices - 1)
    return np.asarray(np.unique(raw, return_inverse=True)[1][inverse])


def sliced_matrix(
    X: FloatArray, labels: NDArray[np.int64], method: str, y: FloatArray | None = None, weight: FloatArray | None = None
) -> FloatArray:
    r"""Return the matrix whose leading eigenvectors estimate the directions, for whitened X.

    With the mean :math:`m_s` and covariance :math:`C_s` of slice s of share :math:`p_s`,

    .. math::
        \mathrm{SIR} &= \textstyle\sum_s p_s m_s m_s^\top, \qquad
        \mathrm{SAVE} = \sum_s p_s (I - C_s)^2, \\
        \mathrm{DR} &= 2 \textstyle\sum_s p_s (E_s - I)^2 + 2 M^2 + 2\, \mathrm{tr}(M)\, M, \qquad
        \mathrm{pHd} = H^2,

    where :math:`E_s = C_s + m_s m_s^\top`, :math:`M` is the SIR matrix, and :math:`H = E[r x x^\top]` with the
    residual r of the linear fit.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Whitened samples: mean 0, covariance the identity.
    labels : ndarray of int, shape (n,)
        Slices, from `slice_labels` or classes.
    method : {"sir", "save", "phd", "dr"}
        Which matrix.
    y : ndarray of shape (n, q), optional
        Responses, needed by "phd" only.
    weight : ndarray of shape (n,), optional
        Sample weights.

    Returns
    -------
    ndarray of shape (d, d)
        Symmetric and positive semidefinite.

    Raises
    ------
    InputError
        If the method is unknown.

    Notes
    -----
    O(n d^2), deterministic.  All four need the conditional mean of X given the directions to be linear, as it is for
    Gaussian X; SAVE and DR a constant conditional covariance besides.  SIR misses symmetric links, pHd odd ones.

    References
    ----------
    Li, Sliced inverse regression, JASA 86 (1991).  Cook, Weisberg, JASA 86 (1991).  Li, On principal Hessian
    directions, JASA 87 (1992).  Li, Wang, On directional regression, JASA 102 (2007), equation (4).

    Examples
    --------
    >>> X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> sliced_matrix(X, np.array([0, 0, 1, 1]), "sir").tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    check_option(method, "method", METHODS)
    n, d = X.shape
    w = np.ones(n) / n if weight is None else weight / weight.sum()
    if method == "phd":
        return _hessian_directions(X, np.zeros((n, 1)) if y is None else y, w)
    eye, sir, squares = np.eye(d), np.zeros((d, d)), np.zeros((d, d))
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(int(labels.max(initial=-1)) + 2))
    for first, last in itertools.pairwise(ends):
        rows = order[first:last]
        share = float(w[rows].sum())
        if share <= 0.0:
            continue
        mean = w[rows] @ X[rows] / share
        sir += share * np.outer(mean, mean)
        if method == "sir":
            continue
        second = (X[rows] * (w[rows] / share)[:, None]).T @ X[rows]
        spread = second - eye if method == "dr" else eye - second + np.outer(mean, mean)
        squares += share * (spread @ spread)
    if method == "sir":
        return sir
    return squares if method == "save" else 2.0 * (squares + sir @ sir + np.trace(sir) * sir)


def _hessian_directions(X: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    """Return the sum over outputs of the squared matrices E[r x x^T], r the residual of the linear fit."""
    out = np.zeros((X.shape[1], X.shape[1]))
    root = np.sqrt(w)[:, None]
    design = np.column_stack([np.ones(X.shape[0]), X]) * root
    residual = y - (design @ np.linalg.lstsq(design, y * root, rcond=None)[0]) / np.maximum(root, 1e-300)
    for o in range(y.shape[1]):
        H = (X * (w * residual[:, o])[:, None]).T @ X
        out += H @ H
    return out
