"""Spectral density of a symmetric matrix by stochastic Lanczos quadrature, with standard errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_option, check_scalar
from derand.exceptions import InputError
from derand.hessian.lanczos import LanczosProcess
from derand.hessian.symmetric import SymmetricMatrix, as_symmetric, materialise

__all__ = ["CumulativeEstimate", "Estimate", "GaussRule", "SpectralDensity", "spectral_density"]

_SAME_NODE = 1e-10  # a Ritz value this close to x, relative to the largest, counts as equal to it
_DENSE_LIMIT = 2000


@dataclass(frozen=True, repr=False)
class Estimate(ResultRepr):
    """A mean over random vectors with its standard error; both scalars or arrays of one shape.

    Parameters
    ----------
    value, standard_error : float or ndarray
        The mean, and the sample standard deviation over the square root of the number of vectors.
    """

    value: Any
    standard_error: Any


@dataclass(frozen=True, repr=False)
class CumulativeEstimate(Estimate):
    """Estimate of the share of eigenvalues <= x.

    Parameters
    ----------
    lower, upper : float or ndarray
        Means of the bounds that the quadrature allows for each vector (Chebyshev, Markov, Stieltjes): the share that
        the same vectors would give with all n Lanczos steps lies between them.  The random choice of vectors comes on
        top, as in `standard_error`.
    """

    lower: Any
    upper: Any


@dataclass(frozen=True, repr=False)
class GaussRule(ResultRepr):
    """Gauss quadrature of the spectral measure of one vector.

    Parameters
    ----------
    nodes, weights : ndarray of shape (m,)
        Ritz values in ascending order, and the squared first components of the eigenvectors of T; these sum to 1.
    alpha : ndarray of shape (m,)
        Diagonal of T.
    beta : ndarray of shape (m - 1,)
        Off-diagonal of T.
    is_exact : bool
        Whether the rule is the whole measure (the Krylov space was exhausted).
    """

    nodes: FloatArray
    weights: FloatArray
    alpha: FloatArray
    beta: FloatArray
    is_exact: bool


@dataclass(frozen=True)
class SpectralDensity(ResultRepr):
    r"""Distribution of the eigenvalues, (1/n) sum_i delta(x - lambda_i), as a mean of quadrature rules.

    Parameters
    ----------
    n : int
        Order of the matrix.
    rules : tuple of GaussRule
        One rule for each random vector; a single one with weights 1/n when the whole spectrum was computed.
    is_exact : bool
        Whether the whole spectrum was computed; then all standard errors are 0.
    n_products : int
        Matrix-vector products spent.
    """

    n: int
    rules: tuple[GaussRule, ...]
    is_exact: bool
    n_products: int

    @property
    def resolution(self) -> float:
        """Distance within which a Ritz value counts as equal to x: 1e-10 times the largest absolute one."""
        return _SAME_NODE * max(float(np.max(np.abs(rule.nodes))) for rule in self.rules)

    def moment(self, order: int) -> Estimate:
        """Return the mean of the eigenvalues' powers, tr(A^order) / n.

        Parameters
        ----------
        order : int
            Power, from 0 to 2 m - 1 with m the number of steps: up to there a vector's rule is exact.

        Returns
        -------
        Estimate
            Unbiased estimate and standard error, floats.

        Raises
        ------
        InputError
            If the order is negative or above 2 m - 1.
        InputTypeError
            If the order isn't an integer.
        """
        order = check_int(order, "order", low=0)
        exact_to = min((math.inf if rule.is_exact else 2 * len(rule.nodes) - 1) for rule in self.rules)
        if order > exact_to:
            raise InputError(f"order must be at most {exact_to} for rules of this many steps, got {order}")
        return self._mean(np.array([float(rule.weights @ rule.nodes**order) for rule in self.rules]))

    def cdf(self, x: Any) -> CumulativeEstimate:
        """Return the share of eigenvalues that are at most x.

        Parameters
        ----------
        x : float or array
            Where; a Ritz value within 1e-10 of x, relative to the largest, counts as equal to x.

        Returns
        -------
        CumulativeEstimate
            Value, standard error and quadrature bounds, of the shape of x.

        Raises
        ------
        InputError
            If x isn't finite.
        InputTypeError
            If x isn't real.
        """
        points = check_array(x, "x")
        sums = [_cumulative(rule, points + self.resolution) for rule in self.rules]
        estimate = self._mean(np.stack([value for value, _, _ in sums]))
        lower, upper = (self._mean(np.stack([part[i] for part in sums])).value for i in (1, 2))
        return CumulativeEstimate(estimate.value, estimate.standard_error, lower, upper)

    def cdf_samples(self, x: Any) -> FloatArray:
        """Return what each random vector says about the share of eigenvalues that are at most x.

        Parameters
        ----------
        x : float or array
            Where.

        Returns
        -------
        ndarray of shape (number of rules, ...)
            Shares; `cdf` gives their mean.

        Raises
        ------
        InputError
            If x isn't finite.
        InputTypeError
            If x isn't real.
        """
        points = check_array(x, "x") + self.resolution
        return np.stack([_cumulative(rule, points)[0] for rule in self.rules])

    def density(self, x: Any, width: float) -> Estimate:
        """Return the density after convolution with a Gaussian of standard deviation ``width``.

        Parameters
        ----------
        x : float or array
            Where.
        width : float
            Standard deviation of the Gaussian, positive.  With m steps, structure finer than the range of the spectrum
            over m isn't resolved, and a smaller width shows the nodes.

        Returns
        -------
        Estimate
            Density and standard error, of the shape of x.

        Raises
        ------
        InputError
            If x isn't finite or the width isn't positive.
        InputTypeError
            If x isn't real.
        """
        points = check_array(x, "x")
        width = check_scalar(width, "width", low=0.0, high=math.inf, low_open=True, high_open=True)
        norming = 1.0 / (width * math.sqrt(2.0 * math.pi))
        rows = []
        for rule in self.rules:
            distance = (points[..., None] - rule.nodes) / width
            rows.append(norming * (np.exp(-0.5 * distance**2) @ rule.weights))
        return self._mean(np.stack(rows))

    def _mean(self, samples: FloatArray) -> Estimate:
        """Return the mean over the first axis with its standard error; floats for one-dimensional samples."""
        count = len(samples)
        value = np.mean(samples, axis=0)
        error = np.zeros_like(value) if self.is_exact else np.std(samples, axis=0, ddof=1) / math.sqrt(count)
        return Estimate(float(value), float(error)) if value.ndim == 0 else Estimate(value, error)


def spectral_density(
    A: Any,
    *,
    n_vectors: int = 10,
    n_steps: int = 60,
    method: str = "auto",
    rng: RNGLike = None,
) -> SpectralDensity:
    r"""Return the distribution of the eigenvalues of a symmetric matrix.

    For v uniform on the unit sphere, :math:`E\, v^T f(A) v = \mathrm{tr} f(A) / n`, and m Lanczos steps from v give
    the Gauss rule :math:`v^T f(A) v \approx \sum_i w_i f(\theta_i)`, exact for polynomials of degree 2m - 1.

    Parameters
    ----------
    A : ndarray, sparse array or LinearOperator of shape (n, n)
        Real symmetric matrix.
    n_vectors : int, default 10
        Number of random vectors, at least 2; standard errors fall with its root, and with the root of n.
    n_steps : int, default 60
        Lanczos steps m for each vector, at least 1.
    method : {"auto", "dense", "lanczos"}, default "auto"
        ``"dense"`` computes the whole spectrum; ``"auto"`` does so when ``n <= n_vectors * n_steps`` and n <= 2000.
    rng : int, Generator or None
        Source of the vectors.

    Returns
    -------
    SpectralDensity
        Moments, cumulative distribution and smoothed density, each with standard errors.

    Raises
    ------
    InputError
        If A isn't square, symmetric and finite, a product isn't finite, or a parameter lies outside its range.
    InputTypeError
        If A or a parameter has the wrong type.

    Notes
    -----
    ``n_vectors * n_steps`` products, O(n_vectors n_steps^2 n) operations, O(n_steps n) memory.  Deterministic for a
    given `rng` and number of BLAS threads.

    References
    ----------
    S. Ubaru, J. Chen, Y. Saad, Fast estimation of tr(f(A)) via stochastic Lanczos quadrature, SIAM J. Matrix Anal.
    Appl. 38 (2017) 1075-1099.
    G. H. Golub, G. Meurant, Matrices, Moments and Quadrature with Applications, Princeton 2010, chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> density = spectral_density(np.diag([0.0, 0.0, 1.0, 3.0]))
    >>> density.moment(1).value, density.cdf(0.5).value
    (1.0, 0.5)
    """
    matrix = as_symmetric(A)
    n_vectors = check_int(n_vectors, "n_vectors", low=2)
    n_steps = check_int(n_steps, "n_steps", low=1)
    method = check_option(method, "method", ("auto", "dense", "lanczos"))
    generator = check_rng(rng)
    if method == "dense" or (method == "auto" and matrix.n <= min(_DENSE_LIMIT, n_vectors * n_steps)):
        return _whole_spectrum(matrix)
    rules = tuple(_gauss_rule(matrix, generator.standard_normal(matrix.n), n_steps) for _ in range(n_vectors))
    return SpectralDensity(matrix.n, rules, False, sum(len(rule.nodes) for rule in rules))


def _whole_spectrum(matrix: SymmetricMatrix) -> SpectralDensity:
    """Return the exact distribution from all eigenvalues."""
    values = np.asarray(np.linalg.eigvalsh(materialise(matrix)), dtype=np.float64)
    rule = GaussRule(values, np.full(matrix.n, 1.0 / matrix.n), values, np.zeros(matrix.n - 1), True)
    return SpectralDensity(matrix.n, (rule,), True, 0 if matrix.is_explicit else matrix.n)


def _gauss_rule(matrix: SymmetricMatrix, start: FloatArray, n_steps: int) -> GaussRule:
    """Return the Gauss rule of one start vector."""
    process = LanczosProcess(lambda v: np.asarray(matrix.operator.matvec(v)).ravel(), start)
    while process.n_steps < n_steps and process.step():
        pass
    alpha, beta = np.array(process.alpha, dtype=np.float64), np.array(process.beta[:-1], dtype=np.float64)
    nodes, vectors = (np.asarray(part, dtype=np.float64) for part in eigh_tridiagonal(alpha, beta))
    return GaussRule(nodes, vectors[0] ** 2, alpha, beta, process.is_exhausted)


def _cumulative(rule: GaussRule, points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the rule's weight up to each point, and bounds of the vector's spectral measure up to it."""
    total = np.concatenate([[0.0], np.cumsum(rule.weights)])
    total /= total[-1]
    count = np.searchsorted(rule.nodes, points, side="right")
    if rule.is_exact:
        return total[count], total[count], total[count]
    # The measure below a node is at least the weight strictly below it and at most the weight up to and including it.
    return total[count], total[np.maximum(count - 1, 0)], total[np.minimum(count + 1, len(rule.nodes))]
