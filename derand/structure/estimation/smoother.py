"""Kernel ridge smoothing of responses on a few coordinates, with a quadratic null space and the ridge by GCV."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from derand._utils.validation import FloatArray, check_option
from derand.exceptions import InputError

__all__ = ["KERNELS", "KernelRidge", "SmoothFit", "Trial", "n_centres", "polynomial_features"]

KERNELS = ("gaussian", "matern")
#: Ridges tried, relative to the number of samples.
_RIDGES = np.logspace(-8.0, 0.5, 35)
# The Gram matrix of the features loses n eps / jitter; the smallest ridge has to be above that.
_JITTER = 1e-8
#: Share of the samples that GCV's degrees of freedom have to leave.
_CROWDED = 1e-2


def n_centres(k: int, n: int, cap: int = 300) -> int:
    """Return how many landmarks k coordinates of n samples get: a smooth kernel's spectrum decays fast for few.

    Parameters
    ----------
    k : int
        Coordinates, at least 1.
    n : int
        Samples.
    cap : int, default 300
        The most landmarks.

    Returns
    -------
    int
        Between 1 and ``min(n, cap)``.

    Examples
    --------
    >>> [n_centres(k, 1000) for k in (1, 2, 3, 4, 5)]
    [30, 60, 110, 150, 200]
    """
    return max(1, min({1: 30, 2: 60, 3: 110, 4: 150}.get(k, 200), cap, n))


def polynomial_features(z: FloatArray, degree: int) -> FloatArray:
    """Return the monomials of total degree at most 0, 1 or 2.

    Parameters
    ----------
    z : ndarray of shape (n, k)
        Coordinates.
    degree : int
        0, 1 or 2.

    Returns
    -------
    ndarray of shape (n, 1), (n, 1 + k) or (n, (k + 1)(k + 2) / 2)
        Constant, linear terms, then products z_i z_j with i <= j.

    Examples
    --------
    >>> polynomial_features(np.array([[2.0, 3.0]]), 2).tolist()
    [[1.0, 2.0, 3.0, 4.0, 6.0, 9.0]]
    """
    columns = [np.ones((z.shape[0], 1))]
    if degree >= 1:
        columns.append(z)
    if degree >= 2:
        i, j = np.triu_indices(z.shape[1])
        columns.append(z[:, i] * z[:, j])
    return np.concatenate(columns, axis=1)


def _polynomial_gradient(z: FloatArray, coefficients: FloatArray, degree: int) -> FloatArray:
    """Return the gradient, of shape (q, n, k), of the polynomial with the given coefficients (p, q)."""
    n, k = z.shape
    out = np.zeros((coefficients.shape[1], n, k))
    if degree >= 1:
        out += coefficients[1 : 1 + k].T[:, None, :]
    if degree >= 2:
        i, j = np.triu_indices(k)
        form = np.zeros((coefficients.shape[1], k, k))
        form[:, i, j] = coefficients[1 + k :].T
        out += z @ (form + form.transpose(0, 2, 1))
    return out


@dataclass(frozen=True)
class SmoothFit:
    """A fitted smoother.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    centres : ndarray of shape (m, k)
        Landmarks.
    scales : ndarray of shape (k,)
        Length scale of each coordinate.
    weights : ndarray of shape (m, q)
        Kernel weights.
    polynomial : ndarray of shape (p, q)
        Coefficients of `polynomial_features`.
    degree : int
        Degree of the polynomial part.
    ridge : float
        The ridge, of the scale of a sum over samples.
    df : float
        Trace of the smoother matrix.
    rss : float
        Weighted sum of squared residuals over samples and outputs.
    gcv : float
        Generalised cross-validation score of the fit.
    basis : ndarray of shape (n, m')
        Orthogonal columns U with S = U diag(shrink) U^T, rows multiplied by the root of the sample weights.
    shrink : ndarray of shape (m',)
        See ``basis``; columns that hold a negligible part of the degrees of freedom are left out.
    basis_weights : ndarray of shape (m, m')
        Kernel weights of the functions whose values are the columns of ``basis``.
    basis_polynomial : ndarray of shape (p, m')
        Polynomial coefficients of the same functions.
    """

    kernel: str
    centres: FloatArray
    scales: FloatArray
    weights: FloatArray
    polynomial: FloatArray
    degree: int
    ridge: float
    df: float
    rss: float
    gcv: float
    basis: FloatArray
    shrink: FloatArray
    basis_weights: FloatArray
    basis_polynomial: FloatArray

    def gradient_noise(self, z: FloatArray) -> FloatArray:
        """Return the sum over samples of the covariance of the fitted gradient, for unit noise; shape (k, k)."""
        functions = replace(self, weights=self.basis_weights, polynomial=self.basis_polynomial)
        gradient = functions.value_and_gradient(z)[1]
        power = np.square(self.shrink) * np.square(self.basis).sum(axis=0)
        return np.asarray(np.einsum("o,onk,onl->kl", power, gradient, gradient, optimize=True))

    def predict(self, z: FloatArray) -> FloatArray:
        """Return the fitted function, of shape (n, q), at coordinates of shape (n, k)."""
        K = _kernel(z, self.centres, self.scales, self.kernel)[0]
        return np.asarray(K @ self.weights + polynomial_features(z, self.degree) @ self.polynomial)

    def value_and_gradient(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values of shape (n, q) and gradients of shape (q, n, k) of the fitted function."""
        K, slope = _kernel(z, self.centres, self.scales, self.kernel)
        value = K @ self.weights + polynomial_features(z, self.degree) @ self.polynomial
        gradient = _polynomial_gradient(z, self.polynomial, self.degree)
        for o in range(self.weights.shape[1]):
            w = self.weights[:, o]
            moved = slope @ np.column_stack([w, w[:, None] * self.centres])
            gradient[o] += (moved[:, 1:] - z * moved[:, :1]) / self.scales**2
        return value, gradient


def _kernel(z: FloatArray, centres: FloatArray, scales: FloatArray, kind: str) -> tuple[FloatArray, FloatArray]:
    """Return K and the array A for which the gradient of K[i, c] is A[i, c] (c - z) / scales^2."""
    # One product gives -|a - b|^2 / 2; large temporary arrays would cost more than the exponentials.
    k = z.shape[1]
    left, right = np.ones((z.shape[0], k + 2)), np.ones((centres.shape[0], k + 2))
    np.divide(z, scales, out=left[:, :k])
    np.divide(centres, scales, out=right[:, :k])
    left[:, k] = -0.5 * np.einsum("ij,ij->i", left[:, :k], left[:, :k])
    right[:, k + 1] = -0.5 * np.einsum("ij,ij->i", right[:, :k], right[:, :k])
    exponent = left @ right.T
    np.minimum(exponent, 0.0, out=exponent)
    if kind == "gaussian":
        np.exp(exponent, out=exponent)
        return exponent, exponent
    r = np.sqrt(-6.0 * exponent)
    decay = np.exp(-r)
    return (1.0 + r) * decay, 3.0 * decay


class KernelRidge:
    r"""Least squares with the penalty :math:`\lambda \|f\|^2` of a kernel on everything but quadratic polynomials.

    The estimate minimises :math:`\sum_i w_i (y_i - f(z_i))^2 + \lambda \|f - Pf\|_K^2` over the span of a quadratic
    polynomial, which is not penalised, and the kernels at some landmarks (Nystroem).  The polynomial carries links
    and heavy tails that a kernel of one width can't; the ridge is the one of least GCV score

    .. math:: \mathrm{GCV} = n\, \mathrm{RSS} / (n - \gamma\, \mathrm{df})^2,

    which one eigendecomposition gives for all ridges at once.

    Parameters
    ----------
    z : ndarray of shape (n, k)
        Coordinates, of the order of 1.
    y : ndarray of shape (n, q)
        Responses.
    rows : ndarray of int
        Indices of the samples that are landmarks.
    sample_weight : ndarray of shape (n,), optional
        Nonnegative weights with mean 1.
    gamma : float, default 1.0
        Price of a degree of freedom in GCV.
    extra_df : float, default 0.0
        Degrees of freedom spent elsewhere.

    Raises
    ------
    InputError
        If there are no samples.

    References
    ----------
    Golub, Heath, Wahba, Generalized cross-validation, Technometrics 21 (1979).
    """

    def __init__(
        self,
        z: FloatArray,
        y: FloatArray,
        rows: NDArray[np.int64],
        sample_weight: FloatArray | None = None,
        gamma: float = 1.0,
        extra_df: float = 0.0,
    ) -> None:
        if z.shape[0] == 0:
            raise InputError("z must have at least one row")
        self.z, self.gamma, self.extra_df = z, gamma, extra_df
        self.root = None if sample_weight is None else np.sqrt(sample_weight)[:, None]
        self.y = y if self.root is None else y * self.root
        self.centres = z[rows]
        n, k = z.shape
        self.degree = max((g for g in (0, 1, 2) if n >= 6 * math.comb(k + g, g)), default=0)
        P = polynomial_features(z, self.degree)
        self.Q, self.R, self._pivot = scipy.linalg.qr(
            P if self.root is None else P * self.root, mode="economic", pivoting=True, check_finite=False
        )
        sizes = np.abs(np.diag(self.R))
        self.rank = int(np.sum(sizes > 1e-10 * sizes[0])) if sizes[0] > 0.0 else 0
        self.Q = self.Q[:, : self.rank]
        self.Qy = self.Q.T @ self.y
        self.rest = float(np.square(self.y - self.Q @ self.Qy).sum())

    def fit(
        self, scales: FloatArray, kernel: str = "gaussian", ridge: float | None = None, *, criterion: str = "gcv"
    ) -> SmoothFit:
        """Return the fit for given length scales.

        Parameters
        ----------
        scales : ndarray of shape (k,)
            Length scales.
        kernel : {"gaussian", "matern"}
            "matern" is the one of smoothness 3/2, for links with kinks and jumps.
        ridge : float, optional
            The ridge; the one of least score by default.
        criterion : {"gcv", "bic"}
            Score of a ridge: GCV for the best prediction, BIC, with fewer degrees of freedom, to compare models.

        Returns
        -------
        SmoothFit
            The fit.

        Raises
        ------
        InputError
            If the kernel or the criterion is unknown.
        """
        return self.trial(scales, kernel, ridge, criterion=criterion).finish()

    def trial(
        self, scales: FloatArray, kernel: str = "gaussian", ridge: float | None = None, *, criterion: str = "gcv"
    ) -> Trial:
        """Return the scores of a fit, with the rest of it on demand: most fits of a search are only compared.

        Parameters
        ----------
        scales, kernel, ridge, criterion
            As in `fit`.

        Returns
        -------
        Trial
            The fit's scores.

        Raises
        ------
        InputError
            If the kernel or the criterion is unknown.
        """
        check_option(kernel, "kernel", KERNELS)
        check_option(criterion, "criterion", ("gcv", "bic"))
        n = self.z.shape[0]
        K = _kernel(self.z, self.centres, scales, kernel)[0]
        inner = _kernel(self.centres, self.centres, scales, kernel)[0]
        inner[np.diag_indices_from(inner)] += _JITTER * inner.shape[0]
        L = scipy.linalg.cholesky(inner, lower=True, check_finite=False)
        # The features are never formed: L^-1 is applied to the small Gram matrix instead of to n rows.
        Kw = K if self.root is None else K * self.root
        QK = self.Q.T @ Kw
        gram = Kw.T @ Kw - QK.T @ QK
        gram = _solve_lower(L, _solve_lower(L, gram).T)
        e, V = np.linalg.eigh(0.5 * (gram + gram.T))
        keep = e > 1e-11 * n
        e, V = e[keep], V[:, keep]
        t = V.T @ _solve_lower(L, Kw.T @ self.y - QK.T @ self.Qy)
        ridges = _RIDGES * n if ridge is None else np.array([ridge])
        h = e / (e + ridges[:, None])
        df = self.rank + h.sum(axis=1)
        power = np.square(t).sum(axis=1) / e if e.size else np.zeros(0)
        rss = np.maximum(self.rest - ((2.0 - h) * h) @ power, 1e-14 * self.rest)
        room = n - self.gamma * df - self.extra_df
        # A fit that leaves no room counts as one that explains nothing: its residuals could be 0.
        spare = room > _CROWDED * n
        gcv = n * np.where(spare, rss, self.rest) / np.square(np.where(spare, room, _CROWDED * n))
        score = gcv if criterion == "gcv" else n * np.log(np.maximum(rss, 1e-300)) + math.log(n) * df
        best = int(np.argmin(score))
        return Trial(
            self, kernel, scales, float(ridges[best]), float(df[best]), float(rss[best]), float(gcv[best]),
            (Kw, QK, L, e, V, t),
        )  # fmt: skip

    def coefficients(self, inner: FloatArray) -> FloatArray:
        """Return the polynomial coefficients of functions whose inner products with the columns of Q are given."""
        out = np.zeros((self.R.shape[1], inner.shape[1]))
        top = self.R[: self.rank, : self.rank]
        out[self._pivot[: self.rank]] = scipy.linalg.solve_triangular(top, inner, check_finite=False)
        return out


@dataclass(frozen=True)
class Trial:
    """Scores of a fit whose coefficients haven't been computed yet.

    Parameters
    ----------
    smoother : KernelRidge
        What was fitted.
    kernel : str
        Name of the kernel.
    scales : ndarray of shape (k,)
        Length scales.
    ridge, df, rss, gcv : float
        As in `SmoothFit`.
    parts : tuple of ndarray
        Kernel matrix, its product with the polynomial basis, Cholesky factor of the landmarks' kernel matrix,
        eigenvalues, eigenvectors, and the responses in them.
    """

    smoother: KernelRidge
    kernel: str
    scales: FloatArray
    ridge: float
    df: float
    rss: float
    gcv: float
    parts: tuple[FloatArray, ...]

    def finish(self) -> SmoothFit:
        """Return the whole fit."""
        host, (Kw, QK, L, e, V, t) = self.smoother, self.parts
        h = e / (e + self.ridge)
        a = V @ (t / (e + self.ridge)[:, None])
        weights = scipy.linalg.solve_triangular(L, a, lower=True, trans="T", check_finite=False)
        used = h > 1e-3
        directions = scipy.linalg.solve_triangular(L, V[:, used], lower=True, trans="T", check_finite=False)
        shadow = QK @ directions
        basis = np.empty((Kw.shape[0], host.rank + int(used.sum())))
        basis[:, : host.rank] = host.Q
        basis[:, host.rank :] = Kw @ directions
        basis[:, host.rank :] -= host.Q @ shadow
        none = np.zeros((Kw.shape[1], host.rank))
        return SmoothFit(
            self.kernel, host.centres, self.scales, weights, host.coefficients(host.Qy - QK @ weights), host.degree,
            self.ridge, self.df, self.rss, self.gcv, basis,
            np.concatenate([np.ones(host.rank), 1.0 / (e[used] + self.ridge)]),
            np.concatenate([none, directions], axis=1),
            host.coefficients(np.concatenate([np.eye(host.rank), -shadow], axis=1)),
        )  # fmt: skip


def _solve_lower(L: FloatArray, B: FloatArray) -> FloatArray:
    """Return L^-1 B for a lower triangular L."""
    return np.asarray(scipy.linalg.solve_triangular(L, B, lower=True, check_finite=False))
