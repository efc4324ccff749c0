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
from derand.teacher_student.parameters import Parameters

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
        Above it there is no plateau: norms diverge from any start with rho = 0.  None where that isn't in closed form.
    escape : float or None
        Above it the plateau attracts and isn't left; None if it can be left for all rates below `plateau`, or where
        that isn't in closed form.
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


def gathered_noise(parameters: Parameters, q0: Any) -> float:
    r"""Return kappa: variance of the overlaps that one-pass SGD gathers before escape, over that of a random start.

    While the overlaps are small, :math:`d\rho = \Lambda(q)\rho\, d\alpha` plus noise of variance
    :math:`4\gamma^2 V(q)\, t\, d\alpha/N`, and q moves from q0 to the plateau.  Brought back to the start by the growth
    of rho, the noise has variance :math:`\kappa q_0 t/N`,
    :math:`\kappa = q_0^{-1} \int 4 \gamma^2 V(q) \exp(-2 \textstyle\int \Lambda)\, d\alpha`.

    Returns
    -------
    float
        kappa.

    Raises
    ------
    InputError
        If T isn't a multiple of the identity, the plateau doesn't exist or can't be left, or isn't reached from q0.
    """
    spot = find_plateau(parameters, second_order=True)
    q0 = check_start_norm(q0, spot)
    strengths = parameters.strengths
    if strengths[-1] < strengths[0] * (1.0 - 1e-12):
        raise InputError("T must be a multiple of the identity for the noise gathered on the plateau")
    rate = float(spot.escape_rates[0])
    if rate <= 0.0:
        raise InputError("lr is beyond the largest one at which the plateau can be left")
    last: float = _kick(parameters, spot.q) / (2.0 * rate)
    if abs(q0 - spot.q) <= 1e-14 * spot.q:
        return float(last / q0)

    def speed(_: float, y: FloatArray) -> FloatArray:
        """Return the velocities of q - q_plateau, of the logarithm of rho's growth, and of the integral."""
        norm_speed, growth = _norm_flow(parameters, spot.q + float(y[0]))
        shrink = math.exp(min(-2.0 * float(y[1]), 500.0))  # trial steps go anywhere
        return np.array([norm_speed, growth, _kick(parameters, spot.q + float(y[0])) * shrink])

    # After the norms have settled the rest of the integral is closed.
    horizon = 40.0 / -_norm_slope(parameters, spot.q)
    run = solve_ivp(speed, (0.0, horizon), [q0 - spot.q, 0.0, 0.0], method="DOP853", rtol=1e-10, atol=1e-13)
    if run.status != 0 or not abs(run.y[0, -1]) < 1e-6 * spot.q:
        raise InputError("q0 is too close to the edge of the plateau's basin for the norms to settle")
    return float((run.y[2, -1] + last * math.exp(-2.0 * run.y[1, -1])) / q0)


def check_start_norm(q0: Any, spot: Plateau) -> float:
    """Return a checked initial squared norm, or raise InputError where it doesn't lead to the plateau."""
    size: float = check_scalar(q0, "q0", low=0.0, high=math.inf, low_open=True, high_open=True)
    if size >= spot.basin:
        raise InputError(f"q0 must be below {spot.basin:.6g}, where the norms diverge instead of reaching the plateau")
    return size


def _norm_flow(parameters: Parameters, q: float) -> tuple[float, float]:
    """Return dq / d alpha at rho = 0, Q = q I, and the growth rate of the strongest overlaps there."""
    p, gamma, strengths = parameters.p, parameters.gamma, parameters.strengths
    mean = q - float(np.sum(strengths))
    squared = mean**2 + 2.0 * (q * q / p + float(np.sum(strengths**2))) + parameters.noise
    kick = squared * q + 4.0 * mean * q * q / p + 8.0 * q**3 / p**2
    pull = mean + 2.0 * q / p
    return -4.0 * gamma * pull * q + 4.0 * gamma**2 * kick, 2.0 * gamma * (2.0 * float(strengths[0]) - pull)


def _norm_slope(parameters: Parameters, q: float) -> float:
    """Return the derivative of dq / d alpha with respect to q; the velocity is a cubic in q without constant term."""
    step = 1e-3 * q
    points = [_norm_flow(parameters, q + k * step)[0] for k in (-2, -1, 1, 2)]
    return float((points[0] - 8.0 * points[1] + 8.0 * points[2] - points[3]) / (12.0 * step))


def _kick(parameters: Parameters, q: float) -> float:
    """Return 4 gamma^2 E[(u^2 + D) z_k^2 z*_l^2] / t at rho = 0, Q = q I, T = t I."""
    p, t, strengths = parameters.p, float(parameters.strengths[0]), parameters.strengths
    mean = q - t * parameters.p_star
    squared = mean**2 + 2.0 * (q * q / p + float(np.sum(strengths**2))) + parameters.noise
    value = squared * q + 4.0 * mean * q * (q / p - t) + 8.0 * (q**3 / p**2 + q * t * t) - 8.0 * q * q * t / p
    return float(4.0 * parameters.gamma**2 * value)
