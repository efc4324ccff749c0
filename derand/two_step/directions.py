"""The directions that two steps learn from given samples, and the low-rank part of the weights made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from derand._utils.html import result_html
from derand._utils.validation import FloatArray, check_int
from derand.exceptions import InputTypeError
from derand.two_step.activations import TwoStepActivation
from derand.two_step.assumptions import warn_about_orders
from derand.two_step.dynamics import TwoStepResult
from derand.two_step.memory import active_orders, evaluate_table, memory_table, plain_table, slope_variance

__all__ = ["LowRank", "assemble", "default_orders", "learned_directions", "low_rank_part", "sample_weights"]

_KMAX = 6
_ZERO = 1e-10


class LowRank(NamedTuple):
    """A sum of spikes, left @ right.

    Attributes
    ----------
    left : ndarray of shape (N, m)
        Powers of the second layer, with the step sizes: a, a^2, ... element by element.
    right : ndarray of shape (m, d)
        Learned directions.
    """

    left: FloatArray
    right: FloatArray

    def singular_values(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return left vectors (N, m), values (m,) descending and right vectors (m, d) of the whole sum.

        The spikes aren't orthogonal, so these aren't the norms of the terms.

        Returns
        -------
        tuple of ndarray
            As from `numpy.linalg.svd`.
        """
        q_left, r_left = np.linalg.qr(self.left)
        q_right, r_right = np.linalg.qr(self.right.T)
        u, values, vt = np.linalg.svd(r_left @ r_right.T)
        return q_left @ u, values, vt @ q_right.T

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


def default_orders(activation: TwoStepActivation, *, memory: bool, reuse: bool, kmax: int | None = None) -> list[int]:
    """Return the orders whose directions don't vanish, up to six by default.

    Parameters
    ----------
    activation : TwoStepActivation
        The activation.
    memory : bool
        Whether the memory counts.
    reuse : bool
        Whether the batch is reused.
    kmax : int, optional
        Highest order.

    Returns
    -------
    list of int
        The orders, ascending.
    """
    top = _KMAX if kmax is None else check_int(kmax, "kmax", low=0)
    if activation.degree is not None:
        top = min(top, max(activation.degree - 1, 0))
    if memory:
        if activation.max_order is not None:
            top = min(top, activation.max_order - 1)
        return list(active_orders(activation, top, reuse=reuse))
    series = np.abs(activation.coefficients(top + 1))
    return [k for k in range(top + 1) if series[k + 1] > _ZERO * float(np.max(series[1:]))]


def learned_directions(result: TwoStepResult, kmax: int | None = None, *, memory: bool = True) -> FloatArray:
    r"""Return the directions D_0, ..., D_kmax that the second step adds, computed from the samples alone.

    .. math:: W_2 \approx W_0 + \eta_1 c_1\, a b^\top + \eta_2 \sum_k \eta_1^k\, a^{\circ(k+1)} D_k^\top

    The plain form is :math:`D_k = (k+1) c_{k+1} c_1^k\, X^\top (y \circ (X b)^{\circ k})/n`.  With memory :math:`D_k
    = X^\top (y \circ T_k(y, r))/n`: for a reused batch sample j took part in the first step itself, which the plain
    form forgets.

    Parameters
    ----------
    result : TwoStepResult
        From `two_step_update`.
    kmax : int, optional
        Highest order; by default the degree of a polynomial activation less one, or 6.
    memory : bool, default True
        Whether to take the memory into account; needs an activation with k + 1 derivatives.

    Returns
    -------
    ndarray of shape (kmax + 1, d)
        Row k is D_k; zero where it vanishes.

    Raises
    ------
    InputError
        If the activation has too few derivatives for ``memory=True``.
    InputTypeError
        If ``result`` isn't one of `two_step_update`.

    Warns
    -----
    AssumptionWarning
        If a direction of an order that was asked for vanishes.

    Notes
    -----
    The relative error of D_1 with memory falls as d^(-1/2); that of the plain form doesn't fall unless E[sigma'
    sigma''] = 2 c_1 c_2, as for activations of degree 2.  O(n d kmax); deterministic.

    Examples
    --------
    >>> from derand.two_step.dynamics import two_step_update
    >>> rng = np.random.default_rng(0)
    >>> X, W0 = rng.standard_normal((60, 20)), rng.standard_normal((30, 20)) / 20**0.5
    >>> a0 = rng.standard_normal(30) / 30**0.5
    >>> run = two_step_update(X, np.tanh(X[:, 0]), W0, a0, 2.0, 1.0, activation=[0.0, 1.0, 0.5])
    >>> learned_directions(run).shape
    (2, 20)
    """
    if not isinstance(result, TwoStepResult):
        raise InputTypeError(f"result must come from two_step_update, got {type(result).__name__}")
    reuse = result.batch == "reuse"
    orders = default_orders(result.activation, memory=memory, reuse=reuse, kmax=kmax)
    if kmax is None:
        kmax = max(orders, default=0)
        if result.activation.degree is not None:
            kmax = max(result.activation.degree - 1, 0)
    elif kmax > max(orders, default=0) and memory and result.activation.max_order is not None:
        memory_table(result.activation, kmax, variance=0.0)
    check_int(kmax, "kmax", low=0)
    series = result.activation.coefficients(kmax + 1)
    warn_about_orders(series, [k for k in range(1, kmax + 1) if k not in orders])
    rows = np.zeros((kmax + 1, result.W0.shape[1]))
    for k in orders:
        rows[k] = _direction(result, k, memory=memory)
    return rows


