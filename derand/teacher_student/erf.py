"""Gaussian averages of networks with the error function as activation (Saad and Solla), in closed form."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erf

from derand._utils.validation import FloatArray
from derand.teacher_student.parameters import Moments, quadratic_form

__all__ = ["Erf"]


class Erf:
    """g(z) = erf(z / sqrt(2)), g'(z) = sqrt(2/pi) exp(-z^2/2).

    A factor exp(-(z_k^2 + z_k'^2)/2) turns N(0, C) into N(0, C'), C' = C - C_S (I + C_SS)^(-1) C_S' with
    S = (k, k'), times det(I + C_SS)^(-1/2).  So all averages follow from E[g(x) g(y)] = (2/pi) asin(C_xy /
    sqrt((1 + C_xx)(1 + C_yy))) and Stein's lemma E[y g(z)] = C_yz E[g'(z)].

    References
    ----------
    D. Saad and S. A. Solla, On-line learning in soft committee machines, Phys. Rev. E 52 (1995) 4225-4243.
    """

    name = "erf"
    degrees: tuple[int, int] | None = None

    def value(self, z: FloatArray) -> FloatArray:
        """Return erf(z / sqrt(2))."""
        return np.asarray(erf(z / math.sqrt(2.0)))

    def derivative(self, z: FloatArray) -> FloatArray:
        """Return sqrt(2/pi) exp(-z^2/2)."""
        return np.asarray(math.sqrt(2.0 / math.pi) * np.exp(-0.5 * z * z))

    def squared_error(self, sigma: FloatArray, c: FloatArray) -> FloatArray:
        """Return sum_ij c_i c_j (2/pi) asin(...)."""
        return quadratic_form(_kernel(sigma), c)

    def moments(self, sigma: FloatArray, c: FloatArray, p: int) -> Moments:
        """Return the averages; O(p^2 n^2) operations for each matrix."""
        own = sigma[..., :p, :p]
        variance = np.diagonal(own, axis1=-2, axis2=-1)
        rows = sigma[..., :p, :]
        # tilted[..., k, :, :]: the covariance under the extra factor exp(-z_k^2/2)
        tilted = sigma[..., None, :, :] - (rows[..., :, None] * rows[..., None, :]) / (1.0 + variance[..., None, None])
        deviation = np.sqrt(1.0 + np.diagonal(tilted, axis1=-2, axis2=-1))
        drift = np.sum(tilted * (c[..., None, :] / deviation)[..., None, :], axis=-1) * (
            (2.0 / math.pi) / np.sqrt(1.0 + variance)[..., None]
        )
        # A second factor exp(-z_k'^2/2) on top: det(I + C_SS) = (1 + C_kk) (1 + tilted_k'k').
        second = np.swapaxes(tilted[..., :p], -1, -2)
        own_tilted = 1.0 + np.diagonal(tilted[..., :p, :p], axis1=-2, axis2=-1)
        twice = tilted[..., :, None, :, :] - (second[..., :, None] * second[..., None, :]) / own_tilted[..., None, None]
        slope = (2.0 / math.pi) / np.sqrt((1.0 + variance)[..., :, None] * own_tilted)
        noise = slope * self.squared_error(twice, c[..., None, None, :])
        kernel = _kernel(sigma)
        readout = (kernel[..., :p, :] @ c[..., None])[..., 0]
        return Moments(quadratic_form(kernel, c), drift, noise, slope, readout)

    def slope_products(self, Q: FloatArray) -> FloatArray:
        """Return (2/pi)^2 det(I + C)^(-1/2) with the covariances C of all four fields."""
        index = np.stack(np.meshgrid(*(np.arange(Q.shape[0]),) * 4, indexing="ij"), axis=-1)
        fields = Q[index[..., :, None], index[..., None, :]]
        return np.asarray((2.0 / math.pi) ** 2 / np.sqrt(np.linalg.det(np.eye(4) + fields)))


def _kernel(sigma: FloatArray) -> FloatArray:
    """Return E[g(z_i) g(z_j)] for all pairs of fields."""
    root = np.sqrt(1.0 + np.diagonal(sigma, axis1=-2, axis2=-1))
    cosine = sigma / (root[..., :, None] * root[..., None, :])
    return np.asarray((2.0 / math.pi) * np.arcsin(np.clip(cosine, -1.0, 1.0)))
