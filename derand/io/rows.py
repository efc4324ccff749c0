"""Rows "i j w" of numbers below a header: a vectorised reader for clean input, an exact one for all the rest.

`read_rows` tries `derand.io.fast_rows.parse_table`, which answers only when the whole block is beyond doubt, and
otherwise goes through the lines one by one.  The second reader defines the syntax; it also finds the line of the
first fault.
"""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from derand.exceptions import GraphFormatError
from derand.io.fast_rows import parse_table
from derand.io.numerals import IntArray, WeightArray, WeightColumn, parse_count, show

BLANKS = b" \t"
# Vertices that no edge names cost no bytes; this many are always allowed on top of one for each byte of the file.
MAX_FREE_VERTICES = 1 << 20
_SHORTEST_ROW = 4


@dataclass(frozen=True)
class RowFormat:
    """Syntax of the rows of one format.

    Parameters
    ----------
    prefix : bytes
        A letter before the two vertices, or nothing.
    comment : bytes
        A letter that begins a line to be skipped, or nothing.
    widths : tuple of int
        Numbers a row may hold: 2 (weight 1), 3, or both; all rows of a file have the same.
    kind : {"auto", "integer", "real"}
        What weights may be, see `WeightColumn`.
    is_lower : bool
        Whether the first vertex must not be below the second in number.
    """

    prefix: bytes = b""
    comment: bytes = b""
    widths: tuple[int, ...] = (2, 3)
    kind: str = "auto"
    is_lower: bool = False


@dataclass(frozen=True)
class Body:
    """What follows a header: the whole input, where to go on, how many lines were used, and the header's promises."""

    data: bytes
    offset: int
    line: int
    n: int
    m: int


class LineScanner:
    """Lines of a text one at a time, with their number and the position behind them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.offset = 0
        self.number = 0

    def next_content(self, comments: bytes = b"") -> bytes | None:
        """Return the next line that isn't blank and begins with none of the given letters; None at the end."""
        while self.offset < len(self.data):
            end = self.data.find(b"\n", self.offset)
            end = len(self.data) if end < 0 else end
            line = self.data[self.offset : end].strip(BLANKS)
            self.offset = end + 1
            self.number += 1
            if line and line[:1] not in (comments[i : i + 1] for i in range(len(comments))):
                return line
        return None

    def body(self, n: int, m: int) -> Body:
        """Return what follows, once the counts of the header are known to be plausible.

        Returns
        -------
        Body
            The rest of the input.

        Raises
        ------
        GraphFormatError
            If the rest of the input is too short for them.
        """
        check_counts(n, m, len(self.data), self.number)
        return Body(self.data, self.offset, self.number, n, m)


def check_counts(n: int, m: int, size: int, line: int) -> None:
    """Refuse a header whose counts the file is too short for, before anything is allocated.

    Raises
    ------
    GraphFormatError
        If m edges need more than ``size`` bytes, or n exceeds ``size`` by more than a million.
    """
    if m * _SHORTEST_ROW > size + 1:
        raise GraphFormatError(f"the header promises {m} edges but the file has only {size} bytes", line=line)
    if n > size + MAX_FREE_VERTICES:
        raise GraphFormatError(f"the header promises {n} vertices but the file has only {size} bytes", line=line)


def split_header(line: bytes, number: int, names: tuple[str, ...]) -> list[int]:
    """Return the non-negative integers of a header line with exactly the given entries.

    Returns
    -------
    list of int
        As many as ``names``, each below 10**18.

    Raises
    ------
    GraphFormatError
        If there are more or fewer, or one is no such integer.
    """
    tokens = line.split(None, len(names))
    if len(tokens) != len(names):
        raise GraphFormatError(f"the header must be '{' '.join(names)}', got {show(line)}", line=number)
    return [parse_count(token, name, number) for token, name in zip(tokens, names, strict=True)]


