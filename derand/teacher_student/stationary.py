"""The plateau of other activations and second layers: a fixed point found numerically, with its residual and rates."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from itertools import count, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import root

from derand._utils.distinct import distinct_rows
from derand._utils.html import result_html
from derand._utils.validation import FloatArray, check_scalar
from derand.exceptions import InputError, NonConvergenceError
from derand.teacher_student.flow import motion
from derand.teacher_student.parameters import LARGEST, Parameters, assemble
from derand.teacher_student.smooth import SmoothActivation

__all__ = ["DIVERGED", "NumericalPlateau", "Orbits", "find_numerical_plateau", "linear_rates", "reach_plateau"]

#: norms that many times those of the start and the teacher count as divergent
DIVERGED = 1e6
_RESIDUAL = 1e-10
_SETTLED = 1e-6
_LEGS = 24
_MAX_EVALUATIONS = 20_000
_STEP = 1e-3
_SMALLEST_STEP = 1e-5
_LARGEST_JACOBIAN = 600
_FAR = 1e-2
_SEARCH_TAIL = 3e-2
_RATE_TAIL = 1e-3
_ROUGH_TAIL = 1e-2


class NumericalPlateau(NamedTuple):
    """Fixed point that random weights reach for N to infinity, found numerically.

    Attributes
    ----------
    q : float
        Mean squared norm of a student's weight vector, divided by N.
    loss : float
        Population loss there, without label noise.
    escape_rates : ndarray of shape (m,)
        Real parts of all eigenvalues of the equations linearised in (rho, Q), m = p p_star + p (p + 1)/2, largest
        first.  Where none is positive the equations stay: the point isn't a plateau but an end of training.
    rate_error : float
        Estimated error of `escape_rates`: their change when the steps of the differences are doubled.
    rho : ndarray of shape (p, p_star)
        Overlaps.
    Q : ndarray of shape (p, p)
        Own overlaps.
    residual : float
        Largest entry of the right-hand side, divided by the step size eta.
    """

    q: float
    loss: float
    escape_rates: FloatArray
    rate_error: float
    rho: FloatArray
    Q: FloatArray
    residual: float

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


class Orbits:
    """Matrices (Q | rho) that don't change when students with equal second layers are exchanged.

    Parameters
    ----------
    parameters : Parameters
        The setting.
    is_blind : bool
        Whether rho stays zero, as for even activations.
    q0 : float
        Squared norm of the students at the start.
    """

    def __init__(self, parameters: Parameters, is_blind: bool, q0: float) -> None:
        self.parameters = parameters
        p, p_star = parameters.p, parameters.p_star
        _, kinds = np.unique(parameters.output[:p], return_inverse=True)
        self.kinds = kinds
        first, second = np.minimum.outer(kinds, kinds), np.maximum.outer(kinds, kinds)
        keys = np.zeros((p, p + p_star, 3), dtype=np.int64)
        keys[:, :p] = np.stack([np.eye(p, dtype=np.int64), first, second], axis=-1)
        keys[:, p:, 0], keys[:, p:, 1], keys[:, p:, 2] = 2, kinds[:, None], np.arange(p_star)
        first_entry, ids = distinct_rows(keys.reshape(-1, 3))
        found = keys.reshape(-1, 3)[first_entry]
        self.ids = ids.reshape(p, p + p_star)
        self.counts = np.bincount(self.ids.ravel())
        self.start = np.where(found[:, 0] == 1, q0, 0.0)
        # Norms that are constrained and overlaps that stay zero are no unknowns.
        self.free = np.ones(found.shape[0], dtype=bool)
        if parameters.constraint is not None:
            self.free &= found[:, 0] != 1
        if is_blind:
            self.free &= found[:, 0] != 2

    def coarser(self) -> Orbits:
        """Return the same unknowns with averages of a relative error about 1e-4, where they can be had for less."""
        activation = self.parameters.activation
        if not isinstance(activation, SmoothActivation):
            return self
        return self.with_parameters(replace(self.parameters, activation=activation.coarser(_SEARCH_TAIL)))

    def with_parameters(self, parameters: Parameters) -> Orbits:
        """Return the same unknowns in a setting with the same second layer."""
        other = copy(self)
        other.parameters = parameters
        return other

    def fold(self, rho: FloatArray, Q: FloatArray) -> FloatArray:
        """Return the free unknowns of overlaps, averaged over those that are alike."""
        both = np.concatenate([Q, rho], axis=1).ravel()
        return np.asarray((np.bincount(self.ids.ravel(), both) / self.counts)[self.free])

    def unfold(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (rho, Q) from the free unknowns."""
        full = self.start.copy()
        full[self.free] = y
        both, p = full[self.ids], self.parameters.p
        return both[:, p:], both[:, :p]

    def speed(self, y: FloatArray, second_order: bool) -> FloatArray:
        """Return the velocities of the free unknowns, divided by eta."""
        d_rho, d_q = _velocity(self.parameters, *self.unfold(y), second_order)
        return self.fold(d_rho, d_q)


