"""Perturbed gradient descent of Jin et al. 2017, with the parameters of its theorem."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from derand._utils.validation import FloatArray
from derand.optimize.method import Method, NegativeCurvature, follow_negative_curvature
from derand.optimize.oracle import Oracle, Point
from derand.optimize.perturbation import (
    MAX_FAILURES,
    TheoremConstants,
    evaluate_finite,
    gradient_step,
    rounding_noise,
    uniform_in_ball,
)

__all__ = ["PerturbedGradient", "PerturbedGradientParameters", "PerturbedGradientState"]

# One record of the history for each gradient step would cost more time and memory than the steps.
_STEPS_PER_ITERATION = 100


@dataclass(frozen=True)
class PerturbedGradientParameters:
    r"""Parameters of Algorithm 2 (PGD) of arXiv:1703.00887.

    .. math:: \chi = 3 \max\{\log(n \ell \Delta_f / (c \epsilon^2 \delta)), 4\}, \quad \eta = c / \ell, \quad
        r = \sqrt c\, \epsilon / (\chi^2 \ell), \quad g = \sqrt c\, \epsilon / \chi^2, \quad
        f = c \sqrt{\epsilon^3 / \rho} / \chi^3, \quad t = \chi \ell / (c^2 \sqrt{\rho \epsilon})

    Parameters
    ----------
    chi : float
        Logarithmic factor, at least 12.
    step : float
        Step eta.
    radius : float
        Radius r of the perturbation.
    gradient_threshold : float
        Gradient norm below which a perturbation is due; it is below eps.
    decrease_threshold : float
        Decrease that leaves a saddle.
    n_wait : int
        Gradient steps it may take, the next integer above t.
    """

    chi: float
    step: float
    radius: float
    gradient_threshold: float
    decrease_threshold: float
    n_wait: int

    @classmethod
    def from_constants(cls, constants: TheoremConstants, c: float = 1.0) -> PerturbedGradientParameters:
        """Return the parameters of the theorem.

        Parameters
        ----------
        constants : TheoremConstants
            Lipschitz constants, accuracy, failure probability.
        c : float in (0, 1], default 1.0
            Absolute constant; the theorem holds for all c below one that it doesn't compute.

        Returns
        -------
        PerturbedGradientParameters
            As in Algorithm 2.
        """
        eps, lip, rho = constants.eps, constants.grad_lip, constants.hess_lip
        # Logarithms are added, so that no product of extreme constants overflows.
        logs = math.log(constants.n) + math.log(lip) + math.log(constants.delta_f)
        chi = 3.0 * max(logs - math.log(c) - 2.0 * math.log(eps) - math.log(constants.delta), 4.0)
        threshold = math.sqrt(c) / chi**2 * eps
        return cls(
            chi=chi,
            step=c / lip,
            radius=threshold / lip,
            gradient_threshold=threshold,
            decrease_threshold=c / chi**3 * math.sqrt(eps**3 / rho),
            n_wait=math.ceil(chi / c**2 * lip / math.sqrt(rho * eps)),
        )


@dataclass(frozen=True)
class PerturbedGradientState:
    """Where the search is, and the perturbation that is being tried.

    Parameters
    ----------
    point : Point
        Where the search is; once `is_done`, the point that the termination rule returns.
    anchor : Point or None
        The point before the perturbation, until it is known whether the perturbation helped.
    n_steps : int
        Gradient steps since the perturbation.
    previous : ndarray of shape (n,) or None
        The point before the last one, to notice a cycle.
    n_failures : int
        Returned points that a certificate refuted, since the last progress.
    is_done : bool
        Whether the termination rule applied.
    """

    point: Point
    anchor: Point | None = None
    n_steps: int = 0
    previous: FloatArray | None = None
    n_failures: int = 0
    is_done: bool = False


class PerturbedGradient(Method[PerturbedGradientState]):
    r"""Gradient descent that adds noise where the gradient is small (PGD).

    Steps :math:`x - \eta \nabla f(x)`; where the gradient is below its threshold, a uniform draw from a ball of radius
    r is added.  When the value has not fallen by the decrease threshold t steps later, the point before the
    perturbation is returned (Algorithm 2).

    Guaranteed (Theorem 3): for an l-smooth function with rho-Lipschitz Hessian, eps <= l^2/rho and c below an absolute
    constant, with probability 1 - delta the returned point has a gradient below eps and no eigenvalue below
    ``-sqrt(rho eps)``, after :math:`O(\ell \Delta_f \epsilon^{-2} \log^4(n \ell \Delta_f / (\epsilon^2 \delta)))`
    gradients.  Not guaranteed: anything when a constant is too small; that c = 1, the value used here, is below the
    absolute constant, which the paper doesn't compute; a curvature tolerance below ``sqrt(hess_lip * gtol)``.  None of
    this touches the certificate, which is computed from the function alone.

    Two shortcuts leave the path as it is.  With eta <= 1/l the value never rises, so a decrease by the threshold is
    known at once and the next perturbation need not wait for t steps; the number of perturbations is still bounded by
    delta_f over the threshold.  And a descent that comes back to a point of two steps before can't decrease any more,
    so the decision falls at once.

    The gradient threshold is `gtol` over chi^2 >= 144: returned points always meet `gtol`.  Where rounding keeps the
    gradient above the threshold no perturbation happens and the run ends at its limits, except that a cycle makes the
    point a candidate if it meets `gtol`.  A decrease threshold below the rounding of the function is raised to it.

    Where the value rises although the step is 1/l, l is too small: that step is halved until it doesn't, which leaves
    the theorem but not the problem.

    When the certificate refutes a returned point, it is perturbed again; after two refutations without progress in
    between the certificate's direction is followed.

    Parameters
    ----------
    parameters : PerturbedGradientParameters
        Those of the theorem.
    gtol : float
        Gradient norm of a candidate.

    References
    ----------
    C. Jin, R. Ge, P. Netrapalli, S. M. Kakade, M. I. Jordan, How to escape saddle points efficiently, ICML 2017,
    arXiv:1703.00887, Algorithm 2 and Theorem 3.
    """

    name: ClassVar[str] = "perturbed_gradient"
    state_types: ClassVar[tuple[type, ...]] = (PerturbedGradientState, Point)

    def __init__(self, parameters: PerturbedGradientParameters, gtol: float) -> None:
        self.parameters, self.gtol = parameters, gtol

    def init(self, oracle: Oracle, point: Point) -> PerturbedGradientState:
        """Return the state at the start."""
        return PerturbedGradientState(point)

    def is_candidate(self, state: PerturbedGradientState) -> bool:
        """Return whether the termination rule applied at a point whose gradient is within gtol."""
        return state.is_done and state.point.gradient_norm <= self.gtol

    def step(
        self, oracle: Oracle, state: PerturbedGradientState, rng: np.random.Generator
    ) -> tuple[PerturbedGradientState, str]:
        """Return the state after a perturbation, or after up to 100 gradient steps."""
        if self._is_perturbation_due(state):
            return self._perturb(oracle, state, rng), "perturbation"
        for _ in range(_STEPS_PER_ITERATION):
            state = self._descend(oracle, state)
            if state.is_done or self._is_perturbation_due(state):
                break
        return state, "descent"

    def escape(
        self, oracle: Oracle, state: PerturbedGradientState, found: NegativeCurvature, rng: np.random.Generator
    ) -> PerturbedGradientState | None:
        """Return the state after a new perturbation, or, after repeated failures, beyond the saddle."""
        if state.n_failures < MAX_FAILURES:
            again = PerturbedGradientState(state.point, n_failures=state.n_failures + 1)
            return self._perturb(oracle, again, rng)
        # The first length is where the quadratic gain is balanced by a cubic of unit coefficient.
        target = follow_negative_curvature(oracle, state.point, found, abs(found.curvature))
        return None if target is None else PerturbedGradientState(target)

    def _is_perturbation_due(self, state: PerturbedGradientState) -> bool:
        """Return whether the gradient is below its threshold and no perturbation is being tried."""
        return state.anchor is None and state.point.gradient_norm <= self.parameters.gradient_threshold

    def _perturb(
        self, oracle: Oracle, state: PerturbedGradientState, rng: np.random.Generator
    ) -> PerturbedGradientState:
        """Return the state with noise added."""
        noise = uniform_in_ball(state.point.x.size, self.parameters.radius, rng)
        moved = evaluate_finite(oracle, state.point.x + noise)
        return PerturbedGradientState(moved, anchor=state.point, n_failures=state.n_failures)

    def _descend(self, oracle: Oracle, state: PerturbedGradientState) -> PerturbedGradientState:
        """Return the state after one gradient step, and judge the perturbation as soon as it can be."""
        old, anchor = state.point, state.anchor
        point = gradient_step(oracle, old, self.parameters.step)
        is_cycle = np.array_equal(point.x, old.x) or (
            state.previous is not None and np.array_equal(point.x, state.previous)
        )
        n_steps = state.n_steps + 1
        moved = replace(state, point=point, previous=old.x, n_steps=n_steps)
        if anchor is None:
            return replace(moved, is_done=True) if is_cycle else moved
        needed = max(self.parameters.decrease_threshold, rounding_noise(anchor.fun))
        if point.fun - anchor.fun <= -needed:
            return replace(moved, anchor=None, n_failures=0)
        if is_cycle or n_steps >= self.parameters.n_wait:
            return replace(moved, point=anchor, is_done=True)
        return moved
