"""What perturbed gradient methods share: noise from a ball, constants of the theorems, the way on from a saddle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from derand._utils.reductions import dot, norm
from derand._utils.validation import FloatArray
from derand.exceptions import InputError
from derand.optimize.certificate import Tolerances
from derand.optimize.oracle import Oracle, Point, StopRun
from derand.optimize.status import SOSPStatus

__all__ = [
    "MAX_FAILURES",
    "TheoremConstants",
    "evaluate_finite",
    "gradient_step",
    "rounding_noise",
    "theorem_constants",
    "uniform_in_ball",
]

#: Certificates that may refute the termination rule at points without progress in between, each answered by a new
#: perturbation; the next one is answered by following the certificate's direction.
MAX_FAILURES = 2
# With more, the step to a point against a wrong gradient would be so short that rounding hides the rise.
_MAX_HALVINGS = 30


@dataclass(frozen=True)
class TheoremConstants:
    """What the theorems of Jin et al. take as given.

    Parameters
    ----------
    n : int
        Number of variables.
    eps : float
        Accuracy: gradient norm eps, curvature ``-sqrt(hess_lip * eps)``.
    grad_lip, hess_lip : float
        Lipschitz constants of gradient and Hessian.
    delta_f : float
        Bound on f(x0) - min f.
    delta : float
        Failure probability.
    """

    n: int
    eps: float
    grad_lip: float
    hess_lip: float
    delta_f: float
    delta: float


def theorem_constants(
    method: str, tolerances: Tolerances, *, grad_lip: float | None, delta_f: float | None, n: int
) -> TheoremConstants:
    """Return the constants of a theorem, with eps = gtol and delta = 1 - confidence.

    Parameters
    ----------
    method : str
        Name of the method, for the message.
    tolerances : Tolerances
        Gives gtol, confidence and the Lipschitz constant of the Hessian.
    grad_lip, delta_f : float or None
        Lipschitz constant of the gradient, and bound on f(x0) - min f.
    n : int
        Number of variables.

    Returns
    -------
    TheoremConstants
        All of them.

    Raises
    ------
    InputError
        If a constant is missing, or gtol exceeds ``grad_lip**2 / hess_lip``, where the theorems end.
    """
    given = {"grad_lip": grad_lip, "hess_lip": tolerances.hess_lip, "delta_f": delta_f}
    missing = [name for name, value in given.items() if value is None]
    if missing:
        raise InputError(f"method {method!r} derives its parameters from constants of fun: give {', '.join(missing)}")
    assert grad_lip is not None
    assert tolerances.hess_lip is not None
    assert delta_f is not None
    if tolerances.gtol > grad_lip**2 / tolerances.hess_lip:
        raise InputError(
            f"method {method!r} needs gtol <= grad_lip^2 / hess_lip = {grad_lip**2 / tolerances.hess_lip:.3g}: beyond "
            "that no curvature below -sqrt(hess_lip gtol) exists"
        )
    return TheoremConstants(n, tolerances.gtol, grad_lip, tolerances.hess_lip, delta_f, 1.0 - tolerances.confidence)


def uniform_in_ball(n: int, radius: float, rng: np.random.Generator) -> FloatArray:
    """Return a uniform draw from the ball of that radius around 0, shape (n,)."""
    direction = rng.standard_normal(n)
    return np.asarray(direction * (radius * math.pow(rng.random(), 1.0 / n) / norm(direction)))


def rounding_noise(fun: float) -> float:
    """Return the difference of two values near `fun` that rounding alone can cause."""
    return 4.0 * float(np.finfo(np.float64).eps) * abs(fun)


def evaluate_finite(oracle: Oracle, x: FloatArray) -> Point:
    """Return the evaluated point.

    Parameters
    ----------
    oracle : Oracle
        The function.
    x : ndarray of shape (n,)
        Where to evaluate.

    Returns
    -------
    Point
        With a finite value.

    Raises
    ------
    StopRun
        If value or gradient isn't finite: steps of fixed length can't go round such a region.
    """
    point = oracle.evaluate(x)
    if not math.isfinite(point.fun):
        raise StopRun(SOSPStatus.NON_FINITE, "a step of the length that grad_lip sets led there")
    return point


def gradient_step(oracle: Oracle, point: Point, step: float) -> Point:
    """Return the end of a gradient step, halved until the value falls as a gradient step of at most 1/l makes it fall.

    A step of ``step <= 1/l`` with the true constant l lowers the value by ``step/2 |g|^2`` at least and is never
    halved, so that this changes nothing but what happens when the given constant is too small.

    Parameters
    ----------
    oracle : Oracle
        The function.
    point : Point
        Where the step starts.
    step : float
        Its length in units of the gradient.

    Returns
    -------
    Point
        The evaluated end.

    Raises
    ------
    StopRun
        If no step decreases the value: the gradient is wrong.
    """
    square, noise = dot(point.jac, point.jac), rounding_noise(point.fun)
    for _ in range(_MAX_HALVINGS):
        target = oracle.evaluate(point.x - step * point.jac)
        if target.fun <= point.fun - 0.5 * step * square + noise:
            return target
        step *= 0.5
    raise StopRun(SOSPStatus.STALLED)
