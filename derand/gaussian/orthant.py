"""Orthant probabilities of centred normal vectors with up to three coordinates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_array
from derand.exceptions import InputError

__all__ = ["orthant_probability"]

_SLACK = 1e-12


def orthant_probability(correlation: Any) -> FloatArray:
    """Return P(all coordinates > 0) for centred normal vectors with the given correlation matrices.

        1/2,   1/4 + asin(r12)/(2 pi),   1/8 + (asin(r12) + asin(r13) + asin(r23))/(4 pi)

    for one, two and three coordinates.  More have no closed form.

    Parameters
    ----------
    correlation : array_like of shape (..., n, n)
        Correlation matrices, n = 1, 2 or 3, singular ones included.

    Returns
    -------
    ndarray of shape (...)
        Probabilities; absolute error about 1e-16, for n = 2 also a small relative error.

    Raises
    ------
    InputError
        If the shape doesn't fit, or a matrix isn't symmetric with unit diagonal and positive semidefinite within 1e-12.
    InputTypeError
        If the argument isn't an array of real numbers.

    Notes
    -----
    Two coordinates with biases: `bivariate_normal_cdf`.  Deterministic.

    References
    ----------
    W. F. Sheppard (1899) for n = 2; F. N. David (1953), A note on the evaluation of the multivariate normal integral,
    Biometrika 40, for n = 3.

    Examples
    --------
    >>> round(float(orthant_probability([[1.0, 0.5], [0.5, 1.0]])), 15)  # 1/4 + 1/12
    0.333333333333333
    """
    matrices = check_array(correlation, "correlation")
    if matrices.ndim < 2 or matrices.shape[-1] != matrices.shape[-2] or matrices.shape[-1] not in (1, 2, 3):
        raise InputError(f"correlation must have shape (..., n, n) with n = 1, 2 or 3, got {matrices.shape}")
    n = matrices.shape[-1]
    diagonal = np.abs(np.diagonal(matrices, axis1=-2, axis2=-1) - 1.0)
    if np.max(diagonal, initial=0.0) > _SLACK:
        raise InputError("correlation must have unit diagonals")
    if np.max(np.abs(matrices - np.swapaxes(matrices, -1, -2)), initial=0.0) > _SLACK:
        raise InputError("correlation must be symmetric")
    rows, columns = np.triu_indices(n, 1)
    entries = matrices[..., rows, columns]
    determinant = 1.0 - np.sum(entries**2, axis=-1) + (2.0 * np.prod(entries, axis=-1) if n == 3 else 0.0)
    if np.max(np.abs(entries), initial=0.0) > 1.0 + _SLACK or np.min(determinant, initial=0.0) < -_SLACK:
        raise InputError("correlation must be positive semidefinite")
    # acos(-r) is asin(r) + pi/2 without the cancellation at r = -1
    angles = np.sum(np.arccos(np.clip(-entries, -1.0, 1.0)), axis=-1)
    if n == 1:
        return np.full(matrices.shape[:-2], 0.5)
    if n == 2:
        return np.asarray(angles / (2.0 * math.pi))
    return np.asarray(np.clip((angles - math.pi) / (4.0 * math.pi), 0.0, None))