def _velocity(
    parameters: Parameters, rho: FloatArray, Q: FloatArray, second_order: bool
) -> tuple[FloatArray, FloatArray]:
    """Return d rho / d alpha and dQ / d alpha, divided by eta."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # the search tests what it ends with
        d_rho, d_q, _ = motion(parameters, (rho, Q, None), second_order=second_order, n_inputs=None)
    return d_rho / parameters.step, d_q / parameters.step


def find_numerical_plateau(parameters: Parameters, *, second_order: bool, q0: Any) -> NumericalPlateau:
    """Return the fixed point reached from rho = 0, Q = q0 I; see `TeacherStudent.plateau` and `reach_plateau`."""
    return reach_plateau(parameters, second_order=second_order, q0=q0)[0]


def reach_plateau(parameters: Parameters, *, second_order: bool, q0: Any) -> tuple[NumericalPlateau, Orbits]:
    """Return the fixed point reached from rho = 0, Q = q0 I, and the overlaps that are unknowns on the way there.

    Students with equal second layers stay alike on this way, so only the overlaps that differ between kinds of students
    are unknowns.  They are integrated until they stand still and polished by Powell's hybrid method.

    Returns
    -------
    tuple
        The fixed point with its residual and rates, and its unknowns.

    Raises
    ------
    InputError
        If the norms diverge, the second layer is trained, or q0 is out of range.
    NonConvergenceError
        If no fixed point was found to a residual of 1e-10 times the scale of the teacher.
    """
    if parameters.is_trained:
        raise InputError("a plateau needs a second layer that isn't trained")
    q0 = check_scalar(q0, "q0", low=0.0, high=LARGEST, low_open=True)
    cold = np.zeros((parameters.p, parameters.p_star)), q0 * np.eye(parameters.p)
    pull, _ = _velocity(parameters, *cold, second_order)
    scale = max(q0, float(np.max(np.abs(parameters.gram))))
    is_blind = bool(np.max(np.abs(pull)) <= 1e-13 * scale * max(1.0, float(np.max(np.abs(parameters.output))) ** 2))
    orbits = Orbits(parameters, is_blind, q0)
    y = _approach(orbits, second_order, scale)
    best = _polished(orbits, y, second_order, 1e-15)
    if _is_far(best, y, scale):  # the overlaps may stand almost still long before they arrive
        y = _settle(orbits, second_order, scale, 1e-8, y, 1e-4 * _SETTLED)
        best = _polished(orbits, y, second_order, 1e-15)
    rho, Q = orbits.unfold(best)
    residual = max(float(np.max(np.abs(part))) for part in _velocity(parameters, rho, Q, second_order))
    if not residual <= _RESIDUAL * scale:
        raise NonConvergenceError(f"no fixed point found, residual {residual:.2g}", partial=(rho, Q))
    if _is_far(best, y, scale):
        raise NonConvergenceError("the overlaps don't settle on the fixed point next to them", partial=(rho, Q))
    rates, error = linear_rates(parameters, rho, Q, second_order=second_order, kinds=orbits.kinds)
    loss = 0.5 * float(parameters.activation.squared_error(assemble(parameters, rho, Q), parameters.output))
    return NumericalPlateau(float(np.mean(np.diagonal(Q))), loss, rates, error, rho, Q, residual), orbits


def _approach(orbits: Orbits, second_order: bool, scale: float) -> FloatArray:
    """Return where the unknowns settle, refined with the cheaper averages if there are any."""
    cheap = orbits.coarser()
    start = orbits.start[orbits.free]
    y = _settle(cheap, second_order, scale, 1e-8 if cheap.parameters is orbits.parameters else 1e-5, start, _SETTLED)
    if cheap.parameters is orbits.parameters:
        return y
    found = _polished(cheap, y, second_order, 1e-10)
    return y if _is_far(found, y, scale) else found


def _is_far(found: FloatArray, y: FloatArray, scale: float) -> bool:
    """Return whether a fixed point isn't the one that the unknowns came close to."""
    size = max(scale, float(np.max(np.abs(found), initial=0.0)))
    return not float(np.max(np.abs(found - y), initial=0.0)) <= _FAR * size


