"""The smoothed MAXCUT objective with the probit sign: exact value, gradient and second derivatives, no sampling."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import erf

from derand._utils.reductions import norm
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.gaussian.bivariate import SignProductDerivatives, expected_sign_product, expected_sign_product_derivatives
from derand.maxcut.mixing import row_dots
from derand.maxcut.problem import IndexArray, MaxCutProblem, SideArray
from derand.objectives.diagnostics import lemma_bound

__all__ = ["SmoothedCutObjective"]

# Where both ends have |b_i| / tau_i above this, the signs are certain to the last bit of a double.
_CERTAIN = 9.0
_PIECE = 1 << 13


class SmoothedCutObjective:
    """f(W, b) = sum_ij w_ij E[s(w_i.x + b_i) s(w_j.x + b_j)] / u + lam ||W||_F^2 for x ~ N(0, I_d).

    With the probit sign s(z) = 2 Phi(z/sigma) - 1, s(z) is the expected sign of z + sigma * (normal noise), so that
    each edge's term is F(t_i, t_j, rho_ij) = E[sgn(X + t_i) sgn(Y + t_j)] with

        tau_i^2 = |w_i|^2 + sigma^2,   t_i = b_i/tau_i,   rho_ij = w_i.w_j/(tau_i tau_j),

    a closed form in Owen's T.  The unit u is the mean sum of absolute weights at a vertex, so that lam is relative to
    it. Minimising f maximises the expected weight of the cut of sgn(W x + b + sigma * noise), which is (sum of
    weights - u (f - lam ||W||^2))/2.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    d : int
        Number of Gaussian coordinates, at least 1.
    lam : float, default 1e-3
        Weight of the regularisation, > 0.
    sigma : float, default 0.1
        Width of the sign, > 0.

    Notes
    -----
    Value and gradient take two values of Owen's T, two error functions and three exponentials for each edge whose signs
    are uncertain and O(m d) besides; deterministic.  Stein's identity is exact here: the gradient in W is
    (H_b + 2 lam I) W with the Hessian H_b in the biases, a sparse matrix with the graph's pattern.  It is what drives W
    to 0 at second-order stationary points.

    References
    ----------
    A derandomization framework for structure discovery (2025), arXiv:2510.19382, lemma 3.1 and the section on MAXCUT.

    Examples
    --------
    With W = 0 the signs are those of b, up to sigma.

    >>> objective = SmoothedCutObjective(MaxCutProblem.from_edges([0], [1]), 2)
    >>> x = objective.pack(np.zeros((2, 2)), np.array([1.0, -1.0]))
    >>> objective.value_and_grad(x)[0]
    -1.0
    """

    def __init__(self, problem: MaxCutProblem, d: int, *, lam: float = 1e-3, sigma: float = 0.1) -> None:
        self.problem = problem
        self.n, self.d = problem.n, check_int(d, "d", low=1)
        self.lam = check_scalar(lam, "lam", low=0.0, low_open=True)
        self.sigma = check_scalar(sigma, "sigma", low=0.0, low_open=True)
        total = float(np.abs(problem.weights).sum())
        self.unit = 2.0 * total / problem.n if total else 1.0
        self._weights: FloatArray = problem.weights / self.unit
        self._cached: tuple[FloatArray, _Point] | None = None

    @property
    def n_variables(self) -> int:
        """Length of the flat variable: n d + n."""
        return self.n * (self.d + 1)

    def pack(self, W: FloatArray, b: FloatArray) -> FloatArray:
        """Return the flat variable concat(W.ravel(), b)."""
        return np.concatenate([np.ravel(W), b])

    def unpack(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (W, b) of shapes (n, d) and (n,), as views of the flat variable."""
        return x[: self.n * self.d].reshape(self.n, self.d), x[self.n * self.d :]

    def value_and_grad(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return f and its gradient at the flat variable x.

        Parameters
        ----------
        x : ndarray, shape (n d + n,)
            Flat variable.

        Returns
        -------
        value : float
            f(W, b).
        gradient : ndarray, shape (n d + n,)
            Gradient of f.

        Raises
        ------
        InputError
            If x has the wrong length or isn't finite.
        """
        point = self._at(x)
        gradient_W = self._bias_product(point, point.W) + 2.0 * self.lam * point.W
        weights = self._weights[point.edges]
        gradient_b = self._vertex_sum(weights * point.first.h, weights * point.first.k, point)
        return point.value + self.lam * float(np.sum(point.W**2)), self.pack(gradient_W, gradient_b / point.tau)

    def expected_cut(self, x: FloatArray) -> float:
        """Return the expected weight of the cut of sgn(W x + b + sigma * noise), in the units of the weights."""
        return (float(self.problem.total_weight) - self.unit * self._at(x).value) / 2.0

    def hess_bb(self, W: FloatArray, b: FloatArray) -> sp.csr_array:
        """Return H_b, the Hessian of f in the biases: sparse (n, n) with the pattern of the graph and a diagonal.

        Parameters
        ----------
        W : ndarray, shape (n, d)
            Weights.
        b : ndarray, shape (n,)
            Biases.

        Returns
        -------
        scipy.sparse.csr_array
            Entries w_ij F_rho/(tau_i tau_j)/u and, on the diagonal, sum_j w_ij F_hh/tau_i^2/u.
        """
        point = self._at(self.pack(W, b))
        off, diagonal = self._pattern.matrix(self._off_diagonal(point)), sp.diags_array(self._diagonal(point))
        return sp.csr_array(off + diagonal)

    def hessp(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """Return the product of the Hessian of f at x with v, both flat.

        Parameters
        ----------
        x, v : ndarray, shape (n d + n,)
            Flat variable and direction.

        Returns
        -------
        ndarray, shape (n d + n,)
            The product, exact up to rounding.

        Notes
        -----
        Second derivatives are kept between calls at one x; a product then costs O(m d).
        """
        point = self._at(x)
        V, c = self.unpack(check_array(v, "v", shape=(self.n_variables,)))
        first, second = point.first, point.second
        i, j, weights = point.heads, point.tails, self._weights[point.edges]
        stretch = row_dots(point.W, V) / point.tau**2  # d tau / tau
        shift = c / point.tau - point.t * stretch
        slope = (row_dots(V[i], point.W[j]) + row_dots(point.W[i], V[j])) / (point.tau[i] * point.tau[j])
        slope -= point.rho * (stretch[i] + stretch[j])
        by_h = second.hh * shift[i] + second.hk * shift[j] + second.hrho * slope
        by_k = second.hk * shift[i] + second.kk * shift[j] + second.krho * slope
        by_rho = second.hrho * shift[i] + second.krho * shift[j] + second.rhorho * slope
        gradient_b = self._vertex_sum(weights * first.h, weights * first.k, point) / point.tau
        product_b = self._vertex_sum(weights * by_h, weights * by_k, point) / point.tau - gradient_b * stretch
        off = weights * by_rho / (point.tau[i] * point.tau[j])
        off -= self._off_diagonal(point)[point.edges] * (stretch[i] + stretch[j])
        shared = slope * first.rho + point.rho * by_rho
        diagonal = self._vertex_sum(
            weights * (-shift[i] * first.h - point.t[i] * by_h - shared),
            weights * (-shift[j] * first.k - point.t[j] * by_k - shared),
            point,
        )
        diagonal = diagonal / point.tau**2 - 2.0 * self._diagonal(point) * stretch
        moved = np.zeros(self.problem.n_edges)
        moved[point.edges] = off
        product_W = self._pattern.matrix(moved) @ point.W + diagonal[:, None] * point.W
        product_W += self._bias_product(point, V) + 2.0 * self.lam * V
        return self.pack(product_W, product_b)

    def stein_residual(self, W: FloatArray, b: FloatArray) -> float:
        """Return ||G - H_b W||_F relative to ||G||_F, where G = grad_W f - 2 lam W is taken without Stein's identity.

        G follows the chain rule through tau, t and rho; agreement to rounding checks the closed forms.

        Parameters
        ----------
        W : ndarray, shape (n, d)
            Weights.
        b : ndarray, shape (n,)
            Biases.

        Returns
        -------
        float
            The relative residual, rounding error in theory.
        """
        point = self._at(self.pack(W, b))
        i, j, weights = point.heads, point.tails, self._weights[point.edges]
        by_rho = np.zeros(self.problem.n_edges)
        by_rho[point.edges] = weights * point.first.rho / (point.tau[i] * point.tau[j])
        chain = self._pattern.matrix(by_rho) @ W
        pull = self._vertex_sum(weights * point.first.rho * point.rho, weights * point.first.rho * point.rho, point)
        pull += point.t * self._vertex_sum(weights * point.first.h, weights * point.first.k, point)
        chain += -(pull / point.tau**2)[:, None] * W
        stein = self.hess_bb(W, b) @ W
        size = norm(chain)
        return norm(chain - stein) / size if size else norm(stein)

    def weight_bound(self, W: FloatArray, b: FloatArray, min_eigenvalue_lower: float) -> float:
        """Return the bound on ||W||_F that the gradient and a lower bound on the curvature imply.

        Stein's identity gives grad_W f = (H_b + 2 lam I) W, hence
        ||W|| <= ||grad_W f||/(lambda_min(H_b) + 2 lam) where the denominator is positive.

        Parameters
        ----------
        W : ndarray, shape (n, d)
            Weights.
        b : ndarray, shape (n,)
            Biases.
        min_eigenvalue_lower : float
            A lower bound on the smallest eigenvalue of H_b, such as that of the whole Hessian in an `SOSPResult`.

        Returns
        -------
        float
            The bound; infinite where the curvature may reach -2 lam.

        References
        ----------
        arXiv:2510.19382, proof of lemma 3.1.
        """
        margin = min_eigenvalue_lower + 2.0 * self.lam
        if not margin > 0.0:
            return math.inf
        gradient = self.value_and_grad(self.pack(W, b))[1][: self.n * self.d]
        return norm(gradient) / margin

    def lemma_bound(self, rho: float, hessian_lipschitz: float) -> float:
        """Return rho/(2 lam - sqrt(K rho)), the bound of lemma 3.1 on ||W||_F at a rho-SOSP.

        Parameters
        ----------
        rho : float
            Accuracy of the stationary point, >= 0.
        hessian_lipschitz : float
            Lipschitz constant K of the Hessian, >= 0.

        Returns
        -------
        float
            The bound; infinite where the lemma says nothing.
        """
        return lemma_bound(self.lam, rho, hessian_lipschitz)

    def lipschitz_constants(self) -> tuple[float, float]:
        """Return Lipschitz constants of the gradient and the Hessian that hold everywhere.

        Returns
        -------
        gradient : float
            1.13 D/sigma^2 + 2 lam, D the largest sum of absolute weights at a vertex in units of u.
        hessian : float
            4.47 D/sigma^3.

        Notes
        -----
        With z = (x, 1), E[z z'] = I, the second derivative along p is the mean of that of sum w_ij s_i s_j along y =
        p z. The sign s and its first three derivatives are at most 1, 0.798/sigma, 0.484/sigma^2 and 0.798/sigma^3,
        so that it is at most sum_i D_i E[y_i^2] (0.484 + 0.637)/sigma^2, and the third derivative at most sum_i D_i
        E|y_i|^3 (0.798 + 3 * 0.387)/sigma^3, where E|y_i|^3 <= 3^(3/4) |p_i|^3.
        """
        size = np.abs(self._weights)
        heads, tails = self.problem.heads, self.problem.tails
        largest = float((np.bincount(heads, size, self.n) + np.bincount(tails, size, self.n)).max(initial=0.0))
        return 1.13 * largest / self.sigma**2 + 2.0 * self.lam, 4.47 * largest / self.sigma**3

    def signs(self, b: FloatArray) -> SideArray:
        """Return sgn(b) as sides, +1 for zero: the cut that is left at W = 0."""
        return np.where(b >= 0.0, 1, -1).astype(np.int8)

    @cached_property
    def _pattern(self) -> _Pattern:
        """The graph's sparsity with the way from edges to entries."""
        return _Pattern.of(self.problem)

    def _at(self, x: FloatArray) -> _Point:
        """Return what is known at x; the last point is kept, since products come many to a point."""
        if self._cached is not None and np.array_equal(self._cached[0], x):
            return self._cached[1]
        x = check_array(x, "x", shape=(self.n_variables,)).copy()
        W, b = self.unpack(x)
        tau = np.sqrt(row_dots(W, W) + self.sigma**2)
        point = _Point.at(self.problem, self._weights, (W, b / tau, tau))
        self._cached = (x, point)
        return point

    def _vertex_sum(self, at_heads: FloatArray, at_tails: FloatArray, point: _Point) -> FloatArray:
        """Return the sums over the uncertain edges at every vertex."""
        total = np.bincount(point.heads, at_heads, self.n) + np.bincount(point.tails, at_tails, self.n)
        return np.asarray(total, dtype=np.float64)

    def _off_diagonal(self, point: _Point) -> FloatArray:
        """Return w_ij F_rho/(tau_i tau_j) for every edge."""
        values = np.zeros(self.problem.n_edges)
        scale = point.tau[point.heads] * point.tau[point.tails]
        values[point.edges] = self._weights[point.edges] * point.first.rho / scale
        return values

    def _diagonal(self, point: _Point) -> FloatArray:
        """Return the diagonal of H_b."""
        weights, first = self._weights[point.edges], point.first
        shared = point.rho * first.rho
        at_heads = weights * (-point.t[point.heads] * first.h - shared)
        at_tails = weights * (-point.t[point.tails] * first.k - shared)
        return self._vertex_sum(at_heads, at_tails, point) / point.tau**2

    def _bias_product(self, point: _Point, V: FloatArray) -> FloatArray:
        """Return H_b V for V of shape (n, d)."""
        product: FloatArray = self._pattern.matrix(self._off_diagonal(point)) @ V
        product += self._diagonal(point)[:, None] * V
        return product


@dataclass(frozen=True, eq=False)
class _Pattern:
    """A matrix with the structure of the adjacency matrix, and the edge behind every entry."""

    template: sp.csr_array
    edge: IndexArray

    @classmethod
    def of(cls, problem: MaxCutProblem) -> _Pattern:
        """Return the pattern of a problem."""
        rows = np.concatenate([problem.heads, problem.tails])
        cols = np.concatenate([problem.tails, problem.heads])
        numbers = np.tile(np.arange(1, problem.n_edges + 1), 2)
        matrix = sp.csr_array((numbers, (rows, cols)), shape=(problem.n, problem.n))
        matrix.sort_indices()
        return cls(matrix, matrix.data.astype(np.int64) - 1)

    def matrix(self, values: FloatArray) -> sp.csr_array:
        """Return the symmetric matrix with the given value at both entries of each edge."""
        # The constructor checks the structure again, which costs more than the product on small graphs.
        matrix = copy(self.template)
        matrix.data = values[self.edge]
        return matrix


class _Second(NamedTuple):
    """Second derivatives of F(h, k, rho) for the edges of a point."""

    hh: FloatArray
    hk: FloatArray
    kk: FloatArray
    hrho: FloatArray
    krho: FloatArray
    rhorho: FloatArray


@dataclass(frozen=True, eq=False)
class _Point:
    """Everything known at one (W, b); edge arrays hold the edges with an uncertain end only."""

    W: FloatArray
    t: FloatArray
    tau: FloatArray
    edges: IndexArray
    heads: IndexArray
    tails: IndexArray
    rho: FloatArray
    value: float
    first: SignProductDerivatives

    @classmethod
    def at(
        cls, problem: MaxCutProblem, weights: FloatArray, where: tuple[FloatArray, FloatArray, FloatArray]
    ) -> _Point:
        """Return the point (W, t, tau) with its edges' terms; the value leaves the regularisation out."""
        W, t, tau = where
        heads, tails = problem.heads, problem.tails
        unit = W / tau[:, None]
        certain = np.abs(t) >= _CERTAIN
        if not certain.any():
            rho = _cosines(unit, heads, tails)
            first = expected_sign_product_derivatives(t[heads], t[tails], rho, order=1)
            value = float(np.sum(weights * expected_sign_product(t[heads], t[tails], rho)))
            return cls(W, t, tau, np.arange(problem.n_edges), heads, tails, rho, value, first)
        # A certain sign is independent of the other: no need for Owen's function, the product is one of two means.
        is_open = ~(certain[heads] | certain[tails])
        means = erf(t * math.sqrt(0.5))
        value = float(np.sum((weights * means[heads] * means[tails])[~is_open]))
        edges = np.flatnonzero(~(certain[heads] & certain[tails]))
        heads, tails, is_open = heads[edges], tails[edges], is_open[edges]
        rho = _cosines(unit, heads, tails)
        first = expected_sign_product_derivatives(t[heads], t[tails], rho, order=1)
        i, j = heads[is_open], tails[is_open]
        value += float(np.sum(weights[edges][is_open] * expected_sign_product(t[i], t[j], rho[is_open])))
        return cls(W, t, tau, edges, heads, tails, rho, value, first)

    @cached_property
    def second(self) -> _Second:
        """Second derivatives of the edges' terms."""
        full = expected_sign_product_derivatives(self.t[self.heads], self.t[self.tails], self.rho)
        return _Second(*(field for field in full[3:] if field is not None))


def _cosines(unit: FloatArray, heads: IndexArray, tails: IndexArray) -> FloatArray:
    """Return the inner products of the rows at the ends of every edge, in pieces that stay in the cache."""
    result = np.empty(heads.size)
    for low in range(0, heads.size, _PIECE):
        piece = slice(low, low + _PIECE)
        result[piece] = row_dots(unit[heads[piece]], unit[tails[piece]])
    return result
