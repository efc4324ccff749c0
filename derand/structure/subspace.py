"""Distances between subspaces, and the split of a weight matrix along and across one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_array
from derand.exceptions import InputError

__all__ = ["energy_share", "orthonormal_rows", "split_weights", "subspace_distance"]

_RANK_TOLERANCE = 1e-12


def orthonormal_rows(A: Any, name: str = "A") -> FloatArray:
    """Return an orthonormal basis, as rows, of the span of the rows of a matrix.

    Parameters
    ----------
    A : array_like of shape (k, d) or (d,)
        Linearly independent rows, k <= d; one vector counts as one row.
    name : str, default "A"
        What an error calls the matrix.

    Returns
    -------
    ndarray of shape (k, d)
        Rows with inner products 0 and 1.  Rows that are orthonormal already, within 1e-14, are returned as they are.

    Raises
    ------
    InputError
        If the matrix is empty, not finite, or its rows are linearly dependent within 1e-12.
    InputTypeError
        If it isn't an array of real numbers.

    Notes
    -----
    One singular value decomposition; deterministic.

    Examples
    --------
    >>> orthonormal_rows([3.0, 4.0])
    array([[0.6, 0.8]])
    """
    matrix = check_array(A, name)
    matrix = matrix[None, :] if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or 0 in matrix.shape or matrix.shape[0] > matrix.shape[1]:
        raise InputError(f"{name} must have shape (k, d) with 1 <= k <= d, got {matrix.shape}")
    if np.max(np.abs(matrix @ matrix.T - np.eye(matrix.shape[0]))) <= 1e-14:
        return matrix
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    if sizes[-1] <= _RANK_TOLERANCE * sizes[0]:
        raise InputError(f"{name} must have linearly independent rows")
    # The polar factor is the orthonormal basis closest to the rows: signs and order stay those of the caller.
    return np.asarray(left @ right)


def subspace_distance(A: Any, B: Any) -> float:
    r"""Return the Frobenius norm of the sines of the angles between the row spaces of two matrices.

    .. math:: \|\sin\Theta\|_F = \|P_A - P_B\|_F / \sqrt 2
        = \sqrt{\tfrac12 \|A (I - P_B)\|_F^2 + \tfrac12 \|B (I - P_A)\|_F^2}

    for orthonormal rows, with the orthogonal projectors P.  It is a metric on the subspaces of all dimensions: 0 for
    equal ones, sqrt(k) for orthogonal ones of dimension k, and at least sqrt(|k_A - k_B| / 2) for different dimensions.

    Parameters
    ----------
    A : array_like of shape (k_A, d) or (d,)
        Linearly independent rows, such as ``components_``; they need not be orthonormal.
    B : array_like of shape (k_B, d) or (d,)
        The same for the other subspace.

    Returns
    -------
    float
        The distance.

    Raises
    ------
    InputError
        If the numbers of columns differ, rows are linearly dependent or numbers aren't finite.
    InputTypeError
        If an argument isn't an array of real numbers.

    Notes
    -----
    Small angles are exact to rounding, since no cosine is subtracted from 1.  O(d k^2); deterministic.

    References
    ----------
    G. H. Golub and C. F. Van Loan (2013), Matrix Computations, section 6.4.3.

    Examples
    --------
    >>> subspace_distance([1.0, 0.0, 0.0], [3.0, 4.0, 0.0])
    0.8
    """
    first, second = orthonormal_rows(A, "A"), orthonormal_rows(B, "B")
    if first.shape[1] != second.shape[1]:
        raise InputError(f"A and B must have the same number of columns, got {first.shape[1]} and {second.shape[1]}")
    overlap = first @ second.T
    rest_first = first - overlap @ second
    rest_second = second - overlap.T @ first
    return math.sqrt(0.5 * (float(np.sum(rest_first**2)) + float(np.sum(rest_second**2))))


def split_weights(W: Any, directions: Any) -> tuple[FloatArray, FloatArray]:
    """Return the parts W P and W (I - P) of a matrix, P the projector on the span of the directions.

    Parameters
    ----------
    W : array_like of shape (m, d)
        First-layer weights, one unit a row.
    directions : array_like of shape (k, d) or (d,)
        Linearly independent rows.

    Returns
    -------
    parallel, perpendicular : ndarray of shape (m, d)
        They add up to W.

    Raises
    ------
    InputError
        If the shapes don't fit or the directions are linearly dependent.
    InputTypeError
        If an argument isn't an array of real numbers.

    Examples
    --------
    >>> parallel, perpendicular = split_weights([[2.0, 1.0]], [1.0, 0.0])
    >>> parallel.tolist(), perpendicular.tolist()
    ([[2.0, 0.0]], [[0.0, 1.0]])
    """
    weights, basis = check_array(W, "W", ndim=2), orthonormal_rows(directions, "directions")
    if weights.shape[1] != basis.shape[1]:
        raise InputError(f"directions must have {weights.shape[1]} columns as W has, got {basis.shape[1]}")
    parallel = (weights @ basis.T) @ basis
    # A second projection removes the rounding of the first, which is of the size of the parallel part.
    perpendicular = weights - parallel
    perpendicular -= (perpendicular @ basis.T) @ basis
    return parallel, perpendicular


def energy_share(W: Any, directions: Any) -> float:
    r"""Return :math:`\|W P\|_F^2 / \|W\|_F^2`, the share of the weights' energy in the span of the directions.

    Parameters
    ----------
    W : array_like of shape (m, d)
        First-layer weights, one unit a row.
    directions : array_like of shape (k, d) or (d,)
        Linearly independent rows.

    Returns
    -------
    float
        Between 0 and 1; nan for W = 0.  The isotropic value is k/d.

    Raises
    ------
    InputError
        If the shapes don't fit or the directions are linearly dependent.
    InputTypeError
        If an argument isn't an array of real numbers.

    Examples
    --------
    >>> energy_share([[3.0, 4.0]], [1.0, 0.0])
    0.36
    """
    parallel, perpendicular = split_weights(W, directions)
    inside, outside = float(np.sum(parallel**2)), float(np.sum(perpendicular**2))
    return inside / (inside + outside) if inside + outside > 0.0 else math.nan
