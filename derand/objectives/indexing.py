"""Checks of index arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from derand._utils.arrays import IntArray
from derand.exceptions import InputError, InputTypeError

__all__ = ["check_indices"]


def check_indices(value: Any, name: str, *, width: int, limit: int) -> IntArray:
    """Return an array of indices in [0, limit), shape (n, width) with n >= 1.

    Parameters
    ----------
    value : array of int
        What the user gave.
    name : str
        Its name in an error.
    width : int
        Number of columns.
    limit : int
        One more than the largest index allowed.

    Returns
    -------
    ndarray of int64
        The indices.

    Raises
    ------
    InputError
        If the shape is wrong or an index out of range.
    InputTypeError
        If the numbers aren't integers.
    """
    index = np.asarray(value)
    if index.dtype.kind not in "iu":
        raise InputTypeError(f"{name} must hold integers, got {index.dtype}")
    if index.ndim != 2 or index.shape[0] == 0 or index.shape[1] != width:
        raise InputError(f"{name} must have shape (n, {width}) with n >= 1, got {index.shape}")
    if index.min() < 0 or index.max() >= limit:
        raise InputError(f"{name} must hold indices in [0, {limit - 1}], got {index.min()}..{index.max()}")
    return index.astype(np.int64)
