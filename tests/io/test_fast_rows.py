"""The vectorised reader may decline, but whatever it answers must be what the exact reader says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derand.exceptions import GraphFormatError
from derand.io.fast_rows import parse_table
from derand.io.rows import Body, RowFormat, slow_rows

N = 10**18
FRAGMENTS = st.sampled_from([
    b"1", b"2", b"30", b"0", b"-", b"+", b".", b"e", b"E", b"5", b"-7", b".5", b"1.", b"1e5", b"1e400", b"-0",
    b"-0.0", b" ", b"  ", b"\t", b"\n", b"\n\n", b" 1 2 3\n", b"4 5 0.5\n", b"999999999999999999",
    b"9999999999999999999", b"x", b"\r",
])  # fmt: skip


def exact(text: bytes, width: int, prefix: bytes = b"", kind: str = "auto"):
    """Return what the exact reader makes of a text of any number of rows."""
    body = Body(text, 0, 0, N, sum(1 for line in text.split(b"\n") if line.strip()))
    return slow_rows(body, RowFormat(prefix=prefix, widths=(width,), kind=kind))


@settings(max_examples=500)
@given(st.lists(FRAGMENTS, max_size=12).map(b"".join), st.sampled_from([2, 3]), st.booleans())
def test_agrees_with_the_exact_reader(text: bytes, width: int, is_real: bool) -> None:
    fast = parse_table(text, width, is_real=is_real)
    if fast is None:
        return
    heads, tails, _ = fast
    # The caller checks the range of vertices; what is outside it the exact reader refuses.
    if heads.size and min(heads.min(), tails.min()) < 0:
        with pytest.raises(GraphFormatError):
            exact(text, width)
        return
    for a, b in zip(fast, exact(text, width, kind="real" if is_real else "auto"), strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    ("text", "width"),
    [
        (b"1 2\n3 4\n", 2),
        (b"1 2 3\n4 5 -6", 3),
        (b" 1\t2  3 \n4 5 6\n\n \n", 3),
        (b"1 2 0.5\n4 5 6\n", 3),
        (b"1 2 -.5\n4 5 +6.\n7 8 1e-3\n9 1 -2.5E+3\n", 3),
    ],
)
def test_accepts_regular_tables(text: bytes, width: int) -> None:
    fast = parse_table(text, width)
    assert fast is not None
    for a, b in zip(fast, exact(text, width), strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"\n", b"1 2 3 4\n5 6\n", b"1 2\n3\n4 5 6\n", b"1 2 3\n\n4 5 6\n", b"1 2 3 4 5 6\n", b"1 2 1.2.3\n",
        b"1 2 1e2e3\n", b"1 2 1e2.5\n", b"1 2 .\n", b"1 2 -\n", b"1 2 e5\n", b"1 2 5e\n", b"1 2 1-2\n", b"1 2 --1\n",
        b"1.0 2 3\n", b"1e0 2 3\n", b"1 2 9223372036854775808\n", b"+1 2 0.5\n", b"1 2 +5\n", b"1 2 1e999\n",
        b"1 2 nan\n", b"1 2 0x1\n", b"1 2 1_0\n", b"1 2 -0.0\n", b"1 2 3\r\n", b"1 2 3\x0b\n", b"1 2 \xd9\xa3\n",
        b"1 2 " + b"1" * 20 + b"\n", b"1 2 ." + b"1" * 4300 + b"\n",
    ],
)  # fmt: skip
def test_leaves_doubtful_tables_to_the_exact_reader(text: bytes) -> None:
    assert parse_table(text, 3) is None


def test_prefix() -> None:
    fast = parse_table(b"e 1 2\ne 3 4\n", 2, prefix=b"e")
    assert fast is not None
    assert fast[0].tolist() == [0, 2]
    for text in (
        b"e 1 2\nc x\n",
        b"e 1 2\n3 4\n",
        b"e 1 2\nee 3 4\n",
        b"e 1 2\ne3 4\n",
        b"e 1 2\n\ne 3 4\n",
        b"e",
        b"e 1 2\ne",
    ):
        assert parse_table(text, 2, prefix=b"e") is None
