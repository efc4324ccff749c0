"""Error bars of an estimated subspace from the information matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.stats

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_scalar
from derand.structure.estimation.polish import Candidate, Problem, information
from derand.structure.subspace import orthonormal_rows

__all__ = ["ConfidenceCone", "confidence_cone", "weighted_chi2_quantile"]


def weighted_chi2_quantile(weights: FloatArray, level: float, noise_dof: float = math.inf) -> float:
    r"""Return a quantile of :math:`\sum_j a_j \chi^2_1` by three moments.

    Parameters
    ----------
    weights : ndarray of shape (m,)
        Nonnegative :math:`a_j`.
    level : float in (0, 1)
        Probability below the quantile.
    noise_dof : float, default inf
        Degrees of freedom of the estimated variance that the weights are multiples of; finite ones put an F quantile
        in place of the chi-square one.

    Returns
    -------
    float
        Exact for equal weights; elsewhere to about one per cent of the quantile for levels from 0.9 to 0.99.

    References
    ----------
    Imhof, Computing the distribution of quadratic forms in normal variables, Biometrika 48 (1961), section 4.

    Examples
    --------
    >>> weighted_chi2_quantile(np.array([1.0]), 0.95)
    3.8415
    """
    a = np.maximum(weights, 0.0)
    top = float(a.max(initial=0.0))
    if top == 0.0:
        return 0.0
    c1, c2, c3 = (float(np.sum((a / top) ** p)) for p in (1, 2, 3))
    dof = c2**3 / c3**2
    point = float(scipy.stats.chi2.ppf(level, dof))
    studentised = dof * float(scipy.stats.f.ppf(level, dof, noise_dof)) if math.isfinite(noise_dof) else point
    return top * (c1 + (point - dof) * math.sqrt(c2 / dof)) * studentised / point


_NOISE_SAMPLES = 1000
# With fewer samples for each column, or a smaller share left for the noise, cones miss the truth in half of the cases.
_MIN_ROWS, _MIN_SHARE = 3, 0.25
_FLAT = 1e-6


@dataclass(frozen=True, repr=False)
class ConfidenceCone(ResultRepr):
    """Estimated law of the error of a subspace.

    The truth is the row space of ``components + E`` with rows of E across ``components``, of mean 0 and known
    covariance, to first order.

    Parameters
    ----------
    components : ndarray of shape (k, d)
        Orthonormal rows.
    covariance : ndarray of shape (k, d - k, k, d - k)
        Covariance of the coordinates of E in ``across``; NaN where the samples are too few to tell.
    across : ndarray of shape (d - k, d)
        Orthonormal complement.
    noise : float
        Estimated variance of the noise, in units of the responses that were fitted.
    dof : float, default inf
        Its degrees of freedom.
    """

    components: FloatArray
    covariance: FloatArray
    across: FloatArray
    noise: float
    dof: float = math.inf

    @property
    def stderr(self) -> FloatArray:
        """Standard errors of the components' entries, of shape (k, d); NaN where the samples are too few."""
        blocks = np.einsum("iajb->ijab", self.covariance)
        variance = [np.einsum("ad,ab,bd->d", self.across, blocks[i, i], self.across) for i in range(len(blocks))]
        return np.asarray(np.sqrt(np.maximum(np.array(variance).reshape(self.components.shape), 0.0)))

    @property
    def expected_error(self) -> float:
        """Root mean square of the norm of the sines, to first order; NaN where the samples are too few."""
        k, m = self.covariance.shape[:2]
        return math.sqrt(np.maximum(np.trace(self.covariance.reshape(k * m, k * m)), 0.0))

    def rotated(self, axes: FloatArray) -> ConfidenceCone:
        """Return the same cone with other orthonormal rows for the subspace, ``axes @ components``."""
        covariance = np.einsum("ij,jakb,lk->ialb", axes, self.covariance, axes, optimize=True)
        return replace(self, components=axes @ self.components, covariance=covariance)

    def angle(self, level: float = 0.95) -> float:
        r"""Return the radius of the cone: :math:`\|\sin\Theta\|_F` is below it with the given probability.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
            The probability, to first order in the error.

        Returns
        -------
        float
            The radius, at most sqrt(k), and that where the samples are too few: it excludes nothing.

        Raises
        ------
        InputError
            If the level is out of range.
        """
        check_scalar(level, "level", low=0.0, high=1.0, low_open=True, high_open=True)
        k, m = self.covariance.shape[:2]
        if m == 0:
            return 0.0
        if np.isnan(self.covariance).any():
            return math.sqrt(k)
        values = np.asarray(scipy.linalg.eigvalsh(self.covariance.reshape(k * m, k * m)), dtype=np.float64)
        return min(math.sqrt(k), math.sqrt(weighted_chi2_quantile(values, level, self.dof)))


