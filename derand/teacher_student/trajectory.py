"""Integration of the equations of motion, many initial conditions at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_array
from derand.exceptions import BudgetExceededError, InputError
from derand.teacher_student.flow import motion
from derand.teacher_student.parameters import Parameters, assemble

__all__ = ["FlowStatus", "Trajectory", "check_memory", "check_times", "integrate"]

_SMALLEST_RTOL = 2.5e-14  # scipy refuses less than a hundred times the machine epsilon
_DIVERGED = 1e6
_GROWN = 1e2
_NOTHING = 1e-200
_MAX_EVALUATIONS = 300_000
_MAX_BYTES = 4e9


class FlowStatus(Enum):
    """How the integration of one initial condition ended; the value is the sentence for a reader."""

    COMPLETED = "reached the last requested time"
    DIVERGED = "the norms of the student's weights diverged: the learning rate is too large for this start"
    STALLED = "the integrator could not meet its tolerances"
    OUT_OF_EVALUATIONS = "max_evaluations of the equations did not reach the last requested time"


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(ResultRepr):
    """Order parameters along time, for one initial condition or a batch.

    Attributes
    ----------
    alphas : ndarray of shape (n_times,)
        Times alpha = samples / N.
    rho : ndarray of shape (..., n_times, p, p_star)
        Overlaps; NaN after the end of a run that isn't completed.
    Q : ndarray of shape (..., n_times, p, p)
        Own overlaps; NaN likewise.
    loss : ndarray of shape (..., n_times)
        Population loss E[(f - y)^2]/2 without the label noise's D/2; NaN likewise.
    status : ndarray of FlowStatus of shape (...)
        How each ended.
    end : ndarray of shape (...)
        Time at which each ended.
    n_evaluations : int
        Evaluations of the right-hand side, each for all members of the batch that still run.
    second_layer : ndarray of shape (..., n_times, p) or None
        The student's second layer s where it is trained; NaN likewise.
    """

    alphas: FloatArray
    rho: FloatArray
    Q: FloatArray
    loss: FloatArray
    status: np.ndarray[Any, np.dtype[np.object_]]
    end: FloatArray
    n_evaluations: int
    second_layer: FloatArray | None = None

    @property
    def success(self) -> bool:
        """Whether every initial condition was followed to the last time and all numbers are finite."""
        is_complete = all(state is FlowStatus.COMPLETED for state in self.status.ravel())
        return is_complete and bool(np.all(np.isfinite(self.loss)))


def check_times(alphas: Any) -> FloatArray:
    """Return increasing non-negative times.

    Returns
    -------
    ndarray of shape (n_times,)
        The times.

    Raises
    ------
    InputError
        If they aren't, or there are none.
    """
    times = check_array(alphas, "alphas", ndim=1)
    if times.size == 0 or times[0] < 0.0 or np.any(np.diff(times) <= 0.0):
        raise InputError("alphas must be a non-empty increasing sequence of times >= 0")
    return times


def check_memory(parameters: Parameters, members: int, times: int) -> None:
    """Raise BudgetExceededError if the order parameters of all members and times take more than 4 GB."""
    if 8.0 * members * times * parameters.p * (parameters.p + parameters.p_star) > _MAX_BYTES:
        raise BudgetExceededError("the trajectories would take more than 4 GB: take fewer times, runs or neurons")


class _Batch:
    """The state vector of the members still running, and its right-hand side."""

    def __init__(self, parameters: Parameters, members: int, second_order: bool, n_inputs: int | None) -> None:
        self.parameters, self.members = parameters, members
        self.second_order, self.n_inputs, self.used = second_order, n_inputs, 0

    def unpack(self, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return rho (members, p, p_star), Q (members, p, p) and the second layer (members, p)."""
        p, p_star, is_trained = self.parameters.p, self.parameters.p_star, self.parameters.is_trained
        rows = y.reshape(self.members, p, p + p_star + is_trained)
        layer = rows[..., -1] if is_trained else np.broadcast_to(_initial_layer(self.parameters), (self.members, p))
        return rows[..., p : p + p_star], rows[..., :p], layer

    def pack(self, rho: FloatArray, Q: FloatArray, layer: FloatArray) -> FloatArray:
        """Return the state vector."""
        columns = [Q, rho, layer[..., None]] if self.parameters.is_trained else [Q, rho]
        return np.concatenate(columns, axis=-1).reshape(-1)

    def rhs(self, _: float, y: FloatArray) -> FloatArray:
        """Return dy / d alpha."""
        self.used += 1
        rho, Q, layer = self.unpack(y)
        state = (rho, Q, layer if self.parameters.is_trained else None)
        return self.pack(*motion(self.parameters, state, second_order=self.second_order, n_inputs=self.n_inputs))


