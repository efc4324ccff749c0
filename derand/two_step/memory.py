r"""What the weights after one step remember of a sample, and what that does to the second step.

After a first step the pre-activation of neuron i at sample j is z + eta1 a_i v with

    v = c_1 r_j + gamma y_j sigma'(z) + 2 c_2 E[y] z + xi,    xi ~ N(0, V),  V = gamma E[y^2] Var sigma'(Z),

where r_j is the linear part without the sample's own contribution.  The second term is the memory: sample j took part
in the step, so it is there for a reused batch only.  Averaging over the neurons turns the Taylor coefficient of order
k into the polynomial T_k(y, r) = E[sigma^(k+1)(z) v^k]/k!, which replaces (k+1) c_{k+1} c_1^k s^k with s = r + gamma
y.  The noise xi and the term of a mean are there for both kinds of batches.
"""

from __future__ import annotations

import math

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import InputError
from derand.two_step.activations import TwoStepActivation
from derand.two_step.rule import normal_rule

__all__ = ["active_orders", "evaluate_table", "memory_table", "plain_table", "slope_variance"]

_ZERO = 1e-10


def slope_variance(activation: TwoStepActivation) -> float:
    """Return Var sigma'(Z) for standard normal Z.

    Parameters
    ----------
    activation : TwoStepActivation
        The activation.

    Returns
    -------
    float
        The variance.
    """
    z, weights = normal_rule(activation.kinks)
    slope = activation.derivative(z)
    mean = float(weights @ slope)
    return float(weights @ (slope - mean) ** 2)


def memory_table(
    activation: TwoStepActivation,
    order: int,
    *,
    variance: float,
    mean: float = 0.0,
    reuse: bool = True,
    power: int = 0,
) -> FloatArray:
    r"""Return the coefficients of T_k(y, r) as a polynomial in r and u = gamma y.

    Parameters
    ----------
    activation : TwoStepActivation
        With derivatives up to order k + 1.
    order : int
        k.
    variance : float
        V, the variance of xi.
    mean : float, default 0.0
        E[y].
    reuse : bool, default True
        Whether the batch is reused; a fresh one has no power of u.
    power : int, default 0
        Power of z in E[z^power sigma^(k+1)(z) v^k]/k!; zero for T_k.

    Returns
    -------
    ndarray of shape (k + 1, k + 1)
        Entry (i, m) belongs to r^i u^m.

    Raises
    ------
    InputError
        If the activation has too few derivatives: a kink turns the expansion in powers of a_i into one that has |a_i|
        too.

    Notes
    -----
    Multinomial theorem; the averages E[sigma^(k+1) (sigma')^m z^p] by quadrature.
    """
    if activation.max_order is not None and activation.max_order < order + 1:
        raise InputError(
            f"activation {activation.name} must have a derivative of order {order + 1} for the memory of a reused "
            "batch; use memory=False"
        )
    z, weights = normal_rule(activation.kinks)
    weights = weights * activation.derivative(z, order + 1) * z**power
    slope = activation.derivative(z)
    c1, c2 = activation.coefficients(2)[1:]
    table = np.zeros((order + 1, order + 1))
    for i in range(order + 1):
        for m in range(order + 1 - i if reuse else 1):
            for p in range(order + 1 - i - m if mean else 1):
                rest = order - i - m - p
                if rest % 2:
                    continue
                noise = variance ** (rest // 2) * math.prod(range(rest - 1, 0, -2)) / math.factorial(rest)
                ways = math.factorial(i) * math.factorial(m) * math.factorial(p)
                average = float(weights @ (slope**m * z**p))
                table[i, m] += noise * average * c1**i * (2.0 * c2 * mean) ** p / ways
    return table


def plain_table(activation: TwoStepActivation, order: int, *, power: int = 0) -> FloatArray:
    """Return the coefficients of (k+1) c_{k+1} c_1^k (r + u)^k in powers of r and u.

    With one power of z in the average, (k+2) (k+1) c_{k+2} stands in for (k+1) c_{k+1}.

    Parameters
    ----------
    activation : TwoStepActivation
        The activation.
    order : int
        k.
    power : {0, 1}, default 0
        Power of z in the average.

    Returns
    -------
    ndarray of shape (k + 1, k + 1)
        Entry (i, m) belongs to r^i u^m.
    """
    series = activation.coefficients(order + 1 + power)
    factor = math.factorial(order + 1 + power) / math.factorial(order) * series[order + 1 + power]
    table = np.zeros((order + 1, order + 1))
    for i in range(order + 1):
        table[i, order - i] = math.comb(order, i) * factor * series[1] ** order
    return table


def evaluate_table(table: FloatArray, r: FloatArray, u: FloatArray) -> FloatArray:
    """Return the polynomial with the given coefficients at (r, u), element by element.

    Parameters
    ----------
    table : ndarray of shape (k + 1, k + 1)
        Entry (i, m) belongs to r^i u^m.
    r, u : ndarray of one shape
        Arguments.

    Returns
    -------
    ndarray
        Values.
    """
    return np.asarray(np.polynomial.polynomial.polyval2d(r, u, table))


def active_orders(activation: TwoStepActivation, kmax: int, *, reuse: bool = True) -> tuple[int, ...]:
    """Return the orders k <= kmax whose direction doesn't vanish when the memory is taken into account.

    Parameters
    ----------
    activation : TwoStepActivation
        The activation.
    kmax : int
        Highest order looked at.
    reuse : bool, default True
        Whether the batch is reused.

    Returns
    -------
    tuple of int
        The orders, 0 among them where c_1 != 0.
    """
    found = []
    for k in range(kmax + 1):
        if activation.degree is not None and k >= activation.degree:
            break
        scale = float(np.max(np.abs(activation.coefficients(k + 2)[1:])))
        if np.any(np.abs(memory_table(activation, k, variance=1.0, reuse=reuse)) > _ZERO * scale):
            found.append(k)
    return tuple(found)
