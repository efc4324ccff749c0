"""Averages E[y^a r^b] and E[y^a r^b z_k] for labels y = sum_k g_k(z_k) + noise and fields r = mu . z + tau g.

Both are sums of independent terms, one for each direction, so their joint moments are binomial convolutions of
one-dimensional ones: exact for polynomials, and cheap for any number of directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_scalar
from derand.exceptions import InputError, InputTypeError
from derand.two_step.rule import normal_rule

__all__ = ["JointMoments", "joint_moments", "link_values"]

Link = Callable[[FloatArray], Any]


@dataclass(frozen=True, eq=False)
class JointMoments:
    """Tables of joint moments.

    Attributes
    ----------
    plain : ndarray of shape (n_y, n_r)
        E[y^a r^b].
    with_z : ndarray of shape (K, n_y, n_r)
        E[y^a r^b z_k].
    mu : ndarray of shape (K,)
        E[y z_k].
    tau : float
        Standard deviation of the part of r that is independent of all z.
    """

    plain: FloatArray
    with_z: FloatArray
    mu: FloatArray
    tau: float


def link_values(links: Sequence[Link], kinks: Sequence[float] = ()) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return nodes, weights and the values of every link there, shape (K, m).

    Parameters
    ----------
    links : sequence of callable
        g_k, each of an array of shape (m,).
    kinks : sequence of float, default ()
        Points where one of them or a derivative jumps.

    Returns
    -------
    tuple of ndarray
        Nodes, weights, values.

    Raises
    ------
    InputError
        If a link returns the wrong shape or non-finite values, or there is none.
    InputTypeError
        If one can't be called.
    """
    if callable(links):
        links = [links]
    if not len(links):
        raise InputError("links must hold at least one function")
    z, weights = normal_rule([0.0, *kinks])
    rows = []
    for k, link in enumerate(links):
        if not callable(link):
            raise InputTypeError(f"links[{k}] must be a function of an array, got {type(link).__name__}")
        values = np.asarray(link(z), dtype=np.float64)
        if values.shape != z.shape or not np.all(np.isfinite(values)):
            raise InputError(f"links[{k}] must return {z.size} finite values for as many points")
        rows.append(values)
    return z, weights, np.stack(rows)


def joint_moments(
    links: Sequence[Link], noise: float, gamma: float, top: tuple[int, int], *, kinks: Sequence[float] = ()
) -> JointMoments:
    r"""Return the moments of y = sum_k g_k(z_k) + noise eps and r = mu . z + tau g.

    Parameters
    ----------
    links : sequence of callable
        g_k.
    noise : float
        Standard deviation of the label noise, at least 0.
    gamma : float
        d/n; :math:`\tau^2 = \gamma E[y^2]`.
    top : tuple of int
        Highest powers of y and r.
    kinks : sequence of float, default ()
        Points where a link or a derivative jumps.

    Returns
    -------
    JointMoments
        The tables.

    Raises
    ------
    InputError
        If an argument is out of range.

    Examples
    --------
    >>> found = joint_moments([lambda z: z], 0.0, 1.0, (2, 2))  # y = z, r = z + g
    >>> found.mu.round(12).tolist(), round(float(found.plain[2, 2]), 9)  # E[z^2 (z + g)^2] = 3 + 1
    ([1.0], 4.0)
    """
    noise = check_scalar(noise, "noise", low=0.0, high=math.inf, high_open=True)
    gamma = check_scalar(gamma, "gamma", low=0.0, low_open=True, high=math.inf, high_open=True)
    z, weights, values = link_values(links, kinks)
    mu = values @ (weights * z)
    means = values @ weights
    square = float(np.sum((values**2) @ weights - means**2) + np.sum(means) ** 2) + noise**2
    tau = math.sqrt(gamma * square)
    shape = (top[0] + 1, top[1] + 1)
    tables = [_table(weights, value, factor * z, shape) for value, factor in zip(values, mu, strict=True)]
    marked = [_table(weights * z, value, factor * z, shape) for value, factor in zip(values, mu, strict=True)]
    rest = np.zeros(shape)
    normal = [0.0 if k % 2 else float(math.prod(range(k - 1, 0, -2))) for k in range(max(shape))]
    for i in range(shape[0]):
        for j in range(shape[1]):
            rest[i, j] = noise**i * normal[i] * tau**j * normal[j]
    plain = rest
    for table in tables:
        plain = _convolve(plain, table)
    with_z = []
    for k, table in enumerate(marked):
        product = _convolve(rest, table)
        for other in (*tables[:k], *tables[k + 1 :]):
            product = _convolve(product, other)
        with_z.append(product)
    return JointMoments(plain, np.stack(with_z), mu, tau)


def _table(weights: FloatArray, first: FloatArray, second: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Return E[first^i second^j]."""
    powers = np.stack([first**i for i in range(shape[0])]) * weights
    return np.asarray(powers @ np.stack([second**j for j in range(shape[1])]).T)


def _convolve(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the joint moments of sums of independent pairs."""
    n_y, n_r = left.shape
    result = np.zeros((n_y, n_r))
    for a in range(n_y):
        for b in range(n_r):
            ways_y = np.array([math.comb(a, i) for i in range(a + 1)], dtype=np.float64)
            ways_r = np.array([math.comb(b, j) for j in range(b + 1)], dtype=np.float64)
            result[a, b] = ways_y @ (left[: a + 1, : b + 1] * right[a::-1, b::-1]) @ ways_r
    return result
