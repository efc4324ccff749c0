"""Stieltjes transform, density and support of the bulk, by Newton's method from the upper half plane downwards."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from derand._utils.validation import FloatArray
from derand.spectral.quadrature import legendre

__all__ = ["bulk_density", "bulk_rule", "bulk_support", "stieltjes_transform"]

ComplexArray = NDArray[np.complex128]

_BLOCK = 1_000_000
_SCAN = 400
_NEWTON = 12
_MAX_ROUNDS = 200
_ORDER, _MAX_HALVINGS = 16, 14


def stieltjes_transform(G: FloatArray, p: FloatArray, z: ComplexArray, delta: float) -> ComplexArray:
    r"""Return s(z), the solution in the upper half plane of :math:`z = -1/s + E[G/(1 + G s/\delta)]`.

    Every point is approached from above, where the fixed-point map contracts, in steps that are taken again at a
    quarter when Newton's method fails or leaves the half plane.

    Parameters
    ----------
    G, p : ndarray of shape (n,)
        Weights and probabilities.
    z : ndarray of complex
        Points with Im z >= 0.
    delta : float
        Ratio of samples to dimensions.

    Returns
    -------
    ndarray of complex
        With the shape of z; NaN where the search failed.
    """
    flat = z.reshape(-1)
    rows = max(1, _BLOCK // len(G))
    parts = [_solve(G, p, flat[i : i + rows], delta) for i in range(0, len(flat), rows)]
    return (delta * np.concatenate(parts)).reshape(z.shape) if parts else np.zeros(z.shape, dtype=np.complex128)


def bulk_density(G: FloatArray, p: FloatArray, x: FloatArray, delta: float) -> FloatArray:
    """Return the density Im s(x + i0) / pi, zero off the bulk."""
    s = stieltjes_transform(G, p, x.astype(np.complex128), delta)
    return np.where(x == 0.0, _density_at_zero(s), np.maximum(s.imag, 0.0) / math.pi)


def bulk_support(G: FloatArray, p: FloatArray, delta: float) -> tuple[tuple[float, float], ...]:
    """Return the intervals of positive density, ascending."""
    if not np.any((G != 0.0) & (p > 0.0)):
        return ()
    low, high = _outer_edge(G, p, delta), -_outer_edge(-G, p, delta)
    theta = (np.arange(_SCAN) + 0.5) * math.pi / _SCAN
    x = 0.5 * (low + high) - 0.5 * (high - low) * np.cos(theta)
    s = stieltjes_transform(G, p, x.astype(np.complex128), delta)
    is_gap = np.maximum(s.imag, 0.0) <= 1e-9 * np.abs(s)
    ends = [low]
    i = 0
    while i < _SCAN:
        if is_gap[i]:
            j = i
            while j + 1 < _SCAN and is_gap[j + 1]:
                j += 1
            middle = (i + j) // 2
            gap = _gap_edges(G, p, delta, -delta / float(s[middle].real or 1e-300))
            if gap is not None and ends[-1] < gap[0] < gap[1] < high:
                ends += list(gap)
            i = j
        i += 1
    ends.append(high)
    if delta * float(np.sum(p[G != 0.0])) < 1.0:
        # the atom at zero is isolated, in a gap that may be far narrower than the scan
        gap = _gap_edges(G, p, delta, 0.0)
        if gap is not None and not any(ends[k] <= gap[0] and gap[1] <= ends[k + 1] for k in range(1, len(ends) - 1, 2)):
            ends = sorted([*ends, *gap])
    return tuple(zip(ends[::2], ends[1::2], strict=True))


def bulk_rule(G: FloatArray, p: FloatArray, delta: float, *, tol: float = 1e-8) -> tuple[FloatArray, FloatArray]:
    """Return points and weights that integrate functions against the bulk's density.

    Each interval is mapped by a cosine, which takes away the square roots at its ends, and cut into panels, which are
    halved until their halves agree with them.

    Parameters
    ----------
    G, p : ndarray of shape (n,)
        Weights and probabilities.
    delta : float
        Ratio of samples to dimensions.
    tol : float, default 1e-8
        Largest change of a panel's mass when it is halved.

    Returns
    -------
    x : ndarray
        Points.
    weights : ndarray
        Density times quadrature weight.
    """
    points, weights = [np.zeros(0)], [np.zeros(0)]
    for low, high in _split_at_zero(bulk_support(G, p, delta)):
        ends = np.linspace(0.0, math.pi, 9)
        active = np.stack([ends[:-1], ends[1:]], axis=1)
        whole = np.sum(_panel_masses(G, p, delta, (low, high), active)[1], axis=1)
        for depth in range(_MAX_HALVINGS):
            middle = np.mean(active, axis=1)
            halves = np.stack([active[:, 0], middle, middle, active[:, 1]], axis=1).reshape(-1, 2)
            x, mass = _panel_masses(G, p, delta, (low, high), halves)
            parts = np.sum(mass, axis=1)
            good = np.abs(parts[::2] + parts[1::2] - whole) <= tol
            good |= depth == _MAX_HALVINGS - 1
            kept = np.repeat(good, 2)
            points.append(x[kept].reshape(-1))
            weights.append(mass[kept].reshape(-1))
            if np.all(good):
                break
            active, whole = halves[~kept], parts[~kept]
    return np.concatenate(points), np.concatenate(weights)


def _panel_masses(
    G: FloatArray, p: FloatArray, delta: float, interval: tuple[float, float], panels: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return points and masses on panels of the angle, shape (n_panels, order)."""
    line, line_weights = legendre(_ORDER)
    low, high = interval
    half = 0.5 * (panels[:, 1] - panels[:, 0])[:, None]
    theta = np.mean(panels, axis=1)[:, None] + half * line
    # distance from the nearer end without cancellation
    near_low, near_high = np.sin(0.5 * theta) ** 2, np.cos(0.5 * theta) ** 2
    x = np.where(theta < 0.5 * math.pi, low + (high - low) * near_low, high - (high - low) * near_high)
    return x, bulk_density(G, p, x, delta) * half * line_weights * 0.5 * (high - low) * np.sin(theta)


