"""Users' functions of several coordinates, called in the form they were written in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import InputError, InputTypeError

__all__ = ["of_points"]


def of_points(function: Any, dim: int, name: str) -> Callable[[FloatArray], FloatArray]:
    """Return a function of points, shape (n, dim), from one of dim arrays or of one array of points.

    Parameters
    ----------
    function : callable
        ``function(z_1, ..., z_dim)`` on arrays of shape (n,), or ``function(z)`` with z of shape (n, dim).  With one
        coordinate, z has shape (n,).
    dim : int
        Number of coordinates.
    name : str
        For error messages.

    Returns
    -------
    callable
        Values of shape (n,); a constant is spread over the points.

    Raises
    ------
    InputTypeError
        If it isn't callable.
    InputError
        If (in use) it can't be called with arrays, or returns something of another shape.

    Examples
    --------
    >>> points = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> of_points(lambda a, b: a * b, 2, "h")(points), of_points(lambda z: z[:, 0] * z[:, 1], 2, "h")(points)
    (array([ 2., 12.]), array([ 2., 12.]))
    """
    if not callable(function):
        raise InputTypeError(f"{name} must be callable, got {type(function).__name__}")
    takes_columns = dim == 1 or _n_required(function) == dim

    def call(z: FloatArray) -> FloatArray:
        """Return the values at points, shape (n, dim)."""
        try:
            with np.errstate(all="ignore"):
                values = np.asarray(function(*z.T) if takes_columns else function(z), dtype=np.float64)
        except (TypeError, ValueError) as error:
            arguments = "z" if dim == 1 else ", ".join(f"z{k}" for k in range(1, dim + 1))
            form = f"{name}({arguments}) of {'an array' if dim == 1 else f'{dim} arrays'}"
            raise InputError(f"{name} must be a function {form} of numbers (np.cos, not math.cos): {error}") from error
        if values.ndim == 0:
            return np.full(len(z), float(values))
        if values.shape != (len(z),):
            raise InputError(f"{name} must return an array of shape ({len(z)},), got {values.shape}")
        return values

    return call


def _n_required(function: Callable[..., Any]) -> int:
    """Return how many positional arguments a call needs; 1 where it can't be told."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return int(getattr(function, "nin", 1))  # NumPy's ufuncs
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty)
