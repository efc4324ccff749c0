"""Which of the solutions is selected: the conserved frame, its end point, and what the noise of SGD does to it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from derand._utils.html import result_html
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import BudgetExceededError, InputError, NonConvergenceError
from derand.teacher_student.late import best_loss, find_noise_floor, stable_rate
from derand.teacher_student.parameters import Parameters, assemble
from derand.teacher_student.plateau import find_plateau, gathered_noise
from derand.teacher_student.trajectory import FlowStatus, integrate

__all__ = ["OverlapLaw", "SelectedSolution", "conserved_frame", "find_overlap_law", "select_solution"]

_RANK_TOLERANCE = 1e-12
_COMMUTES = 1e-12
_SETTLED = 1e-12
_LEGS = 40
_POLAR_SAMPLES = 20_000
_MAX_BYTES = 4e9
_FLOW_SAMPLES = 400
_FLOW_RTOL = 1e-7
_BATCH = 256


class SelectedSolution(NamedTuple):
    """The solution at which the equations of motion end.

    Attributes
    ----------
    frame : ndarray of shape (p, p_star)
        S = rho (rho' rho)^(-1/2) at the end.
    rho : ndarray of shape (p, p_star)
        Overlaps of the solution.
    Q : ndarray of shape (p, p)
        Own overlaps of the solution.
    is_conserved : bool
        Whether S is conserved exactly from this start; if so, the end is in closed form, and is the solution closest to
        the start.  If not, the frame comes from an integration.
    drift : float
        Frobenius norm of S_end - S_0.
    """

    frame: FloatArray
    rho: FloatArray
    Q: FloatArray
    is_conserved: bool
    drift: float

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


class OverlapLaw(NamedTuple):
    """Mean of tr(S_0' S_end) / p_star for real one-pass SGD from a random cold start, N large.

    Attributes
    ----------
    mean : float
        The mean overlap.
    standard_error : float
        Of `mean`, from the number of random starts drawn.
    noise_ratio : float
        kappa: variance that SGD's noise adds to the overlaps with the teacher's strongest direction before they leave
        the plateau, relative to the start's.
    noise_ratios : ndarray of shape (p_star,)
        kappa for all principal directions, strongest first.
    """

    mean: float
    standard_error: float
    noise_ratio: float
    noise_ratios: FloatArray

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


def conserved_frame(rho: Any) -> FloatArray:
    r"""Return the polar factor S = rho (rho' rho)^(-1/2), with orthonormal columns.

    S is conserved by the equations of motion, the second-order term included, if T is a multiple of the identity and
    Q_0 commutes with rho_0 rho_0' (as Q_0 = q I does).  It isn't conserved for other T, for a random Q_0 = I +
    O(1/sqrt N) (drift of that order), or by SGD itself, whose noise on the plateau moves it by order one unless the
    learning rate is small.

    Parameters
    ----------
    rho : array_like of shape (..., p, p_star)
        Overlaps of full column rank.

    Returns
    -------
    ndarray of shape (..., p, p_star)
        The frame.

    Raises
    ------
    InputError
        If p < p_star or a matrix is rank deficient within 1e-12, where the polar factor isn't unique.
    InputTypeError
        If rho isn't an array of real numbers.

    Notes
    -----
    One singular value decomposition for each matrix; deterministic.

    References
    ----------
    Escape dynamics and implicit bias of one-pass SGD in overparameterized quadratic networks, arXiv:2604.03068.

    Examples
    --------
    >>> conserved_frame([[3.0], [4.0]]).ravel()
    array([0.6, 0.8])
    """
    rho = check_array(rho, "rho")
    if rho.ndim < 2 or rho.shape[-2] < rho.shape[-1] or rho.shape[-1] == 0:
        raise InputError(f"rho must have shape (..., p, p_star) with p >= p_star >= 1, got {rho.shape}")
    left, sizes, right = np.linalg.svd(rho, full_matrices=False)
    if np.any(sizes[..., -1] <= _RANK_TOLERANCE * sizes[..., 0]):
        raise InputError("rho must have full column rank, else its polar factor isn't unique")
    return np.asarray(left @ right)


def select_solution(
    parameters: Parameters, rho0: FloatArray, Q0: FloatArray, *, second_order: bool
) -> SelectedSolution:
    """Return the solution reached from one start; see `TeacherStudent.selected_solution`.

    Returns
    -------
    SelectedSolution
        The end point.

    Raises
    ------
    InputError
        If the model isn't the plain quadratic one, rho0 is rank deficient or solutions are unstable.
    NonConvergenceError
        If the frame didn't settle.
    """
    parameters.require_plain("the selected solution")
    start = conserved_frame(rho0)
    if second_order and (parameters.noise > 0.0 or parameters.gamma >= stable_rate(parameters.strengths)):
        raise InputError("lr and noise must leave the zero-loss solutions stable (or take second_order=False)")
    gram = parameters.gram
    scale = float(np.trace(gram)) / parameters.p_star
    square = rho0 @ rho0.T
    commutator = Q0 @ square - square @ Q0
    is_flat = bool(np.max(np.abs(gram - scale * np.eye(parameters.p_star))) <= _COMMUTES * scale)
    size = float(np.linalg.norm(Q0) * np.linalg.norm(square))
    is_conserved = is_flat and bool(np.linalg.norm(commutator) <= _COMMUTES * size)
    if is_conserved:
        ratio = parameters.p / parameters.p_star
        return SelectedSolution(start, np.sqrt(ratio) * scale * start, ratio * scale * start @ start.T, True, 0.0)
    rho, Q = _settle(parameters, rho0, Q0, second_order)
    frame = conserved_frame(rho)
    return SelectedSolution(frame, rho, Q, False, float(np.linalg.norm(frame - start)))


def _settle(
    parameters: Parameters, rho: FloatArray, Q: FloatArray, second_order: bool
) -> tuple[FloatArray, FloatArray]:
    """Integrate over ever longer stretches until the frame stands still and the loss is close to its minimum."""
    length = 20.0 / (4.0 * parameters.gamma * float(parameters.strengths[0]))
    begin = 0.5 * float(parameters.activation.squared_error(assemble(parameters, rho, Q), parameters.output))
    for _ in range(_LEGS):
        before = conserved_frame(rho)
        run = integrate(
            parameters, rho[None], Q[None], np.array([0.0, length]), second_order=second_order, n_inputs=None
        )
        if run.status[0] is not FlowStatus.COMPLETED:
            raise NonConvergenceError(f"no solution reached: {run.status[0].value}", partial=run)
        rho, Q = run.rho[0, -1], run.Q[0, -1]
        is_low = run.loss[0, -1] <= best_loss(parameters) + 1e-6 * begin
        if is_low and np.max(np.abs(conserved_frame(rho) - before)) < _SETTLED:
            return rho, Q
        length *= 1.5
    raise NonConvergenceError("the frame S didn't settle", partial=(rho, Q))


def find_overlap_law(parameters: Parameters, q0: Any, N: Any, n_samples: Any, rng: RNGLike) -> OverlapLaw:
    """Return the law of the selected frame for SGD; see `TeacherStudent.overlap_law`.

    Returns
    -------
    OverlapLaw
        Mean overlap and kappa.

    Raises
    ------
    InputError
        If p < p_star, T is singular, N is missing for unequal teachers, or the plateau can't be left or isn't reached
        from q0.
    NonConvergenceError
        If the frames didn't settle.
    BudgetExceededError
        If the samples would take more than 4 GB.
    """
    generator = check_rng(rng)
    if parameters.p < parameters.p_star:
        raise InputError("p must be at least p_star for a frame")
    strengths = parameters.strengths
    is_flat = bool(strengths[-1] >= strengths[0] * (1.0 - _COMMUTES))
    kappa = gathered_noise(parameters, q0)
    if strengths[-1] <= _RANK_TOLERANCE * strengths[0]:
        raise InputError("T must be positive definite for a frame")
    work = parameters.p * parameters.p_star**2
    default, most = (max(_POLAR_SAMPLES // (1 + work // 1000), 10), 10_000_000) if is_flat else (_FLOW_SAMPLES, 100_000)
    n_samples = default if n_samples is None else check_int(n_samples, "n_samples", low=2, high=most)
    shape = (n_samples, parameters.p, parameters.p_star)
    if 32.0 * math.prod(shape) > _MAX_BYTES:
        raise BudgetExceededError("n_samples starts of this size would take more than 4 GB")
    start = generator.standard_normal(shape)
    end = start + np.sqrt(kappa) * generator.standard_normal(shape)
    if is_flat:
        first, last = conserved_frame(start), conserved_frame(end)
    else:
        if N is None:
            raise InputError("N must be given where T isn't a multiple of the identity: the law depends on log N")
        low = float(parameters.p + parameters.p_star)
        n_inputs = check_scalar(N, "N", low=low, high=math.inf, high_open=True)
        size = np.sqrt(float(q0) / n_inputs * strengths * parameters.p_star)
        first, last = conserved_frame(start * size), _end_frames(parameters, end * size, float(q0))
    overlaps = np.sum(first * last, axis=(-2, -1)) / parameters.p_star
    error = float(np.std(overlaps, ddof=1) / np.sqrt(n_samples))
    return OverlapLaw(float(np.mean(overlaps)), error, float(kappa[0]), kappa)


def _end_frames(parameters: Parameters, rho: FloatArray, q0: float) -> FloatArray:
    """Return the frames at the end of the equations from many starts with Q = q0 I, T in its principal axes."""
    rotated = replace(parameters, gram=np.diag(parameters.strengths) * parameters.p_star)
    start = q0 * np.eye(parameters.p)
    sigma = assemble(rotated, rho, np.broadcast_to(start, (rho.shape[0], *start.shape)))
    if np.any(np.linalg.eigvalsh(sigma)[:, 0] < 0.0):
        raise InputError("N is too small: random overlaps of this size with Q = q0 I aren't realisable")
    blocks = np.array_split(rho, 1 + rho.shape[0] // _BATCH)
    return np.concatenate([_settle_batch(rotated, block, start) for block in blocks])


def _settle_batch(parameters: Parameters, rho: FloatArray, start: FloatArray) -> FloatArray:
    """Integrate a batch until the losses are low and the frames stand still to 1e-4."""
    spot = find_plateau(parameters, second_order=True)
    low = 1e-3 * spot.loss + (2.0 * find_noise_floor(parameters).loss if parameters.noise > 0.0 else 0.0)
    length = 10.0 / float(spot.escape_rates[-1])
    Q = np.broadcast_to(start, (rho.shape[0], *start.shape))
    for _ in range(_LEGS):
        before = conserved_frame(rho)
        run = integrate(parameters, rho, Q, np.array([0.0, length]), second_order=True, n_inputs=None, rtol=_FLOW_RTOL)
        if not run.success:
            raise NonConvergenceError("the norms of some random starts diverged", partial=run)
        rho, Q = run.rho[:, -1], run.Q[:, -1]
        if np.all(run.loss[:, -1] <= low) and np.max(np.abs(conserved_frame(rho) - before)) < 1e-4:
            return conserved_frame(rho)
    raise NonConvergenceError("the frames S didn't settle", partial=(rho, Q))
