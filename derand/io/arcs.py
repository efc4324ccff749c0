"""Matching of opposite arcs, for files that list every edge in both directions."""

from __future__ import annotations

import numpy as np

from derand.io.numerals import IntArray, WeightArray


def pair_arcs(heads: IntArray, tails: IntArray, weights: WeightArray) -> tuple[IntArray, int | None]:
    """Return one arc of each opposite pair, and an arc that has no opposite if there is one.

    The arcs from u to v > u and those from v to u are matched as multisets of (u, v, weight), so parallel arcs are
    fine.

    Parameters
    ----------
    heads, tails : ndarray of int64, shape (m,)
        Ends of the arcs.
    weights : ndarray, shape (m,)
        int64, float64 or object with Python ints.

    Returns
    -------
    kept : ndarray of int64
        Positions of the arcs with ``heads <= tails`` (self loops stand for themselves), ascending.
    lonely : int or None
        Position of an arc without a partner, None when all are paired.

    Notes
    -----
    O(m log m) time and O(m) memory.  Weights are compared for equality, through their ranks: sorting needs no
    arithmetic on them, so integers of any size are handled exactly.
    """
    _, ranks = np.unique(weights, return_inverse=True)
    low, high = np.minimum(heads, tails), np.maximum(heads, tails)
    keys = (ranks, high, low)
    up = _sorted_subset(np.flatnonzero(heads < tails), keys)
    down = _sorted_subset(np.flatnonzero(heads > tails), keys)
    common = min(up.size, down.size)
    differs = np.zeros(common, dtype=np.bool_)
    for key in keys:
        differs |= key[up[:common]] != key[down[:common]]
    kept = np.flatnonzero(heads <= tails)
    if not differs.any():
        if up.size == down.size:
            return kept, None
        return kept, int((up if up.size > down.size else down)[common])
    place = int(np.argmax(differs))
    # Both lists are sorted and agree before this place: the smaller of the two keys can't occur in the other list.
    up_key, down_key = ([key[arcs[place]] for key in reversed(keys)] for arcs in (up, down))
    return kept, int(up[place] if up_key < down_key else down[place])


def _sorted_subset(subset: IntArray, keys: tuple[IntArray, ...]) -> IntArray:
    """Return the positions in ``subset`` sorted by the keys, the last key first."""
    return subset[np.lexsort(tuple(key[subset] for key in keys))]
