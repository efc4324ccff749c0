r"""Edge lists with a delimiter (extensions .csv, .tsv, .edges, .edgelist): string labels, optional header and weights.

One edge on each line: source, target and, in all lines or none, a weight (1 otherwise).  The delimiter is tab, comma,
semicolon, bar or blank, found by looking at the first lines.  Fields may be quoted with ``"`` as in RFC 4180, within
one line.  Lines before the first edge that begin with ``#`` or ``%`` are comments, and blank lines are ignored.

The first line is a header if it names the columns (two of source/target, from/to, head/tail, u/v, i/j, node1/node2
and the like), or if it has three fields and the third is a word without digits.  A header may name the weight
``weight``, ``w``, ``value``, ``capacity`` or ``cost``, and then further columns are allowed and ignored; without such
a name there are two columns, or three with the weight last.  With two columns it is a header as well, whatever it says,
if neither of its fields is a whole number and all the fields of all other lines are.

Labels are text, never numbers: ``1`` and ``01`` are two vertices.  Vertices are numbered by first appearance.  Blanks
around a label don't belong to it.  Labels that are empty, have other white space at an end or hold control characters
are refused, since two programs rarely agree on them.
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from derand.exceptions import GraphFormatError, InputError
from derand.io.edge_list import EdgeList
from derand.io.numerals import WeightColumn, show, weight_literals
from derand.io.rows import as_int64

_DELIMITERS = "\t,;| "
_SAMPLE_LINES = 5
_SOURCE_NAMES = frozenset({"source", "from", "src", "head", "u", "i", "node1", "fromnodeid", "vertex1"})
_TARGET_NAMES = frozenset({"target", "to", "dst", "tail", "v", "j", "node2", "tonodeid", "vertex2"})
_WEIGHT_NAMES = frozenset({"weight", "w", "value", "capacity", "cost"})
_NOT_FINITE = frozenset({"nan", "inf", "infinity"})
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class _Columns:
    """Which fields of a row are source, target and weight (None: no weights), and how many fields a row has."""

    source: int
    target: int
    weight: int | None
    width: int


def parse_delimited(data: bytes, *, name: str = "", delimiter: str | None = None) -> EdgeList:
    r"""Return the graph of an edge list with string labels.

    Parameters
    ----------
    data : bytes
        UTF-8 text with ``\n`` line ends.
    name : str
        Name for the result.
    delimiter : str, optional
        One character; by default it is found from the first lines.

    Returns
    -------
    EdgeList
        Edges in file order, with labels.

    Raises
    ------
    GraphFormatError
        If the text is anything else; the message names the line.

    Examples
    --------
    >>> edges = parse_delimited(b"source,target,weight\nParis,Lyon,392\nLyon,Nice,299\n")
    >>> edges.labels, edges.weights.tolist()
    (('Paris', 'Lyon', 'Nice'), [392, 299])
    """
    _require_utf8(data)
    offset, skipped = _skip_comments(data)
    if delimiter is None:
        delimiter = _sniff_delimiter(data, offset, skipped)
    rows = _rows(data, offset, skipped, delimiter)
    line, row = next(rows, (0, []))
    if not row:
        raise GraphFormatError("the file holds neither a header nor an edge", line=skipped + 1)
    columns, is_header = _choose_columns(row, line)
    if not is_header:
        rows = chain(((line, row),), rows)
    head_column, tail_column, column, numbers = _collect(rows, columns)
    heads, tails, weights, labels = as_int64(head_column), as_int64(tail_column), column.pack(), tuple(numbers)
    if not is_header and columns.weight is None and _is_header_of_numbers(heads, tails, labels):
        n_names = int(max(heads[0], tails[0])) + 1
        heads, tails, weights, labels = heads[1:] - n_names, tails[1:] - n_names, weights[1:], labels[n_names:]
    return EdgeList(len(labels), heads, tails, weights, labels=labels, name=name, format="csv")


def _is_header_of_numbers(heads: NDArray[np.int64], tails: NDArray[np.int64], labels: tuple[str, ...]) -> bool:
    """Return whether the first row has no whole numbers and all other rows have nothing else."""
    n_names = int(max(heads[0], tails[0])) + 1
    if heads.size < 2 or any(_WHOLE_NUMBER.fullmatch(label) for label in labels[:n_names]):
        return False
    is_apart = min(int(heads[1:].min()), int(tails[1:].min())) >= n_names
    return is_apart and all(_WHOLE_NUMBER.fullmatch(label) for label in labels[n_names:])


def _collect(
    rows: Iterable[tuple[int, list[str]]], columns: _Columns
) -> tuple[array[int], array[int], WeightColumn, dict[str, int]]:
    """Return the ends and weights of all edges, and the labels with their numbers."""
    heads, tails, column = array("q"), array("q"), WeightColumn()
    labels: dict[str, int] = {}
    source, target, weight, width = columns.source, columns.target, columns.weight, columns.width
    for line, row in rows:
        if len(row) != width:
            fields = "field" if len(row) == 1 else "fields"
            raise GraphFormatError(f"{len(row)} {fields} where the first line has {width}", line=line)
        ends = row[source].strip(" "), row[target].strip(" ")
        for label in ends:
            if label not in labels:
                _check_label(label, line)
                labels[label] = len(labels)
        heads.append(labels[ends[0]])
        tails.append(labels[ends[1]])
        column.append(b"1" if weight is None else _literal(row[weight], line), line)
    return heads, tails, column, labels


def _literal(field: str, line: int) -> bytes:
    """Return a weight's text; numbers as spreadsheets or networkx write them are refused with advice."""
    text = field.strip(" ")
    if "," in text and re.fullmatch(r"[\d,.+-]+", text):
        raise GraphFormatError(f"a weight must be a number with a point and no commas, got {text[:40]!r}", line=line)
    if text.startswith("{"):
        advice = "networkx writes weights as numbers by write_weighted_edgelist, and none with data=False"
        raise GraphFormatError(f"a weight must be a number, got {text[:40]!r}: {advice}", line=line)
    return text.encode()


