"""Multinomial models on a subspace: linear, and kernels whose coordinates are trained with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
import scipy.special
from numpy.typing import NDArray

from derand._utils.validation import FloatArray

__all__ = ["LogisticFit", "fit_network", "kernel_coordinates", "ridge_logistic", "softmax_loss"]

_SCALE = 1.5
#: Squared distance of two samples, in kernel widths, at the median: the kernel is exp(-3) there.
_APART = 6.0
_PAIRED = 300


def softmax_loss(scores: FloatArray, targets: FloatArray, weight: FloatArray) -> tuple[float, FloatArray]:
    """Return the weighted multinomial loss and its gradient by the scores.

    Parameters
    ----------
    scores : ndarray of shape (n, C)
        Logits.
    targets : ndarray of shape (n, C)
        One-hot classes.
    weight : ndarray of shape (n,)
        Weights.

    Returns
    -------
    loss : float
        Sum of weighted negative log-likelihoods.
    gradient : ndarray of shape (n, C)
        Its gradient.

    Examples
    --------
    >>> softmax_loss(np.zeros((1, 2)), np.array([[1.0, 0.0]]), np.ones(1))[0]
    0.6931
    """
    logp = scipy.special.log_softmax(scores, axis=1)
    return -float(weight @ (targets * logp).sum(axis=1)), (np.exp(logp) - targets) * weight[:, None]


@dataclass(frozen=True)
class LogisticFit:
    """Logits ``intercept + z @ slopes + K(z) @ weights`` of the coordinates ``z = X @ B.T``.

    Parameters
    ----------
    B : ndarray of shape (k, d)
        Directions, not orthonormal.
    centres : ndarray of shape (m, k)
        Landmarks of Gaussian kernels; m = 0 for a linear model.
    weights : ndarray of shape (m, C)
        Kernel weights.
    slopes : ndarray of shape (k, C)
        Linear part.
    intercept : ndarray of shape (C,)
        Constant part.
    n_iter : int
        Iterations of L-BFGS.
    """

    B: FloatArray
    centres: FloatArray
    weights: FloatArray
    slopes: FloatArray
    intercept: FloatArray
    n_iter: int

    def scores(self, X: FloatArray) -> FloatArray:
        """Return the logits, of shape (n, C)."""
        z = X @ self.B.T
        return np.asarray(self.intercept + z @ self.slopes + _kernel(z, self.centres) @ self.weights)

    def gradient(self, X: FloatArray) -> FloatArray:
        """Return the gradients of the logits by z, of shape (C, n, k)."""
        z = X @ self.B.T
        K = _kernel(z, self.centres)
        out = np.repeat(self.slopes.T[:, None, :], X.shape[0], axis=1)
        for c in range(out.shape[0]):
            w = self.weights[:, c]
            out[c] += (K @ (w[:, None] * self.centres) - z * (K @ w)[:, None]) / _SCALE**2
        return out


def _kernel(z: FloatArray, centres: FloatArray) -> FloatArray:
    """Return the Gaussian kernel of one fixed width; the scale of z is trained instead."""
    squares = np.square(z).sum(axis=1)[:, None] + np.square(centres).sum(axis=1) - 2.0 * (z @ centres.T)
    return np.asarray(np.exp(-0.5 / _SCALE**2 * np.maximum(squares, 0.0)))


def ridge_logistic(
    X: FloatArray, targets: FloatArray, weight: FloatArray, ridge: float, max_iter: int = 200
) -> LogisticFit:
    r"""Return the multinomial logistic regression with penalty :math:`\tfrac\lambda2 \|U\|_F^2`.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Standardised samples.
    targets : ndarray of shape (n, C)
        One-hot classes.
    weight : ndarray of shape (n,)
        Weights.
    ridge : float
        The penalty's factor, positive.
    max_iter : int, default 200
        Most iterations.

    Returns
    -------
    LogisticFit
        Its B holds orthonormal rows spanning the coefficients, min(C - 1, d) of them.
    """
    n, d = X.shape
    C = targets.shape[1]

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        U, c = flat[: d * C].reshape(d, C), flat[d * C :]
        value, G = softmax_loss(X @ U + c, targets, weight)
        return (value + 0.5 * ridge * float(np.square(U).sum())) / n, np.append(X.T @ G + ridge * U, G.sum(axis=0)) / n

    found = scipy.optimize.minimize(
        loss, np.zeros(d * C + C), jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "maxcor": 20}
    )
    U, c = found.x[: d * C].reshape(d, C), found.x[d * C :]
    left = np.linalg.svd(U, full_matrices=False)[0][:, : max(1, min(C - 1, d))]
    k = left.shape[1]
    return LogisticFit(left.T, np.zeros((0, k)), np.zeros((0, C)), left.T @ U, c, int(found.nit))


def fit_network(
    X: FloatArray, targets: FloatArray, weight: FloatArray, start: FloatArray, rows: NDArray[np.int64], *, ridge: float,
    fixed: bool = False, is_scaled: bool = False, max_iter: int = 150,
) -> LogisticFit:  # fmt: skip
    r"""Return directions, linear part and kernel weights that minimise one penalised multinomial loss.

    The penalty is :math:`\tfrac\lambda2 (\|A\|_F^2 + \|a\|_F^2 + \|B\|_F^2)` with kernel weights A and slopes
    a; a short B makes the model linear.  The problem isn't convex; L-BFGS ends at a stationary point near the start.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Standardised samples.
    targets : ndarray of shape (n, C)
        One-hot classes.
    weight : ndarray of shape (n,)
        Weights.
    start : ndarray of shape (k, d)
        Directions to start from; turned and scaled to uncorrelated coordinates of variance 1 unless ``is_scaled``.
    rows : ndarray of int
        Samples whose coordinates are the landmarks.
    ridge : float
        Factor of the penalty.
    fixed : bool, default False
        Whether to leave the directions where they start.
    is_scaled : bool, default False
        Whether the coordinates have the scales that the kernels want already.
    max_iter : int, default 150
        Most iterations.

    Returns
    -------
    LogisticFit
        The fit.
    """
    n = X.shape[0]
    B0 = start if is_scaled else _unit_coordinates(X, start)
    centres = X[rows] @ B0.T
    k, d, m, C = B0.shape[0], X.shape[1], len(rows), targets.shape[1]
    cuts = np.cumsum([k * d, m * C, k * C])
    base = np.mean(np.square(B0))
    z0 = X @ B0.T
    K0 = _kernel(z0, centres)

    def split(flat: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return directions, kernel weights, slopes and intercept."""
        B, A, a, c = np.split(flat, cuts)
        return B.reshape(k, d), A.reshape(m, C), a.reshape(k, C), c

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        B, A, a, c = split(flat)
        z, K = z0, K0
        if not fixed:
            z = X @ B.T
            K = _kernel(z, centres)
        value, G = softmax_loss(c + z @ a + K @ A, targets, weight)
        value += 0.5 * ridge * float(np.square(A).sum() + np.square(a).sum() + np.square(B).sum())
        dB = np.zeros_like(B)
        if not fixed:
            W = (G @ A.T) * K
            dz = G @ a.T + (W @ centres - z * W.sum(axis=1)[:, None]) / _SCALE**2
            dB = dz.T @ X + ridge * B
        return value / n, np.concatenate(
            [part.ravel() for part in (dB, K.T @ G + ridge * A, z.T @ G + ridge * a, G.sum(axis=0))]
        ) / n  # fmt: skip

    first = np.concatenate([B0.ravel(), np.zeros(m * C + k * C + C)])
    found = scipy.optimize.minimize(
        loss, first, jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "maxcor": 20}
    )
    B, A, a, c = split(found.x if base > 0.0 else first)
    return LogisticFit(B, centres, A, a, c, int(found.nit))


