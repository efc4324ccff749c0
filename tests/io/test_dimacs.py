from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from derand.exceptions import GraphFormatError, InputError
from derand.io import EdgeList
from derand.io.dimacs import parse_dimacs, render_dimacs
from tests.io.strategies import bits, edge_lists


@given(edge_lists())
def test_round_trip(edges: EdgeList) -> None:
    assert bits(parse_dimacs(render_dimacs(edges))) == bits(edges)


@given(edge_lists(directed=True))
def test_round_trip_of_arcs(edges: EdgeList) -> None:
    assert render_dimacs(edges).startswith(b"p sp ")
    assert bits(parse_dimacs(render_dimacs(edges))) == bits(edges)


@pytest.mark.parametrize("word", [b"edge", b"edges", b"col"])
def test_graphs(word: bytes) -> None:
    edges = parse_dimacs(b"c x\nc\np  " + word + b" 4 3\ne 1 2 5\nc between\ne 3 4 -6\ne 4 4 7\n")
    assert (edges.n, edges.heads.tolist(), edges.weights.tolist()) == (4, [0, 2, 3], [5, -6, 7])
    assert not edges.directed


def test_edges_listed_in_both_directions_are_parallel() -> None:
    edges = parse_dimacs(b"p col 2 2\ne 1 2\ne 2 1\n")
    assert edges.n_parallel == 1
    assert edges.merged().weights.tolist() == [2]


def test_shortest_path_networks_are_directed() -> None:
    roads = parse_dimacs(b"c roads\np sp 3 4\na 1 2 10\na 2 1 10\na 3 2 4\na 2 3 4\n")
    assert roads.directed
    assert roads.undirected().weights.tolist() == [10, 4]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"", 1, "the first line must be"),
        (b"c only\n", 1, "the first line must be"),
        (b"c x\ne 1 2\n", 2, "the first line must be"),
        (b"p max 3 1\na 1 2 3\n", 1, "the first line must be"),
        (b"p edge 3\n", 1, "the first line must be"),
        (b"p edge x 1\n", 1, "n must be a non-negative integer"),
        (b"p edge 3 1000000000000\ne 1 2\n", 1, "promises 1000000000000 edges"),
        (b"p edge 1000000000000 1\ne 1 2\n", 1, "promises 1000000000000 vertices"),
        (b"p edge 3 1\nn 1 5\ne 1 2\n", 2, "a row must be 'e i j"),
        (b"p edge 3 1\na 1 2 5\n", 2, "a row must be 'e i j"),
        (b"p sp 3 1\na 1 2\n", 2, "a row must be 'a i j weight'"),
        (b"p sp 3 2\na 1 2 4\na 1 2 inf\n", 3, "must be finite"),
        (b"p edge 3 1\ne 1 4\n", 2, "outside 1..3"),
    ],
)
def test_bad_files(text: bytes, line: int, message: str) -> None:
    with pytest.raises(GraphFormatError, match=message) as caught:
        parse_dimacs(text)
    assert caught.value.line == line


def test_labels_are_refused() -> None:
    with pytest.raises(InputError, match="dimacs"):
        render_dimacs(replace(EdgeList(1, [], [], []), labels=("a",)))
