"""Cheap samples of the derivatives at a candidate: whether they are consistent, and how fast the Hessian changes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from derand._utils.reductions import norm
from derand._utils.validation import FloatArray
from derand.optimize.oracle import Oracle, Point, StopRun
from derand.optimize.status import SOSPStatus

__all__ = ["estimate_curvature_scales", "verify_derivatives"]

_EPS = float(np.finfo(np.float64).eps)
# Weights of the closed Newton-Cotes rule on seven points of [0, 1]; exact for polynomials of degree 7.
_NEWTON_COTES = np.array([41.0, 216.0, 27.0, 272.0, 27.0, 216.0, 41.0]) / 840.0
_ROUNDED = 1e-6
_NAMED_COORDINATES = 500  # a wrong coordinate is looked for by differences up to this many variables


def verify_derivatives(
    oracle: Oracle,
    point: Point,
    direction: FloatArray,
    product: FloatArray | None = None,
    *,
    product_error: float = 0.0,
    asymmetry: float = 0.0,
    slack: float = 0.0,
) -> None:
    """Check along one random direction that value, gradient and Hessian product belong together.

    With the second point x + h u, Hermite's rule gives the change of the value from both slopes and u.Hu to order h^4,
    and the change of the gradient is h H u to order h^2.  What looks wrong is looked at again with a tenth of the
    step: the change of the value against a seven-point rule for the slopes, which is exact where x is a degenerate
    stationary point of a polynomial of degree 8, and with the noise of the values measured.  A deviation that neither
    vanishes with the step, as a remainder does, nor grows, as noise does, is an error in a derivative.

    Parameters
    ----------
    oracle : Oracle
        The function.
    point : Point
        Where to check.
    direction : ndarray of shape (n,)
        Random unit vector u.
    product : ndarray of shape (n,), optional
        H u from the user's hessp, or from differences of gradients.
    product_error : float, default 0.0
        Bound on the error of `product`.
    asymmetry : float, default 0.0
        Deviation from symmetry seen in the Hessian products.
    slack : float, default 0.0
        Error of a slope that does no harm.

    Raises
    ------
    StopRun
        With BAD_GRADIENT or BAD_HESSP, where the detail names a wrong coordinate if one can be found; INCONCLUSIVE when
        it is the differences of gradients that can't be right.

    Notes
    -----
    One evaluation; eleven or more when something is suspicious, and 2 n to name a coordinate.
    """
    step = oracle.epsilon**0.25 * (1.0 + norm(point.x))
    other = oracle.evaluate(point.x + step * direction)
    if not math.isfinite(other.fun):
        return
    noise = _value_noise(oracle, point, other)
    slope = _slope_deviation(point, other, direction, product, step)
    if slope.exceeds(slack + noise / step) and _is_slope_wrong(oracle, point, direction, step, slack):
        raise StopRun(SOSPStatus.BAD_GRADIENT, _name_coordinate(oracle, point))
    if product is not None:
        allowed = product_error + _gradient_noise(oracle, point, other) / step
        first = _product_deviation(point, other, product, step)
        if first.exceeds(allowed):
            closer = oracle.evaluate(point.x + 0.1 * step * direction)
            second = _product_deviation(point, closer, product, 0.1 * step)
            # An error of the product keeps its size; the curvature of the function shrinks, noise grows tenfold.
            if second.exceeds(10.0 * allowed) and 0.3 * first.size < second.size < 3.0 * first.size:
                raise StopRun(*_bad_product(oracle))
        _check_symmetry(oracle, max(norm(product), 1e-300), asymmetry, product_error)


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
    step = _EPS**0.25 * (1.0 + norm(point.x))
    hess_lip = curvature = 0.0
    for _ in range(2):
        unit = rng.standard_normal(point.x.size)
        unit /= np.linalg.norm(unit)
        ahead, behind = oracle.evaluate(point.x + step * unit), oracle.evaluate(point.x - step * unit)
        if not (math.isfinite(ahead.fun) and math.isfinite(behind.fun)):
            raise StopRun(SOSPStatus.NON_FINITE, "the gradient isn't finite next to x")
        hess_lip = max(hess_lip, norm(ahead.jac - 2.0 * point.jac + behind.jac) / step**2)
        curvature = max(curvature, norm(ahead.jac - behind.jac) / (2.0 * step))
    return hess_lip, curvature


@dataclass(frozen=True)
class _Deviation:
    """By how much a derivative is off along the direction, and the size of what is compared."""

    size: float
    scale: float

    def exceeds(self, noise: float) -> bool:
        """Return whether noise and a ten-thousandth of the scale don't explain the deviation."""
        return abs(self.size) > 1e-4 * self.scale + noise


def _slope_deviation(
    point: Point, other: Point, unit: FloatArray, product: FloatArray | None, step: float
) -> _Deviation:
    """Return the deviation of the change of the value from Hermite's (or the trapezoidal) rule, per unit length."""
    slopes = (float(point.jac @ unit), float(other.jac @ unit))
    bend = 0.0 if product is None else slopes[1] - slopes[0] - step * float(product @ unit)
    size = (other.fun - point.fun) / step - 0.5 * sum(slopes) + bend / 6.0
    return _Deviation(size, abs(slopes[0]) + abs(slopes[1]))


def _product_deviation(point: Point, other: Point, product: FloatArray, step: float) -> _Deviation:
    """Return the deviation of the Hessian product from the change of the gradient; none where that isn't finite."""
    if not math.isfinite(other.fun):
        return _Deviation(0.0, 0.0)
    change = (other.jac - point.jac) / step
    return _Deviation(norm(change - product), 10.0 * (norm(change) + norm(product)))


