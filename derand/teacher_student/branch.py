"""The plateau as the learning rate grows: a branch of fixed points, followed until the norms don't settle any more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

from derand._utils.validation import FloatArray
from derand.exceptions import InputError, NonConvergenceError
from derand.teacher_student.parameters import Parameters, assemble
from derand.teacher_student.smooth import SmoothActivation
from derand.teacher_student.stationary import DIVERGED, Orbits, linear_rates, reach_plateau

__all__ = ["plateau_limits"]

_FIRST = 1e-2
_LAST = 1e6
_STEP, _SMALLEST, _LARGEST = 0.2, 1e-5, 0.5
_MAX_POINTS = 400
_NEWTON = 8
_RESIDUAL = 1e-11
_STRAIGHT = 0.9
_DIFFERENCE = 1e-3
#: largest p^3 (p + p_star)^2, for seconds
_WORK, _RELU_WORK = 2e5, 1e4


@dataclass(frozen=True, eq=False)
class _Point:
    """A fixed point: unknowns y at the step eta, the branch's tangent there, and how fast the unknowns settle.

    `settling` holds the eigenvalues of the equations linearised in the unknowns: the plateau exists where all have
    negative real parts.
    """

    y: FloatArray
    eta: float
    tangent: FloatArray
    settling: FloatArray


class _Branch:
    """Fixed points of students that stay alike, in the coordinates (y / unit, log eta).

    Parameters
    ----------
    orbits : Orbits
        The unknowns.
    scale : float
        Size of the teacher's and the first student's overlaps.
    """

    def __init__(self, orbits: Orbits, scale: float) -> None:
        self.orbits, self.scale = orbits, scale
        self.parameters = orbits.parameters

    def at(self, eta: float) -> Orbits:
        """Return the equations at another step."""
        return self.orbits.with_parameters(replace(self.parameters, step=eta))

    def unit(self, y: FloatArray) -> float:
        """Return the size of the unknowns."""
        return max(self.scale, float(np.max(np.abs(y), initial=0.0)))

    def slopes(self, orbits: Orbits, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return velocities, their derivatives by y / unit (order four), and by log eta (they are linear in eta)."""
        unit, size, eta = self.unit(y), y.size, orbits.parameters.step
        # Averages mean nothing where the overlaps aren't realisable any more.
        room = float(np.linalg.eigvalsh(assemble(self.parameters, *orbits.unfold(y)))[0]) / (8.0 * unit)
        h = min(_DIFFERENCE, max(room, 1e-3 * _DIFFERENCE))
        shifts = h * unit * np.eye(size)
        near, far = (
            [(orbits.speed(y + k * e, True) - orbits.speed(y - k * e, True)) / (2.0 * k * h) for e in shifts]
            for k in (1.0, 2.0)
        )
        matrix = np.reshape([(4.0 * a - b) / 3.0 for a, b in zip(near, far, strict=True)], (size, size)).T
        here = orbits.speed(y, True)
        double = orbits.with_parameters(replace(orbits.parameters, step=2.0 * eta)).speed(y, True)
        return here, matrix, double - here

    def point(self, y: FloatArray, eta: float, towards: FloatArray) -> _Point:
        """Return a fixed point with its tangent and rates."""
        _, matrix, by_eta = self.slopes(self.at(eta), y)
        system = np.vstack([np.column_stack([matrix, by_eta]), towards])
        tangent = np.linalg.solve(system, np.append(np.zeros(y.size), 1.0))
        return _Point(
            y, eta, tangent / np.linalg.norm(tangent), np.asarray(np.linalg.eigvals(matrix).real / self.unit(y))
        )

    def leaving(self, point: _Point) -> float:
        """Return the largest rate, over eta, of the overlaps that aren't unknowns; above 0 the plateau is left."""
        orbits = self.at(point.eta)
        rho, Q = orbits.unfold(point.y)
        rates, _ = linear_rates(orbits.parameters, rho, Q, second_order=True, kinds=orbits.kinds)
        rest = (rates / point.eta).tolist()
        for own in point.settling.tolist():
            rest.remove(min(rest, key=lambda rate: abs(rate - own)))
        return float(max(rest, default=-math.inf))

    def excess(self, point: _Point) -> float:
        """Return what is positive where the norms count as divergent."""
        return self.unit(point.y) / (DIVERGED * self.scale) - 1.0

    def between(self, start: _Point, end: _Point) -> FloatArray:
        """Return the coordinates of one point seen from another."""
        return np.append((end.y - start.y) / self.unit(start.y), math.log(end.eta / start.eta))

    def step(self, start: _Point, length: float) -> _Point | None:
        """Return the fixed point at that distance along the tangent, or None where Newton's method doesn't find it."""
        unit, size = self.unit(start.y), start.y.size
        move = length * start.tangent
        for _ in range(_NEWTON):
            y, eta = start.y + unit * move[:size], start.eta * math.exp(move[size])
            here, matrix, by_eta = self.slopes(self.at(eta), y)
            gap = start.tangent @ move - length
            if not np.all(np.isfinite(matrix)) or not np.all(np.isfinite(here)):
                return None
            if np.max(np.abs(here), initial=0.0) <= _RESIDUAL * self.unit(y) and abs(gap) <= _RESIDUAL:
                return self.point(y, eta, start.tangent)
            system = np.vstack([np.column_stack([matrix * (unit / self.unit(y)), by_eta]), start.tangent])
            try:
                move = move - np.linalg.solve(system, np.append(here, gap))
            except np.linalg.LinAlgError:
                return None
            if not np.max(np.abs(move)) <= 4.0 * _LARGEST:
                return None
        return None


