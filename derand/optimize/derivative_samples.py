"""Cheap samples of the derivatives at a candidate: whether they are consistent, and how fast the Hessian changes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from derand._utils.validation import FloatArray
from derand.optimize.oracle import Oracle, Point, StopRun
from derand.optimize.status import SOSPStatus

__all__ = ["estimate_curvature_scales", "verify_derivatives"]

_EPS = float(np.finfo(np.float64).eps)
_NAMED_COORDINATES = 500  # a wrong coordinate is looked for by differences up to this many variables


def verify_derivatives(
    oracle: Oracle,
    point: Point,
    direction: FloatArray,
    product: FloatArray | None = None,
    *,
    symmetry_error: float = 0.0,
) -> None:
    """Check along one random direction that value, gradient and Hessian product belong together.

    With the second point x + h u, the trapezoidal rule gives the change of the value from both gradients to order
    h^3, and the change of the gradient is h H u to order h^2.  A deviation that doesn't shrink with h is an error in
    a derivative.

    Parameters
    ----------
    oracle : Oracle
        The function.
    point : Point
        Where to check.
    direction : ndarray of shape (n,)
        Random unit vector u.
    product : ndarray of shape (n,), optional
        H u from the user's hessp.
    symmetry_error : float, default 0.0
        Deviation from symmetry seen in the Hessian products, relative to their size.

    Raises
    ------
    StopRun
        With BAD_GRADIENT or BAD_HESSP; the detail names a wrong coordinate where one can be found.

    Notes
    -----
    One evaluation; a second one when the first is suspicious, and n more to name a coordinate.
    """
    step = _EPS ** (1.0 / 3.0) * (1.0 + float(np.linalg.norm(point.x)))
    first = _deviations(oracle, point, direction, product, step)
    if first is not None and any(d.is_suspicious for d in first):
        second = _deviations(oracle, point, direction, product, 0.1 * step)
        if second is not None and first[0].stays(second[0]):
            raise StopRun(SOSPStatus.BAD_GRADIENT, _name_coordinate(oracle, point))
        if second is not None and first[1].stays(second[1]):
            raise StopRun(SOSPStatus.BAD_HESSP, "its product with a random vector isn't the change of the gradient")
    if symmetry_error > 1e-5:
        raise StopRun(SOSPStatus.BAD_HESSP, f"u.Hv and v.Hu differ by {symmetry_error:.1e} of their size")


def estimate_curvature_scales(oracle: Oracle, point: Point, rng: np.random.Generator) -> tuple[float, float]:
    """Return estimates of the Lipschitz constant of the Hessian and of the size of its eigenvalues.

    Parameters
    ----------
    oracle : Oracle
        The function.
    point : Point
        Where to look.
    rng : Generator
        Source of two directions.

    Returns
    -------
    hess_lip : float
        Largest second difference of the gradient along two random directions: an estimate from below.
    curvature : float
        Largest first difference, of the order of the root mean square eigenvalue.

    Raises
    ------
    StopRun
        If the gradient isn't finite next to the point.

    Notes
    -----
    Four evaluations.
    """
    step = _EPS**0.25 * (1.0 + float(np.linalg.norm(point.x)))
    hess_lip = curvature = 0.0
    for _ in range(2):
        unit = rng.standard_normal(point.x.size)
        unit /= np.linalg.norm(unit)
        ahead, behind = oracle.evaluate(point.x + step * unit), oracle.evaluate(point.x - step * unit)
        if not (math.isfinite(ahead.fun) and math.isfinite(behind.fun)):
            raise StopRun(SOSPStatus.NON_FINITE, "the gradient isn't finite next to x")
        hess_lip = max(hess_lip, float(np.linalg.norm(ahead.jac - 2.0 * point.jac + behind.jac)) / step**2)
        curvature = max(curvature, float(np.linalg.norm(ahead.jac - behind.jac)) / (2.0 * step))
    return hess_lip, curvature


@dataclass(frozen=True)
class _Deviation:
    """By how much a derivative is off along the direction, and how much of that is nothing to worry about."""

    size: float
    allowed: float

    @property
    def is_suspicious(self) -> bool:
        return self.size > self.allowed

    def stays(self, at_smaller_step: _Deviation) -> bool:
        """Return whether the deviation doesn't shrink with the step, as that of a smooth function would tenfold."""
        return self.is_suspicious and at_smaller_step.is_suspicious and at_smaller_step.size > 0.3 * self.size


def _deviations(
    oracle: Oracle, point: Point, unit: FloatArray, product: FloatArray | None, step: float
) -> tuple[_Deviation, _Deviation] | None:
    """Return the deviations of the first and of the second derivative, or None where the function isn't finite."""
    other = oracle.evaluate(point.x + step * unit)
    if not math.isfinite(other.fun):
        return None
    slopes = (float(point.jac @ unit), float(other.jac @ unit))
    noise = 50.0 * _EPS * (abs(point.fun) + abs(other.fun) + _EPS) / step
    slope_error = abs((other.fun - point.fun) / step - 0.5 * sum(slopes))
    slope = _Deviation(slope_error, 1e-3 * (abs(slopes[0]) + abs(slopes[1])) + noise)
    if product is None:
        return slope, _Deviation(0.0, 0.0)
    change = (other.jac - point.jac) / step
    size = float(np.linalg.norm(change) + np.linalg.norm(product))
    # How exact the gradient is isn't known; a gradient as exact as the values is exact to noise.
    rounding = (noise + 50.0 * _EPS * (point.gradient_norm + other.gradient_norm)) / step
    return slope, _Deviation(float(np.linalg.norm(change - product)), 1e-2 * size + rounding)


def _name_coordinate(oracle: Oracle, point: Point) -> str:
    """Return a sentence with the coordinate whose partial derivative is off most, by central differences of values."""
    n = point.x.size
    if n > _NAMED_COORDINATES:
        return "the coordinate was not looked for, since there are more than 500; see derand.hessian.check_gradient"
    step = _EPS ** (1.0 / 3.0)
    differences = np.empty(n)
    for i in range(n):
        h = step * (1.0 + abs(point.x[i]))
        shift = np.zeros(n)
        shift[i] = h
        differences[i] = (oracle.evaluate(point.x + shift).fun - oracle.evaluate(point.x - shift).fun) / (2.0 * h)
    worst = int(np.nanargmax(np.abs(differences - point.jac)))
    return f"coordinate {worst}: gradient {point.jac[worst]:.6g}, difference of values {differences[worst]:.6g}"
