"""Normalised Hermite polynomials and expansions of functions in them.

h_k = He_k / sqrt(k!), with He_k the probabilists' polynomials, is the orthonormal basis of the functions with finite
second moment under the standard normal law: E[h_j(z) h_k(z)] = [j = k].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from derand._utils.arrays import array_namespace
from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import InputError, NonConvergenceError

__all__ = ["HermiteExpansion", "hermite_coefficients", "hermite_expansion", "hermite_polynomials"]

_CUTOFF = 40.0
# Below the smallest normal number errors relative to anything mean little.
_SMALLEST = float(np.finfo(np.float64).tiny)
_SUBNORMAL = float(np.finfo(np.float64).smallest_subnormal)
_PANEL_NODES = 32
_MAX_DEGREE = 2_000
# f times the root of the density must have fallen to exp(-33) = 5e-15 of its peak at the cutoff.
_DECAY = 66.0
_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, repr=False)
class HermiteExpansion(ResultRepr):
    """Coefficients c_k = E[f(z) h_k(z)] of a function, with what is known about their errors.

    Attributes
    ----------
    coefficients : ndarray of shape (degree + 1,)
        c_0, ..., c_degree.
    error : ndarray of shape (degree + 1,)
        Estimated absolute errors: the difference between the last two resolutions plus a bound on rounding.
    norm : float
        sqrt(E[f(z)^2]) by the same rule; at least the Euclidean norm of the coefficients.
    n_nodes : int
        Number of nodes of the finer rule.
    """

    coefficients: FloatArray
    error: FloatArray
    norm: float
    n_nodes: int

    @property
    def tail(self) -> float:
        """Return the root mean square of what the expansion leaves out (Parseval), 0 within rounding."""
        if self.norm == 0.0:
            return 0.0
        return self.norm * math.sqrt(max(0.0, 1.0 - float(np.sum((self.coefficients / self.norm) ** 2))))

    def __call__(self, z: Any) -> FloatArray:
        """Return the values of the truncated expansion at ``z``."""
        points = check_array(z, "z")
        values: FloatArray = np.tensordot(self.coefficients, hermite_polynomials(points, self.coefficients.size - 1), 1)
        return values


def hermite_polynomials(x: Any, degree: int) -> Any:
    """Return the values of h_0, ..., h_degree at x, where h_k = He_k / sqrt(k!).

    Parameters
    ----------
    x : array of any library and shape, or array_like
        Points; anything without an array namespace becomes a NumPy array.
    degree : int
        Largest degree, 0 to 2,000.

    Returns
    -------
    array of shape ``(degree + 1, *x.shape)``
        From the same library as ``x``.

    Raises
    ------
    InputError
        If ``x`` isn't finite, the degree is out of range, or a value overflows (possible only for high degrees far out,
        such as degree 1,000 beyond 53).
    InputTypeError
        If ``degree`` isn't an integer.

    Notes
    -----
    Three-term recurrence sqrt(k+1) h_{k+1} = x h_k - sqrt(k) h_{k-1}, in which the growing solution is the wanted one:
    the relative error grows like the degree away from the zeros.  O(degree) array operations; deterministic.

    Examples
    --------
    >>> hermite_polynomials(2.0, 2).tolist()  # 1, x, (x^2 - 1)/sqrt(2)
    [1.0, 2.0, 2.1213203435596424]
    """
    degree = check_int(degree, "degree", low=0, high=_MAX_DEGREE)
    xp = array_namespace(x)
    points = check_array(x, "x") if xp is np else x
    if not bool(xp.all(xp.isfinite(points))):
        raise InputError("x must be finite")
    rows = [xp.ones_like(points), points]
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(1, degree):
            rows.append((points * rows[k] - math.sqrt(k) * rows[k - 1]) / math.sqrt(k + 1.0))
    values = xp.stack(rows[: degree + 1])
    if not bool(xp.all(xp.isfinite(values[-1, ...]))):
        raise InputError(f"x holds points so large that the polynomial of degree {degree} overflows")
    return values


def hermite_coefficients(
    f: Callable[[FloatArray], Any],
    degree: int,
    *,
    kinks: Sequence[float] = (),
    n_nodes: int | None = None,
    tol: float = 1e-12,
) -> FloatArray:
    """Return c_k = E[f(z) h_k(z)] for k = 0, ..., degree, with errors of at most about 1e-13 for declared kinks.

    `hermite_expansion` also returns the error estimates and the norm of f.

    Parameters
    ----------
    f : callable
        Takes an array of shape (m,) and returns the values there, shape (m,).
    degree : int
        Largest degree, 0 to 2,000.
    kinks : sequence of float, default=()
        Points where f or a derivative jumps: 0 for the ReLU and for abs.
    n_nodes : int, optional
        Use this many nodes or a few more and don't refine; by default the number doubles until the error estimate is
        below ``tol``.
    tol : float, default=1e-12
        Largest accepted error estimate, relative to the root mean square of f; below 2.2e-308 any is accepted.

    Returns
    -------
    ndarray of shape (degree + 1,)
        The coefficients.

    Raises
    ------
    InputError
        If f returns the wrong shape or non-finite values, grows too fast to have a second moment, or an argument is out
        of range.
    InputTypeError
        If an argument has the wrong type.
    NonConvergenceError
        If the error estimate stays above ``tol``, most often because of an undeclared kink; ``partial`` is the
        `HermiteExpansion`.

    Notes
    -----
    As `hermite_expansion`.

    Examples
    --------
    >>> relu = hermite_coefficients(lambda z: np.maximum(z, 0.0), 2, kinks=[0.0])  # 1/sqrt(2 pi), 1/2, 1/(2 sqrt(pi))
    >>> relu.round(12).tolist()
    [0.398942280401, 0.5, 0.282094791774]
    """
    return hermite_expansion(f, degree, kinks=kinks, n_nodes=n_nodes, tol=tol).coefficients


def hermite_expansion(
    f: Callable[[FloatArray], Any],
    degree: int,
    *,
    kinks: Sequence[float] = (),
    n_nodes: int | None = None,
    tol: float = 1e-12,
) -> HermiteExpansion:
    """Return the Hermite coefficients of f with error estimates and its norm.

    Gauss-Legendre rules with 32 nodes on panels that end at the kinks, over -40 <= z <= 40, where the normal density
    has fallen to 1e-348; two resolutions give the error estimate.

    Parameters
    ----------
    f : callable
        Takes an array of shape (m,) and returns the values there, shape (m,).
    degree : int
        Largest degree, 0 to 2,000.
    kinks : sequence of float, default=()
        Points where f or a derivative jumps.
    n_nodes : int, optional
        Use this many nodes or a few more and don't refine.
    tol : float, default=1e-12
        Largest accepted error estimate, relative to the root mean square of f; below 2.2e-308 any is accepted.

    Returns
    -------
    HermiteExpansion
        Coefficients, error estimates, norm of f and number of nodes.

    Raises
    ------
    InputError
        If f returns the wrong shape or non-finite values, grows too fast to have a second moment, or an argument is out
        of range.
    InputTypeError
        If an argument has the wrong type.
    NonConvergenceError
        If the error estimate stays above ``tol`` after six doublings, or for the given ``n_nodes``.

    Notes
    -----
    O(degree n_nodes) operations, O(n_nodes) memory, deterministic.  The estimate is a comparison of two rules, not a
    proof: a function with a feature narrower than the panels, 0.01 or so, can hide it from both.

    Examples
    --------
    >>> square = hermite_expansion(lambda z: z**2, 4)
    >>> square.coefficients.round(12).tolist(), round(square.norm**2, 12)
    ([1.0, 0.0, 1.414213562373, 0.0, 0.0], 3.0)
    """
    degree = check_int(degree, "degree", low=0, high=_MAX_DEGREE)
    tol = check_scalar(tol, "tol", low=0.0)
    edges = _break_points(kinks)
    _refuse_fast_growth(f)
    if n_nodes is None:
        # the fastest oscillation of h_k has wavelength 2 pi/sqrt(k): a panel should hold no more than two of them
        panels, doublings = math.ceil(2.0 * _CUTOFF * max(0.5, math.sqrt(degree + 1.0) / 12.0)), 6
    else:
        panels, doublings = -(-check_int(n_nodes, "n_nodes", low=2) // (2 * _PANEL_NODES)), 1
    coarse, _, _ = _integrate(f, degree, edges, panels)
    for _ in range(doublings):
        panels *= 2
        fine, scale, count = _integrate(f, degree, edges, panels)
        # The last term: products below the smallest normal number are rounded to multiples of 5e-324.
        error = np.abs(fine - coarse) + 8.0 * np.finfo(np.float64).eps * scale + 4.0 * count * _SUBNORMAL
        if float(np.max(error)) <= max(tol * scale, _SMALLEST):
            return HermiteExpansion(fine, error, scale, count)
        coarse = fine
    raise NonConvergenceError(
        f"the error estimate {float(np.max(error)):.1e} stays above tol={tol:g} with {count} nodes: "
        "declare the kinks and jumps of f in `kinks`, or raise tol",
        partial=HermiteExpansion(fine, error, scale, count),
    )


def _break_points(kinks: Sequence[float]) -> FloatArray:
    """Return the sorted ends of the smooth pieces inside [-cutoff, cutoff]."""
    inner = check_array(kinks, "kinks", ndim=1)
    return np.unique(np.concatenate([[-_CUTOFF, _CUTOFF], inner[np.abs(inner) < _CUTOFF]]))


def _values(f: Callable[[FloatArray], Any], z: FloatArray) -> FloatArray:
    """Return f(z) after checking its shape and finiteness."""
    values = np.asarray(f(z), dtype=np.float64)
    if values.shape != z.shape:
        raise InputError(f"f must return shape {z.shape} for input of that shape, got {values.shape}")
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        where = f"got {values[bad[0]]} at z={float(z[bad[0]])!r}"
        raise InputError(f"f must be finite, {where}; it may grow too fast for an expansion")
    return values


def _refuse_fast_growth(f: Callable[[FloatArray], Any]) -> None:
    """Raise if f^2 times the normal density doesn't decay by the cutoff: E f^2 is then infinite or out of reach."""
    z = np.concatenate([np.linspace(0.0, _CUTOFF, 161), np.linspace(0.0, -_CUTOFF, 161)])
    with np.errstate(over="ignore"):
        values = np.abs(_values(f, z)).reshape(2, -1)
    with np.errstate(divide="ignore"):
        log_square = 2.0 * np.log(values) - 0.5 * z.reshape(2, -1) ** 2
    peak, ends = float(np.max(log_square)), float(np.max(log_square[:, -8:]))
    if ends > -math.inf and ends > peak - _DECAY:
        raise InputError(
            "f grows too fast for a Hermite expansion: f(z)^2 times the normal density is still "
            f"exp({ends - peak:.0f}) of its peak at |z|={_CUTOFF:g}, so the second moment is infinite or out of reach"
        )


