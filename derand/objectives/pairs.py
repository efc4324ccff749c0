"""Sums over pairs of smooth signs, g(z) = sum_p w_p s(u_i) s(u_j): the cut of a graph and the square of a probit net.

With s(u) = 2 Phi(u/width) - 1 = E[sgn(u + width * noise)] the Gaussian mean of a product of two such signs is the
expected product of two hard signs of correlated normals, a bivariate normal probability, so that nothing is left to
sample.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from derand._utils.arrays import array_namespace, as_like, index_like
from derand._utils.validation import FloatArray, check_array, check_scalar
from derand.gaussian.bivariate import expected_sign_product, expected_sign_product_derivatives
from derand.objectives.activations import ProbitSign
from derand.objectives.indexing import check_indices
from derand.objectives.protocol import GaussianExpectation
from derand.objectives.ridge import LinearForms, RidgeSum
from derand.objectives.sums import ExpectationSum

__all__ = ["SignPairExpectation", "SignPairSum", "SquaredProbitNet"]

_LEAST_COMPLEMENT = float(np.finfo(np.float64).eps)


class SignPairSum:
    """g(z) = sum_p weights[p] s(u_i) s(u_j), (i, j) = pairs[p], u = forms z + offsets, s(u) = 2 Phi(u/width) - 1.

    Parameters
    ----------
    dim : int
        Number of coordinates of z, >= 1.
    pairs : array of int, shape (n_pairs, 2)
        Indices of forms; i = j is allowed.
    weights : array, shape (n_pairs,), optional
        One when left out.
    width : float, default 1.0
        Width of the smooth sign, > 0.
    forms : array, shape (n_forms, dim), optional
        The linear forms; the coordinates themselves when left out.
    offsets : array, shape (n_forms,), optional
        Zero when left out.

    Raises
    ------
    InputError
        If an index is out of range, a shape doesn't fit or a number isn't finite.
    InputTypeError
        If ``pairs`` doesn't hold integers.

    Notes
    -----
    An expectation costs two Owen functions a pair and O(n_pairs r) more, a Hessian product as much without the Owen
    functions.  Nothing dense of size dim x dim is formed without ``forms``.  Deterministic.

    References
    ----------
    R. L. Plackett (1954), A reduction formula for normal multivariate integrals, Biometrika 41: the derivative with
    respect to the correlation.

    Examples
    --------
    Two independent coordinates of mean 0 have E[s(z_0) s(z_1)] = 0, equal ones (2/pi) asin(1/2) = 1/3 for unit width:

    >>> import numpy as np
    >>> from derand.objectives import SignPairSum
    >>> edge = SignPairSum(2, [[0, 1]])
    >>> edge.expectation(np.zeros(2), np.eye(2)).value
    0.0
    >>> round(edge.expectation(np.zeros(2), np.ones((2, 1))).value, 12)
    0.333333333333
    """

    def __init__(
        self,
        dim: int,
        pairs: Any,
        *,
        weights: Any = None,
        width: float = 1.0,
        forms: Any = None,
        offsets: Any = None,
    ) -> None:
        self.sign = ProbitSign(width)
        self.forms = LinearForms(dim, forms, offsets)
        index = check_indices(pairs, "pairs", width=2, limit=self.forms.n_forms)
        self.left, self.right = index[:, 0], index[:, 1]
        shape = (index.shape[0],)
        self.weights = np.ones(shape) if weights is None else check_array(weights, "weights", shape=shape)

    @property
    def dim(self) -> int:
        """Number of coordinates of z."""
        return self.forms.dim

    @cached_property
    def incidence(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """The matrices (n_forms, n_pairs) that add a pair's numbers to its left and to its right form."""
        columns, ones = np.arange(self.left.size), np.ones(self.left.size)
        shape = (self.forms.n_forms, self.left.size)
        to_left = sparse.csr_array((ones, (self.left, columns)), shape=shape)
        return to_left, sparse.csr_array((ones, (self.right, columns)), shape=shape)

    def value(self, z: Any) -> Any:
        """Return g at the rows of ``z``."""
        left, right = self._both(self.sign.value(self.forms.values(z)))
        return (left * right) @ as_like(self.weights, z)

    def gradient(self, z: Any) -> Any:
        """Return the gradient of g at each row of ``z``."""
        u = self.forms.values(z)
        return self.forms.transpose(self.sign.first(u) * self._neighbours(self.sign.value(u)))

    def hessian_product(self, z: Any, v: Any) -> Any:
        """Return the Hessian at each row of ``z`` times the same row of ``v``."""
        u, du = self.forms.values(z), self.forms.apply(v)
        slope = self.sign.first(u)
        inner = self.sign.second(u) * du * self._neighbours(self.sign.value(u)) + slope * self._neighbours(slope * du)
        return self.forms.transpose(inner)

    def _both(self, s: Any) -> tuple[Any, Any]:
        """Return the columns of ``s`` at the left and at the right end of each pair."""
        xp = array_namespace(s)
        return xp.take(s, index_like(self.left, s), axis=1), xp.take(s, index_like(self.right, s), axis=1)

    def _neighbours(self, s: Any) -> Any:
        """For each form the weighted sum of ``s`` over the other ends of its pairs."""
        if isinstance(s, np.ndarray):
            return (self._coupling @ s.T).T
        return s @ as_like(self._coupling.toarray(), s)

    @cached_property
    def _coupling(self) -> sparse.csr_array:
        """The symmetric matrix of the quadratic form 2 g, a pair i = i counted twice."""
        n = self.forms.n_forms
        upper = sparse.csr_array((self.weights, (self.left, self.right)), shape=(n, n))
        return sparse.csr_array(upper + upper.T)

    def expectation(self, mean: FloatArray, factor: FloatArray) -> SignPairExpectation:
        """Return E[g] and its derivatives under N(mean, factor factor'), in closed form."""
        return SignPairExpectation(self, mean, factor)


