"""Gaussian averages of networks with the square as activation, in closed form."""

from __future__ import annotations

import numpy as np

from derand._utils.validation import FloatArray
from derand.teacher_student.parameters import Moments

__all__ = ["Square"]


class Square:
    """g(z) = z^2.

    With u = z'Bz, B = diag(c), z ~ N(0, Sigma), Isserlis' theorem gives

        m = E[u] = tr(B Sigma),   E[u^2] = m^2 + 2 tr (B Sigma)^2,   E[u z z'] = m Sigma + 2 Sigma B Sigma,
        E[u^2 z z'] = E[u^2] Sigma + 4 m Sigma B Sigma + 8 Sigma B Sigma B Sigma.
    """

    name = "square"
    #: u^2 g'g' has degree 6 and g'g' degree 2 in the fields
    degrees: tuple[int, int] | None = (6, 2)

    def value(self, z: FloatArray) -> FloatArray:
        """Return z^2."""
        return z * z

    def derivative(self, z: FloatArray) -> FloatArray:
        """Return 2 z."""
        return 2.0 * z

    def squared_error(self, sigma: FloatArray, c: FloatArray) -> FloatArray:
        """Return m^2 + 2 tr (B Sigma)^2."""
        scaled = sigma * c[..., None, :]
        mean = np.trace(scaled, axis1=-2, axis2=-1)
        return np.asarray(mean**2 + 2.0 * np.sum(scaled * np.swapaxes(scaled, -1, -2), axis=(-2, -1)))

    def moments(self, sigma: FloatArray, c: FloatArray, p: int) -> Moments:
        """Return the averages of the class's docstring; O(n^2 p) operations for each matrix."""
        scaled = sigma * c[..., None, :]
        mean = np.trace(scaled, axis1=-2, axis2=-1)
        squared = mean**2 + 2.0 * np.sum(scaled * np.swapaxes(scaled, -1, -2), axis=(-2, -1))
        students = scaled[..., :p, :]
        once = students @ sigma
        twice = students @ np.swapaxes(once, -1, -2)
        mean, squared = mean[..., None, None], squared[..., None, None]
        own = sigma[..., :p, :p]
        return Moments(
            squared[..., 0, 0],
            2.0 * (mean * sigma[..., :p, :] + 2.0 * once),
            4.0 * (squared * own + 4.0 * mean * once[..., :p] + 8.0 * twice),
            4.0 * own,
            mean[..., 0] * np.diagonal(own, axis1=-2, axis2=-1) + 2.0 * np.diagonal(once, axis1=-2, axis2=-1),
        )

    def slope_products(self, Q: FloatArray) -> FloatArray:
        """Return 16 times the three pairings."""
        pairs = Q[:, :, None, None] * Q
        return np.asarray(16.0 * (pairs + pairs.transpose(0, 2, 1, 3) + pairs.transpose(0, 2, 3, 1)))