def _initial_layer(parameters: Parameters) -> FloatArray:
    """Return the second layer of the model, shape (p,)."""
    return parameters.output[: parameters.p] * parameters.p


def integrate(
    parameters: Parameters,
    rho: FloatArray,
    Q: FloatArray,
    alphas: FloatArray,
    *,
    second_order: bool,
    n_inputs: int | None,
    rtol: float = 1e-12,
    atol: float | None = None,
    max_evaluations: int = _MAX_EVALUATIONS,
) -> Trajectory:
    """Return the trajectories of a batch of checked starts, shapes (members, p, p_star) and (members, p, p).

    Members whose norms diverge leave the batch, and the others go on from there.

    Returns
    -------
    Trajectory
        All members, with a status each.

    Raises
    ------
    BudgetExceededError
        If the trajectories would take more than 4 GB.
    """
    check_memory(parameters, rho.shape[0], alphas.size)
    members, times = rho.shape[0], alphas.size
    out_rho = np.full((members, times, *rho.shape[1:]), np.nan)
    out_q = np.full((members, times, *Q.shape[1:]), np.nan)
    layer = np.broadcast_to(_initial_layer(parameters), (members, parameters.p))
    out_layer = np.full((members, times, parameters.p), np.nan)
    if alphas[0] == 0.0:  # an integrator that fails at once reports nothing
        out_rho[:, 0], out_q[:, 0], out_layer[:, 0] = rho, Q, layer
    status = np.full(members, FlowStatus.COMPLETED, dtype=object)
    end = np.full(members, alphas[-1])
    running, now, position, evaluations = np.arange(members), 0.0, 0, 0
    limit = _DIVERGED * (1.0 + _size(Q, layer) + parameters.p * float(np.trace(parameters.gram)))
    tolerances = _tolerances(parameters, rho, Q, rtol, atol)
    while running.size and position < times:
        batch = _Batch(parameters, running.size, second_order, n_inputs)
        leg = _Leg(batch, now, alphas[position:], limit[running], rtol, max_evaluations - evaluations)
        done = leg.run(batch.pack(rho, Q, layer), tolerances[running])
        evaluations += done.nfev
        stop = position + done.values.shape[1]
        for offset, column in enumerate(done.values.T):
            at = (running, position + offset)
            out_rho[at], out_q[at], out_layer[at] = batch.unpack(column)
        position, now = stop, done.now
        if position == times and not done.lost.any():
            break
        lost = done.lost
        status[running[lost]] = done.state
        end[running[lost]] = now
        rho, Q, layer = (part[~lost] for part in batch.unpack(done.last))
        running = running[~lost]
    loss = np.full((members, times), np.nan)
    is_there = np.isfinite(out_rho[:, :, 0, 0])
    loss[is_there] = 0.5 * parameters.activation.squared_error(
        assemble(parameters, out_rho[is_there], out_q[is_there]), parameters.outputs(out_layer[is_there])
    )
    trained = out_layer if parameters.is_trained else None
    return Trajectory(alphas, out_rho, out_q, loss, status, end, evaluations, trained)


def _size(Q: FloatArray, layer: FloatArray) -> FloatArray:
    """Return what grows when a run diverges: the squared norms of weights and second layer, shape (members,)."""
    return np.asarray(np.trace(Q, axis1=-2, axis2=-1) + np.sum(layer**2, axis=-1))


def _tolerances(parameters: Parameters, rho: FloatArray, Q: FloatArray, rtol: float, atol: float | None) -> FloatArray:
    """Return the absolute tolerances, shape (members, p, ...): far below the overlaps that have to grow."""
    members, p, p_star = rho.shape
    if atol is not None:
        return np.full((members, p, p + p_star + parameters.is_trained), atol)
    small = np.max(np.abs(rho), axis=(-2, -1))
    large = np.max(np.abs(Q), axis=(-2, -1))
    # Weights that start at zero are measured by the teacher's; rho = 0 stays zero, and then any tolerance will do.
    large = np.where(large > _NOTHING, large, max(float(np.max(np.abs(parameters.gram))), _NOTHING))
    small = np.where(small > _NOTHING, small, large)
    columns = [large] * p + [small] * p_star
    if parameters.is_trained:
        layer = float(np.max(np.abs(_initial_layer(parameters))))
        columns.append(np.full(members, layer if layer > 0.0 else 1.0))
    return rtol * np.broadcast_to(np.stack(columns, axis=-1)[:, None, :], (members, p, len(columns)))


