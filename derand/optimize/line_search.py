"""Line search for the Wolfe conditions, with the approximate form where rounding hides the decrease."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from derand.optimize.oracle import Point

__all__ = ["Trial", "wolfe_search"]

_EPS = float(np.finfo(np.float64).eps)
_SUFFICIENT_DECREASE = 1e-4
_MAX_TRIALS = 60


@dataclass(frozen=True)
class Trial:
    """One evaluated point of a line.

    Parameters
    ----------
    step : float
        Where on the line.
    fun, slope : float
        Value (inf when not finite) and derivative along the line.
    point : Point
        The point.
    is_accepted : bool, default False
        Whether the line search found its conditions satisfied.
    """

    step: float
    fun: float
    slope: float
    point: Point
    is_accepted: bool = False


def wolfe_search(
    evaluate: Callable[[float], Trial], start: Trial, step: float, *, curvature: float = 0.9, gtol: float = 0.0
) -> Trial | None:
    """Return a point of the line that satisfies the Wolfe conditions, or None when none is found.

    A trial t with slope d is accepted when ``f(t) <= f(0) + 1e-4 t d(0)`` and ``curvature d(0) <= d <= curvature D``,
    where D is the steepest descent met on the line.  On a line that leaves a saddle D is far larger than |d(0)|, and
    the usual D = |d(0)| would ask for an almost exact minimiser.  Where the decrease is below rounding, the
    approximate conditions of Hager and Zhang take the place of the first.  A trial that decreases f and has a
    gradient of norm at most `gtol` is accepted at once.  Brackets are refined by safeguarded cubic interpolation.

    Parameters
    ----------
    evaluate : callable
        Step -> `Trial`.
    start : Trial
        The point at step 0, with a negative slope.
    step : float
        First step to try, positive.
    curvature : float in (1e-4, 1), default 0.9
        Share of the initial slope that may remain.
    gtol : float, default 0.0
        Gradient norm at which the search may end early.

    Returns
    -------
    Trial or None
        The accepted point; failing that the lowest point found below the start; None when nothing is lower.

    References
    ----------
    W. W. Hager, H. Zhang, SIAM J. Optim. 16 (2005) 170-192 (approximate Wolfe conditions).
    J. Nocedal, S. J. Wright, Numerical Optimization, 2006, section 3.5.
    """
    noise = 4.0 * _EPS * abs(start.fun)
    low, high, best = start, None, None
    descent = [start]
    for count in range(_MAX_TRIALS):
        trial = evaluate(step)
        if trial.fun < (best or start).fun:
            best = trial
        steepest = min(point.slope for point in descent)
        if _is_accepted(trial, start, (curvature * start.slope, -curvature * steepest), noise, gtol):
            return replace(trial, is_accepted=True)
        if trial.slope >= 0.0 or not _decreases(trial, start, noise) or trial.fun > low.fun + noise:
            high = trial
        else:
            low = trial
            descent.append(trial)
        if high is None:
            step = _extrapolate(descent, noise)
            if not math.isfinite(step):
                return best
        else:
            width = abs(high.step - low.step)
            if width <= 4.0 * _EPS * max(high.step, low.step):
                return best
            # Ten trials in vain mean that the scale of the line is far from what was guessed.
            most = 0.2 ** max(0, count - 10) if low is start else 1.0
            step = _interpolate(low, high, most)
    return best


def _decreases(trial: Trial, start: Trial, noise: float) -> bool:
    """Sufficient decrease, or a change that rounding hides."""
    needed = start.fun + _SUFFICIENT_DECREASE * trial.step * start.slope
    return trial.fun <= needed or trial.fun <= start.fun + noise


def _is_accepted(trial: Trial, start: Trial, slopes: tuple[float, float], noise: float, gtol: float) -> bool:
    """Wolfe conditions, their approximate form, or arrival at a stationary point."""
    if not math.isfinite(trial.fun):
        return False
    strict = trial.fun <= start.fun + _SUFFICIENT_DECREASE * trial.step * start.slope
    hidden = trial.fun <= start.fun + noise and trial.slope <= (2.0 * _SUFFICIENT_DECREASE - 1.0) * start.slope
    if not (strict or hidden):
        return False
    return slopes[0] <= trial.slope <= slopes[1] or trial.point.gradient_norm <= gtol


def _extrapolate(descent: list[Trial], noise: float) -> float:
    """Return the next step beyond trials that still descend, between 2 and 8 times the last one."""
    # Leaving a saddle the slope first grows and then bends back: a parabola through the last three slopes sees that.
    last = descent[-1]
    before = descent[-2]
    rate = (last.slope - before.slope) / (last.step - before.step)
    bend = 0.0
    if len(descent) > 2:
        first = descent[-3]
        bend = (rate - (before.slope - first.slope) / (before.step - first.step)) / (last.step - first.step)
    # slope(last + u) = slope + tangent u + bend u^2
    tangent = rate + bend * (last.step - before.step)
    square = tangent * tangent - 4.0 * bend * last.slope
    gain = math.inf
    if bend > 0.0 or (square >= 0.0 and tangent > 0.0):
        denominator = tangent + math.sqrt(square)  # 0 where bend is mere rounding
        gain = -2.0 * last.slope / denominator if denominator != 0.0 else math.inf
    # Ten trials that change nothing mean that the scale of the line is far from what was guessed.
    is_blind = last.fun >= descent[0].fun - noise
    growth = 8.0 ** max(1, len(descent) - 10) if is_blind else 8.0
    return min(max(last.step + gain, 2.0 * last.step), growth * last.step)


def _interpolate(low: Trial, high: Trial, most: float) -> float:
    """Return the minimiser of the cubic through both ends, inside the middle nine tenths and at most a share away."""
    width = high.step - low.step
    if not math.isfinite(high.fun):
        return low.step + min(0.2, most) * width
    d1 = low.slope + high.slope - 3.0 * (high.fun - low.fun) / width
    square = d1 * d1 - low.slope * high.slope
    share = 0.5
    if square >= 0.0:
        d2 = math.copysign(math.sqrt(square), width)
        denominator = high.slope - low.slope + 2.0 * d2
        if denominator != 0.0:
            share = 1.0 - (high.slope + d2 - d1) / denominator
    if not 0.0 < share < 1.0:
        # Cancellation, with a high end far above the low one: the parabola through the low slope has none.
        rise = high.fun - low.fun - low.slope * width
        share = -0.5 * low.slope * width / rise if rise > 0.0 and low.slope * width < 0.0 else 0.5
    return low.step + min(max(share, 0.05), 0.95, most) * width
