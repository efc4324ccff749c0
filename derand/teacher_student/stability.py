"""Learning rates up to which a solution of zero loss is stable, and the noise floor, for any activation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import root

from derand._utils.validation import FloatArray
from derand.exceptions import InputError, NonConvergenceError
from derand.teacher_student.flow import velocity
from derand.teacher_student.late import NoiseFloor
from derand.teacher_student.parameters import Parameters, assemble, joint_covariance
from derand.teacher_student.stationary import linear_rates

__all__ = ["Linearisation", "chosen_solution", "copy_of_teacher", "general_noise_floor", "linearise"]

_RANK = 1e-10
_ZERO_LOSS = 1e-9
_RESIDUAL = 1e-10
_WIDEST = 32


class Linearisation(NamedTuple):
    r"""Second moments C of small deviations orthogonal to all weights: dC = -eta (HC + CH) + eta^2 (K[C] + D H).

    Attributes
    ----------
    curvature : ndarray of shape (r,)
        Positive eigenvalues of H, :math:`H_{kl} = a_k a_l E[g'_k g'_l]`.
    gain : ndarray of shape (m, m)
        (HC + CH)^(-1) K on symmetric matrices, in the basis of H's eigenvectors; m = r (r + 1)/2 entries above the
        diagonal, row by row.
    basis : ndarray of shape (p, r)
        The eigenvectors.
    """

    curvature: FloatArray
    gain: FloatArray
    basis: FloatArray

    @property
    def stable(self) -> float:
        """Largest stable step eta: one over the spectral radius of the gain."""
        return 1.0 / float(np.max(np.abs(np.linalg.eigvals(self.gain))))

    def spread(self, step: float, noise: float) -> FloatArray:
        """Return the stationary C, shape (p, p), to first order in the noise."""
        rank = self.curvature.size
        rows, columns = np.triu_indices(rank)
        kick = np.where(rows == columns, 0.5 * step * noise, 0.0)
        found = np.linalg.solve(np.eye(rows.size) - step * self.gain, kick)
        matrix = np.zeros((rank, rank))
        matrix[rows, columns] = matrix[columns, rows] = found
        return np.asarray(self.basis @ matrix @ self.basis.T)


def copy_of_teacher(parameters: Parameters) -> tuple[FloatArray, FloatArray]:
    """Return (rho, Q) of the solution in which every teacher vector is copied by the same number of students.

    Returns
    -------
    tuple of ndarray
        Order parameters of zero loss.

    Raises
    ------
    InputError
        If the second layers don't allow such a copy.
    """
    p, p_star, output = parameters.p, parameters.p_star, parameters.output
    copies = p // p_star
    own, wanted = output[:p], -output[p:]
    if p % p_star or (copies > 1 and np.ptp(own) > 1e-12 * np.max(np.abs(own))):
        raise InputError(
            "this setting has no standard solution: p must be a multiple of p_star, with equal second_layer if p > "
            "p_star; give one of zero loss as solution=(rho, Q)"
        )
    ranks, teachers = np.argsort(own, kind="stable"), np.argsort(wanted, kind="stable")
    order = np.empty(p, dtype=np.intp)
    order[ranks] = np.repeat(teachers, copies)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = wanted[order] / (copies * own)
    power = {"square": 0.5, "relu": 1.0}.get(parameters.activation.name)
    is_copy = np.all(ratio > 0.0) if power is not None else np.all(np.abs(ratio - 1.0) <= 1e-12)
    if not is_copy:
        raise InputError(
            "second_layer can't reproduce teacher_second_layer by copies of the teacher's vectors: give a solution of "
            "zero loss as solution=(rho, Q)"
        )
    if not np.all(np.isfinite(ratio)):
        raise InputError("second_layer must not be zero where it has to reproduce teacher_second_layer")
    factors = ratio**power if power is not None else np.ones(p)
    rho = factors[:, None] * parameters.gram[order]
    return rho, np.asarray(rho[:, order] * factors)


def chosen_solution(parameters: Parameters, solution: Any) -> tuple[FloatArray, FloatArray]:
    """Return a checked solution of zero loss, by default the copy of the teacher.

    Returns
    -------
    tuple of ndarray
        rho and Q.

    Raises
    ------
    InputError
        If it isn't one pair of matrices with a loss below 1e-9 of the teacher's mean square.
    """
    if parameters.p > _WIDEST:
        raise InputError(f"p must be at most {_WIDEST} for the stability of solutions of this model")
    if solution is None:
        return copy_of_teacher(parameters)
    try:
        rho, Q = solution
    except (TypeError, ValueError):
        raise InputError("solution must be a pair (rho, Q)") from None
    sigma = joint_covariance(parameters, rho, Q)
    if sigma.ndim != 2:
        raise InputError("solution must hold one rho and one Q")
    p = parameters.p
    silent = np.concatenate([np.zeros(p), parameters.output[p:]])
    scale = float(parameters.activation.squared_error(sigma, silent))
    if float(parameters.activation.squared_error(sigma, parameters.output)) > _ZERO_LOSS * scale:
        raise InputError("solution must have zero loss")
    return sigma[:p, p:], sigma[:p, :p]


def linearise(parameters: Parameters, solution: Any = None) -> Linearisation:
    """Return the equations of small deviations from a solution of zero loss.

    Deviations inside the span of the weights shrink for any step, and those that leave the loss unchanged to second
    order stay; what remains is a linear equation for the second moments of the others.

    Returns
    -------
    object of class Linearisation
        Curvatures and gain.

    Raises
    ------
    InputError
        If the solution doesn't exist, or is flat (as for T = 0).
    """
    rho, Q = chosen_solution(parameters, solution)
    p = parameters.p
    own = parameters.output[:p]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        slopes = parameters.activation.moments(assemble(parameters, rho, Q), parameters.output, p).slope
        mixed = parameters.activation.slope_products(Q)
    if not (np.all(np.isfinite(slopes)) and np.all(np.isfinite(mixed))):
        raise InputError("T or the second layers are too large for the averages of this activation")
    values, vectors = np.linalg.eigh(own[:, None] * slopes * own)
    kept = values > _RANK * max(float(values[-1]), 0.0)
    if not np.any(kept):
        raise InputError("T must not be zero: the loss is flat at the solution")
    if np.max(mixed) <= 0.0:
        raise InputError("T or the second layers are too large for the averages of this activation")
    basis, curvature = vectors[:, kept], values[kept]
    for _ in range(4):  # one index of the tensor after the other
        mixed = np.tensordot(mixed, own[:, None] * basis, axes=(0, 0))
    rows, columns = np.triu_indices(curvature.size)
    gain = mixed[rows, columns][:, rows, columns] * np.where(rows == columns, 1.0, 2.0)
    return Linearisation(curvature, gain / (curvature[rows] + curvature[columns])[:, None], basis)


def general_noise_floor(parameters: Parameters, solution: Any) -> NoiseFloor:
    """Return the stationary loss of a model that isn't the plain quadratic one; see `TeacherStudent.noise_floor`.

    Returns
    -------
    NoiseFloor
        Loss at the stationary point, and the estimate of first order in the noise.

    Raises
    ------
    InputError
        If there is no solution, it isn't stable, some students are redundant, or the model is trained or constrained.
    NonConvergenceError
        If the stationary point wasn't found.
    """
    if parameters.is_trained or parameters.constraint is not None:
        raise InputError("the noise floor needs a fixed second layer and no constraint")
    rho, Q = chosen_solution(parameters, solution)
    small = linearise(parameters, (rho, Q))
    if parameters.step >= small.stable:
        limit = small.stable / parameters.p
        raise InputError(f"lr is beyond the largest one with a stable solution (gamma = {limit:.6g}): no noise floor")
    if small.curvature.size < parameters.p:
        raise InputError("the noise floor needs students that aren't redundant: take p = p_star")
    spread = small.spread(parameters.step, parameters.noise)
    estimate = 0.5 * float(np.sum((small.basis.T @ spread @ small.basis).diagonal() * small.curvature))
    if parameters.noise == 0.0:
        return NoiseFloor(0.0, 0.0, 0.0)
    rho, Q, residual = _stationary(parameters, rho, Q, spread)
    if parameters.activation.name == "square":
        # Signed second layers leave solutions on an unbounded manifold, along which the noise drives slowly.
        rates, error = linear_rates(parameters, rho, Q, second_order=True)
        if rates[0] > max(10.0 * error, -1e-6 * float(rates[-1])):
            raise NonConvergenceError("the stationary point is unstable", partial=(rho, Q))
    loss = 0.5 * float(parameters.activation.squared_error(assemble(parameters, rho, Q), parameters.output))
    return NoiseFloor(loss, estimate, residual)


def _stationary(
    parameters: Parameters, rho: FloatArray, Q: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return the stationary point next to a solution with the given spread, raising the noise in steps if need be."""
    p, p_star = rho.shape
    upper = np.triu_indices(p)
    scale = float(np.max(np.abs(parameters.gram)))

    def unfold(y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (rho, Q) from the unknowns."""
        overlap = np.zeros((p, p))
        overlap[upper] = y[p * p_star :]
        return y[: p * p_star].reshape(p, p_star), overlap + np.triu(overlap, 1).T

    def residual(y: FloatArray, setting: Parameters) -> FloatArray:
        """Return the velocities over eta."""
        d_rho, d_q = velocity(setting, *unfold(y), second_order=True, n_inputs=None)
        return np.concatenate([d_rho.ravel(), d_q[upper]]) / setting.step

    for n_steps in (1, 8):
        begin = Q + spread / n_steps
        y = np.concatenate([rho.ravel(), begin[upper]])
        for k in range(1, n_steps + 1):
            setting = replace(parameters, noise=parameters.noise * k / n_steps)
            with np.errstate(all="ignore"):
                y = np.asarray(root(residual, y, args=(setting,), method="hybr", options={"xtol": 1e-14}).x)
        defect = float(np.max(np.abs(residual(y, parameters))))
        found = unfold(y)
        lowest = float(np.linalg.eigvalsh(assemble(parameters, *found))[0])
        if defect <= _RESIDUAL * scale and lowest >= -_RANK * scale:
            return *found, defect
    raise NonConvergenceError(f"no stationary point found, residual {defect:.2g}", partial=found)
