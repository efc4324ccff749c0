"""The plateau of the quadratic model: where it lies, up to which learning rate, and how fast it is left."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from derand._utils.html import result_html
from derand._utils.validation import FloatArray, check_scalar
from derand.exceptions import InputError
from derand.teacher_student.late import stable_rate
from derand.teacher_student.parameters import LARGEST, Parameters

__all__ = ["CriticalRates", "Plateau", "check_start_norm", "critical_rates", "find_plateau", "gathered_noise"]


class Plateau(NamedTuple):
    """Fixed point rho = 0, Q = q I of the equations of motion.

    Attributes
    ----------
    q : float
        Squared norm of a student's weight vector, divided by N.
    loss : float
        Population loss there, without label noise.
    escape_rates : ndarray of shape (p_star,)
        Growth rates Lambda_l of the overlap with the teacher's principal directions, largest first; the loss departs
        at twice the largest.
    basin : float
        Isotropic norms q below this one reach the plateau, norms above diverge (infinite for gradient flow).
    """

    q: float
    loss: float
    escape_rates: FloatArray
    basin: float

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


class CriticalRates(NamedTuple):
    """Learning rates, in the scaling of the model, at which the behaviour changes.

    Attributes
    ----------
    plateau : float or None
        Above it there is no plateau: norms diverge from any start with rho = 0.  None where random weights reach no
        plateau (a single erf student aligns at once), the second layer is trained, averages are quadratures (a
        `SmoothActivation`) or too many (p^3 (p + p_star)^2 above 2e5, for ReLU 1e4), or it can't be followed.
    escape : float or None
        Above it the plateau attracts and isn't left; None if it can be left for all rates below `plateau`, or where
        that is None.
    stable : float
        Above it the zero-loss solutions are unstable in mean square; for the square independent of p in mean-field
        scaling.
    """

    plateau: float | None
    escape: float | None
    stable: float

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


def find_plateau(parameters: Parameters, *, second_order: bool) -> Plateau:
    """Return the plateau; see `TeacherStudent.plateau`.

    Returns
    -------
    Plateau
        The fixed point.

    Raises
    ------
    InputError
        If the learning rate is too large for a plateau, or the model isn't the plain quadratic one.
    """
    parameters.require_plain("the plateau")
    p, strengths = parameters.p, parameters.strengths
    gamma = parameters.gamma if second_order else 0.0
    tau = float(np.sum(strengths))
    linear, quadratic, constant = _balance(parameters)
    spread = (1.0 - gamma * linear) ** 2 - 4.0 * gamma**2 * quadratic * constant
    if gamma * linear >= 1.0 or spread < 0.0:
        limit = critical_rates(parameters).plateau
        raise InputError(f"lr is beyond the divergence threshold: no plateau above the mean-field rate {limit:.6g}")
    root = 1.0 - gamma * linear + math.sqrt(spread)
    shift = 2.0 * gamma * constant / root
    basin = math.inf if gamma == 0.0 else p * (root / (2.0 * gamma * quadratic) + tau) / (p + 2.0)
    q = p * (shift + tau) / (p + 2.0)
    loss = 0.5 * (q - tau) ** 2 + q * q / p + float(np.sum(strengths**2))
    return Plateau(q, loss, 2.0 * parameters.gamma * (2.0 * strengths - shift), basin)


def _balance(parameters: Parameters) -> tuple[float, float, float]:
    """Return b, a, c such that x = m + 2q/p solves x = gamma (a x^2 + b x + c) on the plateau."""
    p, strengths = parameters.p, parameters.strengths
    tau = float(np.sum(strengths))
    constant = 2.0 * tau**2 / (p + 2.0) + 2.0 * float(np.sum(strengths**2)) + parameters.noise
    return 4.0 * tau / (p + 2.0), (p + 4.0) / (p + 2.0), constant


def critical_rates(parameters: Parameters) -> CriticalRates:
    """Return the critical mean-field rates gamma; see `TeacherStudent.critical_lr`.

    Returns
    -------
    CriticalRates
        In gamma.

    Raises
    ------
    InputError
        If the model isn't the plain quadratic one or T = 0.
    """
    parameters.require_plain("critical learning rates")
    strongest = float(parameters.strengths[0])
    if strongest == 0.0:
        raise InputError("T must not be zero")
    linear, quadratic, constant = _balance(parameters)
    plateau = 1.0 / (linear + 2.0 * math.sqrt(quadratic * constant))
    shift = 2.0 * strongest  # the rate of the strongest direction vanishes there
    is_lower_branch = quadratic * shift * shift < constant
    escape = shift / (quadratic * shift * shift + linear * shift + constant) if is_lower_branch else None
    return CriticalRates(plateau, escape, stable_rate(parameters.strengths))


def gathered_noise(parameters: Parameters, q0: Any) -> FloatArray:
    r"""Return kappa: variances of the overlaps that one-pass SGD gathers before escape, over those of a random start.

    While the overlaps are small, the overlap with the teacher's direction l obeys
    :math:`d\rho = \Lambda_l(q)\rho\, d\alpha` plus noise of variance :math:`4\gamma^2 V_l(q)\, t_l\, d\alpha/N`, and q
    moves from q0 to the plateau.  Brought back to the start by the growth of rho, the noise has variance
    :math:`\kappa_l q_0 t_l/N`,
    :math:`\kappa_l = q_0^{-1} \int 4 \gamma^2 V_l(q) \exp(-2 \textstyle\int \Lambda_l)\, d\alpha`.

    Returns
    -------
    ndarray of shape (p_star,)
        kappa for the principal directions of the teacher, strongest first; 0 where T has no extent.

    Raises
    ------
    InputError
        If the plateau doesn't exist, isn't left in some direction, or isn't reached from q0.
    """
    spot = find_plateau(parameters, second_order=True)
    q0 = check_start_norm(q0, spot)
    rates = spot.escape_rates
    there = parameters.strengths > 1e-12 * parameters.strengths[0]
    if rates[0] <= 0.0:
        raise InputError("lr is beyond the largest one at which the plateau can be left")
    if np.any(rates[there] <= 0.0):
        raise InputError("lr and T must let the overlaps with all directions of the teacher grow on the plateau")
    rates = np.where(there, rates, 1.0)
    last = _kicks(parameters, spot.q) / (2.0 * rates) * there
    if abs(q0 - spot.q) <= 1e-14 * spot.q:
        return np.asarray(last / q0)
    size = rates.size

    def speed(_: float, y: FloatArray) -> FloatArray:
        """Return the velocities of q - q_plateau, of the logarithms of rho's growth, and of the integrals."""
        norm_speed, growth = _norm_flow(parameters, spot.q + float(y[0]))
        shrink = np.exp(np.minimum(-2.0 * y[1 : 1 + size], 500.0))  # trial steps go anywhere
        return np.concatenate([[norm_speed], growth * there, _kicks(parameters, spot.q + float(y[0])) * shrink * there])

    # After the norms have settled the rest of the integral is closed.
    horizon = 40.0 / -_norm_slope(parameters, spot.q)
    begin = np.concatenate([[q0 - spot.q], np.zeros(2 * size)])
    run = solve_ivp(speed, (0.0, horizon), begin, method="DOP853", rtol=1e-10, atol=1e-13)
    if run.status != 0 or not abs(run.y[0, -1]) < 1e-6 * spot.q:
        raise InputError("q0 is too close to the edge of the plateau's basin for the norms to settle")
    logs, integrals = run.y[1 : 1 + size, -1], run.y[1 + size :, -1]
    return np.asarray((integrals + last * np.exp(-2.0 * logs)) / q0)


