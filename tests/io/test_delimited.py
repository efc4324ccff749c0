from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from derand.exceptions import GraphFormatError, InputError
from derand.io import EdgeList
from derand.io.delimited import parse_delimited, render_delimited
from tests.io.strategies import bits, edge_lists, without_isolated

LABELS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).filter(
    lambda s: s == s.strip()
)
AWKWARD = st.sampled_from(
    ['"', ",", ";", "#a", "%b", "a,b", 'a"b', "a b", "1", "01", "nan", "source", "é\u2028x", "\ufeffa", "x\x85y"]
)


def labelled(data: st.DataObject) -> EdgeList:
    """Draw a graph without isolated vertices and with labels."""
    edges = without_isolated(data.draw(edge_lists()))
    labels = data.draw(st.lists(st.one_of(LABELS, AWKWARD), min_size=edges.n, max_size=edges.n, unique=True))
    return replace(edges, labels=tuple(labels))


@given(st.data(), st.sampled_from([",", "\t", ";", "|"]))
def test_round_trip(data: st.DataObject, delimiter: str) -> None:
    edges = labelled(data)
    text = render_delimited(edges, delimiter=delimiter)
    assert bits(parse_delimited(text, delimiter=delimiter)) == bits(edges)


@given(st.data())
def test_the_csv_module_reads_what_is_written(data: st.DataObject) -> None:
    edges = labelled(data)
    rows = list(csv.reader(io.StringIO(render_delimited(edges).decode(), newline="")))
    assert rows[0] == ["source", "target", "weight"]
    assert [(u, v) for u, v, _ in rows[1:]] == [
        (edges.node_labels[u], edges.node_labels[v])
        for u, v in zip(edges.heads.tolist(), edges.tails.tolist(), strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "labels", "weights"),
    [
        ("a,b\nb,c\n", "abc", [1, 1]),
        ("a\tb\t2\nb\tc\t-3\n", "abc", [2, -3]),
        ("a;b;0,5".replace(",", ".") + "\n", "ab", [0.5]),
        ("# note\n% note\n\na b 2\n", "ab", [2]),
        ("a | b | 3\n".replace(" | ", "|"), "ab", [3]),
        ("a, b, 2\nb, a, 3\n", "ab", [2, 3]),
        ("a,b,weight\nc,d,1\n", "cd", [1]),
        ("Station A,Station B,km\nc,d,1\n", "cd", [1]),
        ("Source,Target\nc,d\n", "cd", [1]),
        ("id,weight,to,from\n7,5,d,c\n", "cd", [5]),
        ("u,v,km\nc,d,5\n", "cd", [5]),
        ("from,to,date,note\nc,d,x,y\n", "cd", [1]),
        ("a,a,1\n", "a", [1]),
        ("source,target,weight\n", "", []),
        ("a,b,12345678901234567890\n", "ab", [12345678901234567890]),
        ("é,日,1\n", "é日", [1]),
    ],
)
def test_layouts(text: str, labels: str, weights: list[float]) -> None:
    edges = parse_delimited(text.encode())
    assert edges.labels == tuple(labels)
    assert edges.weights.tolist() == weights
    assert edges.format == "csv"


@pytest.mark.parametrize(
    ("header", "is_header"),
    [
        ("id1,id2", True),
        ("node_1,node_2", True),
        ("person,friend", True),
        ("2nd,3rd", True),
        ("id,id", True),
        ("1,id2", False),
        ("-1,+2", False),
        ("10,20", False),
    ],
)
def test_a_line_of_words_above_whole_numbers_is_a_header(header: str, is_header: bool) -> None:
    edges = parse_delimited(f"{header}\n1,2\n2,-3\n".encode())
    assert edges.m == (2 if is_header else 3)
    assert edges.labels is not None
    assert (edges.labels == ("1", "2", "-3")) == is_header
    if is_header:
        assert edges.heads.tolist() == [0, 1]
        assert edges.tails.tolist() == [1, 2]
        assert edges.weights.tolist() == [1, 1]


