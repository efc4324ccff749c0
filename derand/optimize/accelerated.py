"""Perturbed accelerated gradient descent of Jin et al. 2018, with negative curvature exploitation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from derand._utils.reductions import dot, norm
from derand._utils.validation import FloatArray
from derand.optimize.method import Method, NegativeCurvature, follow_negative_curvature
from derand.optimize.oracle import Oracle, Point
from derand.optimize.perturbation import (
    MAX_FAILURES,
    TheoremConstants,
    evaluate_finite,
    gradient_step,
    is_lower,
    rounding_noise,
    uniform_in_ball,
)

__all__ = ["Accelerated", "AcceleratedParameters", "AcceleratedState"]

# One record of the history for each gradient step would cost more time and memory than the steps.
_STEPS_PER_ITERATION = 100


@dataclass(frozen=True)
class AcceleratedParameters:
    r"""Parameters of Algorithm 2 (PAGD) of arXiv:1711.10456, equation (3).

    With :math:`\kappa = \ell / \sqrt{\rho \epsilon}` and
    :math:`\chi = \max\{1, \log(n \ell \Delta_f / (\rho \epsilon \delta))\}`

    .. math:: \eta = 1 / (4 \ell), \quad \theta = 1 / (4 \sqrt\kappa), \quad \gamma = \theta^2 / \eta, \quad
        s = \gamma / (4 \rho), \quad T = \sqrt\kappa \chi c, \quad r = \eta \epsilon \chi^{-5} c^{-8}

    and the decrease of the Hamiltonian that leaves a saddle, :math:`\sqrt{\epsilon^3 / \rho}\, \chi^{-5} c^{-7}`.

    Parameters
    ----------
    step : float
        Step eta.
    theta : float
        One minus the momentum.
    gamma : float
        Curvature, as a positive number, below which momentum is replaced by negative curvature exploitation.
    length : float
        Length s of a step of negative curvature exploitation.
    radius : float
        Radius r of the perturbation.
    n_wait : int
        Steps between perturbations, the next integer above T.
    decrease_threshold : float
        Decrease of the Hamiltonian that leaves a saddle.
    """

    step: float
    theta: float
    gamma: float
    length: float
    radius: float
    n_wait: int
    decrease_threshold: float

    @classmethod
    def from_constants(cls, constants: TheoremConstants, c: float = 1.0) -> AcceleratedParameters:
        """Return the parameters of the theorem.

        Parameters
        ----------
        constants : TheoremConstants
            Lipschitz constants, accuracy, failure probability.
        c : float >= 1, default 1.0
            Absolute constant; the theorem holds for all c above one that it doesn't compute.

        Returns
        -------
        AcceleratedParameters
            As in equation (3).
        """
        eps, lip, rho = constants.eps, constants.grad_lip, constants.hess_lip
        kappa = lip / math.sqrt(rho * eps)
        logs = math.log(constants.n) + math.log(lip) + math.log(constants.delta_f)
        chi = max(1.0, logs - math.log(rho) - math.log(eps) - math.log(constants.delta))
        step, theta = 1.0 / (4.0 * lip), 1.0 / (4.0 * math.sqrt(kappa))
        gamma = theta**2 / step
        return cls(
            step=step,
            theta=theta,
            gamma=gamma,
            length=gamma / (4.0 * rho),
            radius=step * eps * chi**-5 * c**-8,
            n_wait=math.ceil(math.sqrt(kappa) * chi * c),
            decrease_threshold=math.sqrt(eps**3 / rho) * chi**-5 * c**-7,
        )

    def rescaled(self, factor: float) -> AcceleratedParameters:
        """Return the parameters of a gradient Lipschitz constant that is larger by this factor, with the same chi."""
        root = math.sqrt(factor)
        return replace(
            self,
            step=self.step / factor,
            theta=self.theta / root,
            radius=self.radius / factor,
            n_wait=math.ceil(self.n_wait * root),
        )


@dataclass(frozen=True)
class AcceleratedState:
    """Position, velocity, and the perturbation that is being tried.

    Parameters
    ----------
    point : Point
        Where the search is; once `is_done`, the point that the termination rule returns.
    velocity : ndarray of shape (n,)
        The last displacement, or 0.
    anchor : Point or None
        The point before the perturbation, for `n_wait` steps.
    anchor_energy : float
        Hamiltonian before the perturbation.
    n_steps : int
        Steps since the perturbation.
    n_failures : int
        Returned points that a certificate refuted, since the last progress.
    is_done : bool
        Whether the termination rule applied.
    lip_factor : float
        How many times the given Lipschitz constant of the gradient is in use: more than 1 once steps have refuted it.
    """

    point: Point
    velocity: FloatArray
    anchor: Point | None = None
    anchor_energy: float = 0.0
    n_steps: int = 0
    n_failures: int = 0
    is_done: bool = False
    lip_factor: float = 1.0


class Accelerated(Method[AcceleratedState]):
    r"""Nesterov's method with noise at small gradients, and steps along the momentum where it meets negative curvature.

    .. math:: y = x + (1 - \theta) v, \quad x^+ = y - \eta \nabla f(y), \quad v^+ = x^+ - x ;

    where :math:`f(x) \le f(y) + \nabla f(y) \cdot (x - y) - \frac\gamma2 \|x - y\|^2` the step is replaced by negative
    curvature exploitation: x stays when v is longer than s, and otherwise moves by s along v or -v, whichever is lower;
    v becomes 0.  Noise is added at gradients below eps, not more often than every T steps.

    Guaranteed: the Hamiltonian :math:`f(x) + \|v\|^2 / (2 \eta)` never rises, up to the noise (Lemmas 4 and 5), and for
    an l-smooth function with rho-Lipschitz Hessian, eps <= l^2/rho and a large enough absolute constant c, with
    probability 1 - delta one of the first
    :math:`O(\ell^{1/2} \rho^{1/4} \Delta_f \epsilon^{-7/4} \log^6(n \ell \Delta_f / (\rho \epsilon \delta)))` iterates
    has a gradient below eps and no eigenvalue below ``-sqrt(rho eps)`` (Theorem 3).  Not guaranteed: anything when a
    constant is too small; that c = 1, the value used here, is large enough, as the paper doesn't compute it; a
    curvature tolerance below ``sqrt(hess_lip * gtol)``.  None of this touches the certificate.

    The paper's algorithm runs on for ever.  Here a point is returned when the Hamiltonian has not fallen by the
    threshold of the paper's proof within T steps of its perturbation.  When the certificate refutes such a point, it is
    perturbed again, at rest; after two refutations without progress in between the certificate's direction is followed.

    Where the Hamiltonian rises all the same and the gradient turns back, l is too small: that step becomes a gradient
    step from rest, and l is doubled from there on.

    Each step costs two evaluations, at x and at y.  Where the thresholds fall below the rounding of the function, the
    rounding takes their place.

    Parameters
    ----------
    parameters : AcceleratedParameters
        Those of the theorem.
    gtol : float
        The theorem's eps: gradient norm of a candidate.

    References
    ----------
    C. Jin, P. Netrapalli, M. I. Jordan, Accelerated gradient descent escapes saddle points faster than gradient
    descent, COLT 2018, arXiv:1711.10456, Algorithms 2 and 3, Theorem 3.
    """

    name: ClassVar[str] = "accelerated"
    state_types: ClassVar[tuple[type, ...]] = (AcceleratedState, Point)

    def __init__(self, parameters: AcceleratedParameters, gtol: float) -> None:
        self.parameters, self.gtol = parameters, gtol

    def init(self, oracle: Oracle, point: Point) -> AcceleratedState:
        """Return the state at the start, at rest."""
        return AcceleratedState(point, np.zeros_like(point.x))

    def is_candidate(self, state: AcceleratedState) -> bool:
        """Return whether the termination rule applied at a point whose gradient is within gtol."""
        return state.is_done and state.point.gradient_norm <= self.gtol

    def step(self, oracle: Oracle, state: AcceleratedState, rng: np.random.Generator) -> tuple[AcceleratedState, str]:
        """Return the state after a perturbation, or after up to 100 steps."""
        if self._is_perturbation_due(state):
            return self._perturb(oracle, state, rng), "perturbation"
        for _ in range(_STEPS_PER_ITERATION):
            state = self._judge(self._move(oracle, state))
            if state.is_done or self._is_perturbation_due(state):
                break
        return state, "accelerated descent"

    def escape(
        self, oracle: Oracle, state: AcceleratedState, found: NegativeCurvature, rng: np.random.Generator
    ) -> AcceleratedState | None:
        """Return the state after a new perturbation, or, after repeated failures, beyond the saddle."""
        rest = np.zeros_like(state.point.x)
        if state.n_failures < MAX_FAILURES:
            again = replace(state, velocity=rest, n_failures=state.n_failures + 1)
            return self._perturb(oracle, again, rng)
        target = follow_negative_curvature(oracle, state.point, found, self.parameters.length)
        return None if target is None else AcceleratedState(target, rest, lip_factor=state.lip_factor)

    def energy(self, state: AcceleratedState) -> float:
        """Return the Hamiltonian, value plus squared velocity over twice the step."""
        return state.point.fun + dot(state.velocity, state.velocity) / (2.0 * self._parameters(state).step)

    def _is_perturbation_due(self, state: AcceleratedState) -> bool:
        """Return whether the gradient is small and no perturbation is being tried."""
        return state.anchor is None and state.point.gradient_norm <= self.gtol

    def _perturb(self, oracle: Oracle, state: AcceleratedState, rng: np.random.Generator) -> AcceleratedState:
        """Return the state with noise added to the position."""
        noise = uniform_in_ball(state.point.x.size, self._parameters(state).radius, rng)
        moved = evaluate_finite(oracle, state.point.x + noise)
        energy = self.energy(state)
        return replace(state, point=moved, anchor=state.point, anchor_energy=energy, n_steps=0, is_done=False)

    def _move(self, oracle: Oracle, state: AcceleratedState) -> AcceleratedState:
        """Return the state after one step, a plain gradient step where the Hamiltonian would rise against Lemma 4."""
        moved = self._accelerate(oracle, state)
        if moved is not None:
            return moved
        point = gradient_step(oracle, state.point, self._parameters(state).step)
        rest, factor = np.zeros_like(point.x), 2.0 * state.lip_factor
        return replace(state, point=point, velocity=rest, n_steps=state.n_steps + 1, lip_factor=factor)

    def _parameters(self, state: AcceleratedState) -> AcceleratedParameters:
        """Return the parameters for the Lipschitz constant that is in use."""
        return self.parameters if state.lip_factor == 1.0 else self.parameters.rescaled(state.lip_factor)

    def _accelerate(self, oracle: Oracle, state: AcceleratedState) -> AcceleratedState | None:
        """Return the state after a step of either kind, or None where it overshoots."""
        x, n_steps, parameters = state.point, state.n_steps + 1, self._parameters(state)
        offset = (1.0 - parameters.theta) * state.velocity
        ahead = oracle.evaluate(x.x + offset) if np.any(offset) else x
        if not math.isfinite(ahead.fun):
            return None
        # At rest x = y and both sides of the paper's test are equal; for short offsets rounding decides it.  Either
        # way it says nothing about curvature, and the accelerated step is the one to take.
        tangent = ahead.fun - dot(ahead.jac, offset) - 0.5 * parameters.gamma * dot(offset, offset)
        if x.fun < tangent - rounding_noise(ahead.fun):
            return replace(
                state, point=self._exploit(oracle, state), velocity=np.zeros_like(state.velocity), n_steps=n_steps
            )
        point = oracle.evaluate(ahead.x - parameters.step * ahead.jac)
        moved = replace(state, point=point, velocity=point.x - x.x, n_steps=n_steps)
        return moved if is_lower(oracle, ahead, point, (self.energy(state), self.energy(moved))) else None

    def _exploit(self, oracle: Oracle, state: AcceleratedState) -> Point:
        """Return the point that negative curvature exploitation leads to (Algorithm 3)."""
        speed = norm(state.velocity)
        if speed >= self.parameters.length:
            return state.point
        offset = (self.parameters.length / speed) * state.velocity
        ends = [oracle.evaluate(state.point.x + sign * offset) for sign in (1.0, -1.0)]
        # By Lemma 5 one end is lower than the point itself, unless hess_lip is too small.
        return min(*ends, state.point, key=lambda end: end.fun)

    def _judge(self, state: AcceleratedState) -> AcceleratedState:
        """Return the state with the verdict on its perturbation, once `n_wait` steps have passed."""
        if state.anchor is None or state.n_steps < self._parameters(state).n_wait:
            return state
        needed = max(self.parameters.decrease_threshold, rounding_noise(state.anchor_energy))
        if self.energy(state) - state.anchor_energy <= -needed:
            return replace(state, anchor=None, n_failures=0)
        return replace(state, point=state.anchor, is_done=True)
