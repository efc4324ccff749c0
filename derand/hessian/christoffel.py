"""The a-posteriori bound of Lanczos: what the Christoffel function of a random start proves about eigenvalues."""

from __future__ import annotations

import math

import numpy as np

from derand.hessian.lanczos import LanczosProcess
from derand.hessian.symmetric import rounding_bound

__all__ = [
    "ChristoffelSum",
    "christoffel_lower_bound",
    "log_christoffel",
    "spectrum_slack",
    "start_component_target",
]

# scipy.optimize and scipy.special are imported inside functions: at the top they would double the time that
# importing derand.optimize takes.
_EPS = float(np.finfo(np.float64).eps)


def start_component_target(n: int, delta: float) -> float:
    """Return -log tau with P(gamma^2 < tau) = delta for one coordinate gamma of a uniform unit vector in R^n."""
    from scipy.special import betaincinv

    return 0.0 if n == 1 else -math.log(float(betaincinv(0.5, 0.5 * (n - 1), delta)))


def spectrum_slack(process: LanczosProcess, product_error: float) -> float:
    """Return how far rounding and inexact products can move the spectrum."""
    # The products with the m basis vectors carry an error matrix F, and ||F|| <= sqrt(m) max_j ||f_j||.
    return rounding_bound(process.basis.shape[1], process.scale) + math.sqrt(process.n_steps) * product_error


class ChristoffelSum:
    """Running sum of p_j(t)^2 at one point t, and whether t still lies below all Ritz values (Sturm sequence).

    Parameters
    ----------
    t : float
        Where the orthonormal polynomials are evaluated.
    """

    def __init__(self, t: float) -> None:
        self.t, self.log_sum, self.is_below = t, 0.0, True
        self._previous, self._current, self._total, self._log_scale, self._beta = 0.0, 1.0, 1.0, 0.0, 0.0

    def update(self, alpha: float, beta: float) -> None:
        """Take in the coefficients of one Lanczos step; beta = 0 ends the recurrence with an infinite sum."""
        unscaled = (self.t - alpha) * self._current - self._beta * self._previous
        self.is_below = self.is_below and unscaled * self._current < 0.0
        if beta == 0.0:
            self.log_sum = math.inf
            return
        # A t far outside the spectrum makes terms beyond the range of floats; the cap only makes the sum smaller.
        self._previous, self._current, self._beta = self._current, min(max(unscaled / beta, -1e300), 1e300), beta
        size = abs(self._current)
        if size > 1e100:
            self._previous, self._current, self._total = (
                self._previous / size,
                self._current / size,
                self._total / size / size,
            )
            self._log_scale += 2.0 * math.log(size)
        self._total += self._current * self._current
        self.log_sum = math.log(self._total) + self._log_scale


def log_christoffel(process: LanczosProcess, t: float) -> float:
    """Return log sum_j p_j(t)^2, or -inf when t isn't below all Ritz values."""
    total = ChristoffelSum(t)
    for alpha, beta in zip(process.alpha, process.beta, strict=True):
        total.update(alpha, beta)
    return total.log_sum if total.is_below else -math.inf


def christoffel_lower_bound(process: LanczosProcess, log_target: float) -> float:
    """Return the largest t below the Ritz values with sum_j p_j(t)^2 >= 1/tau."""
    from scipy.optimize import brentq

    smallest = float(process.ritz_values()[0])
    if process.is_exhausted:
        return smallest
    step = max(process.scale, np.finfo(float).tiny)
    low = smallest - step
    while log_christoffel(process, low) < log_target:
        step *= 4.0
        low = smallest - step
        if not math.isfinite(low):
            return -math.inf

    def excess(t: float) -> float:
        """Return by how much the logarithm exceeds its target, bounded below for the root finder."""
        return max(log_christoffel(process, t), -1e4) - log_target

    if excess(smallest) >= 0.0:
        return smallest
    root = float(brentq(excess, low, smallest, xtol=1e-12 * step + 1e-300, rtol=4 * _EPS))
    return root - 2e-12 * step
