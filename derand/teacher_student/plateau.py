"""The plateau of the quadratic model: where it lies, up to which learning rate, and how fast it is left."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import InputError
from derand.teacher_student.late import stable_rate
from derand.teacher_student.parameters import Parameters

__all__ = ["CriticalRates", "Plateau", "critical_rates", "find_plateau", "noise_ratio"]


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


class CriticalRates(NamedTuple):
    """Learning rates, in the scaling of the model, at which the behaviour changes.

    Attributes
    ----------
    plateau : float
        Above it there is no plateau: norms diverge from any start with rho = 0.
    escape : float or None
        Above it the plateau attracts and isn't left; None if it can be left for all rates below `plateau`.
    stable : float
        Above it the zero-loss solutions are unstable in mean square; independent of p in mean-field scaling.
    """

    plateau: float
    escape: float | None
    stable: float


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


def noise_ratio(parameters: Parameters) -> float:
    """Return kappa: variance of the overlaps that one-pass SGD gathers on the plateau, over that of a random start.

    Returns
    -------
    float
        kappa.

    Raises
    ------
    InputError
        If T isn't a multiple of the identity, or the plateau doesn't exist or can't be left.
    """
    spot = find_plateau(parameters, second_order=True)
    strengths = parameters.strengths
    t = float(strengths[0])
    if strengths[-1] < t * (1.0 - 1e-12):
        raise InputError("T must be a multiple of the identity for the noise gathered on the plateau")
    rate = float(spot.escape_rates[0])
    if rate <= 0.0:
        raise InputError("lr is beyond the largest one at which the plateau can be left")
    p, q, gamma = parameters.p, spot.q, parameters.gamma
    mean = q - t * parameters.p_star
    # E[(u^2 + D) z_k^2 z*_l^2] / t* with the student's and the teacher's field independent
    kick = (2.0 * spot.loss + parameters.noise) * q + 4.0 * mean * q * (q / p - t)
    kick += 8.0 * (q**3 / p**2 + q * t * t) - 8.0 * q * q * t / p
    return 4.0 * gamma**2 * kick / (2.0 * rate * q)
