"""Probabilities that up to four correlated normal variables are positive together."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations_with_replacement, permutations

import numpy as np
from numpy.polynomial.legendre import leggauss

from derand._utils.validation import FloatArray

__all__ = ["joint_signs"]

_NODES = 64
_PARALLEL = 2e-15  # 1 - r^2 below this is rounding of r = 1 or -1


def joint_signs(r: FloatArray) -> FloatArray:
    r"""Return P(z_k, z_l, z_m, z_n > 0) for all quadruples of p standard normal variables, shape (p, p, p, p).

    Repeated variables count once.  Two and three have closed forms, :math:`\frac14 + \frac{\arcsin r}{2\pi}` and
    :math:`\frac18 + \frac{\sum \arcsin r}{4\pi}`.  For four, let t scale the correlations between the pairs (k, l) and
    (m, n): at t = 0 the probability is a product, and by Plackett's identity its derivative is a sum of closed forms;
    the integral over t = sin(phi) takes 64 Gauss-Legendre nodes.

    Parameters
    ----------
    r : ndarray of shape (p, p)
        Correlations.

    Returns
    -------
    ndarray of shape (p, p, p, p)
        The probabilities, symmetric under all permutations.

    References
    ----------
    R. L. Plackett, A reduction formula for normal multivariate integrals, Biometrika 41 (1954) 351-360.

    Examples
    --------
    >>> import numpy as np
    >>> joint_signs(np.eye(4))[[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]
    array([0.5   , 0.25  , 0.125 , 0.0625])
    """
    p = r.shape[0]
    same = 1.0 - r * r < _PARALLEL
    twins = np.argmax(same & (r > 0.0), axis=1)
    out = np.empty((p, p, p, p))
    for index in combinations_with_replacement(range(p), 4):
        found = _positive(r, sorted({int(twins[k]) for k in index}), same)
        for order in permutations(index):
            out[order] = found
    return out


def _positive(r: FloatArray, index: list[int], same: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    """Return the probability that different variables are positive."""
    part = r[np.ix_(index, index)]
    if np.any(same[np.ix_(index, index)] & (part < 0.0)):
        return 0.0
    angles = np.arcsin(np.clip(part[np.triu_indices(len(index), 1)], -1.0, 1.0))
    if len(index) < 4:
        return float((0.5, 0.25, 0.125)[len(index) - 1] + np.sum(angles) / (2.0, 2.0, 4.0)[len(index) - 1] / math.pi)
    return _four(part)


@cache
def _rule() -> tuple[FloatArray, FloatArray]:
    """Return nodes t in (0, 1) and weights: Gauss-Legendre in phi, t = sin(phi)."""
    x, w = leggauss(_NODES)
    phi = 0.25 * math.pi * (x + 1.0)
    return np.sin(phi), 0.25 * math.pi * w * np.cos(phi)


def _four(r: FloatArray) -> float:
    """Return the probability for four variables, the most correlated two of which become a pair."""
    off = np.where(np.eye(4) > 0.0, -1.0, np.abs(r))
    k, l = (int(x) for x in np.unravel_index(np.argmax(off), (4, 4)))
    m, n = sorted({0, 1, 2, 3} - {k, l})
    t, weights = _rule()
    value = math.prod(
        0.25 + math.asin(min(max(float(r[pair]), -1.0), 1.0)) / (2.0 * math.pi) for pair in ((k, l), (m, n))
    )
    for x, twin in ((k, l), (l, k)):
        for y, other in ((m, n), (n, m)):
            x_y, x_other, twin_y, twin_other = (t * r[pair] for pair in ((x, y), (x, other), (twin, y), (twin, other)))
            a = _partial(twin_y, r[x, twin], x_y)
            b = _partial(twin_other, r[x, twin], x_other)
            c = _partial(r[y, other], x_y, x_other)
            both = 0.25 + np.arcsin(_partial(b, a, c)) / (2.0 * math.pi)
            value += float(weights @ (r[x, y] * both / np.sqrt(1.0 - x_y**2))) / (2.0 * math.pi)
    return value


def _partial(between: FloatArray | float, first: FloatArray | float, second: FloatArray | float) -> FloatArray:
    """Return the correlation of two variables given a third with the given correlations to them."""
    scale = np.maximum((1.0 - np.square(first)) * (1.0 - np.square(second)), np.finfo(float).tiny)
    return np.clip((between - np.multiply(first, second)) / np.sqrt(scale), -1.0, 1.0)
