"""The one seam between derand and the array libraries (NumPy, torch, anything that follows the array API standard)."""

from __future__ import annotations

from typing import Any

import numpy as np

from derand.exceptions import MissingDependencyError


def array_namespace(*arrays: Any) -> Any:
    """Return the array API namespace of the arguments; NumPy for plain Python numbers.

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
                f"arrays of type {type(array).__name__} need the package array-api-compat: pip install 'derand[autodiff]'"
            ) from error
        return compat_namespace(array)
    return np
