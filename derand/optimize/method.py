"""The protocol that every method follows, and the way out of a saddle that they share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from derand._utils.validation import FloatArray
from derand.optimize.oracle import Oracle, Point

__all__ = ["Method", "NegativeCurvature", "follow_negative_curvature"]

S = TypeVar("S", bound=Any)
_MAX_TRIALS = 60


@dataclass(frozen=True)
class NegativeCurvature:
    """A unit direction along which the curvature is negative."""

    direction: FloatArray
    curvature: float


class Method(ABC, Generic[S]):
    """One way to search for a stationary point: four functions on an immutable state that has a `point`.

    States are frozen dataclasses of numbers, arrays, tuples and dataclasses of these, so that a run can stop between
    any two iterations and go on elsewhere.  `step` never changes its argument.
    """

    name: ClassVar[str]
    state_types: ClassVar[tuple[type, ...]]

    @abstractmethod
    def init(self, oracle: Oracle, point: Point) -> S:
        """Return the first state at an evaluated point."""

    @abstractmethod
    def step(self, oracle: Oracle, state: S, rng: np.random.Generator) -> tuple[S, str]:
        """Return the next state, and a word for the history that says what was done."""

    @abstractmethod
    def is_candidate(self, state: S) -> bool:
        """Return whether the state's point claims to be stationary and should be certified."""

    @abstractmethod
    def escape(self, oracle: Oracle, state: S, found: NegativeCurvature, rng: np.random.Generator) -> S | None:
        """Return a state away from the saddle point, or None when no decrease was found."""


def follow_negative_curvature(oracle: Oracle, point: Point, found: NegativeCurvature, length: float) -> Point | None:
    """Return a lower point along a direction of negative curvature, on the side where the gradient descends.

    The step starts at `length`, is divided by three until the function decreases, and then tripled while it decreases
    further and the slope is still negative.

    Parameters
    ----------
    oracle : Oracle
        The function.
    point : Point
        The saddle point or its neighbourhood.
    found : NegativeCurvature
        The direction.
    length : float
        First step to try.

    Returns
    -------
    Point or None
        The lowest point found; None when all steps down to rounding fail.
    """
    slope = float(point.jac @ found.direction)
    direction = -found.direction if slope > 0.0 else found.direction
    best: Point | None = None
    step = length
    for _ in range(_MAX_TRIALS):
        trial = oracle.evaluate(point.x + step * direction)
        if trial.fun < (best or point).fun:
            best = trial
            if float(trial.jac @ direction) >= 0.0:
                return best
            step *= 3.0
        elif best is not None:
            return best
        else:
            step /= 3.0
        if step * abs(found.curvature) * step < np.finfo(float).eps * max(abs(point.fun), math.ulp(0.0)) * 0.01:
            return best
    return best