def plateau_limits(parameters: Parameters, stable: float, q0: float) -> tuple[float | None, float | None]:
    r"""Return the steps eta up to which the plateau exists, and from which on it attracts.

    The fixed point that random weights reach at a hundredth of the stable step is followed in eta by Newton's method
    along its tangent (pseudo-arclength continuation).  It ends as a plateau where students that stay alike don't settle
    on it any more, at a fold, or where the norms are a million times those of the start, which counts as divergence.

    Parameters
    ----------
    parameters : Parameters
        The setting; its own step doesn't matter.
    stable : float
        Largest stable step of the solutions, for the scale.
    q0 : float
        Squared norm of the students at the start.

    Returns
    -------
    tuple
        Both in eta.  The first is inf for a plateau that exists up to a million times the stable step, and None where
        random weights reach no plateau, its averages are quadratures or too many, or it can't be followed; the second
        None where the plateau can be left for all steps below the first.
    """
    work = parameters.p**3 * (parameters.p + parameters.p_star) ** 2
    is_large = work > (_RELU_WORK if parameters.activation.name == "relu" else _WORK)
    if is_large or parameters.is_trained or isinstance(parameters.activation, SmoothActivation):
        return None, None
    first = _FIRST * stable
    try:
        spot, orbits = reach_plateau(replace(parameters, step=first), second_order=True, q0=q0)
    except (InputError, NonConvergenceError):
        return None, None
    branch = _Branch(orbits, max(q0, float(np.max(np.abs(parameters.gram)))))
    y = orbits.fold(spot.rho, spot.Q)
    try:
        here = branch.point(y, first, np.append(np.zeros(y.size), 1.0))
        if branch.leaving(here) * first <= 10.0 * spot.rate_error:
            return None, None
        points = [here, *_followed(branch, here, _LAST * stable)]
        return math.inf if points[-1].eta > _LAST * stable else points[-1].eta, _turning(branch, points)
    except (InputError, NonConvergenceError, np.linalg.LinAlgError):
        return None, None


def _followed(branch: _Branch, here: _Point, last: float) -> Iterator[_Point]:
    """Yield fixed points up to the one where the branch ends: its fold, divergent norms, or a step beyond the last."""
    length = _STEP
    for _ in range(_MAX_POINTS):
        there = branch.step(here, length)
        if there is None or here.tangent @ there.tangent < _STRAIGHT:
            length /= 2.0
            if length < _SMALLEST:
                break
        elif _slowest(there) > 0.0:
            end = _crossing(branch, here, length, _slowest)
            # All rates but the teacher's may vanish at the fold: those just before it say which sign that one has.
            yield from (_at(branch, here, share * end) for share in (0.9, 0.99, 0.999, 1.0))
            return
        else:
            if branch.excess(there) > 0.0:
                yield _at(branch, here, _crossing(branch, here, length, branch.excess))
                return
            yield there
            if there.eta > last:
                return
            here, length = there, min(1.5 * length, _LARGEST)
    raise NonConvergenceError(f"the plateau can't be followed beyond eta = {here.eta:.6g}")


def _turning(branch: _Branch, points: list[_Point]) -> float | None:
    """Return the step at which the plateau can't be left any more, or None."""
    for here, there in pairwise(points):
        if branch.leaving(there) < 0.0:
            gap = float(here.tangent @ branch.between(here, there))
            return _at(branch, here, _crossing(branch, here, gap, branch.leaving)).eta
    return None


def _slowest(point: _Point) -> float:
    """Return the largest real part of the rates at which the unknowns settle."""
    return float(np.max(point.settling, initial=-math.inf))


def _at(branch: _Branch, start: _Point, length: float) -> _Point:
    """Return the fixed point at a distance along the tangent, where there is one."""
    found = branch.step(start, length) if length > 0.0 else start
    if found is None:
        raise NonConvergenceError(f"the plateau can't be followed beyond eta = {start.eta:.6g}")
    return found


def _crossing(branch: _Branch, start: _Point, length: float, rate: Callable[[_Point], float]) -> float:
    """Return the distance at which a rate crosses zero."""
    return float(brentq(lambda s: rate(_at(branch, start, s)), 0.0, length, xtol=1e-10, rtol=1e-10))
