"""Newton's method by capped conjugate gradients of Royer, O'Neill and Wright 2020."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from derand._utils.reductions import dot, norm
from derand._utils.validation import FloatArray
from derand.optimize.capped_cg import CappedCGResult, capped_cg
from derand.optimize.certificate import Tolerances
from derand.optimize.method import Method, NegativeCurvature
from derand.optimize.oracle import Oracle, Point, StopRun
from derand.optimize.perturbation import rounding_noise
from derand.optimize.status import SOSPStatus

__all__ = ["NewtonCG", "NewtonCGState", "newton_damping"]

_DECREASE = 0.2  # the paper's eta
_BACKTRACK = 0.5  # the paper's theta
_MAX_TRIALS = 60
_WILD = (
    10.0  # gradients that grow this much faster than the Hessian tells lie where its Lipschitz constant is too large
)


@dataclass(frozen=True)
class NewtonCGState:
    """Where the search is: the method has no memory.

    Parameters
    ----------
    point : Point
        The last iterate.
    """

    point: Point


def newton_damping(tolerances: Tolerances) -> float:
    """Return the paper's eps_H: the curvature tolerance, or sqrt(gtol) while that is open."""
    return math.sqrt(tolerances.gtol) if math.isnan(tolerances.curv_tol) else tolerances.curv_tol