def _direction(result: TwoStepResult, order: int, *, memory: bool) -> FloatArray:
    """Return D_k."""
    second = result.second
    weights = sample_weights(result, order, memory=memory)
    return np.asarray(second.X.T @ (second.y * weights) / second.y.size)


def sample_weights(
    result: TwoStepResult, order: int, *, memory: bool, power: int = 0, along: FloatArray | None = None
) -> FloatArray:
    """Return E[z^power sigma^(k+1)(z) v^k]/k! for every sample of the second step; T_k for power 0.

    Parameters
    ----------
    result : TwoStepResult
        From `two_step_update`.
    order : int
        k.
    memory : bool
        Whether v has the memory of the sample.
    power : {0, 1}, default 0
        Power of the pre-activation.
    along : ndarray of shape (d,), optional
        What to add to the direction of the first step.

    Returns
    -------
    ndarray of shape (n,)
        The weights.
    """
    first, second, activation = result.first, result.second, result.activation
    n1, reuse = first.y.size, result.batch == "reuse"
    s = second.X @ (first.X.T @ first.y / n1 + (0.0 if along is None else along))
    # |x_j|^2/n instead of its limit gamma: the sample's own contribution, exactly.
    own = np.einsum("ij,ij->i", second.X, second.X) / n1 * second.y if reuse else np.zeros_like(second.y)
    if memory:
        gamma = float(np.mean(np.einsum("ij,ij->i", first.X, first.X))) / n1
        variance = gamma * float(np.mean(first.y**2)) * slope_variance(activation)
        mean = float(np.mean(first.y))
        table = memory_table(activation, order, variance=variance, mean=mean, reuse=reuse, power=power)
    else:
        table = plain_table(activation, order, power=power)
    return evaluate_table(table, s - own, own)


def low_rank_part(result: TwoStepResult, kmax: int | None = None, *, memory: bool = True) -> LowRank:
    """Return the low-rank part of W2 - W0 that the samples predict.

    Parameters
    ----------
    result : TwoStepResult
        From `two_step_update`.
    kmax : int, optional
        Highest order; by default all, up to 6.
    memory : bool, default True
        Whether to take the memory of the samples into account.

    Returns
    -------
    LowRank
        Left factors a, a^2, ... and the directions; vanishing orders are left out.

    Raises
    ------
    InputError
        If the activation has too few derivatives for ``memory=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from derand.two_step import random_problem, two_step_update
    >>> problem = random_problem(120, 120, 120, [np.tanh], rng=0)
    >>> run = two_step_update(*problem[:4], 2.0, 1.0, activation=[0.0, 1.0, 0.5])
    >>> part = low_rank_part(run)
    >>> part.left.shape[0], part.right.shape[1], part.left.shape[1] == part.right.shape[0]
    (120, 120, True)
    """
    reuse = result.batch == "reuse"
    orders = default_orders(result.activation, memory=memory, reuse=reuse, kmax=kmax)
    rows = {k: _direction(result, k, memory=memory) for k in orders}
    return assemble(result, rows)


def assemble(result: TwoStepResult, rows: Mapping[int, FloatArray]) -> LowRank:
    """Return the low-rank part made of given directions, which don't depend on the step sizes.

    Parameters
    ----------
    result : TwoStepResult
        Step sizes, second layer and samples of the first step.
    rows : mapping of int to ndarray of shape (d,)
        D_k by order.

    Returns
    -------
    LowRank
        Left and right factors.
    """
    c1 = float(result.activation.coefficients(1)[1])
    lefts, rights = [], []
    for k, direction in rows.items():
        row = result.eta2 * result.eta1**k * direction
        if k == 0:
            row = row + result.eta1 * c1 * (result.first.X.T @ result.first.y / result.first.y.size)
        # Both factors of the order of the spike's root would do; this way the left columns have unit scale.
        root = result.a0.size ** (k / 2.0)
        lefts.append(result.a0 ** (k + 1) * root)
        rights.append(row / root)
    return LowRank(np.stack(lefts, axis=1), np.stack(rights))
