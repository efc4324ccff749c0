from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from derand.exceptions import GraphFormatError
from derand.io.rows import (
    MAX_FREE_VERTICES,
    Body,
    LineScanner,
    RowFormat,
    as_int64,
    check_counts,
    read_rows,
    slow_rows,
    split_header,
)


def body(text: bytes, n: int = 9, m: int = 2) -> Body:
    return Body(text, 0, 1, n, m)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"1 2 3\n1 10 3\n", 3, "vertex 10 is outside 1..9"),
        (b"1 2 3\n0 1 3\n", 3, "vertex 0 is outside 1..9"),
        (b"1 2 3\n-1 1 3\n", 3, "a row must be 'i j weight', got '-1 1 3'"),
        (b"1 2 3\n1 2\n", 3, "a row must be 'i j weight', got '1 2'"),
        (b"1 2\n1 2 3\n", 3, "a row must be 'i j', got '1 2 3'"),
        (b"1\n1 2 3\n", 2, "the weight may be left out in all rows"),
        (b"1 2 3 4\n1 2 3\n", 2, "got '1 2 3 4'"),
        (b"1 2 3\n\n \n1 2 nan\n", 5, "weights must be finite, got 'nan'"),
        (b"1 2 3\n1 2 3\n1 2 3\n", 4, "more than the 2 edges"),
        (b"1 2 3\n", 1, "the header promises 2 edges but the file has 1"),
        (b"1 2 3\n1 2 x\n1 2 y\n", 3, "got 'x'"),
        (b"1 2 3\n1 2 3\x0c\n", 3, "a weight must be a number"),
        (b"1 2 3\r1 2 3\n", 2, "a weight must be a number|a row must be"),
        (b"1 999999999999999999999 3\n1 2 3\n", 2, "a vertex is absurdly large"),
    ],
)
def test_the_first_fault_is_named(text: bytes, line: int, message: str) -> None:
    with pytest.raises(GraphFormatError, match=message) as caught:
        read_rows(body(text), RowFormat())
    assert caught.value.line == line


def test_a_fault_in_the_last_of_many_rows_is_found() -> None:
    rows = b"".join(b"%d %d 1\n" % (i % 9 + 1, i % 7 + 1) for i in range(10_000))
    with pytest.raises(GraphFormatError, match="line 10002: "):
        read_rows(Body(rows + b"1 2 1e999\n", 0, 1, 9, 10_001), RowFormat())


def test_kinds_and_triangles() -> None:
    lower = RowFormat(is_lower=True)
    assert read_rows(body(b"2 1 3\n2 2 3\n"), lower)[0].tolist() == [1, 1]
    with pytest.raises(GraphFormatError, match="line 3: symmetric storage holds the lower triangle only"):
        read_rows(body(b"2 1 3\n1 2 3\n"), lower)
    assert read_rows(body(b"1 2 3\n2 3 4\n"), RowFormat(kind="real"))[2].dtype == np.float64
    with pytest.raises(GraphFormatError, match="line 3: an integer weight is wanted"):
        read_rows(body(b"1 2 3\n2 3 4.0\n"), RowFormat(kind="integer"))


def test_comments_and_prefix_without_the_fast_path() -> None:
    syntax = RowFormat(prefix=b"e", comment=b"c")
    heads, tails, weights = read_rows(body(b"c one\ne 1 2\nc two\n\ne 3 4\n"), syntax)
    assert (heads.tolist(), tails.tolist(), weights.tolist()) == ([0, 2], [1, 3], [1, 1])
    with pytest.raises(GraphFormatError, match="line 3: a row must be 'e i j'"):
        read_rows(body(b"e 1 2\n3 4\n"), syntax)


def test_both_readers_give_the_same_on_a_regular_file() -> None:
    rng = np.random.default_rng(7)
    rows = np.column_stack([rng.integers(1, 1001, (500, 2)), rng.integers(-(10**17), 10**17, 500)])
    text = b"".join(b"%d %d %d\n" % tuple(row) for row in rows.tolist())
    job = Body(text, 0, 0, 1000, 500)
    for fast, slow, want in zip(read_rows(job, RowFormat()), slow_rows(job, RowFormat()), rows.T, strict=True):
        assert fast.tobytes() == slow.tobytes()
        assert np.array_equal(fast, want - (0 if want is rows.T[2] else 1)) or np.array_equal(fast, want)


@pytest.mark.parametrize("header", [(10**12, 1), (3, 10**12), (10**17, 10**17), (3, 10)])
def test_counts_beyond_the_file_are_refused_without_work(header: tuple[int, int]) -> None:
    tracemalloc.start()
    start = time.perf_counter()
    with pytest.raises(
        GraphFormatError, match=r"line 1: the header promises \d+ (edges|vertices) but the file has only 9 bytes"
    ):
        check_counts(*header, size=9, line=1)
    assert time.perf_counter() - start < 0.05
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


def test_counts_that_fit() -> None:
    check_counts(MAX_FREE_VERTICES, 0, 9, 1)
    check_counts(3, 2, len(b"1 2\n2 3"), 1)


def test_scanner_and_header() -> None:
    scanner = LineScanner(b"\n# a\n  % b \n 3  4\t\nrest")
    assert scanner.next_content(b"#%") == b"3  4"
    assert scanner.number == 4
    assert scanner.data[scanner.offset :] == b"rest"
    assert scanner.next_content() == b"rest"
    assert scanner.next_content() is None
    assert split_header(b"3  4", 4, ("n", "m")) == [3, 4]
    for wrong in (b"3", b"3 4 5", b"", b"3 x", b"3 -4", b"3 4.0"):
        with pytest.raises(GraphFormatError, match="line 4: "):
            split_header(wrong, 4, ("n", "m"))


def test_as_int64_copies() -> None:
    from array import array

    source = array("q", [1, 2])
    result = as_int64(source)
    source.append(3)  # would fail while a buffer is exported
    assert result.tolist() == [1, 2]
    assert as_int64(array("q")).size == 0
