r"""The part of the full-rank part of W2 that is linear in the weights at the start.

A step adds to a row w more than its mean over all rows, the low-rank part: sigma'(z) has a part 2 c_2 z linear in the
pre-activation z = w . x, so that the first step adds 2 c_2 eta1 a_i M w with M = X^T diag(y) X/n, and the second for
every order k a term eta2 eta1^k a_i^(k+1) M_k w with M_k = X^T diag(y o T'_k) X/n, T'_k = E[z sigma^(k+1)(z) v^k]/k!.
Overlaps of the spikes with all this are known once the weights at the start are, before any step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from derand._utils.validation import FloatArray
from derand.two_step.directions import default_orders, sample_weights
from derand.two_step.dynamics import TwoStepResult

__all__ = ["Overlaps", "known_overlaps", "response_weights"]

Overlaps = Callable[[FloatArray], FloatArray]


def response_weights(result: TwoStepResult, *, memory: bool) -> list[FloatArray]:
    """Return y o T'_k for all orders of the low-rank part; they don't depend on the step sizes.

    Parameters
    ----------
    result : TwoStepResult
        Samples and activation.
    memory : bool
        Whether to take the memory of the samples into account.

    Returns
    -------
    list of ndarray of shape (n,)
        One for each k = 0, 1, ..., less what `known_overlaps` adds by itself.
    """
    reuse, y, (X2, y2) = result.batch == "reuse", result.first.y, result.second
    top = max(default_orders(result.activation, memory=memory, reuse=reuse))
    weights = [sample_weights(result, k, memory=memory, power=1) for k in range(top + 1)]
    if memory and top >= 1:
        # The part of v linear in z comes with M in the second step: T'_1 must not have it again.
        c2 = float(result.activation.coefficients(2)[2])
        own = np.einsum("ij,ij->i", X2, X2) / y.size * y2 if reuse else np.zeros_like(y2)
        weights[1] = weights[1] - (2.0 * c2) ** 2 * (own + float(np.mean(y)))
    return [y2 * weight for weight in weights]


def known_overlaps(result: TwoStepResult, weights: list[FloatArray]) -> Overlaps:
    """Return the map V -> B^T V for the part B of the full-rank part that is linear in W0.

    Parameters
    ----------
    result : TwoStepResult
        W0, second layer, samples, step sizes and activation; neither gradients nor later weights are looked at.
    weights : list of ndarray of shape (n,)
        From `response_weights`.

    Returns
    -------
    callable
        Takes an array of shape (N, m) and returns one of shape (d, m).

    Notes
    -----
    What the first step changes in the pre-activations is followed into the terms k = 0 and 1 of the second.  Five
    products of a matrix of the size of W0 or X with a few vectors; deterministic.
    """
    a, (X1, y1), (X2, y2) = result.a0[:, None], result.first, result.second
    c2, c3 = result.activation.coefficients(3)[2:]
    first = 2.0 * c2 * result.eta1 / y1.size * y1[:, None]
    factors = [result.eta2 * result.eta1**k / y2.size * weight[:, None] for k, weight in enumerate(weights)]
    # E[sigma''(z_j) sigma''(z_l)] = (2 c_2)^2 + (6 c_3)^2 x_j . x_l / d, and the squares of x_j . x_l / d^(1/2) are 1.
    pair = result.eta1 * result.eta2 * (6.0 * c3) ** 2
    b1, b2 = X1.T @ y1 / y1.size, X2.T @ y2 / y2.size

    def overlaps(V: FloatArray) -> FloatArray:
        """Return B^T V."""
        m, n_orders = V.shape[1], max(len(factors), 2)
        # W0^T (a^k o V) for k = 0, 1, ...
        moments = result.W0.T @ np.concatenate([a**k * V for k in range(n_orders + 1)], axis=1)
        plain = pair * np.outer(b2, b1 @ moments[:, 2 * m : 3 * m])
        # The first step adds 2 c_2 eta1 M to k = 0 and 1, one order higher.
        moments[:, : 2 * m] += X1.T @ (first * (X1 @ moments[:, m : 3 * m]))
        fields = X2 @ moments[:, m : (len(factors) + 1) * m]
        moved = sum((factor * fields[:, k * m : (k + 1) * m] for k, factor in enumerate(factors)), np.zeros(1))
        return np.asarray(moments[:, :m] + plain + X2.T @ moved)

    return overlaps
