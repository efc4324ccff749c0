from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given

from derand.exceptions import GraphFormatError, InputError
from derand.io import EdgeList
from derand.io.matrix_market import parse_matrix_market, render_matrix_market
from tests.io.strategies import FLOATS, bits, edge_lists, multiset

HEAD = b"%%MatrixMarket matrix coordinate "


@given(edge_lists())
def test_round_trip(edges: EdgeList) -> None:
    again = parse_matrix_market(render_matrix_market(edges))
    lower = replace(edges, heads=np.maximum(edges.heads, edges.tails), tails=np.minimum(edges.heads, edges.tails))
    assert bits(again) == bits(lower)


@pytest.mark.medium
@given(edge_lists(directed=True))
def test_round_trip_of_a_general_matrix(edges: EdgeList) -> None:
    assert bits(parse_matrix_market(render_matrix_market(edges))) == bits(edges)


@given(edge_lists(weights=(FLOATS,)))
def test_scipy_reads_what_is_written(edges: EdgeList) -> None:
    matrix = scipy.io.mmread(io.BytesIO(render_matrix_market(edges)), spmatrix=False)
    rows = zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True)
    assert Counter((i, j, w) for i, j, w in rows if i >= j) == Counter(
        (j, i, w) for i, j, w in multiset(edges).elements()
    )
    assert matrix.shape == (edges.n, edges.n)


@pytest.mark.parametrize("symmetry", ["symmetric", "general"])
@pytest.mark.parametrize("field", ["pattern", "integer", "real"])
def test_reads_what_scipy_writes(field: str, symmetry: str) -> None:
    rng = np.random.default_rng(5)
    matrix = np.tril(np.round(rng.normal(size=(9, 9)) * 9) * (rng.random((9, 9)) < 0.4))
    matrix = matrix + np.tril(matrix, -1).T if symmetry == "symmetric" else matrix
    if field == "real":
        matrix = matrix / 7
    file = io.BytesIO()
    scipy.io.mmwrite(file, scipy.sparse.coo_array(matrix), field=field, symmetry=symmetry, precision=17)
    edges = parse_matrix_market(file.getvalue())
    assert edges.directed == (symmetry == "general")
    assert edges.weights.dtype == (np.float64 if field == "real" else np.int64)
    dense = np.zeros((9, 9))
    dense[edges.heads, edges.tails] = edges.weights
    if symmetry == "symmetric":
        dense = np.tril(dense) + np.tril(dense, -1).T
    assert np.array_equal(dense, matrix != 0 if field == "pattern" else matrix)


def test_a_symmetric_matrix_in_general_storage_becomes_undirected_on_request() -> None:
    edges = parse_matrix_market(HEAD + b"integer general\n2 2 3\n1 2 5\n2 1 5\n2 2 1\n")
    assert edges.directed
    assert multiset(edges.undirected()) == Counter({(0, 1, 5): 1, (1, 1, 1): 1})


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"", 1, "the first line must be"),
        (b"%MatrixMarket matrix coordinate real general\n1 1 0\n", 1, "the first line must be"),
        (b"%%MatrixMarket vector coordinate real general\n1 1 0\n", 1, "the first line must be"),
        (b"%%MatrixMarket matrix array real general\n1 1\n1\n", 1, "only coordinate storage"),
        (HEAD + b"complex general\n1 1 0\n", 1, "pattern, integer or real"),
        (HEAD + b"complex hermitian\n1 1 0\n", 1, "pattern, integer or real"),
        (HEAD + b"real hermitian\n1 1 0\n", 1, "symmetric or general"),
        (HEAD + b"real skew-symmetric\n1 1 0\n", 1, "symmetric or general"),
        (HEAD + b"\xff\xff general\n1 1 0\n", 1, "pattern, integer or real"),
        (HEAD + b"real general\n% a\n\n2 3 0\n", 4, "must be square"),
        (HEAD + b"real general\n2 2\n", 2, "the header must be"),
        (HEAD + b"real general\n", 1, "the header must be"),
        (HEAD + b"real general\n1000000000000 1000000000000 1\n1 1 1\n", 2, "1000000000000 vertices"),
        (HEAD + b"real general\n2 2 1000000000000\n1 1 1\n", 2, "1000000000000 edges"),
        (HEAD + b"real general\n2 2 1\n1 2 inf\n", 3, "must be finite"),
        (HEAD + b"integer general\n2 2 1\n1 2 1.5\n", 3, "an integer weight is wanted"),
        (HEAD + b"pattern general\n2 2 1\n1 2 1\n", 3, "a row must be 'i j'"),
        (HEAD + b"real general\n2 2 1\n1 2\n", 3, "a row must be 'i j weight'"),
        (HEAD + b"real symmetric\n2 2 1\n1 2 1\n", 3, "lower triangle only"),
        (HEAD + b"real symmetric\n2 2 1\n% here\n2 1 1\n", 3, "a row must be"),
    ],
)
def test_bad_files(text: bytes, line: int, message: str) -> None:
    with pytest.raises(GraphFormatError, match=message) as caught:
        parse_matrix_market(text)
    assert caught.value.line == line


def test_labels_are_refused() -> None:
    with pytest.raises(InputError, match="matrix_market"):
        render_matrix_market(EdgeList(1, [], [], [], labels=("a",)))