def _rule(edges: FloatArray, panels: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of the composite Gauss-Legendre rule with panels no wider than 2 cutoff/panels."""
    width = 2.0 * _CUTOFF / panels
    ends: list[FloatArray] = []
    for left, right in pairwise(edges):
        ends.append(np.linspace(left, right, max(1, math.ceil((right - left) / width)) + 1)[:-1])
    lefts = np.concatenate([*ends, edges[-1:]])
    nodes, weights = np.polynomial.legendre.leggauss(_PANEL_NODES)
    half = 0.5 * np.diff(lefts)[:, None]
    middle = 0.5 * (lefts[1:] + lefts[:-1])[:, None]
    return (middle + half * nodes).reshape(-1), (half * weights).reshape(-1)


def _integrate(
    f: Callable[[FloatArray], Any], degree: int, edges: FloatArray, panels: int
) -> tuple[FloatArray, float, int]:
    """Return the coefficients, the L2 norm of f and the number of nodes for one resolution."""
    z, weights = _rule(edges, panels)
    root_density = np.exp(-0.25 * z * z - 0.5 * _LOG_ROOT_TWO_PI)
    weighted = _values(f, z) * root_density
    top = float(np.max(np.abs(weighted))) or 1.0
    norm = top * math.sqrt(float(np.sum(weights * (weighted / top) ** 2)))
    weighted *= weights
    coefficients = np.empty(degree + 1)
    # h_k times the root of the density stays below 1; only beyond |z| = 53 would its start underflow
    before, current = np.zeros_like(z), root_density
    for k in range(degree + 1):
        coefficients[k] = np.sum(weighted * current)
        before, current = current, (z * current - math.sqrt(k) * before) / math.sqrt(k + 1.0)
    return coefficients, norm, z.size