def _split_at_zero(intervals: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """Return the intervals cut at zero, where the density may have a pole of order 1/3 (delta P(G != 0) = 1)."""
    cut: list[tuple[float, float]] = []
    for low, high in intervals:
        cut += [(low, 0.0), (0.0, high)] if low < 0.0 < high else [(low, high)]
    return cut


def _solve(G: FloatArray, p: FloatArray, z: ComplexArray, delta: float) -> ComplexArray:
    """Return tau = s / delta at points of one block."""
    scale = max(float(np.quantile(np.abs(G), 0.9)), 1e-300)
    height = np.maximum(np.abs(z), scale) * (1.0 + 1.0 / math.sqrt(delta)) ** 2
    height = np.maximum(height, z.imag)
    tau: ComplexArray = np.asarray(-1.0 / (delta * (z.real + 1j * height)), dtype=np.complex128)
    for _ in range(30):
        tau = np.asarray(-1.0 / (delta * (z.real + 1j * height - _mean_ratio(G, p, tau))), dtype=np.complex128)
    # the factor by which the next step lowers each point
    factor = np.full(len(z), 8.0)
    level = height.copy()
    active = np.ones(len(z), dtype=bool)
    for _ in range(_MAX_ROUNDS):
        index = np.flatnonzero(active)
        if not len(index):
            break
        floor = np.maximum(z.imag[index], 1e-9 * scale)
        target = np.where(level[index] <= floor, z.imag[index], np.maximum(level[index] / factor[index], floor))
        target = np.where(target <= z.imag[index] * (1 + 1e-12), z.imag[index], target)
        found, good = _newton(G, p, z.real[index] + 1j * target, delta, tau[index])
        kept = index[good]
        tau[kept], level[kept] = found[good], target[good]
        factor[kept] = np.minimum(2.0 * factor[kept], 64.0)
        factor[index[~good]] = np.sqrt(factor[index[~good]])
        active[kept] = target[good] > z.imag[kept]
        stuck = index[~good]
        at_floor = level[stuck] <= 1e-9 * scale * 1.001
        active[stuck[at_floor]] = False  # within 1e-9 of the real line: as close as it gets
        lost = factor[stuck] < 1.0 + 1e-6
        tau[stuck[lost & ~at_floor]] = np.nan
        active[stuck[lost]] = False
    tau[active] = np.nan
    return tau


def _mean_ratio(G: FloatArray, p: FloatArray, tau: ComplexArray) -> ComplexArray:
    """Return E[G / (1 + G tau)]."""
    return np.asarray((G / (1.0 + tau[:, None] * G)) @ p)


def _newton(
    G: FloatArray, p: FloatArray, z: ComplexArray, delta: float, tau: ComplexArray
) -> tuple[ComplexArray, NDArray[np.bool_]]:
    """Return Newton's iterates for E[T] - 1/delta - z tau = 0 and whether they converged in the half plane."""
    good = np.zeros(len(z), dtype=bool)
    with np.errstate(all="ignore"):
        for _ in range(_NEWTON):
            ratio = G / (1.0 + tau[:, None] * G)
            residual = tau * (ratio @ p) - 1.0 / delta - z * tau
            np.multiply(ratio, ratio / np.where(G == 0.0, 1.0, G), out=ratio)
            slope = ratio @ p - z
            step = residual / slope
            tau = tau - step
            good = np.abs(step) <= 1e-13 * np.abs(tau)
            if np.all(good):
                break
        good |= np.abs(step) <= 1e-10 * np.abs(tau)
        good &= np.isfinite(tau) & (tau.imag >= np.where(z.imag > 0.0, 0.0, -1e-9 * np.abs(tau)))
    return tau, good


def _outer_edge(G: FloatArray, p: FloatArray, delta: float) -> float:
    """Return the left end, the largest z(g) for g = -1/tau left of all nodes: tau may pass infinity on the way."""
    used = G[p > 0.0]
    lowest, size = float(np.min(used)), float(np.max(np.abs(used)))

    def slope(log_distance: float) -> float:
        """Return E[G^2/(G - g)^2] - 1/delta at a distance below the lowest node."""
        share = G / (G - lowest + math.exp(log_distance))
        return float(p @ (share * share)) - 1.0 / delta

    near, far = math.log(size) - 34.0, math.log(size) + 0.5 * abs(math.log(delta)) + 12.0
    g = lowest - math.exp(near) if slope(near) <= 0.0 else lowest - math.exp(brentq(slope, near, far, xtol=1e-13))
    return _level(G, p, delta, g)


def _level(G: FloatArray, p: FloatArray, delta: float, g: float) -> float:
    """Return z at g = -1/tau."""
    return g * (1.0 / delta - float(p @ (G / (G - g))))


def _gap_edges(G: FloatArray, p: FloatArray, delta: float, g: float) -> tuple[float, float] | None:
    """Return the ends of the gap that holds a real g = -1/tau, or None when there is none."""
    kept = (p > 0.0) & (G != 0.0)  # a node at zero has no pole and no share in the averages
    G, p = G[kept], p[kept]
    used = np.unique(G)
    position = int(np.searchsorted(used, g))
    if position in (0, len(used)):
        return None
    below, above = float(used[position - 1]), float(used[position])

    def slope(x: float) -> float:
        """Return delta E[G^2/(G - x)^2] - 1."""
        share = G / (G - x)
        return delta * float(p @ (share * share)) - 1.0

    margin = 1e-12 * (above - below)
    if not (below + margin < g < above - margin) or slope(g) >= 0.0:
        return None
    ends = [
        limit if slope(limit) <= 0.0 else brentq(slope, min(limit, g), max(limit, g), xtol=1e-15)
        for limit in (below + margin, above - margin)
    ]
    low, high = (_level(G, p, delta, x) for x in ends)
    return (low, high) if low < high else None


def _density_at_zero(s: ComplexArray) -> FloatArray:
    """Return the density at x = 0, zero where Newton's method met the atom."""
    return np.where(np.isfinite(s), np.maximum(s.imag, 0.0) / math.pi, 0.0)