def confidence_cone(problem: Problem, candidate: Candidate, matrix: FloatArray) -> ConfidenceCone:
    r"""Return the error bars of a polished candidate.

    With the Jacobian J of the fitted values by the update D, the smoother S and the residual variance
    :math:`s^2 = \mathrm{RSS}/(n - \mathrm{df} - k(r-k))`, the covariance of D is

    .. math:: \frac{s^2}{1 - p/n} H^{-1} J^\top (I-S)^2 J\, H^{-1}, \qquad H = J^\top (I-S) J - V \otimes I,

    where p = k(r-k).  The subspace fits its own noise, so that at the minimum the slopes of the link are overstated and
    the score's scatter understated; the factor n/(n-p), that of generalised cross-validation over an unbiased variance,
    makes up for that to second order, by calibration and not by proof.  V is the noise of the fitted gradients,
    :math:`E \sum_i (\hat g_i - g_i)(\hat g_i - g_i)^\top`: it raises the variance of the score but not the curvature of
    the expected profile, which leaving it out would overstate by the square.  The covariance is carried to the columns
    of the data by the delta method.

    It holds for independent noise of one variance, a smooth link and a start in the right basin; selection of the rank
    isn't part of it.  With fewer than three samples for each column, or less than a quarter of the samples left for the
    noise by link and directions, the covariance is NaN: such fits follow the noise, and cones from them would be far
    too narrow.  For a constant response it is NaN as well.

    Parameters
    ----------
    problem : Problem
        Whitened samples.
    candidate : Candidate
        The fit.
    matrix : ndarray of shape (d, r)
        The whitening.

    Returns
    -------
    ConfidenceCone
        In the columns of the data.
    """
    info = information(problem, candidate)
    k, (n, q) = candidate.B.shape[0], problem.y.shape
    p = info.g.size
    left = q * (n - candidate.fit.df) - p
    dof = max(left, 0.1 * n)
    noise = candidate.fit.rss / dof
    inflation = 1.0 / (1.0 - min(p / (q * n), 0.5))
    inverse = _inverse_signal(info.H, noise * _gradient_noise(problem, candidate), candidate.B.shape)
    covariance = noise * inflation * inverse @ info.H2 @ inverse
    moved = candidate.B @ matrix.T
    components = orthonormal_rows(moved)
    T = moved @ components.T
    d = components.shape[1]
    across = scipy.linalg.qr(components.T)[0][:, k:].T
    step = info.C @ matrix.T @ across.T
    A = np.kron(np.linalg.inv(T), step.T)
    full = (A @ covariance @ A.T).reshape(k, d - k, k, d - k)
    # Responses are standardised: all near zero means that they were constant.
    is_flat = bool(np.all(np.abs(problem.y) < _FLAT))
    if is_flat or n < _MIN_ROWS * np.count_nonzero(matrix.any(axis=1)) or left < _MIN_SHARE * q * n:
        full = np.full_like(full, np.nan)
    return ConfidenceCone(components, full, np.asarray(across, dtype=np.float64), noise, dof)


def _gradient_noise(problem: Problem, candidate: Candidate) -> FloatArray:
    """Return the summed covariance of the fitted gradients for unit noise, from at most 1,000 samples."""
    rows = problem.order[:_NOISE_SAMPLES]
    V = candidate.fit.gradient_noise(problem.X[rows] @ candidate.B.T)
    return np.asarray(V * (problem.y.shape[1] * problem.X.shape[0] / rows.size))


def _inverse_signal(H: FloatArray, V: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return the inverse of H - V (x) I; no direction is left less than a quarter of its curvature in H."""
    k, r = shape
    values, axes = scipy.linalg.eigh(H)
    root = axes / np.sqrt(np.maximum(values, 1e-8 * max(float(values[-1] if H.size else 0.0), 1e-300)))
    share = root.T @ np.kron(V, np.eye(r - k)) @ root
    losses, rotation = scipy.linalg.eigh(0.5 * (share + share.T))
    half = root @ rotation
    return np.asarray((half / np.maximum(1.0 - losses, 0.25)) @ half.T)