class SignPairExpectation:
    """The closed form of E[g(z)] for a `SignPairSum`; see `GaussianExpectation` for the meaning of its members.

    ``_m[a, b]`` is the derivative of E[s(u_i) s(u_j)], a times with respect to the mean of u_i and b times that of u_j.
    """

    def __init__(self, pairs: SignPairSum, mean: FloatArray, factor: FloatArray) -> None:
        self._pairs = pairs
        self._u = pairs.forms.values(mean[None, :])[0]
        self._factor = pairs.forms.apply(factor.T).T
        self._left, self._right = self._factor[pairs.left], self._factor[pairs.right]
        tau = np.sqrt(np.sum(self._factor**2, axis=1) + pairs.sign.width**2)
        self._tau = tau[pairs.left], tau[pairs.right]
        self._h, self._k = (self._u / tau)[pairs.left], (self._u / tau)[pairs.right]
        self._rho = np.sum(self._left * self._right, axis=1) / (self._tau[0] * self._tau[1])

    @cached_property
    def value(self) -> float:
        """E[g(z)]."""
        return float(np.add.reduce(self._pairs.weights * expected_sign_product(self._h, self._k, self._rho)))

    @cached_property
    def _m(self) -> dict[tuple[int, int], FloatArray]:
        """Weighted derivatives to the fourth order; products of bivariate Hermite functions with two closed forms."""
        plain = _sign_product_derivatives(self._h, self._k, self._rho)
        scale = [[1.0 / tau**a for a in range(5)] for tau in self._tau]
        return {(a, b): self._pairs.weights * scale[0][a] * scale[1][b] * d for (a, b), d in plain.items()}

    def _collect(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Add the pairs' numbers to their forms and go back to the coordinates of z."""
        to_left, to_right = self._pairs.incidence
        total = np.asarray(to_left @ left + to_right @ right)
        transpose = self._pairs.forms.transpose
        return np.asarray(transpose(total[None, :])[0] if total.ndim == 1 else transpose(total.T).T)

    @property
    def gradient(self) -> FloatArray:
        """E[grad g(z)]."""
        return self._collect(self._m[1, 0], self._m[0, 1])

    @property
    def factor_gradient(self) -> FloatArray:
        """E[grad g(z) xi']."""
        return self._hessian_product(self._left, self._right)

    def _hessian_product(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """E[Hess g] times a matrix, given by its rows at both ends of each pair."""
        m20, m11, m02 = (self._m[index][:, None] for index in ((2, 0), (1, 1), (0, 2)))
        return self._collect(m20 * left + m11 * right, m11 * left + m02 * right)

    def hessian(self, size: int) -> FloatArray:
        """Return the leading block of E[Hess g]."""
        n, pairs = self._pairs.forms.n_forms, self._pairs
        rows = np.concatenate([pairs.left, pairs.left, pairs.right, pairs.right])
        columns = np.concatenate([pairs.left, pairs.right, pairs.left, pairs.right])
        entries = np.concatenate([self._m[2, 0], self._m[1, 1], self._m[1, 1], self._m[0, 2]])
        inner = sparse.csr_array((entries, (rows, columns)), shape=(n, n))
        if pairs.forms.matrix is None:
            return np.asarray(inner[:size, :size].toarray())
        block = pairs.forms.block(size)
        return np.asarray(block.T @ (inner @ block))

    def derivative(self, dmean: FloatArray, dfactor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the directional derivatives of both gradients."""
        forms, pairs = self._pairs.forms, self._pairs
        du = forms.apply(dmean[None, :])[0]
        du_factor = forms.apply(dfactor.T).T
        left, right = du_factor[pairs.left], du_factor[pairs.right]
        half_left, half_right = np.sum(self._left * left, axis=1), np.sum(self._right * right, axis=1)
        cross = np.sum(left * self._right + self._left * right, axis=1)

        def change(a: int, b: int) -> FloatArray:
            """Return the directional derivative of the moment (a, b)."""
            m = self._m
            by_mean = m[a + 1, b] * du[pairs.left] + m[a, b + 1] * du[pairs.right]
            by_variance = m[a + 2, b] * half_left + m[a, b + 2] * half_right
            return np.asarray(by_mean + by_variance + m[a + 1, b + 1] * cross)

        d20, d11, d02 = (change(*index)[:, None] for index in ((2, 0), (1, 1), (0, 2)))
        moved = self._collect(d20 * self._left + d11 * self._right, d11 * self._left + d02 * self._right)
        return self._collect(change(1, 0), change(0, 1)), moved + self._hessian_product(left, right)


class SquaredProbitNet:
    """g(z) = (sum_t coefficients[t] s(forms[t] . z + offsets[t]) - target)^2, the squared error of a probit network.

    Parameters
    ----------
    dim : int
        Number of coordinates of z, >= 1.
    coefficients : array, shape (n_forms,)
        Second-layer weights.
    target : float, default 0.0
        What the network should answer.
    width : float, default 1.0
        Width of the smooth sign s(u) = 2 Phi(u/width) - 1, > 0.
    forms, offsets : array, optional
        As in `SignPairSum`.

    Raises
    ------
    InputError
        If a shape doesn't fit or a number isn't finite.

    Examples
    --------
    >>> import numpy as np
    >>> from derand.objectives import SquaredProbitNet
    >>> SquaredProbitNet(2, [1.0, 1.0], 0.5).value(np.zeros((1, 2))).tolist()
    [0.25]
    """

    def __init__(
        self,
        dim: int,
        coefficients: Any,
        target: float = 0.0,
        *,
        width: float = 1.0,
        forms: Any = None,
        offsets: Any = None,
    ) -> None:
        self.target = check_scalar(target, "target", low=-math.inf, high=math.inf, low_open=True, high_open=True)
        c = check_array(coefficients, "coefficients", ndim=1)
        self._net = RidgeSum(ProbitSign(width), dim, forms=forms, offsets=offsets, coefficients=c)
        i, j = np.triu_indices(c.size)
        products = np.where(i == j, 1.0, 2.0) * c[i] * c[j]
        self._square = SignPairSum(
            dim, np.column_stack([i, j]), weights=products, width=width, forms=forms, offsets=offsets
        )

    @property
    def dim(self) -> int:
        """Number of coordinates of z."""
        return self._net.dim

    def value(self, z: Any) -> Any:
        """Return g at the rows of ``z``."""
        return (self._net.value(z) - self.target) ** 2

    def gradient(self, z: Any) -> Any:
        """Return the gradient of g at each row of ``z``."""
        return 2.0 * (self._net.value(z) - self.target)[:, None] * self._net.gradient(z)

    def hessian_product(self, z: Any, v: Any) -> Any:
        """Return the Hessian at each row of ``z`` times the same row of ``v``."""
        slope = self._net.gradient(z)
        along = array_namespace(z).sum(slope * v, axis=1)
        error = self._net.value(z) - self.target
        return 2.0 * (along[:, None] * slope + error[:, None] * self._net.hessian_product(z, v))

    def expectation(self, mean: FloatArray, factor: FloatArray) -> ExpectationSum:
        """Return E[g] and its derivatives under N(mean, factor factor'), in closed form."""
        parts: list[GaussianExpectation] = [
            self._square.expectation(mean, factor),
            self._net.expectation(mean, factor),
        ]
        return ExpectationSum(parts, np.array([1.0, -2.0 * self.target]), self.target**2)


def _sign_product_derivatives(h: FloatArray, k: FloatArray, rho: FloatArray) -> dict[tuple[int, int], FloatArray]:
    """Return the derivatives (a, b), 1 <= a + b <= 4, of E[sgn(X + h) sgn(Y + k)] with respect to h and k."""
    # F_hk = P is a bivariate normal density, whose derivatives are Hermite polynomials times P; F_hh = -h F_h - rho P,
    # and two further derivatives of this equation give the pure ones.
    first = expected_sign_product_derivatives(h, k, rho, order=1)
    p = first.rho
    # A width below rounding of the standard deviation leaves rho = 1; take the derivatives half a unit below.
    inverse = 1.0 / np.maximum((1.0 - rho) * (1.0 + rho), _LEAST_COMPLEMENT)
    a, b = (h - rho * k) * inverse, (k - rho * h) * inverse
    p_h, p_k = -a * p, -b * p
    p_hh, p_hk, p_kk = (a * a - inverse) * p, (a * b + rho * inverse) * p, (b * b - inverse) * p
    out = {(1, 1): p, (2, 1): p_h, (1, 2): p_k, (3, 1): p_hh, (2, 2): p_hk, (1, 3): p_kk}
    for axis, x, d1, q, q_x in ((0, h, first.h, p_h, p_hh), (1, k, first.k, p_k, p_kk)):
        d2 = -x * d1 - rho * p
        d3 = -d1 - x * d2 - rho * q
        d4 = -2.0 * d2 - x * d3 - rho * q_x
        for order, d in enumerate((d1, d2, d3, d4), start=1):
            out[(order, 0) if axis == 0 else (0, order)] = d
    return out