class NewtonCG(Method[NewtonCGState]):
    r"""Damped Newton steps by capped conjugate gradients, with negative curvature wherever these meet it.

    A step solves :math:`(H + 2 \epsilon_H I) d = -g`, or is a direction of negative curvature scaled to
    :math:`\|d\| = |d^T H d| / \|d\|^2`, against the gradient.  The line search takes the first
    :math:`\alpha = 1, \frac12, \frac14, \dots` with

    .. math:: f(x + \alpha d) < f(x) - \frac\eta6 \alpha^3 \|d\|^3 .

    Along negative curvature alpha is then doubled, or halved when the slope has changed its sign, while the inequality
    holds and f falls: the paper's scaling takes the Lipschitz constant of the Hessian for 1, and here it isn't known.

    Two additions, which change only constants of the theorem.  The iterate before the negative curvature is taken
    instead where it gains at least :math:`\frac\eta6 |d^T H d|^3 / \|d\|^6`, the paper's gain along d: on functions of
    normalised vectors negative curvature mixes gradient and radius, and shrinks the vectors towards the pole.  And a
    trial has to keep the gradient within :math:`\|g\| + 10\, \alpha \|H d\|`, for a lower value may lie next to a
    pole.

    Guaranteed (Theorem 3): for twice Lipschitz-differentiable functions bounded below on the level set, gradients below
    eps_g and eigenvalues above -eps_H after :math:`O(\max\{\epsilon_g^{-3} \epsilon_H^3, \epsilon_H^{-3}\})` steps, at
    :math:`\epsilon_H = \sqrt{\epsilon_g}` :math:`\tilde O(\epsilon_g^{-7/4})` evaluations and products, with high
    probability; no constant has to be known, and f falls in every step.  The paper's minimum eigenvalue oracle is the
    certificate.  Not guaranteed: a rate faster than linear, since the damping stays.

    Where rounding hides the decrease, a step that halves the gradient counts as one.

    Parameters
    ----------
    gtol : float
        The paper's eps_g.
    damping : float
        The paper's eps_H.
    accuracy : float in (0, 1), default 0.5
        The paper's zeta.

    References
    ----------
    C. W. Royer, M. O'Neill, S. J. Wright, A Newton-CG algorithm with complexity guarantees for smooth unconstrained
    optimization, Math. Program. 180 (2020) 451-488, arXiv:1803.02924, Algorithm 3.
    """

    name: ClassVar[str] = "newton-cg"
    state_types: ClassVar[tuple[type, ...]] = (NewtonCGState, Point)

    def __init__(self, gtol: float, damping: float, accuracy: float = 0.5) -> None:
        self.gtol, self.damping, self.accuracy = gtol, damping, accuracy

    def init(self, oracle: Oracle, point: Point) -> NewtonCGState:
        """Return the state at the start."""
        return NewtonCGState(point)

    def is_candidate(self, state: NewtonCGState) -> bool:
        """Return whether the gradient is within gtol."""
        return state.point.gradient_norm <= self.gtol

    def step(self, oracle: Oracle, state: NewtonCGState, rng: np.random.Generator) -> tuple[NewtonCGState, str]:
        """Return the state after one Newton step or one step of negative curvature."""
        point = state.point
        found = capped_cg(oracle.hessian(point).matvec, point.jac, self.damping, accuracy=self.accuracy)
        event, target = "newton step", None
        if not found.is_negative:
            target = self._search(oracle, point, found.direction, found.stretch)
        else:
            event, target = "truncated newton step", self._truncated(oracle, point, found)
            if target is None:
                unit = found.direction / norm(found.direction)
                event = "negative curvature"
                target = self._follow(oracle, point, NegativeCurvature(unit, found.curvature), found.stretch)
        if target is None:
            raise StopRun(SOSPStatus.STALLED)
        return NewtonCGState(target), event

    def escape(
        self, oracle: Oracle, state: NewtonCGState, found: NegativeCurvature, rng: np.random.Generator
    ) -> NewtonCGState | None:
        """Return the state after a step along the certificate's direction of negative curvature."""
        target = self._follow(oracle, state.point, found, math.inf)
        return None if target is None else NewtonCGState(target)

    def _truncated(self, oracle: Oracle, point: Point, found: CappedCGResult) -> Point | None:
        """Return a point along the iterate before the negative curvature, if it gains as much as that would."""
        needed = _DECREASE / 6.0 * abs(found.curvature) ** 3
        if -0.5 * dot(point.jac, found.iterate) < needed:
            return None
        target = self._search(oracle, point, found.iterate, math.inf)
        return None if target is None or target.fun > point.fun - needed else target

    def _follow(self, oracle: Oracle, point: Point, found: NegativeCurvature, stretch: float) -> Point | None:
        """Return a point along negative curvature, beyond or before the paper's where that is lower."""
        sign = -1.0 if dot(found.direction, point.jac) > 0.0 else 1.0
        direction = sign * abs(found.curvature) * found.direction
        best = self._search(oracle, point, direction, stretch)
        if best is None:
            return None
        alpha = norm(best.x - point.x) / norm(direction)
        factor = 2.0 if dot(best.jac, direction) < 0.0 else 0.5
        for _ in range(_MAX_TRIALS):
            alpha *= factor
            trial = oracle.evaluate(point.x + alpha * direction)
            limit = point.gradient_norm + _WILD * stretch * alpha * norm(direction)
            lower = trial.fun < best.fun and trial.fun < point.fun - _required(alpha, direction)
            if not (lower and trial.gradient_norm <= limit):
                break
            best = trial
        return best

    def _search(self, oracle: Oracle, point: Point, direction: FloatArray, stretch: float) -> Point | None:
        """Return the first point of the backtracking search with cubic decrease."""
        noise = rounding_noise(point.fun)
        alpha = 1.0
        for _ in range(_MAX_TRIALS):
            trial = oracle.evaluate(point.x + alpha * direction)
            limit = point.gradient_norm + _WILD * stretch * alpha * norm(direction)
            if trial.fun < point.fun - _required(alpha, direction) and trial.gradient_norm <= limit:
                return trial
            if abs(trial.fun - point.fun) <= noise and trial.gradient_norm <= 0.5 * point.gradient_norm:
                return trial
            alpha *= _BACKTRACK
        return None


def _required(alpha: float, direction: FloatArray) -> float:
    """Return the decrease that the line search asks for."""
    return _DECREASE / 6.0 * (alpha * norm(direction)) ** 3
