"""What alignment the noise of the samples alone gives.

Directions that two steps learn are averages over samples, X^T h / n, so that each overlap with a target that isn't
learned fluctuates by the standard error of a mean of h_j z_j.  Uniformly random directions, with their sqrt(m/d), are
no fair comparison: the labels depend on z, and E[h^2 z^2] is larger than E[h^2] -- six times for He_2 + He_3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_array
from derand.exceptions import InputError, InputTypeError
from derand.two_step.directions import assemble, default_orders, learned_directions, sample_weights
from derand.two_step.dynamics import TwoStepResult

__all__ = ["sampling_chance"]

_STEP = 1e-4


def sampling_chance(result: TwoStepResult, targets: Any) -> FloatArray:
    r"""Return the root mean square projection of targets on the learned directions that noise of the samples gives.

    The overlap of direction k with a unit target is a mean over samples, and so is that of the first step, on which it
    depends.  With C their covariance by the delta method and G the inner products of the directions,

    .. math:: \mathrm{chance}^2 = \mathrm{tr}(G^{-1} C).

    Parameters
    ----------
    result : TwoStepResult
        From `two_step_update`.
    targets : array_like of shape (K, d) or (d,)
        Target directions, of any length.

    Returns
    -------
    ndarray of shape (K,)
        The level, for the span of the directions of all orders; of order 1/sqrt(d).

    Raises
    ------
    InputError
        If shapes don't fit together, or a target is zero.
    InputTypeError
        If ``result`` isn't one of `two_step_update`.

    Notes
    -----
    Without the memory of the samples.  An estimate from the samples themselves: with heavy tails it is as uncertain as
    their fourth moments.  O(n d) for each order and target; deterministic.

    Examples
    --------
    >>> from derand.two_step import random_problem, two_step_update
    >>> problem = random_problem(100, 400, 1600, [lambda z: z**2 - 1], rng=0)
    >>> run = two_step_update(*problem[:4], 1.0, 1.0, activation=[0.0, 1.0, 0.5], batch="fresh")
    >>> chance = sampling_chance(run, problem.directions)
    >>> round(float(chance[0]), 2), round((2 / 400) ** 0.5, 2)  # uniformly random directions
    (0.26, 0.07)
    """
    if not isinstance(result, TwoStepResult):
        raise InputTypeError(f"result must come from two_step_update, got {type(result).__name__}")
    targets = np.atleast_2d(check_array(targets, "targets"))
    d = result.W0.shape[1]
    lengths = np.linalg.norm(targets, axis=1)
    if targets.ndim != 2 or targets.shape[1] != d:
        raise InputError(f"targets must have {d} columns, got shape {targets.shape}")
    if np.any(lengths == 0.0):
        raise InputError("targets must not be zero")
    orders = default_orders(result.activation, memory=False, reuse=result.batch == "reuse")
    found = learned_directions(result, max(orders), memory=False)
    part = assemble(result, {k: found[k] for k in orders})
    inverse = np.linalg.pinv(part.right @ part.right.T, rcond=1e-12)
    levels = [np.trace(inverse @ _covariance(result, orders, target)) for target in targets / lengths[:, None]]
    return np.asarray(np.sqrt(np.maximum(np.array(levels), 0.0)))


def _covariance(result: TwoStepResult, orders: list[int], target: FloatArray) -> FloatArray:
    """Return the covariance of the overlaps of the low-rank part's rows with a unit target."""
    first, second = result.first, result.second
    z1, z2 = first.X @ target, second.X @ target
    weights = [second.y * sample_weights(result, k, memory=False) for k in orders]
    # An overlap of the first step moves the fields by as much times z2.
    moved = [second.y * sample_weights(result, k, memory=False, along=_STEP * target) for k in orders]
    size = result.a0.size
    factors = np.array([result.eta2 * (result.eta1 / size**0.5) ** k for k in orders])
    own = factors[:, None] * np.array([weight * z2 for weight in weights])
    slopes = factors * np.array([np.mean((m - w) * z2) / _STEP for m, w in zip(moved, weights, strict=True)])
    slopes[0] += result.eta1 * float(result.activation.coefficients(1)[1])
    before = slopes[:, None] * (first.y * z1)
    if result.batch == "reuse":
        return np.atleast_2d(np.cov(own + before)) / second.y.size
    return np.atleast_2d(np.cov(own)) / second.y.size + np.atleast_2d(np.cov(before)) / first.y.size
