"""Random edge lists for the tests of readers and writers, and what it means that two are equal."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from derand.io import EdgeList

INTEGERS = st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1), st.integers(-(10**40), 10**40))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def edge_lists(
    draw: st.DrawFn, *, weights: tuple[Any, ...] = (INTEGERS, FLOATS), loops: bool = True, directed: bool = False
) -> EdgeList:
    """Edge lists with isolated vertices, parallel edges and, if asked for, self loops."""
    n = draw(st.integers(0, 12))
    m = draw(st.integers(0, 20)) if n > (0 if loops else 1) else 0
    vertices = st.integers(0, max(n - 1, 0))
    pairs = st.tuples(vertices, vertices).filter(lambda pair: loops or pair[0] != pair[1])
    ends = draw(st.lists(pairs, min_size=m, max_size=m))
    values = draw(st.lists(draw(st.sampled_from(weights)), min_size=m, max_size=m))
    kind = np.float64 if m and isinstance(values[0], float) else np.object_
    column = np.array(values, dtype=kind) if m else np.zeros(0, dtype=np.int64)
    return EdgeList(n, [u for u, _ in ends], [v for _, v in ends], column, directed=directed)


def without_isolated(edges: EdgeList) -> EdgeList:
    """Return the edges with vertices renumbered by first appearance."""
    order = dict.fromkeys(np.stack([edges.heads, edges.tails], axis=1).ravel().tolist())
    number = {vertex: k for k, vertex in enumerate(order)}
    heads, tails = ([number[u] for u in ends.tolist()] for ends in (edges.heads, edges.tails))
    return replace(edges, n=len(number), heads=heads, tails=tails)


def bits(edges: EdgeList) -> tuple[Any, ...]:
    """Return everything a round trip must keep; floats by their bits."""
    values = [w.hex() if isinstance(w, float) else w for w in edges.weights.tolist()]
    return (
        edges.n,
        edges.heads.tolist(),
        edges.tails.tolist(),
        values,
        edges.weights.dtype,
        edges.labels,
        edges.directed,
    )


def multiset(edges: EdgeList) -> Counter[tuple[int, int, Any]]:
    """Return the undirected edges without order and orientation."""
    rows = zip(edges.heads.tolist(), edges.tails.tolist(), edges.weights.tolist(), strict=True)
    return Counter((min(u, v), max(u, v), w) for u, v, w in rows)
