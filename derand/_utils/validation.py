"""Checks of user input that name the offending argument."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derand._utils.words import counted
from derand.exceptions import InputError, InputTypeError

FloatArray = NDArray[np.float64]


def check_array(
    value: Any, name: str, *, ndim: int | None = None, shape: tuple[int | None, ...] | None = None
) -> FloatArray:
    """Return ``value`` as a finite float64 array; ``shape`` holds None where any length will do."""
    try:
        is_complex = np.iscomplexobj(value)
        array = np.asarray(np.real(value) if is_complex else value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"{name} must be an array of real numbers: {error}") from error
    except OverflowError as error:
        raise InputError(f"{name} must not exceed the largest float, {np.finfo(np.float64).max:.3g}") from error
    if is_complex:
        raise InputTypeError(f"{name} must be real, got complex numbers")
    if ndim is not None and array.ndim != ndim:
        raise InputError(f"{name} must be an array with {counted(ndim, 'dimension')}, got shape {array.shape}")
    if shape is not None and (
        array.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, array.shape, strict=True))
    ):
        raise InputError(f"{name} must have shape {shape}, got {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        where = tuple(int(i) for i in np.unravel_index(int(bad[0]), array.shape))
        raise InputError(f"{name} must be finite, got {array[where]} at index {where}")
    return array


def check_scalar(
    value: Any,
    name: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
) -> float:
    """Return ``value`` as a float inside the given interval."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise InputTypeError(f"{name} must be a real number, got {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:  # an integer or a fraction beyond the largest float
        number = -math.inf if value < 0 else math.inf
    too_low = number <= low if low_open else number < low
    too_high = number >= high if high_open else number > high
    if math.isnan(number) or too_low or too_high:
        left, right = "(" if low_open else "[", ")" if high_open else "]"
        raise InputError(f"{name} must lie in {left}{low:g}, {high:g}{right}, got {number!r}")
    return number


def check_int(value: Any, name: str, *, low: int | None = None, high: int | None = None) -> int:
    """Return ``value`` as an int inside the given interval."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        raise InputTypeError(f"{name} must be an integer, got {type(value).__name__}")
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        limits = f"at least {low}" if high is None else f"between {low} and {high}"
        raise InputError(f"{name} must be {limits}, got {number}")
    return number


def check_option(value: Any, name: str, options: tuple[str, ...]) -> str:
    """Return ``value`` when it is one of ``options``."""
    if value not in options:
        choice = f"one of {', '.join(map(repr, options))}" if len(options) > 1 else repr(options[0])
        number = " or a number" if len(options) == 1 else ""
        raise InputError(f"{name} must be {choice}{number}, got {value!r}")
    return str(value)
