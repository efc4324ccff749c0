"""The end of training in the quadratic model: floor, tail, best loss, stability and the solution manifold."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, root

from derand._utils.html import result_html
from derand._utils.validation import FloatArray
from derand.exceptions import InputError, NonConvergenceError
from derand.teacher_student.flow import velocity
from derand.teacher_student.parameters import Parameters, assemble

__all__ = ["NoiseFloor", "Tail", "best_loss", "find_noise_floor", "find_tail", "solution_dimension", "stable_rate"]

_RESIDUAL = 1e-11


class NoiseFloor(NamedTuple):
    """Stationary loss of one-pass SGD under label noise.

    Attributes
    ----------
    loss : float
        Population loss (without the noise's own D/2) at the stationary point of the equations of motion.
    estimate : float
        (D/2) h / (1 - h): equal to `loss` for p = p_star; for p > p_star it ignores the spare neurons.
    residual : float
        Largest entry of the right-hand side at the stationary point, divided by the learning rate.
    """

    loss: float
    estimate: float
    residual: float

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


class Tail(NamedTuple):
    """Algebraic end for p > p_star without noise: loss ~ A / alpha^2, spare norms ~ B / alpha.

    Attributes
    ----------
    loss_prefactor : float
        A = (p - p_star)(p_star + 2) / (64 gamma^2 (p + 2) (1 - h)).
    spare_prefactor : float
        B = p (p_star + 2) / (8 gamma (p + 2)).
    """

    loss_prefactor: float
    spare_prefactor: float

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


def _gain(strengths: FloatArray, gamma: float) -> float:
    """Return h(gamma) = 2 gamma sum_l s_l / (1 - 4 gamma s_l), s = eig(T) / p_star."""
    return float(2.0 * gamma * np.sum(strengths / (1.0 - 4.0 * gamma * strengths)))


def stable_rate(strengths: FloatArray) -> float:
    """Return the root of h(gamma) = 1 below the first pole; the strongest strength must be positive."""
    pole = 1.0 / (4.0 * float(strengths[0]))
    # On (0, pole) h rises from 0 to infinity, and the strongest term alone exceeds one from 2/3 of the pole on.
    return float(brentq(lambda gamma: _gain(strengths, gamma) - 1.0, 0.0, 0.7 * pole, xtol=1e-16, rtol=1e-15))


def _stable_gain(parameters: Parameters, what: str) -> float:
    """Return h at the model's learning rate, or raise InputError where solutions don't exist or aren't stable."""
    parameters.require_plain(what)
    strengths = parameters.strengths
    if parameters.p < parameters.p_star or strengths[-1] <= 1e-12 * strengths[0] or strengths[0] == 0.0:
        raise InputError(f"{what} needs p >= p_star and a positive definite T")
    limit = stable_rate(strengths)
    if parameters.gamma >= limit:
        raise InputError(f"lr is beyond the largest one with stable solutions (gamma = {limit:.6g}): {what} undefined")
    return _gain(strengths, parameters.gamma)


def find_noise_floor(parameters: Parameters) -> NoiseFloor:
    """Return the stationary loss near the solutions; see `TeacherStudent.noise_floor`.

    Returns
    -------
    NoiseFloor
        Stationary loss and estimate.

    Raises
    ------
    InputError
        If there is no stable solution.
    NonConvergenceError
        If the stationary point was not found.
    """
    gain = _stable_gain(parameters, "the noise floor")
    estimate = 0.5 * parameters.noise * gain / (1.0 - gain)
    if parameters.noise == 0.0:
        return NoiseFloor(0.0, 0.0, 0.0)
    rotated = _diagonal(parameters)

    def residual(y: FloatArray) -> FloatArray:
        """Return the velocities that vanish at a stationary point."""
        d_rho, d_q = velocity(rotated, *_unfold(rotated, y), second_order=True, n_inputs=None)
        ends = np.diagonal(d_q)[: y.size - rotated.p_star]
        return np.concatenate([np.diagonal(d_rho), ends]) / rotated.step

    found = root(residual, _first_guess(rotated), method="hybr", options={"xtol": 1e-15})
    defect = float(np.max(np.abs(residual(found.x))))
    rho, overlap = _unfold(rotated, found.x)
    if defect > _RESIDUAL or np.min(np.diagonal(overlap)) < 0.0:
        raise NonConvergenceError(f"no stationary point found, residual {defect:.2g}", partial=estimate)
    loss = 0.5 * float(rotated.activation.squared_error(assemble(rotated, rho, overlap), rotated.output))
    return NoiseFloor(loss, estimate, defect)


def _diagonal(parameters: Parameters) -> Parameters:
    """Return the same setting in the basis of T's eigenvectors, strongest first."""
    return replace(parameters, gram=np.diag(parameters.strengths) * parameters.p_star)


def _first_guess(parameters: Parameters) -> FloatArray:
    """Return overlaps, own norms and the common norm of the spare neurons at zero loss, shifted by the noise."""
    ratio, t = parameters.p / parameters.p_star, np.diagonal(parameters.gram)
    guess = [np.sqrt(ratio) * t, ratio * t]
    if parameters.p > parameters.p_star:
        spare = parameters.gamma * parameters.noise * parameters.p
        guess.append(np.array([spare / (parameters.p - parameters.p_star + 2.0)]))
    return np.concatenate(guess)


def _unfold(parameters: Parameters, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the diagonal (rho, Q) made of p_star overlaps, p_star own norms and one norm of all spare neurons."""
    p, p_star = parameters.p, parameters.p_star
    rho = np.zeros((p, p_star))
    rho[:p_star] = np.diag(y[:p_star])
    norms = np.concatenate([y[p_star : 2 * p_star], np.full(p - p_star, y[-1])])
    return rho, np.diag(norms)


def find_tail(parameters: Parameters) -> Tail:
    """Return the algebraic tail; see `TeacherStudent.tail`.

    Returns
    -------
    Tail
        The two prefactors.

    Raises
    ------
    InputError
        If p <= p_star, there is label noise, or there is no stable solution.
    """
    gain = _stable_gain(parameters, "the tail")
    p, p_star, gamma = parameters.p, parameters.p_star, parameters.gamma
    if p == p_star or parameters.noise > 0.0:
        raise InputError("the tail is algebraic only for p > p_star and noise = 0")
    loss = (p - p_star) * (p_star + 2.0) / (64.0 * gamma**2 * (p + 2.0) * (1.0 - gain))
    return Tail(loss, p * (p_star + 2.0) / (8.0 * gamma * (p + 2.0)))


def best_loss(parameters: Parameters) -> float:
    """Return the smallest possible loss: zero if p reaches the rank of T, else by water filling.

    Returns
    -------
    float
        The loss.

    Raises
    ------
    InputError
        If the model isn't the plain quadratic one.
    """
    parameters.require_plain("the smallest loss")
    dropped = parameters.strengths[parameters.p :]
    tail = float(np.sum(dropped))
    level = tail / (parameters.p + 2.0)
    return 0.5 * (parameters.p * level - tail) ** 2 + parameters.p * level**2 + float(np.sum(dropped**2))


def solution_dimension(parameters: Parameters) -> int:
    """Return p r - r (r + 1) / 2, r = rank T; see `TeacherStudent.solution_manifold_dimension`.

    Returns
    -------
    int
        The dimension.

    Raises
    ------
    InputError
        If p < rank T, where no solution has zero loss, or the model isn't the plain quadratic one.
    """
    parameters.require_plain("the solution manifold")
    strengths = parameters.strengths
    rank = int(np.sum(strengths > 1e-12 * strengths[0]))
    if parameters.p < rank:
        raise InputError(f"p must be at least the rank {rank} of T for a solution of zero loss")
    return parameters.p * rank - rank * (rank + 1) // 2
