"""The gradient steps themselves, in blocks of samples.

Network f(x) = a . sigma(W x) with fixed second layer and the correlation loss -(1/n) sum_j y_j f(x_j): a step is
W + eta G(W) with G(W) = (1/n) [(a y^T) o sigma'(W X^T)] X.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_int, check_option, check_scalar
from derand.exceptions import InputError
from derand.two_step.activations import TwoStepActivation, as_activation
from derand.two_step.assumptions import check_first_coefficient, warn_about_labels, warn_about_step
from derand.two_step.count import as_exponent
from derand.two_step.gradient import blocked_gradient, check_precision, check_problem, check_samples

__all__ = [
    "Batch",
    "TwoStepResult",
    "gradient_steps",
    "split_batches",
    "step_sizes",
    "two_step_update",
]

_LARGEST_WEIGHT = 1e30


class Batch(NamedTuple):
    """Samples of one gradient step.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Inputs.
    y : ndarray of shape (n,)
        Labels.
    """

    X: FloatArray
    y: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class TwoStepResult(ResultRepr):
    """Weights after one and two steps, with all that they were computed from.

    Attributes
    ----------
    W0, W1, W2 : ndarray of shape (N, d)
        Weights before the steps, after one and after both.
    G1, G2 : ndarray of shape (N, d)
        Gradients at W0 and W1.
    first, second : Batch
        Samples of the two steps; the same object for a reused batch.
    a0 : ndarray of shape (N,)
        Second layer.
    eta1, eta2 : float
        Step sizes.
    activation : TwoStepActivation
        The activation.
    batch : {"reuse", "fresh"}
        Whether the second step took the samples of the first.
    """

    W0: FloatArray
    W1: FloatArray
    W2: FloatArray
    G1: FloatArray
    G2: FloatArray
    first: Batch
    second: Batch
    a0: FloatArray
    eta1: float
    eta2: float
    activation: TwoStepActivation
    batch: str


def step_sizes(
    X: Any,
    y: Any,
    n_neurons: int,
    activation: Any,
    *,
    alphas: Sequence[Any],
    kappas: Sequence[float] | None = None,
    batch: str = "reuse",
) -> tuple[float, ...]:
    r"""Return step sizes :math:`\eta_i = \kappa_i N^{\alpha_i} / (c_1\, \mathrm{rms}(X b))`, :math:`b = X^\top y/n`.

    With these the first step moves pre-activations by :math:`\kappa_1 N^{\alpha_1}` times :math:`a_i`, whatever the
    labels' scale and the activation's.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.
    y : array_like of shape (n,)
        Labels.
    n_neurons : int
        N.
    activation : activation
        See `as_activation`.
    alphas : sequence of numbers in [0, 1/2)
        One exponent a step.
    kappas : sequence of float, optional
        Positive factors of order one, 1.0 each by default; about 0.5 to 1 keeps the full-rank part of a step small.
    batch : {"reuse", "fresh"}, default "reuse"
        As in `two_step_update`; with fresh batches each step is normalised by its own.

    Returns
    -------
    tuple of float
        The step sizes; negative where c_1 is.

    Raises
    ------
    InputError
        If an exponent lies outside [0, 1/2), c_1 = 0, the labels are all zero, or lengths differ.

    Examples
    --------
    >>> step_sizes([[1.0], [-1.0]], [1.0, -1.0], 16, [0.0, 1.0], alphas=(0.25,))  # b = 1, rms(X b) = 1
    (2.0,)
    """
    X, y = check_samples(X, y)
    n_neurons = check_int(n_neurons, "n_neurons", low=1)
    factors = [1.0] * len(alphas) if kappas is None else list(kappas)
    if len(factors) != len(alphas):
        raise InputError(f"kappas must have {len(alphas)} entries, one for each step, got {len(factors)}")
    c1 = check_first_coefficient(as_activation(activation).coefficients(8))
    etas = []
    for i, part in enumerate(split_batches(X, y, len(alphas), batch)):
        kappa = check_scalar(factors[i], f"kappas[{i}]", low=0.0, low_open=True, high=math.inf, high_open=True)
        move = math.sqrt(float(np.mean((part.X @ (part.X.T @ part.y / part.y.size)) ** 2)))
        if move == 0.0:
            raise InputError("y must not be orthogonal to all columns of X: X^T y = 0, and no step size is defined")
        etas.append(kappa * n_neurons ** float(as_exponent(alphas[i], f"alphas[{i}]")) / (c1 * move))
    return tuple(etas)


def two_step_update(
    X: Any,
    y: Any,
    W0: Any,
    a0: Any,
    eta1: float,
    eta2: float,
    *,
    activation: Any,
    batch: str = "reuse",
    block: int | None = None,
    dtype: Any = None,
) -> TwoStepResult:
    """Return the weights after two steps of gradient descent on the correlation loss.

    W1 = W0 + eta1 G(W0), W2 = W1 + eta2 G(W1), with G from `correlation_gradient`.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.
    y : array_like of shape (n,)
        Labels.
    W0 : array_like of shape (N, d)
        First layer; the theory has independent rows N(0, I/d).
    a0 : array_like of shape (N,)
        Second layer; the theory has independent entries N(0, 1/N).
    eta1, eta2 : float
        Step sizes; `step_sizes` computes them from exponents.
    activation : activation
        See `as_activation`.
    batch : {"reuse", "fresh"}, default "reuse"
        Whether both steps take all samples, or the first half and the second half.  A fresh batch is half as large:
        compare the two at equal samples a step.
    block : int, optional
        Samples at a time; the result is the same to rounding.
    dtype : data-type, optional
        float32 for single precision in the matrix products.

    Returns
    -------
    TwoStepResult
        W0, W1, W2, the gradients and the samples.

    Raises
    ------
    InputError
        If shapes don't fit together, a step size isn't finite or makes weights beyond 1e30, or c_1 = 0.

    Warns
    -----
    AssumptionWarning
        If the labels have a mean or heavy tails, or eta2 sqrt(log N / N) >= 1.  The steps are what they are; the theory
        may not describe them.

    Notes
    -----
    8 n N d operations for a reused batch, half of that for fresh halves.  Deterministic.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, W0 = rng.standard_normal((40, 20)), rng.standard_normal((30, 20)) / 20**0.5
    >>> a0 = rng.standard_normal(30) / 30**0.5
    >>> run = two_step_update(X, np.tanh(X[:, 0]), W0, a0, 2.0, 1.0, activation=[0.0, 1.0, 0.5])
    >>> run.W2.shape, bool(np.allclose(run.W2, run.W0 + 2.0 * run.G1 + run.G2))
    ((30, 20), True)
    """
    X, y, W0, a0 = check_problem(X, y, W0, a0)
    act = as_activation(activation)
    check_first_coefficient(act.coefficients(8))
    eta1, eta2 = (_step(eta, name) for eta, name in ((eta1, "eta1"), (eta2, "eta2")))
    first, second = split_batches(X, y, 2, batch)
    warn_about_labels(y)
    c1 = abs(float(act.coefficients(1)[1]))
    # Scaling labels or activation and dividing the step by as much changes nothing, so the size is measured likewise.
    warn_about_step(abs(eta2) * c1 * math.sqrt(float(np.mean(second.y**2))), W0.shape[0])
    precision = check_precision(dtype)
    cast = [Batch(part.X.astype(precision, copy=False), part.y) for part in (first, second)]
    G1 = blocked_gradient(*cast[0], W0, a0, act, block)
    W1 = _moved(W0, eta1, G1, "eta1")
    G2 = blocked_gradient(*cast[1], W1, a0, act, block)
    return TwoStepResult(W0, W1, _moved(W1, eta2, G2, "eta2"), G1, G2, first, second, a0, eta1, eta2, act, batch)


def gradient_steps(
    X: Any,
    y: Any,
    W0: Any,
    a0: Any,
    etas: Sequence[float],
    *,
    activation: Any,
    batch: str = "reuse",
    block: int | None = None,
    dtype: Any = None,
) -> tuple[FloatArray, ...]:
    """Return the weights after 0, 1, ..., t steps on the correlation loss.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.
    y : array_like of shape (n,)
        Labels.
    W0 : array_like of shape (N, d)
        First layer.
    a0 : array_like of shape (N,)
        Second layer.
    etas : sequence of float
        Step sizes, one a step.
    activation : activation
        See `as_activation`.
    batch : {"reuse", "fresh"}, default "reuse"
        Whether all steps take all samples, or t equal parts one after the other.
    block : int, optional
        Samples at a time.
    dtype : data-type, optional
        float32 for single precision in the matrix products.

    Returns
    -------
    tuple of ndarray of shape (N, d)
        W_0, W_1, ..., W_t.

    Raises
    ------
    InputError
        If shapes don't fit together, or a step size isn't finite or makes weights beyond 1e30.

    Examples
    --------
    >>> [W.tolist() for W in gradient_steps([[2.0]], [3.0], [[1.0]], [0.5], [1.0, 2.0], activation=[0.0, 1.0])]
    [[[1.0]], [[4.0]], [[10.0]]]
    """
    X, y, W0, a0 = check_problem(X, y, W0, a0)
    act = as_activation(activation)
    precision = check_precision(dtype)
    weights = [W0]
    for i, part in enumerate(split_batches(X, y, len(etas), batch)):
        G = blocked_gradient(part.X.astype(precision, copy=False), part.y, weights[-1], a0, act, block)
        weights.append(_moved(weights[-1], _step(etas[i], f"etas[{i}]"), G, f"etas[{i}]"))
    return tuple(weights)


def split_batches(X: FloatArray, y: FloatArray, n_steps: int, batch: str) -> list[Batch]:
    """Return the samples of every step: all of them, or disjoint parts of equal size in their order.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Inputs.
    y : ndarray of shape (n,)
        Labels.
    n_steps : int
        Number of steps.
    batch : {"reuse", "fresh"}
        Which.

    Returns
    -------
    list of Batch
        One for each step.

    Raises
    ------
    InputError
        If ``batch`` is unknown or there are fewer samples than steps.
    """
    if check_option(batch, "batch", ("reuse", "fresh")) == "reuse":
        return [Batch(X, y)] * n_steps
    size = y.size // max(n_steps, 1)
    if n_steps and size < 1:
        raise InputError(f"X must have at least {n_steps} samples for {n_steps} fresh batches, got {y.size}")
    return [Batch(X[i * size : (i + 1) * size], y[i * size : (i + 1) * size]) for i in range(n_steps)]


def _moved(W: FloatArray, eta: float, G: FloatArray, name: str) -> FloatArray:
    """Return W + eta G, unless products of such weights could overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        moved = W + eta * G
        largest = float(np.max(np.abs(moved), initial=0.0))
    if not largest <= _LARGEST_WEIGHT:
        raise InputError(f"{name} must be smaller: it makes weights beyond {_LARGEST_WEIGHT:g}")
    return moved


def _step(eta: Any, name: str) -> float:
    """Return a finite step size."""
    return check_scalar(eta, name, low=-math.inf, high=math.inf, low_open=True, high_open=True)
