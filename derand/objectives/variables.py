"""The flat vector (W, b, theta) and its parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_array
from derand.exceptions import InputError

__all__ = ["Variables"]


class Variables:
    """Packing of W (k, n_columns), b (k,) and theta (n_parameters,) into one vector.

    Parameters
    ----------
    k : int
        Rows of W.
    d : int
        Columns of W in the user's problem.
    n_columns : int
        Columns of the W in the vector: d, or min(k, d) after the reduction.
    n_parameters : int
        Length of theta.
    """

    def __init__(self, k: int, d: int, n_columns: int, n_parameters: int) -> None:
        self.k = k
        self.d = d
        self.n_columns = n_columns
        self.n_parameters = n_parameters
        self.size = k * n_columns + k + n_parameters

    def factor(self, W: Any) -> FloatArray:
        """Return W, or the L of W = L Q where W has d columns and the vector holds fewer.

        Parameters
        ----------
        W : array, shape (k, d) or (k, n_columns)
            Weights.

        Returns
        -------
        ndarray, shape (k, n_columns)
            The factor.

        Raises
        ------
        InputError
            If W has another shape or holds a number that isn't finite.
        """
        array = check_array(W, "W", ndim=2)
        if array.shape == (self.k, self.n_columns):
            return array
        if array.shape != (self.k, self.d):
            wanted = f"({self.k}, {self.d})" + (f" or ({self.k}, {self.n_columns})" if self.n_columns != self.d else "")
            raise InputError(f"W must have shape {wanted}, got {array.shape}")
        return np.ascontiguousarray(np.linalg.qr(array.T)[1].T)

    def point(self, b: Any, theta: Any) -> FloatArray:
        """Return (b, theta).

        Parameters
        ----------
        b : array, shape (k,)
            Biases.
        theta : array, shape (n_parameters,), or None
            Parameters.

        Returns
        -------
        ndarray, shape (k + n_parameters,)
            Both, one after the other.

        Raises
        ------
        InputError
            If a shape is wrong, a number isn't finite, or ``theta`` is missing.
        """
        bias = check_array(b, "b", shape=(self.k,))
        if theta is None:
            if self.n_parameters:
                raise InputError(f"theta must have shape ({self.n_parameters},), got None")
            return bias
        return np.concatenate([bias, check_array(theta, "theta", shape=(self.n_parameters,))])

    def pack(self, W: Any, b: Any, theta: Any) -> FloatArray:
        """Return the flat vector."""
        return np.concatenate([self.factor(W).ravel(), self.point(b, theta)])

    def split(self, x: Any, name: str = "x") -> tuple[FloatArray, FloatArray]:
        """Return W (k, n_columns) and (b, theta).

        Parameters
        ----------
        x : array, shape (size,)
            The flat vector.
        name : str, default "x"
            What to call it in an error.

        Returns
        -------
        tuple of ndarray
            The two parts.

        Raises
        ------
        InputError
            If ``x`` has another length or holds a number that isn't finite.
        """
        flat = check_array(x, name, ndim=1)
        if flat.size != self.size:
            raise InputError(
                f"{name} must have shape ({self.size},) for W {(self.k, self.n_columns)}, b, theta, got {flat.shape}"
            )
        cut = self.k * self.n_columns
        return flat[:cut].reshape(self.k, self.n_columns), flat[cut:]

    def pad(self, factor: FloatArray) -> FloatArray:
        """Return the factor with a zero row for each parameter: parameters have no variance."""
        return np.vstack([factor, np.zeros((self.n_parameters, factor.shape[1]))]) if self.n_parameters else factor

    def expand(self, W: FloatArray) -> FloatArray:
        """Return W with d columns, the missing ones zero."""
        return np.hstack([W, np.zeros((self.k, self.d - W.shape[1]))])