def _polished(orbits: Orbits, y: FloatArray, second_order: bool, xtol: float) -> FloatArray:
    """Return what Powell's hybrid method makes of the unknowns, or these where that is no better."""
    if y.size == 0:
        return y
    found = np.asarray(root(orbits.speed, y, args=(second_order,), method="hybr", options={"xtol": xtol}).x)
    return min((y, found), key=lambda point: float(np.max(np.abs(orbits.speed(point, second_order)))))


def _settle(orbits: Orbits, second_order: bool, scale: float, rtol: float, y: FloatArray, speed: float) -> FloatArray:
    """Integrate over ever longer stretches, in units of 1 / eta, until the unknowns are slower than speed * scale."""
    length, used = 20.0, count()

    def rhs(_: float, point: FloatArray) -> FloatArray:
        """Return the velocities, unless too many were asked for."""
        if next(used) >= _MAX_EVALUATIONS:
            raise NonConvergenceError("the overlaps don't settle on a plateau", partial=orbits.unfold(point))
        return orbits.speed(point, second_order)

    def event(_: float, point: FloatArray) -> float:
        """Return what crosses zero when the overlaps diverge."""
        return float(np.max(np.abs(point))) - DIVERGED * scale

    event.terminal = True  # type: ignore[attr-defined]
    if y.size == 0:
        return y
    for _ in range(_LEGS):
        # The integrator says by a warning, too, that norms diverge.
        with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="lsoda", category=UserWarning)
            run = solve_ivp(rhs, (0.0, length), y, method="LSODA", rtol=rtol, atol=1e-2 * rtol * scale, events=event)
        y = np.asarray(run.y[:, -1])
        if run.status != 0 or not np.all(np.isfinite(y)):
            raise InputError("lr is too large for this start: the norms diverge before they reach a plateau")
        if float(np.max(np.abs(orbits.speed(y, second_order)))) <= speed * scale:
            return y
        length *= 2.0
    raise NonConvergenceError("the overlaps don't settle on a plateau", partial=orbits.unfold(y))


def linear_rates(
    parameters: Parameters,
    rho: FloatArray,
    Q: FloatArray,
    *,
    second_order: bool,
    kinds: np.ndarray[Any, np.dtype[np.intp]] | None = None,
) -> tuple[FloatArray, float]:
    """Return the real parts of the eigenvalues of the equations linearised at (rho, Q), largest first, and their error.

    Central differences of order four; the error is estimated by doubling their steps, and by coarser averages where
    these are quadratures.

    Parameters
    ----------
    parameters : Parameters
        The setting.
    rho, Q : ndarray
        The point.
    second_order : bool
        Whether to include the term of order lr^2.
    kinds : ndarray of shape (p,), optional
        Labels of students that can be exchanged without changing the point or the equations.

    Returns
    -------
    tuple
        Rates, shape (p p_star + p (p + 1)/2,), and the estimate.

    Raises
    ------
    InputError
        If there are more than 600 variables.
    """
    p, p_star = rho.shape
    if p * p_star + p * (p + 1) // 2 > _LARGEST_JACOBIAN:
        raise InputError(f"rates are computed for at most {_LARGEST_JACOBIAN} overlaps: take a smaller p or p_star")
    columns = _Columns(p, p_star, np.arange(p) if kinds is None else kinds)
    fine, coarse = _spectra(_fixed(parameters, Q, _RATE_TAIL), rho, Q, second_order, columns)
    error = float(np.max(np.abs(fine - coarse)))
    if isinstance(parameters.activation, SmoothActivation):
        rough, _ = _spectra(_fixed(parameters, Q, _ROUGH_TAIL), rho, Q, second_order, columns)
        error += float(np.max(np.abs(fine - rough)))
    return fine, error


def _fixed(parameters: Parameters, Q: FloatArray, tail: float) -> Parameters:
    """Return the setting with averages that are smooth in the overlaps: quadratures of as many nodes everywhere."""
    activation = parameters.activation
    if not isinstance(activation, SmoothActivation):
        return parameters
    deviations = np.sqrt(np.maximum(np.concatenate([np.diagonal(Q), np.diagonal(parameters.gram)]), 0.0))
    return replace(parameters, activation=activation.coarser(tail, deviations))


