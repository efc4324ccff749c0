"""The one seam between derand and the array libraries (NumPy, torch, anything that follows the array API standard)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from derand._utils.validation import FloatArray
from derand.exceptions import MissingDependencyError

IntArray = NDArray[np.int64]


def array_namespace(*arrays: Any) -> Any:
    """Return the array API namespace of the arguments; NumPy for plain Python numbers.

    Parameters
    ----------
    *arrays : array
        Arrays of one library, or numbers.

    Returns
    -------
    module
        The namespace.

    Raises
    ------
    MissingDependencyError
        If an array comes from a library without ``__array_namespace__`` and array-api-compat isn't installed.
    """
    for array in arrays:
        if isinstance(array, (int, float, np.ndarray, np.generic, list, tuple)):
            continue
        if hasattr(array, "__array_namespace__"):
            return array.__array_namespace__()
        try:
            from array_api_compat import array_namespace as compat_namespace
        except ImportError as error:
            raise MissingDependencyError(
                f"arrays of type {type(array).__name__} need array-api-compat: pip install 'derand[autodiff]'"
            ) from error
        return compat_namespace(array)
    return np


def to_numpy(array: Any) -> FloatArray:
    """Return the numbers of an array of any library, on any device, as a float64 NumPy array."""
    if isinstance(array, np.ndarray):
        return array.astype(np.float64, copy=False)
    if hasattr(array, "detach"):  # torch refuses to convert tensors that live on a GPU or take part in its tape
        array = array.detach().cpu()
    return np.asarray(array, dtype=np.float64)


def as_like(array: FloatArray, reference: Any) -> Any:
    """Return a NumPy array's numbers in the library, data type and device of ``reference``."""
    if isinstance(reference, np.ndarray):
        return array.astype(reference.dtype, copy=False)
    xp = array_namespace(reference)
    # torch takes neither read-only arrays nor negative strides.
    return xp.asarray(np.require(array, requirements=["C", "W"]), dtype=reference.dtype, device=reference.device)


def index_like(indices: IntArray, reference: Any) -> Any:
    """Return NumPy indices in the library and on the device of ``reference``."""
    if isinstance(reference, np.ndarray):
        return indices
    return array_namespace(reference).asarray(indices, device=reference.device)
