"""Perturbed gradient descent as in the experiments of the paper: constant steps, noise where the gradient is small."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.reductions import norm
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import NonConvergenceError
from derand.structure.losses import Loss, make_loss
from derand.structure.network import Network
from derand.structure.objective import NetworkObjective
from derand.structure.samples import Sample
from derand.structure.train import Snapshot, Snapshots

__all__ = ["DescentResult", "noisy_descent"]


@dataclass(frozen=True, eq=False, repr=False)
class DescentResult(ResultRepr):
    """End and path of a descent; nothing is proved about it, see `structure_certificate` for that.

    Attributes
    ----------
    parameters : ndarray of shape (n_parameters,)
        All parameters at the end.
    path : tuple of Snapshot
        First-layer weights from the start to the end.
    n_steps : int
        Gradient steps taken, one gradient each.
    n_perturbations : int
        Steps before which noise was added.
    gradient_norms : ndarray of shape (n_steps,)
        Norm of the gradient of all trained parameters before each step.
    is_converged : bool
        Whether the descent ended because a gradient was within `gtol`.
    """

    parameters: FloatArray
    path: tuple[Snapshot, ...]
    n_steps: int
    n_perturbations: int
    gradient_norms: FloatArray
    is_converged: bool


def noisy_descent(
    network: Network,
    batches: Iterable[Sample],
    start: Any,
    *,
    loss: str | Loss = "squared",
    lam: float = 5e-5,
    rest_decay: float = 0.0,
    frozen: Sequence[str] = (),
    step: float = 1.0,
    bias_step: float | None = None,
    noise: float = 5e-3,
    threshold: float = 1e-3,
    max_steps: int = 20_000,
    gtol: float = 0.0,
    n_snapshots: int = 50,
    rng: RNGLike = 0,
) -> DescentResult:
    r"""Descend along the gradient with constant steps, adding Gaussian noise where the first layer's is small.

    One step on batch B is :math:`x \leftarrow x - \eta \nabla F_B(x)`, and where the norm of the gradient by the first
    weights alone is at most `threshold`, noise of standard deviation `noise` is added to all trained parameters first.
    With an endless stream of fresh batches that is the one-pass recipe published with the paper (20,000 steps of size 1
    on batches of 50, decay 1e-4 applied as lam W, that is 5e-5 here); with ``itertools.repeat(sample)`` it is perturbed
    gradient descent on a fixed risk.

    Not guaranteed: anything.  A step above 2 over the largest eigenvalue diverges, and the decay shrinks directions
    without curvature only at the rate 2 lam step, so that the published lengths end before W_perp is small.

    Parameters
    ----------
    network : Network
        The architecture.
    batches : iterable of Sample
        One batch for each step; the descent ends with them.
    start : ndarray of shape (n_parameters,)
        All parameters at the start.
    loss : str or Loss, default "squared"
        See `derand.structure.make_loss`.
    lam : float, default 5e-5
        Decay lam ||W_1||^2 of the first layer.
    rest_decay : float, default 0.0
        Decay of the later weights; see `NetworkObjective`.
    frozen : sequence of str, default ()
        Blocks that keep their start values, see `Network.mask`.
    step : float, default 1.0
        Step of the weights.
    bias_step : float, optional
        Step of the biases; default `step`.
    noise : float, default 5e-3
        Standard deviation of the perturbation; 0 for plain gradient descent.
    threshold : float, default 1e-3
        Norm of the gradient of W_1 at and below which noise is added.
    max_steps : int, default 20_000
        Most steps.
    gtol : float, default 0.0
        End where the gradient of all trained parameters is within this.
    n_snapshots : int, default 50
        Most snapshots of the first layer.
    rng : int, Generator or None, default 0
        Random stream of the noise.

    Returns
    -------
    DescentResult
        End and path.

    Raises
    ------
    InputError
        If shapes don't fit or a parameter is out of range.
    InputTypeError
        If an argument has the wrong type.
    NonConvergenceError
        If the parameters overflow: the step is too large.

    Notes
    -----
    One gradient a step, two where noise is added; deterministic for a given seed and batches.

    References
    ----------
    arXiv:2510.19382, section 4 and its experiments; C. Jin et al. (2017), arXiv:1703.00887.

    Examples
    --------
    >>> import itertools
    >>> network = Network(1, 1, activation="square")
    >>> sample = Sample(np.array([[1.0]]), np.array([0.0]))
    >>> end = noisy_descent(network, itertools.repeat(sample), [1.0, 0.0, 1.0, 0.0], step=0.1, noise=0.0, max_steps=1)
    >>> end.parameters[2].item()  # gradient by the output weight: f a = 1
    0.9
    """
    x = check_array(start, "start", shape=(network.n_parameters,)).copy()
    trained, generator = network.mask(frozen), check_rng(rng)
    steps = _steps(network, step, bias_step) * trained
    noise = check_scalar(noise, "noise", low=0.0, high=math.inf, high_open=True)
    threshold = check_scalar(threshold, "threshold", low=0.0)
    limit = check_int(max_steps, "max_steps", low=0)
    where, shape = network.slice_of("W1"), network.shapes[0]
    snapshots = Snapshots(n_snapshots)
    options: dict[str, Any] = {"loss": make_loss(loss), "lam": lam, "rest_decay": rest_decay}
    norms: list[float] = []
    n_perturbations, is_converged = 0, False
    for index, batch in zip(range(limit), batches, strict=False):
        snapshots.add(index, x[where].reshape(shape))
        gradient = _gradient(NetworkObjective(network, batch, **options), x) * trained
        norms.append(norm(gradient))
        if norms[-1] <= gtol:
            is_converged = True
            break
        if noise > 0.0 and norm(gradient[where]) <= threshold:
            x = x + noise * trained * generator.standard_normal(x.size)
            gradient = _gradient(NetworkObjective(network, batch, **options), x)
            n_perturbations += 1
        x = x - steps * gradient
        if not np.isfinite(x).all():
            raise NonConvergenceError(f"the parameters overflow at step {index + 1}: take a smaller step")
    path = snapshots.finish(len(norms), x[where].reshape(shape))
    return DescentResult(x, path, len(norms), n_perturbations, np.array(norms), is_converged)


def _gradient(objective: NetworkObjective, x: FloatArray) -> FloatArray:
    """Return the gradient; overflow is left for the check of the parameters to report."""
    with np.errstate(over="ignore", invalid="ignore"):
        return objective.value_and_grad(x)[1]


def _steps(network: Network, step: float, bias_step: float | None) -> FloatArray:
    """Return the step of every parameter."""
    weight = check_scalar(step, "step", low=0.0, low_open=True, high=math.inf, high_open=True)
    bias = weight if bias_step is None else check_scalar(bias_step, "bias_step", low=0.0, high=math.inf, high_open=True)
    steps = np.full(network.n_parameters, weight)
    for name in network.names:
        if name[0] == "b":
            steps[network.slice_of(name)] = bias
    return steps