def _require_utf8(data: bytes) -> None:
    """Refuse bytes that aren't UTF-8, with the line of the first."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"the text is not valid UTF-8 ({error.reason}): save the file as UTF-8"
        raise GraphFormatError(message, line=1 + data.count(b"\n", 0, error.start)) from error


def _skip_comments(data: bytes) -> tuple[int, int]:
    """Return position and number of the lines before the first that is neither blank nor a comment."""
    offset = skipped = 0
    while offset < len(data):
        end = data.find(b"\n", offset)
        end = len(data) if end < 0 else end
        if data[offset:end].strip(b" \t") and data[offset : offset + 1] not in {b"#", b"%"}:
            break
        offset, skipped = end + 1, skipped + 1
    return offset, skipped


def _rows(data: bytes, offset: int, skipped: int, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and fields of each line that isn't blank."""
    stream = io.BytesIO(data)
    stream.seek(offset)
    # A text wrapper decodes piece by piece; a StringIO would hold four bytes for each character of the file.
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="\n")
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True)
    line = 1
    try:
        for row in reader:
            if row and row != [""]:
                yield skipped + line, row
            line = reader.line_num + 1
    except csv.Error as error:
        fault = "a quote isn't closed" if "end of data" in str(error) else f"malformed field: {error}"
        raise GraphFormatError(fault, line=skipped + line) from error


def _sniff_delimiter(data: bytes, offset: int, skipped: int) -> str:
    """Return the first delimiter that splits the first lines into equally many fields, two at least."""
    stop = offset
    for _ in range(_SAMPLE_LINES):
        stop = data.find(b"\n", stop) + 1 or len(data)
    sample = data[offset:stop]
    able = []
    for delimiter in _DELIMITERS:
        try:
            widths = {len(row) for _, row in _rows(sample, 0, skipped, delimiter)}
        except GraphFormatError:
            continue
        if len(widths) == 1 and widths.pop() >= 2:
            able.append(delimiter)
    if able[:2] == [",", ";"]:
        # Most often the commas are decimal ones: between semicolons they are refused as weights, and not made labels.
        return ";"
    if able:
        return able[0]
    if not sample.strip(b" \t\n"):
        return ","
    first = sample.split(b"\n", 1)[0].decode("utf-8")
    for delimiter in _DELIMITERS[:-1]:
        if delimiter in first:
            return delimiter  # the reader will say which line is different
    raise GraphFormatError(
        f"no delimiter splits the first lines into equally many fields: {show(sample)}", line=skipped + 1
    )


