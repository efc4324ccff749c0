"""What perturbed gradient methods share: noise from a ball, constants of the theorems, the way on from a saddle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from derand._utils.reductions import dot, norm
from derand._utils.validation import FloatArray
from derand.exceptions import InputError
from derand.optimize.certificate import Tolerances
from derand.optimize.derivative_samples import verify_derivatives
from derand.optimize.oracle import Oracle, Point, StopRun
from derand.optimize.status import SOSPStatus

__all__ = [
    "MAX_FAILURES",
    "TheoremConstants",
    "evaluate_finite",
    "gradient_step",
    "is_lower",
    "rounding_noise",
    "theorem_constants",
    "uniform_in_ball",
]

#: Certificates that may refute the termination rule at points without progress in between, each answered by a new
#: perturbation; the next one is answered by following the certificate's direction.
MAX_FAILURES = 2
_MAX_HALVINGS = 60
_OVERSHOOT = 0.1  # share of the gradient that has to turn back; a step of exactly 1/l may turn back a rounding


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
    """Return the end of a gradient step, halved while it overshoots.

    A step of ``step <= 1/l`` with the true constant l neither raises the value nor turns the gradient back, so that
    this changes nothing but what happens when the given constant is too small.  Both are asked for, since values near
    a minimum of 0 are often rounded on a scale that doesn't show in them.

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
        If every step overshoots, or the value rises against the gradients at both ends and they turn out wrong.
    """
    for _ in range(_MAX_HALVINGS):
        target = oracle.evaluate(point.x - step * point.jac)
        if is_lower(oracle, point, target, (point.fun, target.fun)):
            return target
        step *= 0.5
    raise StopRun(SOSPStatus.STALLED)


def is_lower(oracle: Oracle, start: Point, end: Point, levels: tuple[float, float]) -> bool:
    """Return whether a gradient step led no higher, or only as rounding may have it.

    Parameters
    ----------
    oracle : Oracle
        The function.
    start, end : Point
        Ends of the gradient step.
    levels : tuple of two floats
        What should not rise, before and after.

    Returns
    -------
    bool
        False when the step was too long.

    Raises
    ------
    StopRun
        If there was a rise, the gradients at both ends deny it, and a check finds them wrong.
    """
    if not math.isfinite(end.fun):
        return False
    before, after = levels
    if after <= before + rounding_noise(before):
        return True
    if dot(start.jac, end.jac) < -_OVERSHOOT * dot(start.jac, start.jac):
        return False
    verify_derivatives(oracle, start, start.jac / norm(start.jac))
    return True
