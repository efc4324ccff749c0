from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from derand.exceptions import GraphFormatError, InputError
from derand.io import EdgeList
from derand.io.rudy import parse_rudy, render_rows, render_rudy, require_plain
from tests.io.strategies import bits, edge_lists


@given(edge_lists())
def test_round_trip(edges: EdgeList) -> None:
    assert bits(parse_rudy(render_rudy(edges))) == bits(edges)


def test_loops_and_parallel_edges_are_reported() -> None:
    edges = parse_rudy(b"# from a generator\n\n3 5\n1 2 1\n2 1 4\n3 3 7\n1 2 1\n\n2 3 -2\n")
    assert edges.heads.tolist() == [0, 1, 2, 0, 1]
    assert (edges.n_self_loops, edges.n_parallel) == (1, 2)
    assert edges.merged().weights.tolist() == [6, -2]


def test_against_loadtxt() -> None:
    rng = np.random.default_rng(3)
    rows = zip(*rng.integers(1, 51, (2, 400)).tolist(), rng.normal(size=400).tolist(), strict=True)
    text = "50 400\n" + "".join(f"{i} {j} {w!r}\n" for i, j, w in rows)
    edges = parse_rudy(text.encode())
    table = np.loadtxt(io.StringIO(text), skiprows=1)
    assert np.array_equal(np.column_stack([edges.heads + 1, edges.tails + 1, edges.weights]), table)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"", 1),
        (b"\n\n", 2),
        (b"3\n1 2 3\n", 1),
        (b"3 1 1\n1 2 3\n", 1),
        (b"x y\n", 1),
        (b"1000000000000 1\n1 2 3\n", 1),
        (b"3 1000000000000\n1 2 3\n", 1),
        (b"3 1\n# no comment here\n1 2 3\n", 2),
        (b"3 2\n1 2 3\n", 2),
        (b"3 0\n1 2 3\n", 2),
        (b"3 1\n1 2 3\0\n", 2),
    ],
)
def test_bad_files(text: bytes, line: int) -> None:
    with pytest.raises(GraphFormatError) as caught:
        parse_rudy(text)
    assert caught.value.line == line


def test_what_the_format_cannot_hold() -> None:
    edges = EdgeList(2, [0], [1], [1])
    with pytest.raises(InputError, match=r"edges have labels.*rudy"):
        render_rudy(replace(edges, labels=("a", "b")))
    with pytest.raises(InputError, match=r"edges are directed.*rudy"):
        render_rudy(replace(edges, directed=True))
    require_plain(replace(edges, directed=True), "x", allow_directed=True)
    assert render_rows(edges, "e ") == b"e 1 2 1\n"