def read_rows(body: Body, syntax: RowFormat) -> tuple[IntArray, IntArray, WeightArray]:
    """Return heads, tails (counted from 0) and weights of the ``m`` rows that follow a header.

    Parameters
    ----------
    body : Body
        The input behind the header.
    syntax : RowFormat
        What a row looks like.

    Returns
    -------
    heads, tails : ndarray of int64, shape (m,)
        In [0, n).
    weights : ndarray, shape (m,)
        int64, float64 or object, see `WeightColumn`.

    Raises
    ------
    GraphFormatError
        At the first row that is malformed, out of range, or one too many; at the end when rows are missing.

    Notes
    -----
    O(size) time and memory.
    """
    rest = body.data[body.offset :]
    first = next(_content(rest, body.line, syntax), None)
    if first is not None:
        width = len(first[1].split(None, 4)) - len(syntax.prefix)
        if width in syntax.widths:
            table = parse_table(rest, width, prefix=syntax.prefix, is_real=syntax.kind == "real")
            if table is not None and _is_acceptable(table, body, syntax):
                return table
    return slow_rows(body, syntax)


def _is_acceptable(table: tuple[IntArray, IntArray, WeightArray], body: Body, syntax: RowFormat) -> bool:
    """Return whether a parsed table keeps the promises of header and format."""
    heads, tails, weights = table
    if heads.size != body.m:
        return False
    if body.m and not 0 <= min(heads.min(), tails.min()) <= max(heads.max(), tails.max()) < body.n:
        return False
    if syntax.is_lower and bool(np.any(heads < tails)):
        return False
    return not (syntax.kind == "integer" and weights.dtype == np.float64)


def _content(rest: bytes, line: int, syntax: RowFormat) -> Iterator[tuple[int, bytes]]:
    """Yield number and stripped content of the lines that are neither blank nor comments."""
    for number, text in enumerate(io.BytesIO(rest), line + 1):
        text = text.strip(b" \t\n")
        if text and not (syntax.comment and text.startswith(syntax.comment)):
            yield number, text


def slow_rows(body: Body, syntax: RowFormat) -> tuple[IntArray, IntArray, WeightArray]:
    """Return what `read_rows` returns, line by line.

    Returns
    -------
    heads, tails, weights : ndarray, shape (m,)
        As in `read_rows`.

    Raises
    ------
    GraphFormatError
        At the first fault.
    """
    prefix = re.escape(syntax.prefix) + b"[ \t]++" if syntax.prefix else b""
    match_row = re.compile(prefix + rb"([0-9]++)[ \t]++([0-9]++)(?:[ \t]++([^ \t]++))?+").fullmatch
    heads, tails, column = array("q"), array("q"), WeightColumn(syntax.kind)
    width = syntax.widths[0] if len(syntax.widths) == 1 else 0
    for number, text in _content(body.data[body.offset :], body.line, syntax):
        match = match_row(text)
        found = 0 if match is None else 2 + (match[3] is not None)
        width = width or found
        if match is None or found != width:
            raise GraphFormatError(_malformed(text, syntax, width), line=number)
        if len(heads) == body.m:
            raise GraphFormatError(f"more than the {body.m} edges that the header promises", line=number)
        i, j = (_vertex(token, body.n, number) for token in match.group(1, 2))
        if syntax.is_lower and i < j:
            raise GraphFormatError(
                f"symmetric storage holds the lower triangle only, got row {i} column {j}", line=number
            )
        heads.append(i - 1)
        tails.append(j - 1)
        column.append(match[3] if found == 3 else b"1", number)
    if len(heads) < body.m:
        last = body.data.count(b"\n") + (not body.data.endswith(b"\n"))
        raise GraphFormatError(f"the header promises {body.m} edges but the file has {len(heads)}", line=last)
    return as_int64(heads), as_int64(tails), column.pack()


def as_int64(numbers: array[int]) -> IntArray:
    """Return a copy of an array of C long longs as a NumPy array."""
    return np.frombuffer(numbers, dtype=np.int64).copy() if numbers else np.zeros(0, dtype=np.int64)


def _vertex(token: bytes, n: int, line: int) -> int:
    """Return a vertex number in 1..n."""
    vertex = parse_count(token, "a vertex", line)
    if not 1 <= vertex <= n:
        raise GraphFormatError(f"vertex {vertex} is outside 1..{n}", line=line)
    return vertex


def _malformed(text: bytes, syntax: RowFormat, width: int) -> str:
    """Return the message for a row that doesn't look as it should."""
    row = " ".join([syntax.prefix.decode()] * bool(syntax.prefix) + ["i", "j"] + ["weight"] * (width != 2))
    optional = " (the weight may be left out in all rows)" if width == 0 else ""
    return f"a row must be '{row}'{optional}, got {show(text)}"
