"""E[Hess g] in the smoothed coordinates, the block of the biases in the objective's Hessian; its least eigenvalue."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from derand._utils.reductions import norm
from derand._utils.rng import RNGLike
from derand._utils.validation import FloatArray
from derand.exceptions import InputError
from derand.hessian import MinEigenvalue, min_eigenvalue
from derand.objectives.protocol import GaussianExpectation

__all__ = ["DEFAULT_CONFIDENCE", "BiasHessian"]

_DENSE_LIMIT = 1000
_MAX_PRODUCTS = 1000
DEFAULT_CONFIDENCE = 1.0 - 1e-6


class BiasHessian:
    """H = E[Hess g] at one point, dense for k <= 1000, known by its products beyond.

    Parameters
    ----------
    parts : GaussianExpectation
        The expectation at the point.
    k : int
        Number of smoothed coordinates.
    tol : float
        Accuracy wanted of the least eigenvalue where it comes from products.
    confidence : float
        Probability with which `lower` holds where it comes from products; a dense one is certain.
    rng : None, int or Generator
        Source of Lanczos' start vector.
    """

    def __init__(
        self,
        parts: GaussianExpectation,
        k: int,
        *,
        tol: float,
        confidence: float = DEFAULT_CONFIDENCE,
        rng: RNGLike = 0,
    ) -> None:
        self._parts = parts
        self.k = k
        self._tol = tol
        self._confidence = confidence
        self._rng = rng

    @cached_property
    def matrix(self) -> Any:
        """H as an array or, for large k, as a linear operator."""
        if self.k <= _DENSE_LIMIT:
            return self._parts.hessian(self.k)
        return LinearOperator((self.k, self.k), matvec=self._product, dtype=np.dtype(np.float64))

    def _product(self, v: FloatArray) -> FloatArray:
        """Return H v: the mean moves along v while the factor stays."""
        dim, r = self._parts.factor_gradient.shape
        direction = np.zeros(dim)
        direction[: self.k] = np.ravel(v)
        return self._parts.derivative(direction, np.zeros((dim, r)))[0][: self.k]

    def times(self, factor: FloatArray) -> FloatArray:
        """Return H times a matrix of k rows."""
        return np.asarray(self.matrix @ factor)

    @cached_property
    def _lowest(self) -> MinEigenvalue | None:
        """The least eigenvalue; None where H isn't finite."""
        if isinstance(self.matrix, np.ndarray):
            return min_eigenvalue(self.matrix) if np.isfinite(self.matrix).all() else None
        try:
            return min_eigenvalue(
                self.matrix, tol=self._tol, confidence=self._confidence, max_products=_MAX_PRODUCTS, rng=self._rng
            )
        except InputError:  # a product that isn't finite
            return None

    @property
    def lower(self) -> float:
        """A lower bound of the least eigenvalue, rounding included; -inf where H isn't finite."""
        return -math.inf if self._lowest is None else self._lowest.lower

    @cached_property
    def size(self) -> float:
        """The Frobenius norm; for large k an estimate, the length of H times a random unit vector times sqrt(k)."""
        if isinstance(self.matrix, np.ndarray):
            return norm(self.matrix)
        return math.inf if self._lowest is None else norm(self._lowest.start_product) * math.sqrt(self.k)