@pytest.mark.parametrize(
    "text", ["id1,id2\n", "id1,id2\n1,x\n", "id1,id2\n1,2\n2,id1\n", "id1,id2,5\n1,2,3\n", "id1,id2\n1.0,2.0\n"]
)
def test_no_line_is_dropped_that_may_be_an_edge(text: str) -> None:
    assert parse_delimited(text.encode()).m == text.count("\n")


def test_labels_are_text() -> None:
    edges = parse_delimited(b'1,01\n01," x"\n'.replace(b'" x"', b'"x,y"'))
    assert edges.labels == ("1", "01", "x,y")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"", 1, "neither a header nor an edge"),
        (b"# only\n", 2, "neither a header nor an edge"),
        (b"abc\n", 1, "no delimiter splits"),
        (b"a,b\nb,c,1\n", 2, "3 fields where the first line has 2"),
        (b"a,b,1\nb\n", 2, "1 field where the first line has 3"),
        (b"a b 1\nb c\n", 1, "no delimiter splits"),
        (b"a b {}\nb c {}\n", 2, "write_weighted_edgelist"),
        (b"a,b,1\n" * 6 + b"b,c\n", 7, "2 fields where the first line has 3"),
        (b"a,b,1\nb,c,\n", 2, "a weight must be a number, got ''"),
        (b"a,b,1x\nb,c,2\n", 1, "a weight must be a number, got '1x'"),
        (b"a,b,nan\n", 1, "weights must be finite"),
        (b"a,b,1\nb,c,-inf\n", 2, "weights must be finite"),
        ("a,b,1\nb,c,٣\n".encode(), 2, "a weight must be a number"),
        (b"a,b,1\n,c,1\n", 2, "the label '' is empty"),
        (b'a,b,1\n"c\xc2\xa0",a,1\n', 2, "has blanks at an end"),
        (b'a,b,1\n"c\nd",a,1\n', 2, "holds a control character"),
        (b"a,b,1\nc\x00d,a,1\n", 2, "holds a control character"),
        (b"a,b,1\n\xff,a,1\n", 2, "not valid UTF-8"),
        (b'a,b,1\n"c,a,1\n', 2, "a quote isn't closed"),
        (b"a,b,1\n" * 6 + b'"c"d,a,1\n', 7, "malformed field"),
        (b"a,b,1\n" * 6 + b"c\rd,a,1\n", 7, "malformed field|fields where"),
        (b"a,b,1\n" * 6 + b"c" * 200_000 + b",a,1\n", 7, "malformed field"),
        (b"a,b,c,d\n", 1, "an edge is 'source, target'"),
    ],
)
def test_bad_files(text: bytes, line: int, message: str) -> None:
    with pytest.raises(GraphFormatError, match=message) as caught:
        parse_delimited(text)
    assert caught.value.line in {line, 1} if "no delimiter" in str(caught.value) else caught.value.line == line


def test_what_the_format_cannot_hold() -> None:
    edges = EdgeList(2, [0], [1], [1])
    with pytest.raises(InputError, match="some vertex has no edge"):
        render_delimited(replace(edges, n=3))
    with pytest.raises(InputError, match="directed"):
        render_delimited(replace(edges, directed=True))
    for label in ("", " a", "a\n", "a\tb", "\ud800"):
        with pytest.raises(InputError, match="the label"):
            render_delimited(replace(edges, labels=("b", label)))
    assert render_delimited(edges) == b"source,target,weight\n1,2,1\n"


def test_decimal_commas_are_not_read_as_other_labels():
    with pytest.raises(GraphFormatError, match="a weight must be a number with a point and no commas, got '1,5'"):
        parse_delimited(b"Ann;Bert;1,5\nBert;Carl;2,5\n")
    quoted = parse_delimited(b'Ann;"Bert, jr";1.5\nAnn;"Carl, jr";2.5\n')
    assert quoted.n == 3


def test_blanks_around_a_label_are_no_part_of_it():
    edges = parse_delimited(b"source , target , weight \nAnn , Bert, 1 \nBert,  Ann ,2.5\n")
    assert edges.labels == ("Ann", "Bert")
    assert edges.weights.tolist() == [1.0, 2.5]