def check_start_norm(q0: Any, spot: Plateau) -> float:
    """Return a checked initial squared norm, or raise InputError where it doesn't lead to the plateau."""
    size: float = check_scalar(q0, "q0", low=1.0 / LARGEST, high=math.inf, high_open=True)
    if size >= spot.basin:
        raise InputError(f"q0 must be below {spot.basin:.6g}, where the norms diverge instead of reaching the plateau")
    return size


def _norm_flow(parameters: Parameters, q: float) -> tuple[float, FloatArray]:
    """Return dq / d alpha at rho = 0, Q = q I, and the growth rates of the overlaps there."""
    p, gamma, strengths = parameters.p, parameters.gamma, parameters.strengths
    mean = q - float(np.sum(strengths))
    squared = mean**2 + 2.0 * (q * q / p + float(np.sum(strengths**2))) + parameters.noise
    kick = squared * q + 4.0 * mean * q * q / p + 8.0 * q**3 / p**2
    pull = mean + 2.0 * q / p
    return -4.0 * gamma * pull * q + 4.0 * gamma**2 * kick, 2.0 * gamma * (2.0 * strengths - pull)


def _norm_slope(parameters: Parameters, q: float) -> float:
    """Return the derivative of dq / d alpha with respect to q; the velocity is a cubic in q without constant term."""
    step = 1e-3 * q
    points = [_norm_flow(parameters, q + k * step)[0] for k in (-2, -1, 1, 2)]
    return float((points[0] - 8.0 * points[1] + 8.0 * points[2] - points[3]) / (12.0 * step))


def _kicks(parameters: Parameters, q: float) -> FloatArray:
    """Return 4 gamma^2 E[(u^2 + D) z_k^2 z*_l^2] / t_l at rho = 0, Q = q I for all principal directions l."""
    p, strengths = parameters.p, parameters.strengths
    mean = q - float(np.sum(strengths))
    squared = mean**2 + 2.0 * (q * q / p + float(np.sum(strengths**2))) + parameters.noise
    value = squared * q + 4.0 * mean * q * (q / p - strengths) + 8.0 * (q**3 / p**2 + q * strengths**2)
    return np.asarray(4.0 * parameters.gamma**2 * (value - 8.0 * q * q * strengths / p))