class _Columns:
    """The variables rho_kl and Q_kk', k <= k', of which exchanges of students of the same kind make classes.

    Parameters
    ----------
    p, p_star : int
        Widths.
    kinds : ndarray of shape (p,)
        Labels of the students.
    """

    def __init__(self, p: int, p_star: int, kinds: np.ndarray[Any, np.dtype[np.intp]]) -> None:
        self.p, self.p_star = p, p_star
        self.rows, self.others = np.triu_indices(p)
        variables: list[tuple[tuple[int, ...], int]] = [((k,), l) for k in range(p) for l in range(p_star)]
        pairs = zip(self.rows.tolist(), self.others.tolist(), strict=True)
        variables += [((k, m) if k < m else (k,), -1) for k, m in pairs]
        self.first: list[int] = []
        #: for each variable: its class, and the permutation of the students that makes it of the class's first member
        self.images: list[tuple[int, np.ndarray[Any, np.dtype[np.intp]]]] = []
        known: dict[tuple[Any, ...], int] = {}
        for index, (students, teacher) in enumerate(variables):
            ordered = tuple(sorted(students, key=lambda k: int(kinds[k])))
            key = (tuple(int(kinds[k]) for k in ordered), teacher)
            if key not in known:
                known[key] = len(self.first)
                self.first.append(index)
            origin = variables[self.first[known[key]]][0]
            origin = tuple(sorted(origin, key=lambda k: int(kinds[k])))
            self.images.append((known[key], _exchange(p, origin, ordered)))

    def bumps(self) -> tuple[FloatArray, FloatArray]:
        """Return unit changes of the first member of each class, shapes (m, p, p_star) and (m, p, p)."""
        size = self.p * self.p_star
        rho, Q = np.zeros((len(self.first), self.p, self.p_star)), np.zeros((len(self.first), self.p, self.p))
        for row, index in enumerate(self.first):
            if index < size:
                rho[row].flat[index] = 1.0
            else:
                k, m = self.rows[index - size], self.others[index - size]
                Q[row, k, m] = Q[row, m, k] = 1.0
        return rho, Q

    def matrix(self, d_rho: FloatArray, d_q: FloatArray) -> FloatArray:
        """Return the Jacobian from the changes of the velocities under the bumps."""
        columns = []
        for kind, order in self.images:
            own, teacher = d_q[kind][order][:, order], d_rho[kind][order]
            columns.append(np.concatenate([teacher.ravel(), own[self.rows, self.others]]))
        return np.array(columns).T


def _exchange(p: int, origin: tuple[int, ...], image: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return indices `order` such that row k of what belongs to the image is row order[k] of what belongs to origin."""
    order = list(range(p))
    for k, m in zip(origin, image, strict=True):
        at = order.index(k)
        order[at], order[m] = order[m], order[at]
    return np.array(order)


def _spectra(
    parameters: Parameters, rho: FloatArray, Q: FloatArray, second_order: bool, columns: _Columns
) -> tuple[FloatArray, FloatArray]:
    """Return the sorted real parts for two steps, of which the second is twice as large."""
    scale = max(float(np.max(np.abs(Q))), float(np.max(np.abs(parameters.gram))))
    if scale == 0.0:
        raise InputError("T must not be zero: students and teacher vanish where the norms settle")
    # Averages of most functions mean nothing where the overlaps aren't realisable any more.
    room = float(np.linalg.eigvalsh(assemble(parameters, rho, Q))[0]) / (8.0 * scale)
    h = scale * min(_STEP, max(room, _SMALLEST_STEP))
    bumps_rho, bumps_q = columns.bumps()
    slopes = []
    for factor in (1.0, 2.0, 4.0):
        sides = [
            _velocity(parameters, rho + sign * factor * h * bumps_rho, Q + sign * factor * h * bumps_q, second_order)
            for sign in (1.0, -1.0)
        ]
        slopes.append([(a - b) / (2.0 * factor * h) for a, b in zip(*sides, strict=True)])
    found = []
    for near, far in pairwise(slopes):
        jacobian = columns.matrix(*((4.0 * a - b) / 3.0 for a, b in zip(near, far, strict=True)))
        if not np.all(np.isfinite(jacobian)):
            raise InputError("q0 or T is too large: the equations can't be linearised where the norms settle")
        found.append(np.asarray(np.sort(np.linalg.eigvals(jacobian).real)[::-1] * parameters.step))
    return found[0], found[1]
