"""The least error with which any estimator can find the directions of a multi-index model."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import InputError
from derand.structure.subspace import orthonormal_rows

__all__ = ["efficiency_bound"]

_STEP = 1e-5
_MAX_NODES = 200_000


def efficiency_bound(
    link: Callable[[FloatArray], FloatArray],
    n: int,
    d: int,
    sigma: float,
    *,
    k: int = 1,
    gradient: Callable[[FloatArray], FloatArray] | None = None,
    covariance: Any = None,
    directions: Any = None,
    nodes: int | None = None,
) -> float:
    r"""Return the root of the semiparametric limit of :math:`E\|\sin\Theta\|_F^2` for Gaussian inputs and noise.

    For :math:`y = f(Bx) + \sigma\varepsilon` with B of k orthonormal rows and :math:`x \sim N(0, \Sigma)`,

    .. math::
        E\|\sin\Theta\|_F^2 \ge \frac{\sigma^2}{n}\, \mathrm{tr}(M^{-1})\, \mathrm{tr}(B_\perp \Sigma^{-1}
        B_\perp^\top), \qquad M = E[\nabla f \nabla f^\top],

    asymptotically, for regular estimators that don't know f; :math:`\Sigma = I` makes the second trace d - k.  Knowing
    f wouldn't lower it: given :math:`Bx`, the rest of x has mean linear in it, and its part that f can't imitate is all
    of it.  At finite n estimators lie above it, and superefficient ones (a link with jumps) may lie below.

    Parameters
    ----------
    link : callable
        f, from coordinates of shape (m, k) to values of shape (m,).
    n : int
        Samples.
    d : int
        Dimensions, at least k.
    sigma : float
        Standard deviation of the noise.
    k : int, default 1
        Directions.
    gradient : callable, optional
        Gradient of f, from (m, k) to (m, k); central differences by default.
    covariance : array_like of shape (d, d), optional
        Covariance of x; needs ``directions``.
    directions : array_like of shape (k, d), optional
        B, needed where the covariance isn't the identity.
    nodes : int, optional
        Quadrature nodes of each axis; by default as many as make 200,000 in all, at most 160.

    Returns
    -------
    float
        The bound on the root mean square; inf where the link doesn't determine all k directions.

    Raises
    ------
    InputError
        If a number is out of range, shapes don't fit or the covariance isn't positive definite.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    Gauss-Hermite quadrature with nodes^k points: exact for polynomial links, not for links with kinks, where more nodes
    help slowly.  Deterministic.

    References
    ----------
    Newey, Stoker, Efficiency of weighted average derivative estimators and index models, Econometrica 61 (1993).

    Examples
    --------
    For f(z) = z the limit is that of least squares on the d - 1 directions across.

    >>> efficiency_bound(lambda z: z[:, 0], n=400, d=5, sigma=1.0)
    0.1
    """
    check_int(k, "k", low=1)
    check_int(d, "d", low=k)
    check_int(n, "n", low=1)
    check_scalar(sigma, "sigma", low=0.0)
    root, across = np.eye(k), float(d - k)
    if covariance is not None:
        root, across = _geometry(covariance, directions, k, d)
    per_axis = max(8, min(160, int(_MAX_NODES ** (1.0 / k)))) if nodes is None else check_int(nodes, "nodes", low=1)
    x, w = np.polynomial.hermite_e.hermegauss(per_axis)
    grid = np.stack(np.meshgrid(*[x] * k, indexing="ij"), axis=-1).reshape(-1, k)
    weight = np.ones(1)
    for _ in range(k):
        weight = np.multiply.outer(weight, w / w.sum()).ravel()
    z = grid @ root.T
    slopes = _differences(link, z) if gradient is None else np.asarray(gradient(z), dtype=np.float64)
    if slopes.shape != z.shape:
        raise InputError(f"gradient must return shape {z.shape}, got {slopes.shape}")
    M = (slopes * weight[:, None]).T @ slopes
    eigenvalues = np.linalg.eigvalsh(M)
    if not np.isfinite(eigenvalues).all() or eigenvalues[0] <= 1e-10 * max(float(eigenvalues[-1]), 1e-300):
        return math.inf
    return sigma * math.sqrt(across * float(np.sum(1.0 / eigenvalues)) / n)


def _geometry(covariance: Any, directions: Any, k: int, d: int) -> tuple[FloatArray, float]:
    """Return a root of the covariance of the coordinates, and the trace of the inverse information across them."""
    Sigma = check_array(covariance, "covariance", shape=(d, d))
    if directions is None:
        raise InputError("directions must be given with a covariance")
    B = orthonormal_rows(directions, "directions")
    if B.shape != (k, d):
        raise InputError(f"directions must have shape {(k, d)}, got {B.shape}")
    try:
        inverse = np.linalg.inv(np.linalg.cholesky(Sigma))
    except np.linalg.LinAlgError as error:
        raise InputError("covariance must be positive definite") from error
    precision = inverse.T @ inverse
    across = float(np.trace(precision) - np.trace(B @ precision @ B.T))
    return np.asarray(np.linalg.cholesky(B @ Sigma @ B.T), dtype=np.float64), across


def _differences(link: Callable[[FloatArray], FloatArray], z: FloatArray) -> FloatArray:
    """Return central differences of the link."""
    columns = []
    for axis in range(z.shape[1]):
        h = _STEP * (np.arange(z.shape[1]) == axis)
        columns.append((np.asarray(link(z + h)) - np.asarray(link(z - h))).reshape(z.shape[0]) / (2.0 * _STEP))
    return np.stack(columns, axis=1)
