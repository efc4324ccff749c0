"""Conversion and exact summation of edge weights: whole numbers of any size stay whole numbers."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derand.exceptions import InputError, InputTypeError


def convert_weights(weights: Any, heads: NDArray[np.int64], tails: NDArray[np.int64]) -> NDArray[Any]:
    """Return weights as int64, Python ints (object) or finite float64, shape (m,); errors name the edge."""
    if weights is None:
        return np.ones(heads.size, dtype=np.int64)
    array = weights if isinstance(weights, np.ndarray) else _to_array(weights)
    if array.shape != heads.shape:
        raise InputError(f"weights must have shape {heads.shape}, got {array.shape}")
    if array.dtype == bool or (np.issubdtype(array.dtype, np.signedinteger)):
        return array.astype(np.int64)
    if np.issubdtype(array.dtype, np.unsignedinteger):
        return array.astype(object) if array.size and int(array.max()) >= 2**63 else array.astype(np.int64)
    if array.dtype == object:
        return _convert_objects(array, heads, tails)
    if not np.issubdtype(array.dtype, np.floating):
        raise InputTypeError(f"weights must be real numbers, got {array.dtype}")
    floats = array.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(floats))
    if bad.size:
        raise InputError(f"weight of edge ({heads[bad[0]]}, {tails[bad[0]]}) must be finite, got {array[bad[0]]}")
    return floats


def _to_array(weights: Any) -> NDArray[Any]:
    """Return a sequence as an array; numpy would round ints beyond 2^63 beside floats, so those stay objects."""
    listed = list(weights)
    if all(type(w) is float for w in listed):
        return np.array(listed, dtype=np.float64)
    if all(type(w) is int and -(2**63) <= w < 2**63 for w in listed):
        return np.array(listed, dtype=np.int64)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def _convert_objects(array: NDArray[Any], heads: NDArray[np.int64], tails: NDArray[np.int64]) -> NDArray[Any]:
    """Return Python ints where all entries are integers, else float64."""
    values: list[Any] = []
    for k, weight in enumerate(array.tolist()):
        if isinstance(weight, (Integral, np.bool_)):
            values.append(int(weight))
            continue
        if not isinstance(weight, Real):
            raise InputTypeError(f"weight of edge ({heads[k]}, {tails[k]}) must be a real number, got {weight!r}")
        number = float(weight)
        if not math.isfinite(number):
            raise InputError(f"weight of edge ({heads[k]}, {tails[k]}) must be finite, got {weight!r}")
        values.append(int(number) if number.is_integer() else number)
    result = np.empty(len(values), dtype=object)
    result[:] = values
    try:
        floats = result.astype(np.float64)
    except OverflowError as error:
        raise InputError("weights are too large: they must be below 1.7e308") from error
    return floats if any(type(w) is float for w in values) else result


def absolute_sum(values: NDArray[np.float64]) -> float:
    """Return the sum of absolute values; inf where it overflows."""
    with np.errstate(over="ignore"):
        return float(np.abs(values).sum())


def sum_parallel(
    keys: NDArray[np.int64], values: NDArray[Any], *, keep: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the sorted distinct keys where ``keep`` holds and the exact (or once rounded) sum of values per key."""
    if not keep.all():
        keys, values = keys[keep], values[keep]
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = (
        np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if keys.size else np.zeros(0, dtype=np.int64)
    )
    if first.size == keys.size:
        return keys, values
    if values.dtype == np.int64 and absolute_sum(values.astype(np.float64)) < 2**62:
        return keys[first], np.add.reduceat(values, first)
    ends = np.append(first[1:], keys.size)
    summed = values[first]
    if summed.dtype != np.float64:
        summed = summed.astype(object)
    for k in np.flatnonzero(ends - first > 1).tolist():
        group = values[first[k] : ends[k]].tolist()
        # fsum rounds once, so the result doesn't depend on the order of the parallel edges.
        summed[k] = math.fsum(group) if summed.dtype == np.float64 else sum(group)
    return keys[first], summed


def exact_integers(values: NDArray[Any], floats: NDArray[np.float64]) -> NDArray[Any] | None:
    """Return exact whole numbers: int64 while sums of absolute values can't wrap, Python ints above, else None."""
    if values.dtype == np.float64 and not bool(np.all(np.floor(floats) == floats)):
        return None
    if absolute_sum(floats) < 2**62:
        return values.astype(np.int64)
    if values.dtype == np.float64:
        return np.array([int(w) for w in floats.tolist()], dtype=object)
    return values.astype(object)
