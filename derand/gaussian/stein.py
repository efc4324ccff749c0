"""Stein's identity and its consequences, checked on fresh draws with standard errors.

For z ~ N(0, I) and functions whose derivatives grow no faster than polynomials,

    E[z f(z)] = E[grad f(z)]                                        (Stein)
    E[grad g(Wz + b) z'] = E[Hess g(Wz + b)] W                      (Stein for every component of grad g)
    d/dsigma E[g(m + sigma z)] = E[z' grad g(m + sigma z)] = sigma E[tr Hess g(m + sigma z)]      (heat equation)

Each function below averages the difference of the two sides draw by draw: its mean is 0 if and only if the identity
holds, and its spread gives the standard error.  A wrong gradient or Hessian, or a kink that hides curvature, shows as
a residual many standard errors long.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from derand._utils.html import ResultRepr
from derand._utils.reductions import norm
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import InputError

__all__ = ["IdentityResidual", "heat_equation_residual", "stein_residual", "weight_gradient_residual"]

# Draws are taken in batches whose matrices stay within 8 MiB.
_BATCH_NUMBERS = 1 << 20


@dataclass(frozen=True, repr=False)
class IdentityResidual(ResultRepr):
    """The mean difference of the two sides of an identity, with its standard error.

    Attributes
    ----------
    residual : ndarray
        Mean of left side minus right side.
    standard_error : ndarray
        Of the same shape.
    left, right : ndarray
        Means of the two sides.
    n_samples : int
        Number of draws.
    """

    residual: FloatArray
    standard_error: FloatArray
    left: FloatArray
    right: FloatArray
    n_samples: int

    @property
    def absolute(self) -> float:
        """Return the Euclidean norm of the residual."""
        return norm(self.residual)

    @property
    def noise(self) -> float:
        """Return the root mean square of that norm if the identity holds."""
        return norm(self.standard_error)

    @property
    def relative(self) -> float:
        """Return the norm of the residual over the larger norm of the two sides; 0 if both sides vanish."""
        scale = max(norm(self.left), norm(self.right))
        return self.absolute / scale if scale > 0.0 else 0.0

    def is_consistent(self, confidence: float = 1.0 - 1e-6) -> bool:
        """Return whether every entry lies within its confidence interval about 0 (normal limit, Bonferroni).

        Parameters
        ----------
        confidence : float, default=1 - 1e-6
            Probability with which a true identity passes, between 0 and 1.

        Returns
        -------
        bool
            The verdict.

        Raises
        ------
        InputError
            If ``confidence`` is no probability.
        InputTypeError
            If ``confidence`` isn't a number.
        """
        confidence = check_scalar(confidence, "confidence", low=0.0, high=1.0, low_open=True, high_open=True)
        limit = -float(ndtri((1.0 - confidence) / (2.0 * self.residual.size)))
        rounding = 64.0 * np.finfo(np.float64).eps * np.maximum(np.abs(self.left), np.abs(self.right))
        return bool(np.all(np.abs(self.residual) <= limit * self.standard_error + rounding))


def stein_residual(
    function: Callable[[FloatArray], Any],
    gradient: Callable[[FloatArray], Any],
    dim: int,
    *,
    n_samples: int = 16_384,
    rng: RNGLike = None,
) -> IdentityResidual:
    """Return E[z f(z)] - E[grad f(z)] on fresh draws, 0 by Stein's identity.

    Parameters
    ----------
    function : callable
        Takes points of shape (m, dim), returns values of shape (m,).
    gradient : callable
        Takes points of shape (m, dim), returns gradients of shape (m, dim).
    dim : int
        Dimension, at least 1.
    n_samples : int, default=16384
        Number of draws, at least 2.
    rng : int, Generator, SeedSequence or None
        Seed or generator.

    Returns
    -------
    IdentityResidual
        With arrays of shape (dim,).

    Raises
    ------
    InputError
        If a callable returns the wrong shape or non-finite values, or a size is out of range.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    O(n_samples dim) beside the calls; the same seed gives the same bits.

    References
    ----------
    C. M. Stein (1981), Estimation of the mean of a multivariate normal distribution, Ann. Statist. 9, lemma 2.

    Examples
    --------
    >>> result = stein_residual(lambda z: z[:, 0] ** 3, lambda z: np.stack([3 * z[:, 0] ** 2], 1), 1, rng=0)
    >>> result.is_consistent(), bool(result.standard_error[0] < 0.1)
    (True, True)
    """
    dim = check_int(dim, "dim", low=1)

    def sides(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both sides of the identity at the draws z."""
        values = _checked(function(z), (z.shape[0],), "function")
        return z * values[:, None], _checked(gradient(z), z.shape, "gradient")

    return _average(sides, dim, dim, n_samples, rng)


