from __future__ import annotations

import pytest
from hypothesis import given

from derand.exceptions import GraphFormatError, InputError
from derand.io import EdgeList
from derand.io.formats import FORMATS, check_format, format_of_content, format_of_name
from tests.io.strategies import INTEGERS, edge_lists

MM = b"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n"


def test_extensions() -> None:
    names = {
        "a.rud": "rudy",
        "b.MC": "rudy",
        "c.sparse.gz": "qubo",
        "d.bq": "qubo",
        "e.col": "dimacs",
        "f.gr.gz": "dimacs",
    }
    names |= {"g.graph": "metis", "h.mtx.gz": "matrix_market", "i.csv": "csv", "j.tsv": "tsv", "k.edgelist": "csv"}
    assert {name: format_of_name(name) for name in names} == names
    assert format_of_name("a.txt.gz") is None
    assert format_of_name("") is None
    every = [extension for entry in FORMATS.values() for extension in entry.extensions]
    assert len(every) == len(set(every))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (b"3 2\n1 2 5\n2 3 -1\n", "rudy"),
        (b"3 2\n1 2\n2 3\n", "rudy"),
        (b"\n# x\n3 2\n1 2 0.5\n2 3 -1\n", "rudy"),
        (b"3 9\n1 2 5\n2 3 -1\n", "rudy"),  # a wrong count: rudy's own message is the useful one
        (b"1 2\n2 3\n3 1\n", "rudy"),  # no header at all: rudy refuses it, since the first line promises one vertex
        (b"3 2\n2\n1 3\n2\n", "metis"),
        (b"4 6\n2 3 4\n1 3 4\n1 2 4\n1 2 3\n", "metis"),  # rows of three, as in rudy
        (b"% x\n3 2\n2\n1 3\n2\n", "metis"),
        (b"3 2 1\n2 5\n1 5 3 -1\n2 -1\n", "metis"),
        (b"4 1\n\n3\n2\n\n", "metis"),
        (MM, "matrix_market"),
        (MM.replace(b"MatrixMarket", b"matrixmarket"), "matrix_market"),
        (b"p edge 2 1\ne 1 2\n", "dimacs"),
        (b"c comment, with comma\nc\n\np col 2 1\ne 1 2\n", "dimacs"),
        (b"a,b\n", "csv"),
        (b"# x\na\tb\t1\n", "csv"),
        (b"1,2,3\n", "csv"),
        (b"c,d\np,q\n", "csv"),
    ],
)
def test_content(text: bytes, want: str) -> None:
    assert format_of_content(text) == want


@pytest.mark.parametrize(
    "text", [b"5 2\n2 3\n3 1\n4 1\n", b"hello\n", b"1\n2\n", b"\x00\x01\x02", b"9" * 5000 + b" 1\n", b"c\nc\n"]
)
def test_no_guess_without_a_reason(text: bytes) -> None:
    with pytest.raises(GraphFormatError, match="line 1: the content doesn't tell its format"):
        format_of_content(text)


def test_a_text_that_is_valid_in_two_formats_is_not_guessed() -> None:
    # METIS: vertices 1 and 2 are joined twice.  Rudy: edges 2-2 and 1-1.
    text = b"2 2\n2 2\n1 1\n"
    assert FORMATS["rudy"].parse(text).n_self_loops == 2
    assert FORMATS["metis"].parse(text).n_parallel == 1
    with pytest.raises(GraphFormatError, match="doesn't tell"):
        format_of_content(text)


@given(edge_lists(weights=(INTEGERS,), loops=False).filter(lambda edges: edges.m > 0))
def test_written_files_are_recognised(edges: EdgeList) -> None:
    for name in ("dimacs", "matrix_market"):
        assert format_of_content(FORMATS[name].render(edges)) == name
    text = FORMATS["rudy"].render(edges)
    assert format_of_content(text) == "rudy"


def test_graphml_is_explained() -> None:
    with pytest.raises(InputError, match="networkx"):
        check_format("graphml")
    with pytest.raises(GraphFormatError, match="networkx"):
        format_of_name("a.graphml.gz")
    with pytest.raises(GraphFormatError, match="networkx"):
        format_of_content(b'<?xml version="1.0"?>\n<graphml/>')
    with pytest.raises(GraphFormatError, match="XML is not a graph format"):
        format_of_content(b"<html/>")


def test_unknown_formats() -> None:
    assert check_format("rudy") == "rudy"
    for wrong in ("gml", 3, None, ["rudy"]):
        with pytest.raises(InputError, match="format must be one of 'rudy'"):
            check_format(wrong)
