"""Calls in other processes that see the arrays as the caller would: on addresses that are multiples of eight.

Some back ends (dask's among them) leave an array that they have received where it lies in the message, at any address.
NumPy copies such an array before a product, a transposed one in another order than it has, and the last bit of the
product may then differ from the one in the process that sent it.
"""

from __future__ import annotations

import io
import os
import pickle
import platform
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["Shipped", "aligned"]

_ALIGNMENT = 16


class Shipped:
    """A function that aligns its arguments first, unless it runs in the process where it was made.

    Parameters
    ----------
    function : callable
        Called with positional arguments; of a module, for it travels by pickle.

    Examples
    --------
    >>> Shipped(max)(3, 5)
    5
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.home = function, _process()

    def __call__(self, *arguments: Any) -> Any:
        """Return what the function returns."""
        return self.function(*(arguments if _process() == self.home else aligned(arguments)))


def aligned(value: Any) -> Any:
    """Return an object all of whose arrays have addresses that are multiples of 16.

    Parameters
    ----------
    value : object
        Whatever pickle takes, nested at will, and functions that it doesn't take.

    Returns
    -------
    object
        The object itself, or where one of its arrays isn't aligned a copy with a copy of that array; the others aren't
        copied.  What can't be pickled comes back as it is.

    Examples
    --------
    >>> odd = np.zeros(17, dtype=np.uint8)[1:].view(np.float64)
    >>> odd.flags.aligned, aligned({"x": [odd]})["x"][0].flags.aligned
    (False, True)
    """
    buffers: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    pickler = _Pickler(stream, protocol=5, buffer_callback=buffers.append)
    try:
        pickler.dump(value)
    except (pickle.PicklingError, TypeError, AttributeError):
        return value  # something else than pickle has brought it here
    views = [np.frombuffer(buffer.raw(), dtype=np.uint8) for buffer in buffers]
    if all(view.ctypes.data % _ALIGNMENT == 0 for view in views):
        return value
    stream.seek(0)
    return _Unpickler(stream, [_copy(view) for view in views], pickler.kept).load()


class _Pickler(pickle.Pickler):
    """A pickler that leaves functions as they are: pickle refuses a lambda."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.kept: list[Any] = []

    def persistent_id(self, value: Any) -> int | None:
        """Return a number for what is kept as it is, None for all else."""
        if not isinstance(value, (type, FunctionType, BuiltinFunctionType, ModuleType, np.ufunc)):
            return None
        self.kept.append(value)
        return len(self.kept) - 1


class _Unpickler(pickle.Unpickler):
    """The counterpart of `_Pickler`."""

    def __init__(self, stream: io.BytesIO, buffers: list[Any], kept: list[Any]) -> None:
        super().__init__(stream, buffers=buffers)
        self.kept = kept

    def persistent_load(self, number: int) -> Any:
        """Return what was kept."""
        return self.kept[number]


def _copy(view: np.ndarray[Any, np.dtype[np.uint8]]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return bytes at an aligned address: themselves, or a copy."""
    if view.ctypes.data % _ALIGNMENT == 0:
        return view
    room = np.empty(view.size + _ALIGNMENT, dtype=np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    copy = room[start : start + view.size]
    copy[:] = view
    copy.flags.writeable = view.flags.writeable
    return copy


def _process() -> tuple[str, int]:
    """Return what tells this process from others, on other machines as well."""
    return platform.node(), os.getpid()