def kernel_coordinates(X: FloatArray, B: FloatArray) -> FloatArray:
    """Return B times the factor with which a kernel of the width here is local: exp(-3) at the median distance.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples; the first 300 are paired.
    B : ndarray of shape (k, d)
        Directions, whose coordinates keep their relative scales.

    Returns
    -------
    ndarray of shape (k, d)
        The scaled directions.

    Examples
    --------
    >>> kernel_coordinates(np.array([[0.0], [1.0]]), np.eye(1)).round(3).tolist()
    [[3.674]]
    """
    z = X[:_PAIRED] @ B.T
    squares = np.square(z).sum(axis=1)
    apart = (squares[:, None] + squares - 2.0 * (z @ z.T))[np.triu_indices(len(z), 1)]
    median = float(np.median(apart)) if apart.size else 0.0
    return np.asarray(B * (_SCALE * np.sqrt(_APART / median)) if median > 0.0 else B)


def _unit_coordinates(X: FloatArray, B: FloatArray) -> FloatArray:
    """Return rows spanning those of B, with uncorrelated coordinates of variance 1."""
    z = X @ B.T
    values, axes = np.linalg.eigh(z.T @ z / X.shape[0])
    return np.asarray((axes / np.sqrt(np.maximum(values, 1e-10 * max(float(values[-1]), 1e-300)))).T @ B)
