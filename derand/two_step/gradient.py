"""The gradient of the correlation loss, in blocks of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import InputError
from derand.two_step.activations import TwoStepActivation, as_activation

__all__ = [
    "blocked_gradient",
    "check_precision",
    "check_problem",
    "check_samples",
    "correlation_gradient",
    "correlation_loss",
]

_BLOCK_BYTES = 64e6


def correlation_loss(X: Any, y: Any, W: Any, a: Any, activation: Any) -> float:
    """Return -(1/n) sum_j y_j a . sigma(W x_j).

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.
    y : array_like of shape (n,)
        Labels.
    W : array_like of shape (N, d)
        First layer.
    a : array_like of shape (N,)
        Second layer.
    activation : activation
        See `as_activation`.

    Returns
    -------
    float
        The loss.

    Raises
    ------
    InputError
        If shapes don't fit together.

    Examples
    --------
    >>> correlation_loss([[2.0]], [3.0], [[1.0]], [0.5], [0.0, 1.0])
    -3.0
    """
    X, y, W, a = check_problem(X, y, W, a)
    return -float(np.mean(y * (as_activation(activation)(X @ W.T) @ a)))


def correlation_gradient(
    X: Any, y: Any, W: Any, a: Any, activation: Any, *, block: int | None = None, dtype: Any = None
) -> FloatArray:
    """Return G(W) = (1/n) [(a y^T) o sigma'(W X^T)] X, minus the gradient of the correlation loss.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.
    y : array_like of shape (n,)
        Labels.
    W : array_like of shape (N, d)
        First layer.
    a : array_like of shape (N,)
        Second layer.
    activation : activation
        See `as_activation`.
    block : int, optional
        Samples at a time; by default as many as keep the activations below 64 MB.  The result is the same to rounding.
    dtype : data-type, optional
        float32 for single precision in the matrix products, half the time; float64 by default.

    Returns
    -------
    ndarray of shape (N, d)
        The direction of the step.

    Raises
    ------
    InputError
        If shapes don't fit together or an argument is out of range.

    Notes
    -----
    4 n N d operations; memory for ``block`` times N activations besides arguments and result.  Deterministic.

    Examples
    --------
    >>> correlation_gradient([[2.0]], [3.0], [[1.0]], [0.5], [0.0, 1.0]).tolist()  # sigma(z) = z: a y x
    [[3.0]]
    """
    X, y, W, a = check_problem(X, y, W, a)
    precision = check_precision(dtype)
    return blocked_gradient(X.astype(precision, copy=False), y, W, a, as_activation(activation), block)


def blocked_gradient(
    X: FloatArray, y: FloatArray, W: FloatArray, a: FloatArray, activation: TwoStepActivation, block: int | None
) -> FloatArray:
    """Return G(W) of arrays that have been checked.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Inputs, in the precision wanted for the products; the sum over blocks is in double precision.
    y : ndarray of shape (n,)
        Labels.
    W : ndarray of shape (N, d)
        First layer.
    a : ndarray of shape (N,)
        Second layer.
    activation : TwoStepActivation
        The activation.
    block : int or None
        Samples at a time.

    Returns
    -------
    ndarray of shape (N, d)
        The direction of the step.
    """
    n, size = X.shape[0], _block_size(block, W.shape[0], X.itemsize)
    columns, labels = W.T.astype(X.dtype, copy=False), y.astype(X.dtype, copy=False)
    total = np.zeros(W.shape)
    for start in range(0, n, size):
        rows = slice(start, start + size)
        slopes = activation.derivative(X[rows] @ columns)
        slopes *= labels[rows, None]
        total += slopes.T @ X[rows]
    total *= a[:, None] / n
    return total


def check_precision(dtype: Any) -> Any:
    """Return float32 or float64.

    Parameters
    ----------
    dtype : data-type or None
        What was asked for; None means float64.

    Returns
    -------
    dtype
        One of the two.

    Raises
    ------
    InputError
        If it is another one.
    """
    precision = np.dtype(np.float64 if dtype is None else dtype)
    if precision not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise InputError(f"dtype must be float32 or float64, got {precision}")
    return precision


def _block_size(block: int | None, n_neurons: int, itemsize: int) -> int:
    """Return the number of samples at a time."""
    if block is not None:
        return check_int(block, "block", low=1)
    return max(1, int(_BLOCK_BYTES / (itemsize * n_neurons)))


def check_samples(X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
    """Return inputs and labels as arrays that fit together.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.
    y : array_like of shape (n,)
        Labels.

    Returns
    -------
    tuple of ndarray
        Both.

    Raises
    ------
    InputError
        If they don't.
    """
    X = check_array(X, "X", ndim=2)
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise InputError(f"X must have at least one sample and one column, got shape {X.shape}")
    return X, check_array(y, "y", shape=(X.shape[0],))


def check_problem(X: Any, y: Any, W: Any, a: Any) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return samples and weights as arrays that fit together.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.
    y : array_like of shape (n,)
        Labels.
    W : array_like of shape (N, d)
        First layer.
    a : array_like of shape (N,)
        Second layer.

    Returns
    -------
    tuple of ndarray
        All four.

    Raises
    ------
    InputError
        If they don't.
    """
    X, y = check_samples(X, y)
    W = check_array(W, "W0", shape=(None, X.shape[1]))
    if W.shape[0] == 0:
        raise InputError("W0 must have at least one row")
    return X, y, W, check_array(a, "a0", shape=(W.shape[0],))
