"""The plateau of other activations and second layers: a fixed point found numerically, with its residual and rates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import root

from derand._utils.html import result_html
from derand._utils.validation import FloatArray, check_scalar
from derand.exceptions import InputError, NonConvergenceError
from derand.teacher_student.flow import motion
from derand.teacher_student.parameters import LARGEST, Parameters, assemble

__all__ = ["NumericalPlateau", "find_numerical_plateau", "linear_rates"]

_RESIDUAL = 1e-10
_SETTLED = 1e-6
_LEGS = 24
_DIVERGED = 1e6
_STEP = 1e-3
_LARGEST_JACOBIAN = 600


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


class _Orbits:
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
        first, second = np.minimum.outer(kinds, kinds), np.maximum.outer(kinds, kinds)
        keys = np.zeros((p, p + p_star, 3), dtype=np.int64)
        keys[:, :p] = np.stack([np.eye(p, dtype=np.int64), first, second], axis=-1)
        keys[:, p:, 0], keys[:, p:, 1], keys[:, p:, 2] = 2, kinds[:, None], np.arange(p_star)
        found, ids = np.unique(keys.reshape(-1, 3), axis=0, return_inverse=True)
        self.ids = ids.reshape(p, p + p_star)
        self.counts = np.bincount(self.ids.ravel())
        self.start = np.where(found[:, 0] == 1, q0, 0.0)
        # Norms that are constrained and overlaps that stay zero are no unknowns.
        self.free = np.ones(found.shape[0], dtype=bool)
        if parameters.constraint is not None:
            self.free &= found[:, 0] != 1
        if is_blind:
            self.free &= found[:, 0] != 2

    def unfold(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (rho, Q) from the free unknowns."""
        full = self.start.copy()
        full[self.free] = y
        both, p = full[self.ids], self.parameters.p
        return both[:, p:], both[:, :p]

    def speed(self, y: FloatArray, second_order: bool) -> FloatArray:
        """Return the velocities of the free unknowns, divided by eta."""
        d_rho, d_q = _velocity(self.parameters, *self.unfold(y), second_order)
        both = np.concatenate([d_q, d_rho], axis=1).ravel()
        return np.asarray((np.bincount(self.ids.ravel(), both) / self.counts)[self.free])


def _velocity(
    parameters: Parameters, rho: FloatArray, Q: FloatArray, second_order: bool
) -> tuple[FloatArray, FloatArray]:
    """Return d rho / d alpha and dQ / d alpha, divided by eta."""
    d_rho, d_q, _ = motion(parameters, (rho, Q, None), second_order=second_order, n_inputs=None)
    return d_rho / parameters.step, d_q / parameters.step


def find_numerical_plateau(parameters: Parameters, *, second_order: bool, q0: Any) -> NumericalPlateau:
    """Return the fixed point reached from rho = 0, Q = q0 I; see `TeacherStudent.plateau`.

    Students with equal second layers stay alike on this way, so only the overlaps that differ between kinds of students
    are unknowns.  They are integrated until they stand still and polished by Powell's hybrid method.

    Returns
    -------
    NumericalPlateau
        The fixed point with its residual and rates.

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
    orbits = _Orbits(parameters, is_blind, q0)
    y = _settle(orbits, second_order, scale)
    found = root(orbits.speed, y, args=(second_order,), method="hybr", options={"xtol": 1e-15})
    best = min((y, np.asarray(found.x)), key=lambda point: float(np.max(np.abs(orbits.speed(point, second_order)))))
    rho, Q = orbits.unfold(best)
    residual = max(float(np.max(np.abs(part))) for part in _velocity(parameters, rho, Q, second_order))
    is_far = float(np.max(np.abs(best - y))) > 1e-2 * scale
    if residual > _RESIDUAL * scale or is_far:
        raise NonConvergenceError(f"no fixed point found, residual {residual:.2g}", partial=(rho, Q))
    rates, error = linear_rates(parameters, rho, Q, second_order=second_order)
    loss = 0.5 * float(parameters.activation.squared_error(assemble(parameters, rho, Q), parameters.output))
    return NumericalPlateau(float(np.mean(np.diagonal(Q))), loss, rates, error, rho, Q, residual)


def _settle(orbits: _Orbits, second_order: bool, scale: float) -> FloatArray:
    """Integrate over ever longer stretches, in units of 1 / eta, until the unknowns stand still."""
    y = orbits.start[orbits.free]
    length = 20.0

    def rhs(_: float, point: FloatArray) -> FloatArray:
        """Return the velocities."""
        return orbits.speed(point, second_order)

    def event(_: float, point: FloatArray) -> float:
        """Return what crosses zero when the overlaps diverge."""
        return float(np.max(np.abs(point))) - _DIVERGED * scale

    event.terminal = True  # type: ignore[attr-defined]
    if y.size == 0:
        return y
    for _ in range(_LEGS):
        with np.errstate(over="ignore", invalid="ignore"):
            run = solve_ivp(rhs, (0.0, length), y, method="LSODA", rtol=1e-8, atol=1e-10 * scale, events=event)
        y = np.asarray(run.y[:, -1])
        if run.status != 0 or not np.all(np.isfinite(y)):
            raise InputError("lr is too large for this start: the norms diverge before they reach a plateau")
        if float(np.max(np.abs(orbits.speed(y, second_order)))) <= _SETTLED * scale:
            return y
        length *= 2.0
    raise NonConvergenceError("the overlaps don't settle on a plateau", partial=orbits.unfold(y))


def linear_rates(
    parameters: Parameters, rho: FloatArray, Q: FloatArray, *, second_order: bool
) -> tuple[FloatArray, float]:
    """Return the real parts of the eigenvalues of the equations linearised at (rho, Q), largest first, and their error.

    Central differences of order four; the error is estimated by doubling their steps.

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
    fine, coarse = (_spectrum(parameters, rho, Q, second_order, step) for step in (_STEP, 2.0 * _STEP))
    return fine, float(np.max(np.abs(fine - coarse)))


def _spectrum(parameters: Parameters, rho: FloatArray, Q: FloatArray, second_order: bool, step: float) -> FloatArray:
    """Return the sorted real parts for one step, relative to the largest overlap."""
    p, p_star = rho.shape
    rows, columns = np.triu_indices(p)
    size = p * p_star + rows.size
    h = step * max(float(np.max(np.abs(Q))), float(np.max(np.abs(parameters.gram))))
    bumps_rho, bumps_q = np.zeros((size, p, p_star)), np.zeros((size, p, p))
    bumps_rho.reshape(size, -1)[: p * p_star, :] = np.eye(p * p_star)
    index = np.arange(p * p_star, size)
    bumps_q[index, rows, columns] = bumps_q[index, columns, rows] = 1.0
    jacobian = np.zeros((size, size))
    for factor, weight in ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)):
        d_rho, d_q = _velocity(parameters, rho + factor * h * bumps_rho, Q + factor * h * bumps_q, second_order)
        jacobian += weight * np.concatenate([d_rho.reshape(size, -1), d_q[:, rows, columns]], axis=1) / (12.0 * h)
    return np.asarray(np.sort(np.linalg.eigvals(jacobian.T).real)[::-1] * parameters.step)
