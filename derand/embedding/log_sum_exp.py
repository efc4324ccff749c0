"""The smooth maximum of distortions, whose minimum over maps tends to the least maximum as beta grows."""

from __future__ import annotations

import numpy as np

from derand._utils.validation import FloatArray
from derand.embedding.unit_differences import UnitDifferences

__all__ = ["SmoothMaximum"]


class SmoothMaximum:
    r"""F(M) = (1/beta) log sum_p 2 cosh(beta (|M z_p|^2 - 1)) over unit vectors z_p.

    It lies between the largest distortion max_p | |M z_p|^2 - 1 | and that plus log(2 m)/beta.

    Parameters
    ----------
    differences : UnitDifferences
        The m unit vectors.
    beta : float
        Sharpness, > 0.
    shape : tuple (k, r)
        Shape of M.
    """

    def __init__(self, differences: UnitDifferences, beta: float, shape: tuple[int, int]) -> None:
        self.differences, self.beta, self.shape = differences, beta, shape

    def value_and_grad(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return F and its gradient at the flat map x, shape (k r,)."""
        images = self.differences.apply(x.reshape(self.shape))
        excess = np.einsum("ij,ij->i", images, images) - 1.0
        size = np.abs(excess)
        top = float(size.max())
        weights = np.exp(self.beta * (size - top))
        # 2 cosh(b s) = exp(b |s|) (1 + exp(-2 b |s|)), and its logarithmic derivative is b tanh(b s).
        small = np.exp(-2.0 * self.beta * size)
        total = float(np.sum(weights * (1.0 + small)))
        weights *= (1.0 - small) * np.sign(excess) / total
        gradient = self.differences.adjoint((2.0 * weights)[:, None] * images)
        return top + float(np.log(total)) / self.beta, gradient.ravel()