@dataclass(frozen=True, eq=False)
class _Done:
    """What one stretch of integration brought: states at the times passed, and where it stopped."""

    values: FloatArray
    last: FloatArray
    now: float
    lost: np.ndarray[Any, np.dtype[np.bool_]]
    state: FlowStatus
    nfev: int


class _Leg:
    """A stretch of integration, to the last time or to the first divergence."""

    def __init__(
        self, batch: _Batch, now: float, times: FloatArray, limit: FloatArray, rtol: float, budget: int
    ) -> None:
        self.batch, self.now, self.times, self.limit, self.budget = batch, now, times, limit, budget
        self.last_step: tuple[float, float] | None = None  # the step after which no more are made
        # The integrator bounds the root mean square over all members; divided by the root of their number this bounds
        # each one's.
        self.share = math.sqrt(batch.members)
        self.rtol = max(rtol / self.share, _SMALLEST_RTOL)
        self.latest: tuple[float, FloatArray] = (now, np.empty(0))

    def run(self, y: FloatArray, atol: FloatArray) -> _Done:
        """Integrate from y."""
        if self.times[-1] <= self.now:
            return _Done(y[:, None], y, self.now, np.zeros(self.batch.members, dtype=bool), FlowStatus.COMPLETED, 0)
        self.latest = (self.now, y)
        with np.errstate(over="ignore", invalid="ignore"):
            done = solve_ivp(
                self.batch.rhs,
                (self.now, float(self.times[-1])),
                y,
                method="DOP853",
                t_eval=self.times,
                rtol=self.rtol,
                atol=atol.reshape(-1) / self.share,
                events=self._event(),
            )
        values = np.asarray(done.y).reshape(y.size, -1)
        if done.status == 1:
            points: Any = done.y_events
            moments: Any = done.t_events
            last = np.asarray(points[0][0])
            if self.last_step is not None:
                everybody = np.ones(self.batch.members, dtype=bool)
                return _Done(values, last, float(moments[0][0]), everybody, FlowStatus.OUT_OF_EVALUATIONS, done.nfev)
            # Close to a blow-up the time can't resolve the crossing, so the leader counts whatever its excess.
            excess = self._excess(last)
            lost = excess >= min(0.0, float(np.max(excess)))
            return _Done(values, last, float(moments[0][0]), lost, FlowStatus.DIVERGED, done.nfev)
        if done.status == 0:
            nobody = np.zeros(self.batch.members, dtype=bool)
            return _Done(values, values[:, -1], float(self.times[-1]), nobody, FlowStatus.COMPLETED, done.nfev)
        reached, last = self.latest
        lost = self._fastest(last)
        # A blow-up late in a run is too fast for the resolution of its time: norms that have grown this much say so.
        has_grown = bool(np.max(self._excess(last)[lost]) > math.log(_GROWN / _DIVERGED))
        state = FlowStatus.DIVERGED if has_grown else FlowStatus.STALLED
        return _Done(values, last, reached, lost, state, done.nfev)

    def _fastest(self, y: FloatArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which members change fastest, relative to their size: those that made the step too small."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            speed = np.max(np.abs(self.batch.rhs(0.0, y)).reshape(self.batch.members, -1), axis=1)
            speed /= np.max(np.abs(y).reshape(self.batch.members, -1), axis=1)
        speed = np.where(np.isfinite(speed), speed, np.inf)
        return np.asarray(speed >= np.max(speed))

    def _excess(self, y: FloatArray) -> FloatArray:
        """Return log(size / limit) for each member."""
        _, Q, layer = self.batch.unpack(y)
        return np.asarray(np.log(np.maximum(_size(Q, layer), np.finfo(float).tiny) / self.limit))

    def _event(self) -> Callable[[float, FloatArray], float]:
        """Return the event function: zero where norms pass the limit or the budget is used up."""

        def event(alpha: float, y: FloatArray) -> float:
            """Return what crosses zero when the overlaps diverge, and note the last step that was accepted."""
            if self.last_step is None and self.batch.used > self.budget and alpha > self.latest[0]:
                self.last_step = (self.latest[0], float(alpha))
            if self.last_step is not None:  # a crossing in the middle of the step ends the run there
                return 2.0 * (float(alpha) - self.last_step[0]) / (self.last_step[1] - self.last_step[0]) - 1.0
            self.latest = (float(alpha), np.array(y))
            return float(np.max(self._excess(y)))

        event.terminal = True  # type: ignore[attr-defined]
        return event
