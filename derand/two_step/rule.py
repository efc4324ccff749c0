"""One quadrature rule for all averages over a standard normal variable."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from derand._utils.validation import FloatArray, check_array

__all__ = ["normal_rule"]

_CUTOFF = 40.0
_NODES = 24


def normal_rule(kinks: Sequence[float] = ()) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of a rule for E[f(z)], z standard normal.

    Gauss-Legendre rules on panels of at most unit width that end at the kinks, over -40 <= z <= 40.  Unlike a
    Gauss-Hermite rule it is as good for tanh, whose poles are close to the axis, as for polynomials up to degree 100.

    Parameters
    ----------
    kinks : sequence of float, default ()
        Points where the function or a derivative jumps.

    Returns
    -------
    nodes, weights : ndarray of shape (m,)
        With ``weights @ f(nodes)`` for the expectation.

    Examples
    --------
    >>> z, weights = normal_rule([0.0])
    >>> round(float(weights @ abs(z)), 12), round(float(weights @ z**8), 9)  # sqrt(2/pi), 105
    (0.797884560803, 105.0)
    """
    inner = check_array(kinks, "kinks", ndim=1)
    ends = np.unique(np.concatenate([np.arange(-_CUTOFF, _CUTOFF + 1.0), inner[np.abs(inner) < _CUTOFF]]))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    half = np.array([0.5 * (right - left) for left, right in pairwise(ends)])[:, None]
    middle = np.array([0.5 * (right + left) for left, right in pairwise(ends)])[:, None]
    z = (middle + half * nodes).reshape(-1)
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return z, (half * weights).reshape(-1) * density
