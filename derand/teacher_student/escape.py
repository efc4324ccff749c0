"""How long the plateau holds a student that starts from random weights."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from derand._utils.html import result_html
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int, check_scalar
from derand.exceptions import BudgetExceededError, InputError
from derand.teacher_student.late import best_loss
from derand.teacher_student.parameters import Parameters, assemble
from derand.teacher_student.plateau import Plateau, check_start_norm, find_plateau, gathered_noise
from derand.teacher_student.stability import copy_of_teacher
from derand.teacher_student.stationary import NumericalPlateau, find_numerical_plateau
from derand.teacher_student.trajectory import integrate

__all__ = ["EscapeTime", "Start", "find_escape_time"]

_GRID = 1500
_RTOL = 1e-10
_MOST_OVERLAPS = 20_000
_LEGS = 6  # of the search for the time where the approach to the plateau isn't known in closed form


class EscapeTime(NamedTuple):
    """Time to get half-way down from the plateau.

    Attributes
    ----------
    time : float
        alpha = samples / N at which the loss is the mean of plateau loss and smallest possible loss; the average over
        the random starts if there are several.
    standard_error : float
        Of `time`; NaN for the single typical start.
    rate : float
        Largest escape rate Lambda.
    constant : float
        c in time = (c - log tr(rho0 rho0')) / (2 Lambda), averaged likewise.
    """

    time: float
    standard_error: float
    rate: float
    constant: float

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


class Start(NamedTuple):
    """Random weights in N dimensions.

    Attributes
    ----------
    N : object
        Input dimension.
    q0 : object
        Squared norm of a weight vector divided by N.
    n_starts : object
        How many random starts to average over; None for one typical start.
    """

    N: Any
    q0: Any
    n_starts: Any


def find_escape_time(
    parameters: Parameters, start: Start, *, second_order: bool, fluctuations: bool, rng: RNGLike
) -> EscapeTime:
    """Return the escape time; see `TeacherStudent.escape_time`.

    Returns
    -------
    EscapeTime
        Time, standard error, rate and constant.

    Raises
    ------
    InputError
        If the plateau doesn't exist, isn't left or isn't reached, or N is too small for the start to be near it.
    BudgetExceededError
        If p (p + p_star) is above 20,000, whose integration on a fine grid would take minutes.
    """
    if parameters.p * (parameters.p + parameters.p_star) > _MOST_OVERLAPS:
        raise BudgetExceededError(f"escape times are for at most {_MOST_OVERLAPS} overlaps: take smaller p or p_star")
    n_inputs = check_scalar(start.N, "N", low=float(parameters.p + parameters.p_star), high=math.inf, high_open=True)
    spot: Plateau | NumericalPlateau
    if parameters.is_plain:
        spot = find_plateau(parameters, second_order=second_order)
        q0, least = check_start_norm(start.q0, spot), 0.0
    else:
        if fluctuations:
            raise InputError("fluctuations must be False: their size is known for the plain quadratic model only")
        _require_zero_loss(parameters)
        spot = find_numerical_plateau(parameters, second_order=second_order, q0=start.q0)
        q0, least = float(start.q0), spot.rate_error
    if spot.escape_rates[0] <= least:
        raise InputError("the plateau isn't left: lr is beyond the largest one, or the flow goes straight to its end")
    noise = gathered_noise(parameters, q0) if fluctuations else np.zeros(parameters.p_star)
    sizes, vectors = _principal(parameters)
    if start.n_starts is None:
        rho = _typical_overlap(parameters, sizes * np.sqrt(1.0 + noise))
    else:
        shape = (check_int(start.n_starts, "n_starts", low=2, high=100_000), parameters.p, parameters.p_star)
        rho = check_rng(rng).standard_normal(shape) * (sizes * np.sqrt(1.0 + noise))
    rho = math.sqrt(q0 / n_inputs) * rho @ vectors.T
    if isinstance(spot, Plateau):
        times = _half_times(parameters, rho, q0, spot, second_order)
    else:
        times = _numerical_half_times(parameters, rho, q0, spot, second_order)
    error = float(np.std(times, ddof=1) / math.sqrt(times.size)) if times.size > 1 else math.nan
    rate = float(spot.escape_rates[0])
    constant = float(np.mean(2.0 * rate * times + np.log(np.sum(rho**2, axis=(-2, -1)))))
    return EscapeTime(float(np.mean(times)), error, rate, constant)


def _half_times(parameters: Parameters, rho: FloatArray, q0: float, spot: Plateau, second_order: bool) -> FloatArray:
    """Return the times at which the losses of a batch of starts pass half of the way down."""
    rate = float(spot.escape_rates[0])
    target = 0.5 * (spot.loss + best_loss(parameters))
    weakest = float(np.min(np.sum(rho**2, axis=(-2, -1)))) * min(1.0, spot.q / q0)
    alphas = np.linspace(0.0, (max(math.log(spot.q / weakest), 0.0) + 30.0) / (2.0 * rate), _GRID)
    starts = _isotropic(parameters, rho, q0)
    run = integrate(parameters, rho, starts, alphas, second_order=second_order, n_inputs=None, rtol=_RTOL)
    below = run.loss < target
    # A start with small norms may pass the target on its way up to the plateau: count from the highest loss on.
    tops = np.argmax(run.loss, axis=1)
    below &= np.arange(_GRID) >= tops[:, None]
    if not run.success or not np.all(np.any(below, axis=1)) or np.any(below[:, 0]):
        raise InputError("with this lr, noise and N the loss doesn't pass from a plateau to half its height")
    return np.array([_crossing(alphas, loss, target, int(top)) for loss, top in zip(run.loss, tops, strict=True)])


def _require_zero_loss(parameters: Parameters) -> None:
    """Raise InputError unless the smallest loss is known to be zero and the norms are free."""
    if parameters.constraint is not None:
        raise InputError("the escape time needs free norms: the smallest loss under a constraint isn't known")
    copy_of_teacher(parameters)


def _isotropic(parameters: Parameters, rho: FloatArray, q0: float) -> FloatArray:
    """Return Q = q0 I for each start, shape (members, p, p)."""
    starts = np.broadcast_to(q0 * np.eye(parameters.p), (rho.shape[0], parameters.p, parameters.p))
    if np.any(np.linalg.eigvalsh(assemble(parameters, rho, starts))[:, 0] < 0.0):
        raise InputError("N is too small: random overlaps of this size with Q = q0 I aren't realisable")
    return starts


def _numerical_half_times(
    parameters: Parameters, rho: FloatArray, q0: float, spot: NumericalPlateau, second_order: bool
) -> FloatArray:
    """Return what `_half_times` does where only the fixed point is known: legs of a growth time until all are down."""
    target, Q = 0.5 * spot.loss, _isotropic(parameters, rho, q0)
    weakest = float(np.min(np.sum(rho**2, axis=(-2, -1)))) / q0
    length = (max(-math.log(weakest), 0.0) + 10.0) / (2.0 * float(spot.escape_rates[0]))
    grid = np.linspace(0.0, length, _GRID)
    times, waiting = np.full(rho.shape[0], math.nan), np.arange(rho.shape[0])
    for leg in range(_LEGS):
        run = integrate(parameters, rho, Q, grid, second_order=second_order, n_inputs=None, rtol=_RTOL)
        if not run.success:
            break
        # On the way to the plateau a start with small norms may have a smaller loss than there.
        tops = np.argmax(run.loss, axis=1) if leg == 0 else np.zeros(waiting.size, dtype=int)
        is_down = (run.loss[:, -1] < target) & (run.loss[np.arange(waiting.size), tops] >= target)
        for member in np.flatnonzero(is_down):
            passed = _crossing(grid, run.loss[member], target, int(tops[member]))
            times[waiting[member]] = leg * length + passed
        waiting, rho, Q = waiting[~is_down], run.rho[~is_down, -1], run.Q[~is_down, -1]
        if not waiting.size:
            return times
    raise InputError("with this lr, noise and N the loss doesn't pass from a plateau to half its height")


def _crossing(alphas: FloatArray, loss: FloatArray, target: float, top: int) -> float:
    """Return where a curve first passes the target after its top, by the inverse cubic through four neighbours."""
    index = min(max(top + int(np.argmax(loss[top:] < target)), 2), alphas.size - 2)
    near = slice(index - 2, index + 2)
    x, y = loss[near] - target, alphas[near]
    weights = [np.prod([x[j] / (x[j] - x[i]) for j in range(4) if j != i]) for i in range(4)]
    return float(np.dot(weights, y))


def _principal(parameters: Parameters) -> tuple[FloatArray, FloatArray]:
    """Return the roots of T's eigenvalues, largest first, and the eigenvectors as columns."""
    values, vectors = np.linalg.eigh(parameters.gram)
    return np.sqrt(np.maximum(values[::-1], 0.0)), vectors[:, ::-1]


def _typical_overlap(parameters: Parameters, sizes: FloatArray) -> FloatArray:
    """Return a start with tr(rho rho') = p sum sizes^2, each of the strongest directions with its own student."""
    rank = min(parameters.p, parameters.p_star)
    rho = np.zeros((1, parameters.p, parameters.p_star))
    rho[0, range(rank), range(rank)] = sizes[:rank]
    return np.asarray(rho * math.sqrt(parameters.p * float(np.sum(sizes**2)) / float(np.sum(rho**2))))
