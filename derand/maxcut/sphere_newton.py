"""Truncated Newton method on a product of spheres for f(V) = sum_ij a_ij v_i.v_j / 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from derand._utils.reductions import dot
from derand._utils.validation import FloatArray
from derand.maxcut.mixing import row_dots

__all__ = ["SpherePoint", "newton_step"]

# Relative size of the rounding in f: an Armijo test can't see less.
_ROUNDING = 1e-14
# Relative residual of the inner iteration; superlinear rules that ask for more doubled the work on random graphs.
_FORCING = 0.2


@dataclass(frozen=True, eq=False)
class SpherePoint:
    """A factor with everything that one product with it gives.

    Attributes
    ----------
    vectors : ndarray, shape (n, k)
        Unit rows.
    product : ndarray, shape (n, k)
        A V.
    pull : ndarray, shape (n,)
        y_i = -v_i.(A V)_i, the multipliers of |v_i| = 1.
    """

    vectors: FloatArray
    product: FloatArray
    pull: FloatArray

    @classmethod
    def at(cls, matrix: sp.csr_array, vectors: FloatArray) -> SpherePoint:
        """Return the point of unit rows ``vectors`` (n, k); one product."""
        product = matrix @ vectors
        return cls(vectors, product, -row_dots(vectors, product))

    @property
    def value(self) -> float:
        """f(V)."""
        return -0.5 * float(self.pull.sum())

    def gradient(self) -> FloatArray:
        """Riemannian gradient, shape (n, k)."""
        gradient: FloatArray = self.product + self.pull[:, None] * self.vectors
        return gradient

    def scale(self) -> FloatArray:
        """Positive diagonal preconditioner, shape (n, 1): y_i, kept away from zero."""
        floor = 1e-6 * float(np.abs(self.pull).mean())
        return np.maximum(np.abs(self.pull), floor if floor > 0.0 else 1.0)[:, None]

    def residual(self) -> float:
        """sqrt(sum |g_i|^2/y_i / sum y_i): free of units and of the scale of single vertices."""
        gradient = self.gradient()
        total = float(np.abs(self.pull).sum())
        return float(np.sqrt((row_dots(gradient, gradient)[:, None] / self.scale()).sum() / total)) if total else 0.0


def newton_step(matrix: sp.csr_array, point: SpherePoint, max_products: int) -> tuple[SpherePoint, int]:
    """Return the point after one truncated Newton step, and the number of products used.

    The step solves Hess f [U] = -grad f by conjugate gradients with the diagonal preconditioner y, stopped at negative
    curvature, then searches along the retraction normalise(V + t U).  The same object comes back when rounding stops
    all progress.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, shape (n, n)
        Symmetric, zero diagonal.
    point : SpherePoint
        Where to start.
    max_products : int
        Limit for the conjugate gradients.

    Returns
    -------
    point : SpherePoint
        No higher in f than before, up to rounding.
    n_products : int
        Products matrix @ (n, k) used.
    """
    gradient = point.gradient()
    direction, used = _conjugate_gradients(matrix, point, gradient, max_products)
    slope = dot(gradient, direction)
    noise = _ROUNDING * float(np.abs(point.pull).sum())
    step = 1.0
    while step > 1e-6:
        moved = point.vectors + step * direction
        moved /= np.sqrt(row_dots(moved, moved))[:, None]
        trial = SpherePoint.at(matrix, moved)
        used += 1
        if trial.value <= point.value + 1e-4 * step * slope + noise:
            return trial, used
        step *= 0.5
    return point, used


def _conjugate_gradients(
    matrix: sp.csr_array, point: SpherePoint, gradient: FloatArray, max_products: int
) -> tuple[FloatArray, int]:
    """Return an approximate Newton direction (n, k) and the number of products."""
    vectors, pull, scale = point.vectors, point.pull[:, None], point.scale()
    solution, residual = np.zeros_like(vectors), -gradient
    search = residual / scale
    rho = first = dot(residual, search)
    target = _FORCING**2 * first
    for count in range(1, max_products + 1):
        image = matrix @ search + pull * search
        image -= row_dots(image, vectors)[:, None] * vectors
        curvature = dot(search, image)
        if curvature <= 1e-14 * dot(search, scale * search):
            return (search if count == 1 else solution), count
        alpha = rho / curvature
        solution += alpha * search
        residual -= alpha * image
        scaled = residual / scale
        scaled -= row_dots(scaled, vectors)[:, None] * vectors
        rho, previous = dot(residual, scaled), rho
        if rho <= target:
            return solution, count
        search = scaled + (rho / previous) * search
    return solution, max_products
