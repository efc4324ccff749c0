from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from derand.io.arcs import pair_arcs
from derand.io.numerals import pack_integers

ARCS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([1, 2, 2**70])), max_size=12)


@given(ARCS, st.sampled_from(["any", "paired", "one missing"]), st.randoms(use_true_random=False))
def test_against_counting(arcs: list[tuple[int, int, int]], mode: str, rng) -> None:
    if mode != "any":
        arcs = arcs + [(v, u, w) for u, v, w in arcs if u != v]
        rng.shuffle(arcs)
        arcs = arcs[mode == "one missing" :]
    heads, tails = (np.array([arc[k] for arc in arcs], dtype=np.int64) for k in (0, 1))
    kept, lonely = pair_arcs(heads, tails, pack_integers([w for *_, w in arcs]))
    assert kept.tolist() == [k for k, (u, v, _) in enumerate(arcs) if u <= v]
    counts = Counter(arcs)
    unmatched = {arc for arc in arcs if counts[arc] > counts[(arc[1], arc[0], arc[2])]}
    assert (lonely is None) == (not unmatched)
    assert lonely is None or arcs[lonely] in unmatched
