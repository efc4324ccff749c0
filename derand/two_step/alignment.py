"""Alignment of the learned directions with the target's, in closed form for N, n, d to infinity."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_int, check_option, check_scalar
from derand.exceptions import InputError
from derand.two_step.activations import as_activation
from derand.two_step.assumptions import AssumptionWarning, check_first_coefficient, warn_about_orders
from derand.two_step.memory import memory_table, slope_variance
from derand.two_step.moments import JointMoments, joint_moments

__all__ = ["AlignmentTheory", "reuse_exponent", "theory_alignment"]

_ZERO = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class AlignmentTheory(ResultRepr):
    """Limits of inner products of the learned directions with the target's and with one another.

    Attributes
    ----------
    overlap : ndarray of shape (kmax + 1, K)
        Inner product of direction k with the unit direction of link j.
    gram : ndarray of shape (kmax + 1, kmax + 1)
        Inner products of the learned directions.
    mu : ndarray of shape (K,)
        E[y z_j], the overlaps of the first step.
    tau : float
        Norm of the noise in the first step's direction.
    """

    overlap: FloatArray
    gram: FloatArray
    mu: FloatArray
    tau: float

    @property
    def norm(self) -> FloatArray:
        """Norms of the directions, shape (kmax + 1,)."""
        return np.sqrt(np.diag(self.gram))

    @property
    def cosine(self) -> FloatArray:
        """Cosines, shape (kmax + 1, K); 0 for a direction that vanishes."""
        norm = self.norm[:, None]
        return np.asarray(np.where(norm > 0.0, self.overlap / np.where(norm > 0.0, norm, 1.0), 0.0))

    @property
    def span(self) -> FloatArray:
        """Norm of the projection of every target direction on the span of all learned ones, shape (K,)."""
        scale = np.where(self.norm > 0.0, 1.0 / np.where(self.norm > 0.0, self.norm, 1.0), 0.0)
        gram, overlap = self.gram * np.outer(scale, scale), self.overlap * scale[:, None]
        return np.asarray(
            np.sqrt(np.clip(np.einsum("kj,kl,lj->j", overlap, np.linalg.pinv(gram, rcond=1e-10), overlap), 0.0, 1.0))
        )


def theory_alignment(
    links: Any,
    gamma: float,
    noise: float = 0.0,
    kmax: int = 2,
    batch: str = "reuse",
    memory: bool = False,
    *,
    coefficients: Any = None,
    gamma2: float | None = None,
    kinks: Sequence[float] = (),
) -> AlignmentTheory:
    r"""Return the limits of the directions' overlaps for labels y = sum_k g_k(beta_k . x) + noise.

    The plain direction of order k is :math:`\hat b_k = X^\top(y \circ (X b)^{\circ k})/n`.  In the limit the entries
    of Xb are :math:`s = \gamma y + \mu \cdot z + \tau g` for a reused batch and :math:`s = \mu \cdot z + \tau g` for
    a fresh one, with :math:`\mu_j = E[y z_j]`, :math:`\tau^2 = \gamma E[y^2]`, so that :math:`\langle \hat b_k,
    \beta_j \rangle = E[y s^k z_j]`, and

    .. math:: \langle \hat b_p, \hat b_q \rangle = \sum_j E[y s^p z_j] E[y s^q z_j] + \tau^2 A_p A_q
              + \gamma_2 E[y^2 s^{p+q}] + \gamma (A_p B_q + A_q B_p)

    with :math:`A_p = p E[y s^{p-1}]`, :math:`B_p = E[y^2 s^p]`, the last term for a reused batch only.  With memory,
    :math:`y T_k(y, r)` stands in for :math:`y s^k`; see `learned_directions`.

    Parameters
    ----------
    links : callable or sequence of callable
        g_k, functions of an array.
    gamma : float
        d/n of the first step, > 0.
    noise : float, default 0.0
        Standard deviation of the label noise.
    kmax : int, default 2
        Highest order, 0 to 12.
    batch : {"reuse", "fresh"}, default "reuse"
        Whether the second step takes the samples of the first.
    memory : bool, default False
        Whether to take the memory into account; needs ``coefficients``.
    coefficients : activation, optional
        The activation, its Hermite coefficients or name; the directions are then D_k of `learned_directions`.
    gamma2 : float, optional
        d/n of the second step; gamma by default.
    kinks : sequence of float, default ()
        Points, besides 0, where a link or a derivative jumps.

    Returns
    -------
    AlignmentTheory
        Overlaps, inner products, cosines, projections on the span.

    Raises
    ------
    InputError
        If an argument is out of range, c_1 = 0, or ``memory`` comes without an activation.

    Warns
    -----
    AssumptionWarning
        If E[y] != 0, or c_{k+1} = 0 for some k asked for.

    Notes
    -----
    Exact for polynomials up to rounding.  Heavy-tailed labels, such as He_3, need moments E[y^(2k+2)] that a sample
    reaches only for n in the millions: compare simulations with bounded links.  Label noise counts towards E[y^2] and
    all powers.

    Examples
    --------
    >>> he3 = lambda z: (z**3 - 3 * z) / 6**0.5
    >>> reuse, fresh = (theory_alignment(he3, 0.1, batch=batch) for batch in ("reuse", "fresh"))
    >>> reuse.cosine[:, 0].round(3).tolist(), bool(abs(fresh.cosine[:, 0]).max() < 1e-12)
    ([-0.0, 0.0, 0.265], True)
    """
    kmax = check_int(kmax, "kmax", low=0, high=12)
    reuse = check_option(batch, "batch", ("reuse", "fresh")) == "reuse"
    gamma = check_scalar(gamma, "gamma", low=0.0, low_open=True, high=math.inf, high_open=True)
    second = check_scalar(gamma if gamma2 is None else gamma2, "gamma2", low=0.0, high=math.inf, high_open=True)
    moments = joint_moments(links, noise, gamma, (2 * kmax + 2, 2 * kmax), kinks=kinks)
    spread = math.sqrt(float(moments.plain[2, 0]))
    mean = float(moments.plain[1, 0])
    if abs(mean) > 1e-8 * spread:
        warnings.warn(
            f"assumption E[y] = 0 violated: the links have mean {mean:.3g}; subtract it",
            AssumptionWarning,
            stacklevel=2,
        )
    tables = _tables(coefficients, kmax, moments, gamma, memory=memory, reuse=reuse)
    return _limits(tables, moments, gamma if reuse else 0.0, second)


def _tables(
    coefficients: Any, kmax: int, moments: JointMoments, gamma: float, *, memory: bool, reuse: bool
) -> list[FloatArray]:
    """Return, for each order, the coefficients of T_k as a polynomial in r and y."""
    plain = [np.zeros((k + 1, k + 1)) for k in range(kmax + 1)]
    for k, table in enumerate(plain):
        for i in range(k + 1):
            table[i, k - i] = math.comb(k, i) * (1.0 if reuse or i == k else 0.0)
    if coefficients is None:
        if memory:
            raise InputError("coefficients must give the activation for memory=True: T_k depends on all of it")
        scaled = plain
    else:
        activation = as_activation(coefficients)
        series = activation.coefficients(kmax + 1)
        c1 = check_first_coefficient(activation.coefficients(max(kmax + 1, 2)))
        if memory:
            variance = gamma * float(moments.plain[2, 0]) * slope_variance(activation)
            mean = float(moments.plain[1, 0])
            scaled = [
                memory_table(activation, k, variance=variance, mean=mean if abs(mean) > 1e-12 else 0.0, reuse=reuse)
                for k in range(kmax + 1)
            ]
        else:
            scaled = [(k + 1) * series[k + 1] * c1**k * table for k, table in enumerate(plain)]
        size = float(np.max(np.abs(series[1:])))
        missing = [k for k, table in enumerate(scaled) if float(np.max(np.abs(table))) <= 1e-12 * size]
        warn_about_orders(series, missing, stacklevel=4)
    # Powers of u = gamma y become powers of y.
    return [table * gamma ** np.arange(table.shape[1]) for table in scaled]


def _limits(tables: list[FloatArray], moments: JointMoments, gamma: float, gamma2: float) -> AlignmentTheory:
    """Return overlaps and inner products of X^T h_k / n with h_k = y T_k(y, r)."""

    def average(table: FloatArray, extra: int, of: FloatArray) -> FloatArray:
        """Return E[y^extra T(y, r)], or with z."""
        n_r, n_y = table.shape
        return np.asarray(np.einsum("ij,...ji->...", table, of[..., extra : extra + n_y, :n_r]))

    overlap = np.stack([average(table, 1, moments.with_z) for table in tables])
    slopes = np.zeros(len(tables))
    for k, table in enumerate(tables):
        if k:
            derivative = np.arange(1.0, k + 1.0)[:, None] * table[1:]
            slopes[k] = average(derivative, 1, moments.plain)
    crosses = np.array([average(table, 2, moments.plain) for table in tables])
    gram = overlap @ overlap.T + moments.tau**2 * np.outer(slopes, slopes)
    gram += gamma * (np.outer(slopes, crosses) + np.outer(crosses, slopes))
    for p, first in enumerate(tables):
        for q, other in enumerate(tables):
            gram[p, q] += gamma2 * float(average(_product(first, other), 2, moments.plain))
    return AlignmentTheory(overlap, 0.5 * (gram + gram.T), moments.mu, moments.tau)


def _product(first: FloatArray, other: FloatArray) -> FloatArray:
    """Return the coefficients of a product of polynomials in two variables."""
    rows, columns = first.shape[0] + other.shape[0] - 1, first.shape[1] + other.shape[1] - 1
    product = np.zeros((rows, columns))
    for (i, j), value in np.ndenumerate(first):
        if value != 0.0:
            product[i : i + other.shape[0], j : j + other.shape[1]] += value * other
    return product


def reuse_exponent(
    links: Any,
    gamma: float = 1.0,
    *,
    noise: float = 0.0,
    kmax: int = 8,
    kinks: Sequence[float] = (),
) -> tuple[float, ...]:
    """Return for every link the order of the first spike that learns it from a reused batch.

    The smallest k with E[y s^k z_j] != 0, in the notation of `theory_alignment`.

    Parameters
    ----------
    links : callable or sequence of callable
        g_k, functions of an array.
    gamma : float, default 1.0
        d/n, > 0; the exponent is the same for all but exceptional values.
    noise : float, default 0.0
        Standard deviation of the label noise.
    kmax : int, default 8
        Highest order looked at, up to 12.
    kinks : sequence of float, default ()
        Points, besides 0, where a link or a derivative jumps.

    Returns
    -------
    tuple of float
        One exponent for each link: 0 for one with a linear part, infinity for even ones, which two steps never learn.

    Raises
    ------
    InputError
        If an argument is out of range.

    Notes
    -----
    A direction of exponent k needs alpha2 >= k (1/2 - alpha1); see `new_spike_orders`.  A numerical test: averages
    below 1e-9 of their natural size count as zero.

    Examples
    --------
    >>> he2, he3 = (lambda z: z**2 - 1), (lambda z: z**3 - 3 * z)
    >>> reuse_exponent(he3), reuse_exponent(lambda z: he2(z) + he3(z)), reuse_exponent(he2)
    ((2,), (1,), (inf,))
    """
    kmax = check_int(kmax, "kmax", low=0, high=12)
    moments = joint_moments(links, noise, gamma, (2 * kmax + 2, 2 * kmax), kinks=kinks)
    tables = _tables(None, kmax, moments, gamma, memory=False, reuse=True)
    limits = _limits(tables, moments, gamma, gamma)
    # E[y^2 s^(2k)] bounds the square of E[y s^k z].
    scale = np.sqrt(np.maximum(np.diag(limits.gram), 1e-300))
    nonzero = np.abs(limits.overlap) > _ZERO * scale[:, None]
    return tuple(int(np.argmax(column)) if column.any() else math.inf for column in nonzero.T)
