r"""Singular values of a spiked rectangular noise matrix: where outliers are, and from which strength on there are any.

The noise is an N x d matrix with independent entries of variance 1/d, c = N/d; its singular values fill
[|sqrt(c) - 1|, sqrt(c) + 1].  A spike of singular value theta makes an outlier if theta > c^{1/4}.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import airy

from derand._utils.html import result_html
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import InputError

__all__ = ["Spike", "bbp", "mp_edges", "tracy_widom_cdf", "tracy_widom_quantile", "tw_threshold"]

_NODES = 64


class Spike(NamedTuple):
    """What a spike becomes.

    Attributes
    ----------
    location : ndarray
        Singular values; the edge of the bulk where there is no outlier.
    left_cos2, right_cos2 : ndarray
        Squared cosines between the singular vectors and those of the spike; 0 where there is no outlier.
    is_outlier : ndarray of bool
        Whether theta > c^{1/4}.
    """

    location: FloatArray
    left_cos2: FloatArray
    right_cos2: FloatArray
    is_outlier: np.ndarray[Any, np.dtype[np.bool_]]

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


def bbp(theta: Any, c: float) -> Spike:
    r"""Return location and overlaps of the outlier that a spike of strength theta makes.

    .. math:: s = \sqrt{(1+\theta^2)(c+\theta^2)}/\theta, \quad
              \cos^2_{left} = 1 - \frac{c(1+\theta^2)}{\theta^2(\theta^2+c)}, \quad
              \cos^2_{right} = 1 - \frac{c+\theta^2}{\theta^2(\theta^2+1)}

    Parameters
    ----------
    theta : array_like
        Singular values of the low-rank part, at least 0.
    c : float
        N/d, rows over columns, > 0; the entries of the noise have variance 1/d.

    Returns
    -------
    Spike
        Location, squared cosines and whether there is an outlier at all.

    Raises
    ------
    InputError
        If theta is negative or beyond 1e100, or c isn't positive.

    References
    ----------
    Benaych-Georges, Nadakuditi, The singular values and vectors of low rank perturbations of large rectangular random
    matrices, J. Multivariate Anal. 111 (2012), section 3.1; arXiv 1103.2221.

    Examples
    --------
    >>> spike = bbp([2.0, 0.5], 1.0)  # (1 + 4)/2 above the threshold 1, and the edge
    >>> spike.location.tolist(), spike.left_cos2.tolist()
    ([2.5, 2.0], [0.75, 0.0])
    """
    theta = check_array(theta, "theta")
    c = check_scalar(c, "c", low=0.0, low_open=True, high=math.inf, high_open=True)
    if np.any(theta < 0.0) or np.any(theta > 1e100):
        raise InputError(f"theta must lie in [0, 1e100], got {float(np.min(theta)):g} to {float(np.max(theta)):g}")
    out = theta > c**0.25
    square = np.where(out, theta, 1.0) ** 2
    location = np.where(out, np.sqrt((1.0 + square) * (c + square) / square), 1.0 + math.sqrt(c))
    left = np.where(out, 1.0 - c * (1.0 + square) / (square * (square + c)), 0.0)
    right = np.where(out, 1.0 - (c + square) / (square * (square + 1.0)), 0.0)
    return Spike(location, left, right, out)


def mp_edges(c: float) -> tuple[float, float]:
    """Return the ends of the singular values of the noise, |sqrt(c) - 1| and sqrt(c) + 1.

    Parameters
    ----------
    c : float
        N/d, > 0.

    Returns
    -------
    tuple of float
        Lower and upper end; min(N, d) singular values lie between them.

    Examples
    --------
    >>> mp_edges(4.0)
    (1.0, 3.0)
    """
    root = math.sqrt(check_scalar(c, "c", low=0.0, low_open=True, high=math.inf, high_open=True))
    return abs(root - 1.0), root + 1.0


def tracy_widom_cdf(x: float) -> float:
    r"""Return the Tracy-Widom law F_1(x) of the largest eigenvalue of real symmetric ensembles.

    :math:`F_1(x) = \det(1 - K)` on :math:`L^2(x, \infty)` with kernel :math:`K(u, v) = \mathrm{Ai}((u+v)/2)/2`.

    Parameters
    ----------
    x : float
        Argument.

    Returns
    -------
    float
        Probability, with an error of about 1e-14.

    Notes
    -----
    A determinant of 64 Gauss-Legendre nodes, whose error falls exponentially.

    References
    ----------
    Ferrari, Spohn, A determinantal formula for the GOE Tracy-Widom distribution (2005), arXiv math-ph/0505012.
    Bornemann, On the numerical evaluation of Fredholm determinants, Math. Comp. 79 (2010).

    Examples
    --------
    >>> round(tracy_widom_cdf(-1.2065335745820), 3)  # at the mean
    0.52
    """
    x = check_scalar(x, "x")
    if x > 40.0:
        return 1.0
    if x < -40.0:
        return 0.0
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    top = max(x + 4.0, 16.0)
    half = 0.5 * (top - x)
    u, root = x + half * (nodes + 1.0), np.sqrt(half * weights)
    kernel = 0.5 * airy(0.5 * (u[:, None] + u[None, :]))[0]
    return float(np.clip(np.linalg.det(np.eye(_NODES) - root[:, None] * kernel * root[None, :]), 0.0, 1.0))


@lru_cache(maxsize=32)
def tracy_widom_quantile(level: float) -> float:
    """Return the quantile of the Tracy-Widom law F_1.

    Parameters
    ----------
    level : float in (0, 1)
        Probability; 1e-6 to 1 - 1e-6 are reached accurately.

    Returns
    -------
    float
        The quantile.

    Raises
    ------
    InputError
        If the level is within 1e-12 of 0 or 1.

    Examples
    --------
    >>> round(tracy_widom_quantile(0.95), 4)
    0.9793
    """
    level = check_scalar(level, "level", low=0.0, high=1.0, low_open=True, high_open=True)
    if min(level, 1.0 - level) < 1e-12:
        raise InputError(f"level must be at least 1e-12 and at most 1 - 1e-12, got {level!r}")
    return float(brentq(lambda x: tracy_widom_cdf(x) - level, -9.0, 14.0, xtol=1e-12))


def tw_threshold(n_rows: int, n_columns: int, level: float = 0.99) -> float:
    """Return the quantile of the largest singular value of pure noise with entries of variance 1/d.

    Parameters
    ----------
    n_rows, n_columns : int
        N and d.
    level : float in (0, 1), default 0.99
        Probability that noise stays below.

    Returns
    -------
    float
        The threshold.

    Notes
    -----
    Johnstone's centring and scaling, with an error of order N^(-2/3) of the scale.

    References
    ----------
    Johnstone, On the distribution of the largest eigenvalue in principal components analysis, Ann. Statist. 29 (2001),
    Theorem 1.1; Ma, Accuracy of the Tracy-Widom limits in white Wishart matrices, Bernoulli 18 (2012).

    Examples
    --------
    >>> round(tw_threshold(1000, 1000), 3)
    2.012
    """
    n, d = check_int(n_rows, "n_rows", low=1), check_int(n_columns, "n_columns", low=1)
    roots = math.sqrt(n - 0.5), math.sqrt(d - 0.5)
    scale = sum(roots) * (1.0 / roots[0] + 1.0 / roots[1]) ** (1.0 / 3.0)
    return math.sqrt((sum(roots) ** 2 + tracy_widom_quantile(level) * scale) / d)
