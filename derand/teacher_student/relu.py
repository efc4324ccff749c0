"""Gaussian averages of networks of rectified linear units: closed forms, and one integral over an interval."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from derand._utils.validation import FloatArray
from derand.teacher_student.orthants import joint_signs
from derand.teacher_student.parameters import Moments, quadratic_form

__all__ = ["Relu"]

_NODES = 48
_PARALLEL = 2e-15  # 1 - r^2 below this is rounding of r = 1 or -1
_CHUNK = 2_000_000


class Relu:
    r"""g(z) = max(z, 0), g'(z) = 1 for z > 0 and 0 otherwise.

    With correlation r = cos(theta) and deviations s, t of two fields,

        E[g g] = s t (sin theta + (pi - theta) cos theta)/(2 pi),    E[g' g'] = (pi - theta)/(2 pi),

    and E[g(z_i) g'(z_k) z_j] follows by Stein's lemma.  E[g'_k g'_l g_i g_j] is closed (orthant probabilities of at
    most three fields) where two indices agree.  For four different fields let t scale the correlations between the
    pairs (k, l) and (i, j): at t = 0 the average is a product of the two formulas above, and by Price's theorem its
    derivative is a sum of averages over three fields, which are closed.  So it is an integral over t in [0, 1], done
    with t = sin(phi) and 48 Gauss-Legendre nodes.

    Notes
    -----
    Error about 1e-15 where the four fields are far from dependent, 1e-10 where they are dependent.  Two weight vectors
    within an angle of 1e-7, but not parallel, limit it to 1e-8: rounded overlaps don't tell such angles.

    References
    ----------
    Y. Cho and L. K. Saul, Kernel methods for deep learning (2009), for the pairs.
    R. Price, A useful theorem for nonlinear devices having Gaussian inputs, IRE Trans. Inf. Theory 4 (1958) 69-72.
    """

    name = "relu"
    #: u^2 g'g' has degree 2 and g'g' degree 0 in the fields
    degrees: tuple[int, int] | None = (2, 0)

    def value(self, z: FloatArray) -> FloatArray:
        """Return max(z, 0)."""
        return np.maximum(z, 0.0)

    def derivative(self, z: FloatArray) -> FloatArray:
        """Return 1 where z > 0, else 0."""
        return np.asarray((z > 0.0).astype(np.float64))

    def squared_error(self, sigma: FloatArray, c: FloatArray) -> FloatArray:
        """Return sum_ij c_i c_j E[g(z_i) g(z_j)]."""
        sizes, r = _standardise(sigma)
        return quadratic_form(_kernel(sizes, r), c)

    def moments(self, sigma: FloatArray, c: FloatArray, p: int) -> Moments:
        """Return the averages; O(p^2 n^2) integrals for each matrix."""
        lead, n = sigma.shape[:-2], sigma.shape[-1]
        sizes, r = _standardise(sigma)
        kernel = _kernel(sizes, r)
        active = (sizes[..., :p] > 0.0).astype(np.float64)
        angle = np.arccos(r[..., :p, :])
        slope = (math.pi - angle[..., :p]) / (2.0 * math.pi) * active[..., :, None] * active[..., None, :]
        # E[g_i g'_k z_j] = C_jk s_(i|k)/(2 pi s_k) + C_ji P(z_k > 0, z_i > 0)
        rest = np.sin(angle) * (sizes * c)[..., None, :]
        own = np.sum(rest, axis=-1) / np.where(active > 0.0, sizes[..., :p], 1.0) / (2.0 * math.pi)
        both = (math.pi - angle) / (2.0 * math.pi) * c[..., None, :]
        drift = active[..., None] * (own[..., None] * sigma[..., :p, :] + both @ sigma)
        flat = (sizes.reshape(-1, n), r.reshape(-1, n, n), np.broadcast_to(c, (*lead, n)).reshape(-1, n))
        noise = np.array([_noise(*member, p) for member in zip(*flat, strict=True)]).reshape(*lead, p, p)
        noise = noise * active[..., :, None] * active[..., None, :]
        readout = (kernel[..., :p, :] @ c[..., None])[..., 0]
        return Moments(quadratic_form(kernel, c), drift, noise, slope, readout)

    def slope_products(self, Q: FloatArray) -> FloatArray:
        """Return the probabilities that four fields are positive; fields of no variance have no slope."""
        sizes, r = _standardise(Q)
        active = (sizes > 0.0).astype(np.float64)
        pairs = active[:, None] * active
        return np.asarray(joint_signs(r) * pairs[:, :, None, None] * pairs)


def _standardise(sigma: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return deviations (..., n) and correlations (..., n, n); a field of no variance correlates with none."""
    sizes = np.sqrt(np.maximum(np.diagonal(sigma, axis1=-2, axis2=-1), 0.0))
    safe = np.where(sizes > 0.0, sizes, 1.0)
    r = np.clip(sigma / safe[..., :, None] / safe[..., None, :], -1.0, 1.0)
    index = np.arange(sizes.shape[-1])
    r[..., index, index] = 1.0
    return sizes, r


def _kernel(sizes: FloatArray, r: FloatArray) -> FloatArray:
    """Return E[g(z_i) g(z_j)] for all pairs of fields."""
    angle = np.arccos(r)
    shape = (np.sin(angle) + (math.pi - angle) * r) / (2.0 * math.pi)
    return np.asarray(sizes[..., :, None] * sizes[..., None, :] * shape)


def _noise(sizes: FloatArray, r: FloatArray, c: FloatArray, p: int) -> FloatArray:
    """Return sum_ij c_i c_j E[g'_k g'_l g_i g_j], shape (p, p), for one matrix."""
    n = r.shape[0]
    (k, l), (i, j) = np.triu_indices(p), np.triu_indices(n)
    k, l = (np.repeat(part, i.size) for part in (k, l))
    i, j = (np.tile(part, k.size // i.size) for part in (i, j))
    values = _averages(r, k, l, i, j)
    values *= (c * sizes)[i] * (c * sizes)[j] * np.where(i == j, 1.0, 2.0)
    out = np.zeros((p, p))
    np.add.at(out, (k, l), values)
    return np.triu(out) + np.triu(out, 1).T


def _averages(r: FloatArray, k: np.ndarray, l: np.ndarray, i: np.ndarray, j: np.ndarray) -> FloatArray:
    """Return E[1_k 1_l g_i g_j] of standard fields for arrays of indices."""
    values = np.zeros(k.size)
    one_step, one_target = 1.0 - r[k, l] ** 2 < _PARALLEL, 1.0 - r[i, j] ** 2 < _PARALLEL
    opposite = (one_step & (r[k, l] < 0.0)) | (one_target & (r[i, j] < 0.0))
    equal = one_target & ~opposite
    values[equal] = _triple(r, k[equal], l[equal], i[equal], is_square=True)
    step = one_step & ~one_target & ~opposite
    values[step] = _triple(r, k[step], i[step], j[step])
    rest = ~(one_step | one_target)
    for first, second, a, b in ((i, j, k, l), (i, j, l, k), (j, i, k, l), (j, i, l, k)):
        shared = rest & (first == a)
        values[shared] = _triple(r, b[shared], first[shared], second[shared])
        rest &= ~shared
    todo = np.flatnonzero(rest)
    for block in np.array_split(todo, 1 + todo.size * _NODES // _CHUNK):
        values[block] = _four(r, k[block], l[block], i[block], j[block])
    return values


def _triple(r: FloatArray, a: np.ndarray, b: np.ndarray, c: np.ndarray, is_square: bool = False) -> FloatArray:
    """Return E[1_a g_b g_c], or E[1_a 1_b g_c^2], of standard fields; equal indices are allowed."""
    angles = np.arccos(r[a, b]) + np.arccos(r[a, c]) + np.arccos(r[b, c])
    orthant = 0.5 - angles / (4.0 * math.pi)
    by_a = _deviation(r[a, c]) + _along(r[b, c] - r[a, c] * r[a, b], r[a, b])
    by_b = _deviation(r[b, c]) + _along(r[a, c] - r[b, c] * r[a, b], r[a, b])
    first, second, mean = (r[a, c], r[b, c], 1.0) if is_square else (r[a, b], 1.0, r[b, c])
    return np.asarray(mean * orthant + (first * by_a + second * by_b) / (4.0 * math.pi))


def _deviation(r: FloatArray) -> FloatArray:
    """Return sqrt(1 - r^2)."""
    return np.sqrt(np.maximum(1.0 - r * r, 0.0))


def _along(covariance: FloatArray, r: FloatArray) -> FloatArray:
    """Return covariance / sqrt(1 - r^2), and 0 for r = 1 and -1, the limit along independent perturbations."""
    variance = 1.0 - r * r
    return np.where(variance > _PARALLEL, covariance / np.sqrt(np.where(variance > _PARALLEL, variance, 1.0)), 0.0)


class _Corner(NamedTuple):
    """Correlations of x with x', y, y', then of x' with y, y', and of y with y'; (x, x') and (y, y') are the pairs."""

    x_twin: FloatArray
    x_y: FloatArray
    x_other: FloatArray
    twin_y: FloatArray
    twin_other: FloatArray
    y_other: FloatArray


@cache
def _rule() -> tuple[FloatArray, FloatArray]:
    """Return nodes t in (0, 1) and weights: Gauss-Legendre in phi, t = sin(phi)."""
    x, w = leggauss(_NODES)
    phi = 0.25 * math.pi * (x + 1.0)
    return np.sin(phi), 0.25 * math.pi * w * np.cos(phi)


def _four(r: FloatArray, k: np.ndarray, l: np.ndarray, i: np.ndarray, j: np.ndarray) -> FloatArray:
    """Return E[1_k 1_l g_i g_j] of four different standard fields."""
    t, weights = _rule()
    between = np.arccos(r[i, j])
    value = (math.pi - np.arccos(r[k, l])) / (2.0 * math.pi)
    value *= (np.sin(between) + (math.pi - between) * r[i, j]) / (2.0 * math.pi)
    for x, twin in ((k, l), (l, k)):
        for y, other in ((i, j), (j, i)):
            corner = _Corner(
                r[x, twin][:, None],
                t * r[x, y][:, None],
                t * r[x, other][:, None],
                t * r[twin, y][:, None],
                t * r[twin, other][:, None],
                r[y, other][:, None],
            )
            value += r[x, y] * (_slice(corner) @ weights) / (4.0 * math.pi**2)
    return np.asarray(value)


def _slice(corner: _Corner) -> FloatArray:
    """Return (2 pi)^(3/2) E[1_x' 1_y g_y' | x = 0] by the angles of a spherical triangle."""
    a = _partial(corner.twin_y, corner.x_twin, corner.x_y)
    b = _partial(corner.twin_other, corner.x_twin, corner.x_other)
    c = _partial(corner.y_other, corner.x_y, corner.x_other)
    root = np.sqrt(np.maximum(1.0 + 2.0 * a * b * c - a * a - b * b - c * c, 0.0))
    total = math.pi - np.arctan2(root, a - b * c)
    total = total + b * (math.pi - np.arctan2(root, c - a * b))
    total = total + c * (math.pi - np.arctan2(root, b - a * c))
    return np.asarray(_deviation(corner.x_other) * total)


def _partial(between: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the correlation of two fields given a third one that has the given correlations with them."""
    return np.clip(_along(_along(between - first * second, first), second), -1.0, 1.0)
