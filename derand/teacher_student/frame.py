"""Which of the solutions is selected: the conserved frame, its end point, and what the noise of SGD does to it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from derand._utils.html import result_html
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import InputError, NonConvergenceError
from derand.teacher_student.late import best_loss, stable_rate
from derand.teacher_student.parameters import Parameters, assemble
from derand.teacher_student.plateau import gathered_noise
from derand.teacher_student.trajectory import FlowStatus, integrate

__all__ = ["OverlapLaw", "SelectedSolution", "conserved_frame", "find_overlap_law", "select_solution"]

_RANK_TOLERANCE = 1e-12
_COMMUTES = 1e-12
_SETTLED = 1e-12
_LEGS = 40


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
        kappa: variance that SGD's noise adds to the overlaps before they leave the plateau, relative to the start's.
    """

    mean: float
    standard_error: float
    noise_ratio: float

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


def find_overlap_law(parameters: Parameters, q0: Any, n_samples: Any, rng: RNGLike) -> OverlapLaw:
    """Return the law of the selected frame for SGD; see `TeacherStudent.overlap_law`.

    Returns
    -------
    OverlapLaw
        Mean overlap and kappa.

    Raises
    ------
    InputError
        If p < p_star, T isn't a multiple of the identity, or the plateau can't be left or isn't reached from q0.
    """
    n_samples = check_int(n_samples, "n_samples", low=2, high=10_000_000)
    generator = check_rng(rng)
    if parameters.p < parameters.p_star:
        raise InputError("p must be at least p_star for a frame")
    kappa = gathered_noise(parameters, q0)
    shape = (n_samples, parameters.p, parameters.p_star)
    start = generator.standard_normal(shape)
    end = start + np.sqrt(kappa) * generator.standard_normal(shape)
    overlaps = np.sum(conserved_frame(start) * conserved_frame(end), axis=(-2, -1)) / parameters.p_star
    return OverlapLaw(float(np.mean(overlaps)), float(np.std(overlaps, ddof=1) / np.sqrt(n_samples)), kappa)
