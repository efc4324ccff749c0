"""Expectations as weighted sums over fixed points: Gauss-Hermite grids, Sobol points, random draws."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from derand._utils.arrays import array_namespace, as_like, to_numpy
from derand._utils.validation import FloatArray
from derand.objectives.function import check_answer
from derand.objectives.protocol import Integrand

__all__ = ["NodeExpectation", "NodeSet"]


class NodeSet:
    """Points of R^r with weights that sum to 1, standing in for the standard normal distribution.

    Parameters
    ----------
    points : array, shape (n, r)
        NumPy or, for evaluation on a GPU, torch.
    weights : array, shape (n,)
        In the library of ``points``.
    """

    def __init__(self, points: Any, weights: Any) -> None:
        self.points = points
        self.weights = weights

    @classmethod
    def equal(cls, points: FloatArray, like: Any = None) -> NodeSet:
        """Return points of equal weight, in the library and on the device of ``like``."""
        return cls.weighted(points, np.full(points.shape[0], 1.0 / points.shape[0]), like)

    @classmethod
    def weighted(cls, points: FloatArray, weights: FloatArray, like: Any = None) -> NodeSet:
        """Return weighted points, in the library and on the device of ``like``."""
        if like is None:
            return cls(points, weights)
        return cls(as_like(points, like), as_like(weights, like))

    @property
    def size(self) -> int:
        """Number of points."""
        return int(self.points.shape[0])


class NodeExpectation:
    """sum_i weights_i g(mean + factor points_i) and its derivatives; see `GaussianExpectation` for its members.

    All members are exact derivatives of this one sum, so that a certificate for the sum is a certificate; how far the
    sum is from the expectation is another question, which Stein's identity answers.
    """

    def __init__(self, integrand: Integrand, nodes: NodeSet, mean: FloatArray, factor: FloatArray) -> None:
        self._g = integrand
        self._nodes = nodes
        self._factor_t = as_like(np.ascontiguousarray(factor.T), nodes.points)
        self._z = nodes.points @ self._factor_t + as_like(mean, nodes.points)

    @cached_property
    def value(self) -> float:
        """The weighted mean of g."""
        g = check_answer(self._g, "value", self._z)
        with np.errstate(over="ignore", invalid="ignore"):
            return float(array_namespace(g).sum(g * self._nodes.weights))

    @cached_property
    def _slopes(self) -> Any:
        """The weighted gradients at the points, (n, dim)."""
        return check_answer(self._g, "gradient", self._z) * self._nodes.weights[:, None]

    @property
    def gradient(self) -> FloatArray:
        """The derivative with respect to the mean."""
        return to_numpy(array_namespace(self._slopes).sum(self._slopes, axis=0))

    @cached_property
    def factor_gradient(self) -> FloatArray:
        """The derivative with respect to the factor."""
        return to_numpy(self._slopes.T @ self._nodes.points)

    def _products(self, directions: Any) -> Any:
        """Return the weighted Hessian products at the points, (n, dim)."""
        return check_answer(self._g, "hessian_product", self._z, directions) * self._nodes.weights[:, None]

    def hessian(self, size: int) -> FloatArray:
        """Return the leading block of the weighted mean of Hess g."""
        xp = array_namespace(self._z)
        block = np.empty((size, size))
        for j in range(size):
            unit = np.zeros(self._g.dim)
            unit[j] = 1.0
            directions = xp.zeros_like(self._z) + as_like(unit, self._z)
            block[j] = to_numpy(xp.sum(self._products(directions), axis=0))[:size]
        return (block + block.T) / 2.0

    def derivative(self, dmean: FloatArray, dfactor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the directional derivatives of both gradients."""
        points = self._nodes.points
        dz = points @ as_like(np.ascontiguousarray(dfactor.T), points) + as_like(dmean, points)
        products = self._products(dz)
        return to_numpy(array_namespace(products).sum(products, axis=0)), to_numpy(products.T @ points)