def weight_gradient_residual(
    gradient: Callable[[FloatArray], Any],
    hessian: Callable[[FloatArray], Any],
    W: Any,
    b: Any,
    *,
    n_samples: int = 16_384,
    rng: RNGLike = None,
) -> IdentityResidual:
    """Return E[grad g(Wz + b) z'] - E[Hess g(Wz + b)] W on fresh draws, 0 by Stein's identity.

    The first term is the gradient of E[g(Wz + b)] in W: this is the identity that sends W to 0 at second-order
    stationary points of the penalised objective.

    Parameters
    ----------
    gradient : callable
        Takes points of shape (m, k), returns gradients of g, shape (m, k).
    hessian : callable
        Takes points of shape (m, k), returns Hessians of g, shape (m, k, k).
    W : array_like of shape (k, d)
        Weights.
    b : array_like of shape (k,)
        Biases.
    n_samples : int, default=16384
        Number of draws, at least 2.
    rng : int, Generator, SeedSequence or None
        Seed or generator.

    Returns
    -------
    IdentityResidual
        With arrays of shape (k, d).

    Raises
    ------
    InputError
        If a callable returns the wrong shape or non-finite values, or an argument is out of range.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    O(n_samples k d (1 + k)) beside the calls; the same seed gives the same bits.

    Examples
    --------
    >>> eye = lambda y: np.broadcast_to(np.eye(2), (y.shape[0], 2, 2))  # g(y) = |y|^2/2
    >>> weight_gradient_residual(lambda y: y, eye, [[1.0], [2.0]], [0.5, 0.0], rng=0).is_consistent()
    True
    """
    W = check_array(W, "W", ndim=2)
    k, d = W.shape
    b = check_array(b, "b", shape=(k,))
    if W.size == 0:
        raise InputError(f"W must not be empty, got shape {W.shape}")

    def sides(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both sides of the identity at the draws z."""
        points = z @ W.T + b
        slopes = _checked(gradient(points), points.shape, "gradient")
        curvatures = _checked(hessian(points), (*points.shape, k), "hessian")
        return slopes[:, :, None] * z[:, None, :], curvatures @ W

    return _average(sides, d, k * max(k, d), n_samples, rng)


def heat_equation_residual(
    gradient: Callable[[FloatArray], Any],
    laplacian: Callable[[FloatArray], Any],
    mean: Any,
    sigma: float,
    *,
    n_samples: int = 16_384,
    rng: RNGLike = None,
) -> IdentityResidual:
    """Return E[z' grad g(m + sigma z)] - sigma E[tr Hess g(m + sigma z)] on fresh draws, 0 by the heat equation.

    Both sides are the derivative of E[g(m + sigma z)] in sigma.

    Parameters
    ----------
    gradient : callable
        Takes points of shape (m, k), returns gradients of g, shape (m, k).
    laplacian : callable
        Takes points of shape (m, k), returns traces of the Hessian of g, shape (m,).
    mean : array_like of shape (k,)
        The point m.
    sigma : float
        Width of the smoothing, >= 0.
    n_samples : int, default=16384
        Number of draws, at least 2.
    rng : int, Generator, SeedSequence or None
        Seed or generator.

    Returns
    -------
    IdentityResidual
        With arrays of shape (1,).

    Raises
    ------
    InputError
        If a callable returns the wrong shape or non-finite values, or an argument is out of range.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    O(n_samples k) beside the calls; the same seed gives the same bits.

    Examples
    --------
    >>> square = heat_equation_residual(lambda y: 2 * y, lambda y: np.full(len(y), 2.0), [3.0], 0.5, rng=0)
    >>> square.right.tolist()  # d/dsigma (9 + sigma^2) at 1/2
    [1.0]
    """
    mean = check_array(mean, "mean", ndim=1)
    if mean.size == 0:
        raise InputError("mean must not be empty")
    sigma = check_scalar(sigma, "sigma", low=0.0, high=math.inf, high_open=True)

    def sides(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both sides of the identity at the draws z."""
        points = mean + sigma * z
        slopes = _checked(gradient(points), points.shape, "gradient")
        return np.sum(z * slopes, axis=1, keepdims=True), sigma * _checked(
            laplacian(points), (z.shape[0],), "laplacian"
        ).reshape(-1, 1)

    return _average(sides, mean.size, mean.size, n_samples, rng)


def _checked(values: Any, shape: tuple[int, ...], name: str) -> FloatArray:
    """Return what a callable returned, if it has the right shape and is finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise InputError(f"{name} must return shape {shape}, got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise InputError(f"{name} must return finite numbers")
    return array


def _average(
    sides: Callable[[FloatArray], tuple[FloatArray, FloatArray]], dim: int, numbers: int, n_samples: int, rng: RNGLike
) -> IdentityResidual:
    """Return the residual of left - right over fresh draws, taken in batches."""
    n_samples = check_int(n_samples, "n_samples", low=2)
    generator = check_rng(rng)
    size = max(1, min(n_samples, _BATCH_NUMBERS // max(1, numbers)))
    done, left_mean, right_mean, spread = 0, np.zeros(1), np.zeros(1), np.zeros(1)
    while done < n_samples:
        count = min(size, n_samples - done)
        left, right = sides(generator.standard_normal((count, dim)))
        difference, middle = left - right, left_mean - right_mean
        batch_mean = np.mean(difference, axis=0)
        # variances of batches combine with the squared distance of their means (Chan, Golub, LeVeque 1979)
        between = (batch_mean - middle) ** 2 * (done * count / (done + count))
        spread = spread + np.sum((difference - batch_mean) ** 2, axis=0) + between
        share = count / (done + count)
        left_mean = left_mean + share * (np.mean(left, axis=0) - left_mean)
        right_mean = right_mean + share * (np.mean(right, axis=0) - right_mean)
        done += count
    error = np.sqrt(spread / (n_samples - 1) / n_samples)
    return IdentityResidual(left_mean - right_mean, error, left_mean, right_mean, n_samples)
