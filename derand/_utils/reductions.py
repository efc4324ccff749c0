"""Sums whose bits don't depend on the number of BLAS threads.

BLAS splits long dot products among its threads, and the order of additions with them.  NumPy's own pairwise summation
is sequential, so these give the same bits on any thread count; the price is one temporary array.
"""

from __future__ import annotations

import math

import numpy as np

from derand._utils.validation import FloatArray


def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product of two arrays of one shape."""
    return float(np.add.reduce(np.multiply(a, b), axis=None))


def norm(a: FloatArray) -> float:
    """Return the Euclidean norm, without overflow where the squares would."""
    top = float(np.max(np.abs(a), initial=0.0))
    if top == 0.0 or not math.isfinite(top):
        return top
    if 1e-140 < top < 1e140:
        return math.sqrt(dot(a, a))
    scaled = a / top
    return top * math.sqrt(dot(scaled, scaled))