def _value_noise(oracle: Oracle, point: Point, other: Point) -> float:
    """Return a generous bound on the rounding of the difference of two values."""
    return 50.0 * oracle.epsilon * (abs(point.fun) + abs(other.fun) + oracle.epsilon)


def _gradient_noise(oracle: Oracle, point: Point, other: Point) -> float:
    """Return what rounding may do to a gradient; how exact it is isn't known."""
    from_values = _value_noise(oracle, point, other) / (1.0 + norm(point.x))
    return from_values + 50.0 * oracle.epsilon * (point.gradient_norm + other.gradient_norm)


def _bad_product(oracle: Oracle) -> tuple[SOSPStatus, str]:
    """Return how to end a run whose Hessian products aren't the changes of the gradient."""
    if oracle.has_hessp:
        return SOSPStatus.BAD_HESSP, "its product with a random vector isn't the change of the gradient"
    return (
        SOSPStatus.INCONCLUSIVE,
        "differences of gradients at steps of different length contradict each other, as they do when fun computes in "
        "single precision or with noise",
    )


def _check_symmetry(oracle: Oracle, size: float, asymmetry: float, product_error: float) -> None:
    """Raise when the Hessian products are less symmetric than their errors explain."""
    if oracle.has_hessp:
        if asymmetry > 1e-5 * size:
            raise StopRun(SOSPStatus.BAD_HESSP, f"u.Hv and v.Hu differ by {asymmetry / size:.1e} of their size")
    elif asymmetry > 1e-3 * size + 4.0 * product_error:
        detail = "differences of gradients make no symmetric matrix: the gradient is noisy or wrong in a coordinate"
        raise StopRun(SOSPStatus.INCONCLUSIVE, f"{detail}; see derand.hessian.check_gradient")


def _is_slope_wrong(oracle: Oracle, point: Point, unit: FloatArray, step: float, slack: float) -> bool:
    """Return whether the change of the value isn't the integral of the slopes, for two lengths alike."""
    found = []
    for length in (step, 0.1 * step):
        deviation, noise = _integral_deviation(oracle, point, unit, length)
        # Next to a stationary point the error of a scaled derivative shrinks with the step, as its slopes do.
        if not deviation.exceeds(slack * length / step + noise):
            return False
        found.append(deviation)
    # The integral of smooth slopes misses h^8 at most, so a hundred-millionth would stay, while noise grows tenfold.
    # An error of a derivative is constant, or proportional to the slopes, or a sum of both with any sign.
    return 0.03 < abs(found[1].size / found[0].size) < 3.0


def _integral_deviation(oracle: Oracle, point: Point, unit: FloatArray, step: float) -> tuple[_Deviation, float]:
    """Return the change of the value minus the integral of the slopes, per unit length, and the noise of it."""
    points = [point] + [oracle.evaluate(point.x + (i / 6.0) * step * unit) for i in range(1, 7)]
    if not all(math.isfinite(p.fun) for p in points):
        return _Deviation(0.0, 1.0), 0.0
    values, slopes = np.array([p.fun for p in points]), np.array([float(p.jac @ unit) for p in points])
    change = float(values[-1] - values[0]) / step
    scale = float(_NEWTON_COTES @ np.abs(slopes)) + abs(change)
    noise = 10.0 * (2.0 * _scatter(values) / step + _scatter(slopes))
    noise += _value_noise(oracle, points[0], points[-1]) / step
    return _Deviation(change - float(_NEWTON_COTES @ slopes), scale), noise


def _scatter(values: FloatArray) -> float:
    """Return the standard deviation of the errors of seven values of a smooth function at equal distances."""
    # A difference of order k of independent errors of variance s^2 has variance s^2 (2k)! / (k!)^2.
    found = [np.sqrt(np.mean(np.diff(values, n=k) ** 2) / math.comb(2 * k, k)) for k in (4, 5)]
    return float(max(found))


def _name_coordinate(oracle: Oracle, point: Point) -> str:
    """Return a sentence with the coordinate whose partial derivative is off most, by central differences of values."""
    if point.x.size > _NAMED_COORDINATES:
        return "the coordinate was not looked for, since there are more than 500; see derand.hessian.check_gradient"
    try:
        worst, partial, difference = _worst_partial(oracle, point)
        place = ""
        if abs(difference - partial) <= _ROUNDED * (abs(difference) + abs(partial) + 1.0):
            # At this very point all is well, as at a minimum of a gradient that is off by a factor.
            place = " near the point"
            worst, partial, difference = _worst_partial(
                oracle, oracle.evaluate(point.x + 0.1 * (1.0 + np.abs(point.x)))
            )
    except StopRun:
        return "the coordinate could not be looked for within the limits"
    return f"coordinate {worst}{place}: gradient {partial:.6g}, difference of values {difference:.6g}"


def _worst_partial(oracle: Oracle, point: Point) -> tuple[int, float, float]:
    """Return the coordinate whose partial derivative is off most, that derivative and the difference of values."""
    n = point.x.size
    step = _EPS ** (1.0 / 3.0)
    differences = np.empty(n)
    for i in range(n):
        shift = np.zeros(n)
        shift[i] = h = step * (1.0 + abs(point.x[i]))
        ahead, behind = oracle.evaluate(point.x + shift), oracle.evaluate(point.x - shift)
        is_finite = math.isfinite(ahead.fun) and math.isfinite(behind.fun)
        differences[i] = (ahead.fun - behind.fun) / (2.0 * h) if is_finite else point.jac[i]
    worst = int(np.argmax(np.abs(differences - point.jac)))
    return worst, float(point.jac[worst]), float(differences[worst])
