from __future__ import annotations

from collections import defaultdict
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from derand.exceptions import InputError, InputTypeError
from derand.io import EdgeList
from tests.io.strategies import INTEGERS, edge_lists, multiset


@given(edge_lists())
def test_counts_against_sets(edges: EdgeList) -> None:
    pairs = [frozenset(pair) for pair in zip(edges.heads.tolist(), edges.tails.tolist(), strict=True)]
    assert edges.n_self_loops == sum(len(pair) == 1 for pair in pairs)
    assert edges.n_parallel == len(pairs) - len(set(pairs))
    arcs = set(zip(edges.heads.tolist(), edges.tails.tolist(), strict=True))
    assert replace(edges, directed=True).n_parallel == len(pairs) - len(arcs)


@given(edge_lists(weights=(INTEGERS, st.floats(-1e300, 1e300))), st.randoms(use_true_random=False))
def test_merged_sums_exactly_in_any_order(edges: EdgeList, rng) -> None:
    sums: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for u, v, w in zip(edges.heads.tolist(), edges.tails.tolist(), edges.weights.tolist(), strict=True):
        sums[min(u, v), max(u, v)] += Fraction(w)
    is_float = edges.weights.dtype == np.float64
    want = {pair: float(total) if is_float else int(total) for pair, total in sums.items() if pair[0] != pair[1]}
    want = {pair: total for pair, total in sorted(want.items()) if total != 0}
    merged = edges.merged()
    assert list(zip(merged.heads.tolist(), merged.tails.tolist(), strict=True)) == list(want)
    assert merged.weights.tolist() == list(want.values())
    assert merged.n == edges.n
    order = rng.sample(range(edges.m), edges.m)
    shuffled = replace(edges, heads=edges.tails[order], tails=edges.heads[order], weights=edges.weights[order]).merged()
    assert (
        shuffled.weights.tobytes() == merged.weights.tobytes() or shuffled.weights.tolist() == merged.weights.tolist()
    )


def test_merged_sums_do_not_wrap_around() -> None:
    merged = EdgeList(2, [0, 1], [1, 0], [2**62, 2**62]).merged()
    assert merged.weights.tolist() == [2**63]
    with pytest.raises(InputError, match="exceeds the range of float64"):
        EdgeList(2, [0, 1], [1, 0], [1e308, 1e308]).merged()
    with pytest.raises(InputError, match=r"call undirected\(\) first"):
        EdgeList(2, [0], [1], [1], directed=True).merged()


@given(edge_lists())
def test_undirected_undoes_doubling(edges: EdgeList) -> None:
    proper = edges.heads != edges.tails
    doubled = EdgeList(
        edges.n,
        np.concatenate([edges.heads, edges.tails[proper]]),
        np.concatenate([edges.tails, edges.heads[proper]]),
        np.concatenate([edges.weights, edges.weights[proper]]),
        directed=True,
    )
    single = doubled.undirected()
    assert not single.directed
    assert multiset(single) == multiset(edges)


def test_undirected_refuses_a_lonely_arc() -> None:
    arcs = EdgeList(3, [0, 1, 1], [1, 0, 2], [4, 4, 7], labels=("a", "b", "c"), directed=True)
    with pytest.raises(InputError, match="the arc from b to c of weight 7 has no opposite arc"):
        arcs.undirected()
    with pytest.raises(InputError, match="of that weight"):
        EdgeList(2, [0, 1], [1, 0], [4, 5], directed=True).undirected()
    edges = EdgeList(2, [0], [1], [1])
    assert edges.undirected() is edges


def test_is_frozen_and_copies_its_arrays() -> None:
    heads = np.array([0, 1])
    edges = EdgeList(3, heads, [1, 2], [1.5, 2.5])
    heads[0] = 2
    assert edges.heads[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        edges.weights[0] = 3.0
    with pytest.raises(FrozenInstanceError):
        edges.n = 4  # type: ignore[misc]


def test_types_of_weights() -> None:
    def kind(weights: object) -> np.dtype:
        return EdgeList(2, [0], [1], weights).weights.dtype  # type: ignore[arg-type]

    assert kind([1]) == kind(np.array([1], dtype=np.int8)) == kind(np.array([1], dtype=np.uint64)) == np.int64
    assert (
        kind([2**63]) == kind(np.array([2**63], dtype=np.uint64)) == kind(np.array([2**70], dtype=object)) == np.object_
    )
    assert kind([0.5]) == kind(np.array([0.5], dtype=np.float32)) == np.float64
    for wrong in ([True], [1j], ["1"], [None], np.array([Fraction(1, 2)]), np.array([1], dtype=np.longdouble)):
        with pytest.raises(InputTypeError, match="weights must be"):
            kind(wrong)
    for bad in (np.nan, np.inf):
        with pytest.raises(InputError, match=r"weights must be finite.* at index 0"):
            kind([bad])


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(InputError, match="n must be at least 0"):
        EdgeList(-1, [], [], [])
    with pytest.raises(InputError, match=r"tails must lie in \[0, n\) with n = 2"):
        EdgeList(2, [0], [2], [1])
    with pytest.raises(InputTypeError, match="heads must hold integers"):
        EdgeList(2, [0.0], [1], [1])
    with pytest.raises(InputError, match="heads must have one dimension"):
        EdgeList(2, [[0]], [1], [1])
    with pytest.raises(InputError, match="one length, got 1, 1 and 2"):
        EdgeList(2, [0], [1], [1, 2])
    with pytest.raises(InputError, match="one entry for each of the 2 vertices"):
        EdgeList(2, [], [], [], labels=("a",))
    with pytest.raises(InputError, match="distinct"):
        EdgeList(2, [], [], [], labels=("a", "a"))
    with pytest.raises(InputTypeError, match="labels must be strings"):
        EdgeList(1, [], [], [], labels=(1,))  # type: ignore[arg-type]


def test_text_and_labels() -> None:
    edges = EdgeList(2, [0, 0, 1], [1, 0, 0], [1, 1, 1], directed=True)
    assert repr(edges) == "EdgeList(n=2, m=3, weights=int64, loops=1, directed=True)"
    assert list(edges.node_labels) == [1, 2]
    assert replace(edges, labels=("x", "y")).node_labels == ("x", "y")
    assert EdgeList(0, [], [], []).m == 0
