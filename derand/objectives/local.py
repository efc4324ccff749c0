"""Sums of terms that each touch few coordinates: many small Gaussian integrals instead of one large one."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from derand._utils.arrays import array_namespace, as_like, index_like
from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import InputError
from derand.gaussian.quadrature import tensor_gauss_hermite
from derand.objectives.function import check_answer
from derand.objectives.indexing import check_indices
from derand.objectives.protocol import Integrand

__all__ = ["LocalExpectation", "LocalSum"]

_MAX_LOCAL = 3
_DEFAULT_NODES = {1: 96, 2: 40, 3: 24}


class LocalSum:
    """g(z) = sum_t weights[t] inner(z[indices[t]]), each term a function of one, two or three coordinates.

    The expectation is a sum of one- to three-dimensional Gauss-Hermite rules, whatever the number of coordinates.

    Parameters
    ----------
    inner : Integrand
        A smooth function of dimension 1, 2 or 3.
    dim : int
        Number of coordinates of z, >= 1.
    indices : array of int, shape (n_terms, inner.dim)
        The coordinates that each term touches.
    weights : array, shape (n_terms,), optional
        One when left out.
    n_nodes : int, optional
        Nodes for each dimension; 96, 40 or 24 by default for one, two or three dimensions.

    Raises
    ------
    InputError
        If ``inner`` has more than three dimensions, an index is out of range or a shape doesn't fit.
    InputTypeError
        If ``indices`` doesn't hold integers.

    Notes
    -----
    The rule is accurate to rounding for functions that are smooth on the scale of the standard deviations of z, and not
    for kinks or steep steps; ``stein_residual`` of the objective shows which.  The Hessian products are those of the
    expectation, not of the rule, and agree with it as far as the rule has converged.  Deterministic.

    Examples
    --------
    E[(z_0 z_1)^2] = 1 for independent standard normals:

    >>> import numpy as np
    >>> from derand.objectives import LocalSum, Polynomial
    >>> term = LocalSum(Polynomial(2, {(0, 0, 1, 1): 1.0}), 2, [[0, 1]])
    >>> round(term.expectation(np.zeros(2), np.eye(2)).value, 12)
    1.0
    """

    def __init__(
        self, inner: Integrand, dim: int, indices: Any, *, weights: Any = None, n_nodes: int | None = None
    ) -> None:
        self.inner = inner
        self._dim = check_int(dim, "dim", low=1)
        if not 1 <= inner.dim <= _MAX_LOCAL:
            raise InputError(f"inner must have 1 to {_MAX_LOCAL} dimensions, got {inner.dim}")
        self.indices = check_indices(indices, "indices", width=inner.dim, limit=self._dim)
        shape = (self.indices.shape[0],)
        self.weights = np.ones(shape) if weights is None else check_array(weights, "weights", shape=shape)
        self.n_nodes = _DEFAULT_NODES[inner.dim] if n_nodes is None else check_int(n_nodes, "n_nodes", low=2, high=400)

    @property
    def dim(self) -> int:
        """Number of coordinates of z."""
        return self._dim

    def _terms(self, z: Any) -> Any:
        """Return the coordinates of all terms at all points, (n * n_terms, inner.dim)."""
        xp = array_namespace(z)
        picked = xp.take(z, index_like(self.indices.ravel(), z), axis=1)
        return xp.reshape(picked, (-1, self.inner.dim))

    def _gather(self, local: Any, n: int) -> Any:
        """Add weighted local vectors (n * n_terms, inner.dim) to the coordinates they belong to."""
        xp = array_namespace(local)
        scatter = np.zeros((self.indices.size, self._dim))
        scatter[np.arange(self.indices.size), self.indices.ravel()] = np.repeat(self.weights, self.inner.dim)
        return xp.reshape(local, (n, self.indices.size)) @ as_like(scatter, local)

    def value(self, z: Any) -> Any:
        """Return g at the rows of ``z``."""
        terms = self.inner.value(self._terms(z))
        return array_namespace(z).reshape(terms, (z.shape[0], -1)) @ as_like(self.weights, z)

    def gradient(self, z: Any) -> Any:
        """Return the gradient of g at each row of ``z``."""
        return self._gather(self.inner.gradient(self._terms(z)), z.shape[0])

    def hessian_product(self, z: Any, v: Any) -> Any:
        """Return the Hessian at each row of ``z`` times the same row of ``v``."""
        return self._gather(self.inner.hessian_product(self._terms(z), self._terms(v)), z.shape[0])

    def expectation(self, mean: FloatArray, factor: FloatArray) -> LocalExpectation:
        """Return E[g] and its derivatives under N(mean, factor factor'), one small rule for each term."""
        return LocalExpectation(self, mean, factor)


class LocalExpectation:
    """E[g(z)] for a `LocalSum`; see `GaussianExpectation` for the meaning of its members.

    A term's coordinates are m + F x with F (s, r), x ~ N(0, I_r).  For r > s write F = C Q with orthonormal rows of Q:
    only y = Q x, s normals, enters the function, and the part of x orthogonal to Q is integrated exactly: in a
    direction dF it adds E[Hess] dF (I - Q'Q) to the derivative of the factor gradient.  Nothing divides by F, so that F
    = 0 is harmless.
    """

    def __init__(self, local: LocalSum, mean: FloatArray, factor: FloatArray) -> None:
        self._local = local
        self._shape = factor.shape
        self._mean, self._factor = mean[local.indices], factor[local.indices]
        size, r = local.inner.dim, factor.shape[1]
        if r <= size:
            self._core, self._frame = self._factor, np.broadcast_to(np.eye(r), (self._factor.shape[0], r, r))
        else:
            q, upper = np.linalg.qr(self._factor.transpose(0, 2, 1))
            self._core, self._frame = upper.transpose(0, 2, 1), q.transpose(0, 2, 1)
        self._points, self._weights = tensor_gauss_hermite(local.n_nodes, min(size, r))
        self._z = self._mean[:, None, :] + np.einsum("tsp,np->tns", self._core, self._points)

    def _flat(self, array: FloatArray) -> FloatArray:
        return array.reshape(-1, self._local.inner.dim)

    @cached_property
    def value(self) -> float:
        """E[g(z)]."""
        z = self._flat(self._z)
        values = check_answer(self._local.inner, "value", z).reshape(-1, self._weights.size)
        return float(np.add.reduce(self._local.weights * np.sum(values * self._weights, axis=1)))

    @cached_property
    def _slopes(self) -> FloatArray:
        z = self._flat(self._z)
        slopes = check_answer(self._local.inner, "gradient", z)
        return np.asarray(slopes.reshape(self._z.shape) * self._weights[:, None])

    def _scatter(self, terms: FloatArray) -> FloatArray:
        """Add weighted rows (n_terms, s, ...) to the coordinates they belong to."""
        out = np.zeros((self._local.dim, *terms.shape[2:]))
        weights = self._local.weights.reshape(-1, *(1,) * (terms.ndim - 1))
        np.add.at(out, self._local.indices, weights * terms)
        return out

    @property
    def gradient(self) -> FloatArray:
        """E[grad g(z)]."""
        return self._scatter(np.sum(self._slopes, axis=1))

    @cached_property
    def factor_gradient(self) -> FloatArray:
        """E[grad g(z) xi']."""
        return self._scatter(np.einsum("tns,np->tsp", self._slopes, self._points) @ self._frame)

    def _products(self, dz: FloatArray) -> FloatArray:
        """Weighted Hessian products at the nodes, (n_terms, n, s)."""
        z = self._flat(self._z)
        products = check_answer(self._local.inner, "hessian_product", z, self._flat(dz))
        return np.asarray(products.reshape(self._z.shape) * self._weights[:, None])

    @cached_property
    def _hessians(self) -> FloatArray:
        """E[Hess] of each term, (n_terms, s, s)."""
        size = self._local.inner.dim
        rows = [np.sum(self._products(np.broadcast_to(np.eye(size)[j], self._z.shape)), axis=1) for j in range(size)]
        blocks = np.stack(rows, axis=2)
        return np.asarray((blocks + blocks.transpose(0, 2, 1)) / 2.0)

    def hessian(self, size: int) -> FloatArray:
        """Return the leading block of E[Hess g]."""
        index = self._local.indices
        out = np.zeros((self._local.dim, self._local.dim))
        np.add.at(out, (index[:, :, None], index[:, None, :]), self._local.weights[:, None, None] * self._hessians)
        return out[:size, :size]

    def derivative(self, dmean: FloatArray, dfactor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the directional derivatives of both gradients."""
        index = self._local.indices
        turned = dfactor[index] @ self._frame.transpose(0, 2, 1)
        products = self._products(dmean[index][:, None, :] + np.einsum("tsp,np->tns", turned, self._points))
        dfactor_gradient = np.einsum("tns,np->tsp", products, self._points) @ self._frame
        if self._shape[1] > self._local.inner.dim:
            dfactor_gradient = dfactor_gradient + self._hessians @ (dfactor[index] - turned @ self._frame)
        return self._scatter(np.sum(products, axis=1)), self._scatter(dfactor_gradient)
