from __future__ import annotations

from collections import Counter
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derand.exceptions import GraphFormatError, InputError
from derand.io import EdgeList, metis
from derand.io.metis import parse_metis, render_metis
from tests.io.strategies import INTEGERS, bits, edge_lists, multiset


@given(edge_lists(weights=(INTEGERS,), loops=False))
def test_round_trip(edges: EdgeList) -> None:
    again = parse_metis(render_metis(edges))
    assert multiset(again) == multiset(edges)
    assert again.n == edges.n
    assert np.all(again.heads < again.tails)
    assert bits(parse_metis(render_metis(again))) == bits(again)


@pytest.mark.parametrize("comment", [b"", b"% exact reader\n"])
@pytest.mark.parametrize(
    ("fmt", "skip", "has_weights"),
    [
        (b"", 0, False),
        (b"1", 0, True),
        (b"001", 0, True),
        (b"10", 1, False),
        (b"011", 1, True),
        (b"111 3", 4, True),
        (b"100", 1, False),
    ],
)
def test_layouts(fmt: bytes, skip: int, has_weights: bool, comment: bytes) -> None:
    neighbours = [[(2, 7), (4, -3)], [(1, 7), (3, 2**40)], [(2, 2**40)], [(1, -3)], []]
    text = b"% head\n5 3 " + fmt + b"\n"
    for k, row in enumerate(neighbours):
        numbers = [9] * skip + [x for pair in row for x in (pair if has_weights else pair[:1])]
        text += (comment if k == 2 else b"") + b" ".join(b"%d" % x for x in numbers) + b"\n"
    edges = parse_metis(text)
    want = {(0, 1): 7, (0, 3): -3, (1, 2): 2**40}
    assert multiset(edges) == Counter((u, v, w if has_weights else 1) for (u, v), w in want.items())


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(["1", "2", "3", "-1", "-0", "+2", "9" * 19, " ", "  ", "\n", "\n\n", "%\n", "x"]), max_size=16
    )
)
def test_vectorised_and_exact_readers_agree(fragments: list[str]) -> None:
    for header in ("3 1\n", "2 2 1\n", "3 1 11\n", "2 0 10 2\n"):
        text = (header + "".join(fragments)).encode()
        outcomes = []
        for patch in (
            mock.patch.object(metis, "_fast_arcs", metis._fast_arcs),
            mock.patch.object(metis, "_fast_arcs", return_value=None),
        ):
            with patch:
                try:
                    outcomes.append(str(bits(parse_metis(text))))
                except GraphFormatError as error:
                    outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"", 1, "the header must be"),
        (b"3\n", 1, "the header must be"),
        (b"3 2 1 1 1\n", 1, "the header must be"),
        (b"3 2 2\n", 1, "fmt must be"),
        (b"3 2 0001\n", 1, "fmt must be"),
        (b"3 2 1 1\n", 1, "ncon = 1 doesn't fit"),
        (b"3 2 10 0\n", 1, "ncon = 0 doesn't fit"),
        (b"3 2 10 1001\n", 1, "ncon = 1001 doesn't fit"),
        (b"1000000000000 1\n2\n1\n", 1, "1000000000000 vertices"),
        (b"2 1000000000000\n2\n1\n", 1, "1000000000000 edges"),
        (b"3 1\n2\n1\n", 3, "lines for 2"),
        (b"2 1\n2\n1\n\n3\n", 5, "something follows"),
        (b"2 1\n2\n3\n", 3, "neighbour 3 is outside 1..2"),
        (b"2 1\n2\n0\n", 3, "neighbour 0 is outside 1..2"),
        (b"2 1\n2\n2\n", 3, "vertex 2 lists itself"),
        (b"2 1\n2\n1.0\n", 3, "a neighbour must be a non-negative integer"),
        (b"2 2\n2\n1\n", 1, "promises 2 edges, listed twice, but the lines hold 2 neighbours"),
        (b"3 1\n%\n2\n3\n\n", 3, "vertex 1 lists 2, but vertex 2 doesn't list 1"),
        (b"2 1 1\n2 5\n1 6\n", 2, "with the same weight"),
        (b"2 1 1\n2 5\n1\n", 3, "has no weight"),
        (b"2 1 1\n2 5\n1 x\n", 3, "a weight must be a number"),
        (b"2 1 1\n2 5\n1 5.5\n", 3, "an integer weight is wanted"),
        (b"2 1 10\n1 2\n-1 1\n", 3, "a vertex size or weight"),
        (b"2 1 10\n1 2\n\n", 3, "vertex 2 needs 1 sizes and weights"),
    ],
)
def test_bad_files(text: bytes, line: int, message: str) -> None:
    with pytest.raises(GraphFormatError, match=message) as caught:
        parse_metis(text)
    assert caught.value.line == line


def test_what_the_format_cannot_hold() -> None:
    with pytest.raises(InputError, match="self loops"):
        render_metis(EdgeList(1, [0], [0], [1]))
    with pytest.raises(InputError, match="weights must be integers"):
        render_metis(EdgeList(2, [0], [1], [1.0]))
    with pytest.raises(InputError, match="labels"):
        render_metis(EdgeList(1, [], [], [], labels=("a",)))
    with pytest.raises(InputError, match="directed"):
        render_metis(EdgeList(2, [0], [1], [1], directed=True))
