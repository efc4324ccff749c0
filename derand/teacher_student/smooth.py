"""Gaussian averages of networks with any smooth activation, by Hermite expansions of pairs of fields."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from itertools import combinations_with_replacement, permutations
from typing import Any, NamedTuple

import numpy as np

from derand._utils.distinct import distinct_rows
from derand._utils.validation import FloatArray, check_int
from derand.exceptions import InputError, InputTypeError, PrecisionWarning
from derand.gaussian.quadrature import gauss_hermite
from derand.teacher_student.parameters import Moments, quadratic_form

__all__ = ["SmoothActivation"]

_LADDER = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_TAIL = 1e-5  # errors are products of two tails
_PARALLEL = 2e-15
_CHUNK = 1_500_000


class SmoothActivation:
    r"""A function g given by itself and its derivative, averaged with Hermite expansions.

    Averages of two fields are sums over the degree m of the expansions in normalised Hermite polynomials,
    :math:`E[f(x) h(y)] = \sum_m r^m f_m h_m` for standard fields of correlation r (Mehler).  The average of
    g'_k g'_l g_i g_j is the same in two dimensions: the pairs (k, l) and (i, j) are rotated to their canonical
    directions, with correlations r_1 and r_2, and the average is the sum of r_1^m r_2^n A_mn B_mn over the expansions
    of g'_k g'_l and g_i g_j.  So no integral has more than two dimensions, whatever p and p_star are.

    Parameters
    ----------
    value : callable
        ``value(z)`` returns g(z) for an array z, with its shape.
    derivative : callable
        ``derivative(z)`` returns g'(z).
    n_nodes : int, optional
        Degrees of the expansions and Gauss-Hermite nodes in each direction, 2 to 1000.  The averages are exact for
        polynomials of degree at most n_nodes / 2.  Default: as many as it takes until the tails of g, g' and of their
        squares are below 1e-5 of their norms, for the fields' variances; the averages are products of two expansions,
        so their relative errors are about 1e-10 or less (for erf, tanh, GELU and softplus below 1e-11).

    Raises
    ------
    InputError
        If `n_nodes` is out of range, or (in use) a function returns something of another shape or not finite.
    InputTypeError
        If an argument has the wrong type.

    Warns
    -----
    PrecisionWarning
        In use, if 256 nodes aren't enough: a function with kinks or steps (ReLU has a closed form of its own), or
        weights of large norm.

    Notes
    -----
    O(n_nodes^3 p^2 (p + p_star)^2) operations for each covariance; deterministic.  For an analytic g the tails fall
    exponentially with the root of the degree.

    References
    ----------
    F. G. Mehler (1866); E. Slepian, On the symmetrized Kronecker power of a matrix and extensions of Mehler's formula
    for Hermite polynomials, SIAM J. Math. Anal. 3 (1972) 606-616.

    Examples
    --------
    >>> import numpy as np
    >>> cube = SmoothActivation(lambda z: z**3, lambda z: 3 * z**2)
    >>> round(float(cube.squared_error(np.eye(1), np.ones(1))), 12)  # E[z^6]
    15.0
    """

    name = "smooth"
    degrees: tuple[int, int] | None = None

    def __init__(
        self,
        value: Callable[[FloatArray], Any],
        derivative: Callable[[FloatArray], Any],
        n_nodes: int | None = None,
    ) -> None:
        for name, function in (("value", value), ("derivative", derivative)):
            if not callable(function):
                raise InputTypeError(f"{name} must be callable, got {type(function).__name__}")
        self._value, self._derivative = value, derivative
        self.n_nodes = None if n_nodes is None else check_int(n_nodes, "n_nodes", low=2, high=1000)
        self._tail = _TAIL

    def coarser(self, tail: float, deviations: FloatArray | None = None) -> SmoothActivation:
        """Return the same function with larger tails, averages of relative error about tail^2.

        Parameters
        ----------
        tail : float
            Bound on the tails of the expansions, relative to their norms.
        deviations : ndarray, optional
            Standard deviations of fields; if given, the number of nodes is the one for these, and stays.

        Returns
        -------
        SmoothActivation
            The function; the same one if its number of nodes is fixed already.
        """
        if self.n_nodes is not None:
            return self
        other = SmoothActivation(self._value, self._derivative)
        other._tail = max(tail, self._tail)
        if deviations is not None:
            other.n_nodes = other._degree(deviations)
        return other

    def value(self, z: FloatArray) -> FloatArray:
        """Return g(z)."""
        return _checked(self._value(z), z, "value")

    def derivative(self, z: FloatArray) -> FloatArray:
        """Return g'(z)."""
        return _checked(self._derivative(z), z, "derivative")

    def squared_error(self, sigma: FloatArray, c: FloatArray) -> FloatArray:
        """Return E[u^2] for each covariance."""
        flat = sigma.reshape(-1, *sigma.shape[-2:])
        kernels = [_mehler(fields.r, fields.g, fields.g) for fields in map(self._expand, flat)]
        return quadratic_form(np.array(kernels).reshape(sigma.shape), c)

    def moments(self, sigma: FloatArray, c: FloatArray, p: int) -> Moments:
        """Return the averages for each covariance."""
        lead, n = sigma.shape[:-2], sigma.shape[-1]
        layers = np.broadcast_to(c, (*lead, n)).reshape(-1, n)
        parts = [self._moments(*member, p) for member in zip(sigma.reshape(-1, n, n), layers, strict=True)]
        columns = zip(*parts, strict=True) if parts else [()] * 5
        shapes = ((), (p, n), (p, p), (p, p), (p,))
        return Moments(*(np.array(part).reshape((*lead, *shape)) for part, shape in zip(columns, shapes, strict=True)))

    def _moments(self, sigma: FloatArray, c: FloatArray, p: int) -> Moments:
        """Return the averages for one covariance."""
        fields = self._expand(sigma)
        kernel = _mehler(fields.r, fields.g, fields.g)
        slopes = _mehler(fields.r[:p], fields.slope[:, :p], fields.slope)
        # z_j = C_jk x_k / s_k + the rest, whose average follows from g' by Stein's lemma
        along = (_mehler(fields.r[:p], fields.tilted[:, :p], fields.g) @ c) / np.where(fields.s > 0.0, fields.s, 1.0)[
            :p
        ]
        own, scale = sigma[:p], np.where(fields.s > 0.0, fields.s, 1.0)[:p] ** 2
        weighted = slopes * c
        drift = along[:, None] * own + weighted @ sigma - np.sum(weighted * own, axis=1)[:, None] * own / scale[:, None]
        return Moments(quadratic_form(kernel, c), drift, self._noise(fields, c, p), slopes[:, :p], kernel[:p] @ c)

    def _expand(self, sigma: FloatArray) -> _Fields:
        """Return correlations and expansions of all fields of one covariance."""
        s = np.sqrt(np.maximum(np.diagonal(sigma), 0.0))
        safe = np.where(s > 0.0, s, 1.0)
        r = np.clip(sigma / safe[:, None] / safe, -1.0, 1.0)
        np.fill_diagonal(r, 1.0)
        return _Fields(s, r, *self._coefficients(s, self._degree(s)))

    def _coefficients(self, s: FloatArray, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return Hermite coefficients of g(s x), g'(s x) and x g'(s x), shape (n, fields)."""
        nodes, _, transform = _basis(n)
        z = nodes[:, None] * s
        slope = self.derivative(z)
        return transform @ self.value(z), transform @ slope, transform @ (nodes[:, None] * slope)

    def _degree(self, s: FloatArray) -> int:
        """Return the number of nodes at which the expansions have converged for the given deviations."""
        if self.n_nodes is not None:
            return self.n_nodes
        different = np.unique(s)
        for n in _LADDER:
            nodes, _, transform = _basis(n)
            z = nodes[:, None] * different
            value, slope = self.value(z), self.derivative(z)
            coefficients = transform @ np.concatenate([value, slope, value**2, slope**2], axis=1)
            norms = np.sqrt(np.sum(coefficients**2, axis=0))
            tails = np.sqrt(np.sum(coefficients[3 * n // 4 :] ** 2, axis=0))
            if np.all(tails <= self._tail * norms):
                return n
        worst = float(np.max(tails / np.where(norms > 0.0, norms, 1.0)))
        warnings.warn(
            f"{_LADDER[-1]} nodes don't resolve the activation at the standard deviation {float(np.max(s)):.3g}: its "
            f"averages have a relative error of about {worst**2:.1g}",
            PrecisionWarning,
            stacklevel=2,
        )
        return _LADDER[-1]

    def _noise(self, fields: _Fields, c: FloatArray, p: int) -> FloatArray:
        """Return sum_ij c_i c_j E[g'_k g'_l g_i g_j], shape (p, p)."""
        n = fields.s.size
        (k, l), (i, j) = np.triu_indices(p), np.triu_indices(n)
        k, l = (np.repeat(part, i.size) for part in (k, l))
        i, j = (np.tile(part, k.size // i.size) for part in (i, j))
        weights = c[i] * c[j] * np.where(i == j, 1.0, 2.0)
        # Students that are alike have the same averages: each is done once.
        r, s = fields.r, fields.s
        keys = np.stack([r[k, l], r[i, j], r[k, i], r[k, j], r[l, i], r[l, j], s[k], s[l], s[i], s[j]], axis=1)
        first, inverse = distinct_rows(keys)
        chunks = 1 + first.size * fields.g.shape[0] ** 2 // _CHUNK
        values = [self._averages(fields, k[b], l[b], i[b], j[b]) for b in np.array_split(first, chunks)]
        out = np.zeros((p, p))
        np.add.at(out, (k, l), weights * np.concatenate(values)[inverse.ravel()])
        return np.triu(out) + np.triu(out, 1).T

    def slope_products(self, Q: FloatArray) -> FloatArray:
        """Return E[g'_k g'_l g'_m g'_n] for fields of covariance Q, shape (p, p, p, p)."""
        fields, p = self._expand(Q), Q.shape[0]
        index = np.array(list(combinations_with_replacement(range(p), 4))).T
        chunks = 1 + index.shape[1] * fields.g.shape[0] ** 2 // _CHUNK
        parts = np.array_split(index, chunks, axis=1)
        values = np.concatenate([self._averages(fields, *part, slopes_only=True) for part in parts])
        out = np.empty((p, p, p, p))
        for order in permutations(range(4)):
            out[tuple(index[list(order)])] = values
        return out

    def _averages(
        self, fields: _Fields, k: _Index, l: _Index, i: _Index, j: _Index, *, slopes_only: bool = False
    ) -> FloatArray:
        """Return E[g'_k g'_l g_i g_j], or E[g'_k g'_l g'_i g'_j], for arrays of indices."""
        r, s, n = fields.r, fields.s, fields.g.shape[0]
        step, target = _factor(r[k, l]), _factor(r[i, j])
        cross = np.stack([np.stack([r[k, i], r[k, j]], axis=-1), np.stack([r[l, i], r[l, j]], axis=-1)], axis=-2)
        white = _whiten(np.swapaxes(_whiten(cross, r[k, l]), 1, 2), r[i, j])
        if not np.all(np.isfinite(white)):
            raise InputError("the overlaps overflow: lr, T or the starting norms are too large for this activation")
        left, sizes, right = np.linalg.svd(white)
        # the whitened matrix is transposed: rows belong to (i, j)
        sizes = np.minimum(sizes, 1.0)
        step, target = step @ np.swapaxes(right, 1, 2), target @ left
        first = _expand_product(self.derivative, s[k], s[l], step, n)
        second = _expand_product(self.derivative if slopes_only else self.value, s[i], s[j], target, n)
        powers = sizes[:, :, None] ** np.arange(n)
        return np.asarray(np.einsum("bm,bmn,bn->b", powers[:, 0], first * second, powers[:, 1], optimize=True))


_Index = np.ndarray[Any, np.dtype[np.intp]]


class _Fields(NamedTuple):
    """Deviations s, correlations r, and Hermite coefficients (degree, field) of g, g' and x g' at s x."""

    s: FloatArray
    r: FloatArray
    g: FloatArray
    slope: FloatArray
    tilted: FloatArray


@cache
def _basis(n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return nodes, weights, and the matrix (degree, node) that takes values at the nodes to Hermite coefficients."""
    nodes, weights = gauss_hermite(n)
    rows = np.empty((n, n))
    rows[0] = 1.0
    if n > 1:
        rows[1] = nodes
    for m in range(2, n):
        rows[m] = (nodes * rows[m - 1] - np.sqrt(m - 1.0) * rows[m - 2]) / np.sqrt(m)
    return nodes, weights, rows * weights


def _mehler(r: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return sum_m r_ab^m first_ma second_mb."""
    powers = r[None] ** np.arange(first.shape[0])[:, None, None]
    return np.asarray(np.einsum("mab,ma,mb->ab", powers, first, second, optimize=True))


def _factor(r: FloatArray) -> FloatArray:
    """Return the Cholesky factors [[1, 0], [r, q]] of two standard fields, shape (b, 2, 2)."""
    zero = np.zeros_like(r)
    remainder = np.sqrt(np.where(1.0 - r * r > _PARALLEL, 1.0 - r * r, 0.0))
    return np.stack([np.stack([zero + 1.0, zero], axis=-1), np.stack([r, remainder], axis=-1)], axis=-2)


def _whiten(cross: FloatArray, r: FloatArray) -> FloatArray:
    """Return the inverse factor of `_factor` times cross; a direction without variance gets zeros."""
    variance = 1.0 - r * r
    is_free = variance > _PARALLEL
    scale = np.where(is_free, 1.0 / np.sqrt(np.where(is_free, variance, 1.0)), 0.0)
    return np.stack([cross[:, 0], (cross[:, 1] - r[:, None] * cross[:, 0]) * scale[:, None]], axis=1)


def _expand_product(
    function: Callable[[FloatArray], FloatArray], s: FloatArray, t: FloatArray, axes: FloatArray, n: int
) -> FloatArray:
    """Return the coefficients (b, n, n) of function(s e.x) function(t f.x), the rows of ``axes`` being e and f."""
    nodes, _, transform = _basis(n)
    scaled = axes * np.stack([s, t], axis=-1)[:, :, None]
    fields = scaled[:, :, 0, None, None] * nodes[:, None] + scaled[:, :, 1, None, None] * nodes
    values = function(fields)
    product = values[:, 0] * values[:, 1]
    return np.asarray(transform @ product @ transform.T)


def _checked(values: Any, z: FloatArray, name: str) -> FloatArray:
    """Return the user's values as a finite array of z's shape."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != z.shape:
        raise InputError(f"{name} must return an array of the shape {z.shape} of its argument, got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise InputError(f"{name} must return finite numbers")
    return array