def _choose_columns(row: list[str], line: int) -> tuple[_Columns, bool]:
    """Return the columns to use, and whether the first row is a header."""
    names = [field.strip().lower() for field in row]
    source, target, weight = (
        next((k for k, name in enumerate(names) if name in known), None)
        for known in (_SOURCE_NAMES, _TARGET_NAMES, _WEIGHT_NAMES)
    )
    if source is not None and target is not None and source != target:
        if weight is None and len(row) == 3:
            weight = 3 - source - target
        return _Columns(source, target, weight, len(row)), True
    if len(row) not in {2, 3}:
        raise GraphFormatError(
            f"an edge is 'source, target' or 'source, target, weight', got {len(row)} fields", line=line
        )
    # A third field with a digit, such as "1x", is a damaged weight rather than a title: refusing it loses no edge.
    is_header = len(row) == 3 and not re.search(r"[\d+-]", names[2]) and bool(names[2]) and names[2] not in _NOT_FINITE
    return _Columns(0, 1, 2 if len(row) == 3 else None, len(row)), is_header


def _check_label(label: str, line: int) -> None:
    """Refuse a label that programs would read differently."""
    fault = _label_fault(label)
    if fault:
        raise GraphFormatError(f"the label {show(label.encode())} {fault}", line=line)


def _label_fault(label: str) -> str:
    """Return what is wrong with a label, or an empty string."""
    if not label:
        return "is empty"
    if label != label.strip():
        return "has blanks at an end"
    return "holds a control character" if _CONTROL.search(label) else ""


def render_delimited(edges: EdgeList, *, delimiter: str = ",") -> bytes:
    r"""Return an edge list with a header; `parse_delimited` reads the same edges in the same order.

    Vertices without labels get the labels 1, ..., n.  Reading numbers vertices by first appearance.

    Parameters
    ----------
    edges : EdgeList
        Undirected, without isolated vertices.
    delimiter : str
        One character.

    Returns
    -------
    bytes
        UTF-8 text with ``\n`` line ends.

    Raises
    ------
    InputError
        If the graph is directed, a vertex has no edge, or a label can't be written.

    Examples
    --------
    >>> render_delimited(EdgeList(2, [0], [1], [7], labels=("a", "b,c")))
    b'source,target,weight\na,"b,c",7\n'
    """
    if edges.directed:
        raise InputError("edges are directed, which the format csv can't hold; call undirected() first")
    if np.unique(np.concatenate([edges.heads, edges.tails])).size != edges.n:
        raise InputError("some vertex has no edge, which the format csv can't hold; write rudy instead")
    names = [_render_label(str(label), delimiter) for label in edges.node_labels]
    lines = [delimiter.join(("source", "target", "weight")) + "\n"]
    columns = edges.heads.tolist(), edges.tails.tolist(), weight_literals(edges.weights)
    lines += [f"{names[u]}{delimiter}{names[v]}{delimiter}{weight}\n" for u, v, weight in zip(*columns, strict=True)]
    return "".join(lines).encode("utf-8")


def _render_label(label: str, delimiter: str) -> str:
    """Return a label, quoted if it must be."""
    fault = _label_fault(label)
    if not fault:
        try:
            label.encode("utf-8")
        except UnicodeEncodeError:
            fault = "has no UTF-8 encoding"
    if fault:
        raise InputError(f"the label {label!r} {fault}, which the format csv can't hold")
    if delimiter in label or '"' in label:
        return '"' + label.replace('"', '""') + '"'
    return label
