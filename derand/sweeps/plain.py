"""Results as JSON and back, to the last bit; no pickle."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from derand.exceptions import InputTypeError

__all__ = ["decode", "encode"]

_ARRAY, _FLOAT = "__ndarray__", "__float__"


def encode(value: Any) -> Any:
    """Return a result in types that JSON knows, with every bit kept.

    Parameters
    ----------
    value : object
        Numbers, strings, None, numeric arrays, sequences, mappings with string keys and named tuples, nested.

    Returns
    -------
    object
        Named tuples become dictionaries, tuples lists, members of enumerations their names.

    Raises
    ------
    InputTypeError
        If a part of the value is of another type.

    Examples
    --------
    >>> encode({"rate": float("inf"), "p": (2, 4)})
    {'rate': {'__float__': 'inf'}, 'p': [2, 4]}
    """
    if value is None or (isinstance(value, (bool, int, str)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else {_FLOAT: repr(value)}
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if hasattr(value, "_asdict"):
        return encode(value._asdict())
    if isinstance(value, Mapping):
        return {_key(key): encode(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(entry) for entry in value]
    raise InputTypeError(
        f"a sweep's settings and results must be made of numbers, strings, arrays, lists and dictionaries; "
        f"got {type(value).__name__}: return the attributes that you need"
    )


def _key(key: Any) -> str:
    """Return a key of a mapping, which must be a string."""
    if not isinstance(key, str):
        raise InputTypeError(f"keys of settings and results must be strings, got {type(key).__name__}")
    return key


def _encode_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return type, shape and bytes of a numeric array."""
    if array.dtype.kind not in "biufc":
        raise InputTypeError(f"arrays in a sweep must be numeric, got dtype {array.dtype}")
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    data = base64.b64encode(little.tobytes()).decode("ascii")
    return {_ARRAY: little.dtype.str, "shape": list(array.shape), "data": data}


def decode(value: Any) -> Any:
    """Return what `encode` was given, with lists for tuples and dictionaries for named tuples.

    Parameters
    ----------
    value : object
        As read from JSON.

    Returns
    -------
    object
        The result.

    Examples
    --------
    >>> decode(encode({"x": np.arange(3.0)}))
    {'x': array([0., 1., 2.])}
    """
    if isinstance(value, list):
        return [decode(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if _FLOAT in value:
        return float(value[_FLOAT])
    if _ARRAY in value:
        flat = np.frombuffer(base64.b64decode(value["data"]), dtype=np.dtype(value[_ARRAY]))
        native = flat.astype(flat.dtype.newbyteorder("="))
        return native.reshape(value["shape"])
    return {key: decode(entry) for key, entry in value.items()}
