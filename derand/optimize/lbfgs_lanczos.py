"""The practical default: L-BFGS, Lanczos probes near saddles, and escapes along negative curvature."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from derand._utils.reductions import norm
from derand._utils.validation import FloatArray
from derand.optimize.limited_memory import LimitedMemory
from derand.optimize.line_search import Trial, wolfe_search
from derand.optimize.method import Method, NegativeCurvature, follow_negative_curvature
from derand.optimize.oracle import Oracle, Point, StopRun
from derand.optimize.status import SOSPStatus

__all__ = ["LBFGSLanczos", "LBFGSLanczosState"]

_DROP = 0.1  # the gradient has to fall by this factor before a saddle is suspected
_PROBE_PRODUCTS = 2
_NEGATIVE = 1e-3  # curvature below minus this share of the largest counts as negative in a probe
_MAX_FAILURES = 10  # line searches in a row without the Wolfe conditions: nothing that a smooth function would do
_WASTE_SHARE = 0.03  # products of fruitless probes, as a share of the evaluations


@dataclass(frozen=True)
class LBFGSLanczosState:
    """Point, memory, and what is known about saddles on the way.

    Parameters
    ----------
    point : Point
        Where the search is.
    memory : LimitedMemory
        Inverse Hessian of the last steps.
    high, low : float
        Largest gradient norm since the last saddle, and smallest since then.
    n_saddles : int
        Saddles met so far.
    n_wasted : int
        Products spent on probes that found no negative curvature.
    escape_length : float
        Distance between the last saddle and what came after it, along the direction of escape.
    origin : ndarray of shape (n,) or None
        Point of the last escape, until the next saddle tells how long the way was.
    direction : ndarray of shape (n,) or None
        Its direction.
    n_failures : int
        Line searches in a row that ended without the Wolfe conditions.
    """

    point: Point
    memory: LimitedMemory
    high: float
    low: float
    n_saddles: int
    n_wasted: int
    escape_length: float
    origin: FloatArray | None = None
    direction: FloatArray | None = None
    n_failures: int = 0


class LBFGSLanczos(Method[LBFGSLanczosState]):
    """L-BFGS with Lanczos probes and negative-curvature escapes.

    Near a saddle the gradient falls and rises again.  Once that has been seen, a tenfold fall of the gradient starts a
    probe: two Lanczos products from the gradient; a direction of negative curvature is followed at once.  Points with a
    gradient within gtol go to the certificate, whose negative curvature, if any, is followed as well.  There is no
    bound on the number of steps; the guarantee is the certificate's alone.

    Parameters
    ----------
    gtol : float
        Gradient norm of a candidate.
    memory : int
        Pairs kept by L-BFGS.
    """

    name: ClassVar[str] = "lbfgs-lanczos"
    state_types: ClassVar[tuple[type, ...]] = (LBFGSLanczosState, LimitedMemory, Point)

    def __init__(self, gtol: float, memory: int) -> None:
        self.gtol, self.memory = gtol, memory

    def init(self, oracle: Oracle, point: Point) -> LBFGSLanczosState:
        """Return the state at the start."""
        size = point.gradient_norm
        length = 0.1 * (1.0 + norm(point.x) / math.sqrt(point.x.size))
        return LBFGSLanczosState(point, LimitedMemory(self.memory), size, size, 0, 0, length)

    def is_candidate(self, state: LBFGSLanczosState) -> bool:
        """Return whether the gradient is within gtol."""
        return state.point.gradient_norm <= self.gtol

    def step(self, oracle: Oracle, state: LBFGSLanczosState, rng: np.random.Generator) -> tuple[LBFGSLanczosState, str]:
        """Return the state after a probe with escape, or after one step of L-BFGS."""
        if self._is_probe_due(oracle, state):
            n_products, found = self._probe(oracle, state.point)
            state = replace(state, high=state.point.gradient_norm, low=state.point.gradient_norm)
            escaped = None if found is None else self.escape(oracle, state, found, rng)
            if escaped is not None:
                return escaped, "probe and escape"
            state = replace(state, n_wasted=state.n_wasted + n_products)
        return self._descend(oracle, state), "step"

    def escape(
        self, oracle: Oracle, state: LBFGSLanczosState, found: NegativeCurvature, rng: np.random.Generator
    ) -> LBFGSLanczosState | None:
        """Return the state after a step along negative curvature, as long as the way from the last saddle to here."""
        length = state.escape_length
        if state.origin is not None and state.direction is not None:
            length = abs(float((state.point.x - state.origin) @ state.direction)) or length
        target = follow_negative_curvature(oracle, state.point, found, length)
        if target is None:
            return None
        size = target.gradient_norm
        return replace(
            state,
            point=target,
            high=size,
            low=size,
            n_saddles=state.n_saddles + 1,
            escape_length=length,
            origin=state.point.x,
            direction=found.direction,
        )

    def _is_probe_due(self, oracle: Oracle, state: LBFGSLanczosState) -> bool:
        """Return whether a saddle was met, the gradient has fallen tenfold since, and probes have paid so far."""
        affordable = state.n_wasted <= _WASTE_SHARE * oracle.nfev
        return state.n_saddles > 0 and affordable and state.point.gradient_norm < _DROP * state.high

    def _probe(self, oracle: Oracle, point: Point) -> tuple[int, NegativeCurvature | None]:
        """Return the number of products spent and a direction of negative curvature, if one shows."""
        from derand.hessian.lanczos import LanczosProcess  # not at load: scipy is slow to import

        process = LanczosProcess(oracle.hessian(point).matvec, point.jac)
        while process.n_steps < min(_PROBE_PRODUCTS, point.x.size):
            alive = process.step()
            smallest = float(process.ritz_values()[0])
            if smallest < -_NEGATIVE * process.scale:
                values, vectors, _ = process.ritz_pairs(1)
                return process.n_steps, NegativeCurvature(vectors[0], float(values[0]))
            if not alive:
                break
        return process.n_steps, None

    def _descend(self, oracle: Oracle, state: LBFGSLanczosState) -> LBFGSLanczosState:
        """Return the state after one line search, without the memory where that leads nowhere."""
        memory = state.memory
        found = self._search(oracle, state.point, memory)
        if found is None and memory.steps:
            memory = LimitedMemory(self.memory)
            found = self._search(oracle, state.point, memory)
        if found is None or state.n_failures >= _MAX_FAILURES:
            raise StopRun(SOSPStatus.STALLED)
        target = found.point
        size = target.gradient_norm
        high, low, n_saddles = state.high, min(state.low, size), state.n_saddles
        if low < _DROP * high and size > low / _DROP:
            high, low, n_saddles = size, size, n_saddles + 1
        return replace(
            state,
            point=target,
            memory=memory.updated(state.point, target),
            high=max(high, size),
            low=low,
            n_saddles=n_saddles,
            n_failures=0 if found.is_accepted else state.n_failures + 1,
        )

    def _search(self, oracle: Oracle, point: Point, memory: LimitedMemory) -> Trial | None:
        """Return the end of the line search along the quasi-Newton direction."""
        direction = -memory.apply(point.jac)
        slope = float(direction @ point.jac)
        if not slope < 0.0:
            return None
        first = 1.0 if memory.steps else min(1.0, 1.0 / point.gradient_norm)

        def evaluate(step: float) -> Trial:
            """Return the trial at a step along the direction."""
            trial = oracle.evaluate(point.x + step * direction)
            finite = math.isfinite(trial.fun)
            return Trial(step, trial.fun, float(trial.jac @ direction) if finite else math.inf, trial)

        start = Trial(0.0, point.fun, slope, point)
        return wolfe_search(evaluate, start, first, gtol=self.gtol)
