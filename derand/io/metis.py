r"""METIS text (extensions .graph, .metis): a header and one line of neighbours for each vertex.

The header is "n m", "n m fmt" or "n m fmt ncon".  The three digits of ``fmt`` say whether vertices have sizes,
whether they have weights (``ncon`` of them, 1 by default), and whether edges have weights.  Lines that begin with
``%`` are comments; any other line, blank or not, belongs to the next vertex.  Every edge is listed at both ends, with
one weight.

Vertex sizes and weights are checked and skipped.  Edge weights are integers, here of any sign and size.  Self loops
aren't part of the format and are refused; an edge listed k times at both ends is read as k parallel edges.
"""

from __future__ import annotations

import io
from array import array
from dataclasses import dataclass

import numpy as np

from derand.exceptions import GraphFormatError, InputError
from derand.io.arcs import pair_arcs
from derand.io.edge_list import EdgeList
from derand.io.fast_rows import are_signs_right, token_bounds
from derand.io.numerals import IntArray, WeightArray, WeightColumn, parse_count, show, weight_literals
from derand.io.rows import Body, LineScanner, as_int64
from derand.io.rudy import require_plain

_MAX_CONSTRAINTS = 1000


@dataclass(frozen=True)
class _Layout:
    """How many numbers precede the neighbours on a line, and whether neighbours have weights."""

    skip: int
    has_weights: bool


@dataclass(frozen=True)
class _Arcs:
    """All entries of all lines: vertex, neighbour (from 0), weight, and the line of each vertex."""

    heads: IntArray
    tails: IntArray
    weights: WeightArray
    lines: IntArray


def parse_metis(data: bytes, *, name: str = "") -> EdgeList:
    r"""Return the graph of a METIS text.

    Parameters
    ----------
    data : bytes
        The text with ``\n`` line ends.
    name : str
        Name for the result.

    Returns
    -------
    EdgeList
        The edges, each once, as listed at the end with the lower number.

    Raises
    ------
    GraphFormatError
        If the text is anything else, or an edge is listed at one end only; the message names the line.

    Notes
    -----
    O(size log size) time for the matching of the two ends, O(size) memory.

    Examples
    --------
    >>> parse_metis(b"3 2 1\n2 5\n1 5 3 -1\n2 -1\n").weights.tolist()
    [5, -1]
    """
    scanner = LineScanner(data)
    header = scanner.next_content(b"%") or b""
    n, m, layout = _parse_header(header, max(scanner.number, 1))
    body = scanner.body(n, m)
    arcs = _fast_arcs(body, layout) or _slow_arcs(body, layout)
    if arcs.heads.size != 2 * m:
        message = f"the header promises {m} edges, listed twice, but the lines hold {arcs.heads.size} neighbours"
        raise GraphFormatError(message, line=body.line)
    kept, lonely = pair_arcs(arcs.heads, arcs.tails, arcs.weights)
    if lonely is not None:
        u, v = int(arcs.heads[lonely]), int(arcs.tails[lonely])
        message = f"vertex {u + 1} lists {v + 1}, but vertex {v + 1} doesn't list {u + 1} as often with the same weight"
        raise GraphFormatError(message, line=int(arcs.lines[u]))
    return EdgeList(n, arcs.heads[kept], arcs.tails[kept], arcs.weights[kept], name=name, format="metis")


def _parse_header(header: bytes, line: int) -> tuple[int, int, _Layout]:
    """Return n, m and the layout of the lines."""
    tokens = header.split(None, 4)
    if not 2 <= len(tokens) <= 4:
        raise GraphFormatError(f"the header must be 'n m', 'n m fmt' or 'n m fmt ncon', got {show(header)}", line=line)
    n, m = parse_count(tokens[0], "n", line), parse_count(tokens[1], "m", line)
    flags = tokens[2] if len(tokens) > 2 else b"0"
    if len(flags) > 3 or flags.strip(b"01"):
        raise GraphFormatError(f"fmt must be up to three digits 0 or 1, got {show(flags)}", line=line)
    has_sizes, has_vertex_weights, has_edge_weights = (digit == ord("1") for digit in flags.zfill(3))
    n_constraints = parse_count(tokens[3], "ncon", line) if len(tokens) > 3 else int(has_vertex_weights)
    if n_constraints > _MAX_CONSTRAINTS or bool(n_constraints) != has_vertex_weights:
        raise GraphFormatError(f"ncon = {n_constraints} doesn't fit fmt = {show(flags)}", line=line)
    return n, m, _Layout(has_sizes + n_constraints, has_edge_weights)


def _fast_arcs(body: Body, layout: _Layout) -> _Arcs | None:
    """Return the entries of a text without comments and oddities, or None where the exact reader has to decide."""
    rest = body.data[body.offset :].rstrip(b" \t\n")
    if not rest or rest.translate(None, b"0123456789 \t\n-"):
        return None
    buffer = np.frombuffer(b"\n" + rest + b"\n", dtype=np.uint8)
    starts, ends = token_bounds(buffer)
    if (ends - starts).max() > 18 or not are_signs_right(buffer):
        return None
    newlines = np.flatnonzero(buffer == ord("\n"))
    if newlines.size - 1 > body.n or body.data.count(b"\n", body.offset) + (not body.data.endswith(b"\n")) < body.n:
        return None
    first = np.searchsorted(starts, newlines)
    values = np.fromstring(rest, dtype=np.int64, sep=" ")
    if values.size != starts.size:
        return None
    counts = np.zeros(body.n, dtype=np.int64)
    counts[: newlines.size - 1] = np.diff(first)
    step = 1 + layout.has_weights
    if np.any(counts < layout.skip) or np.any((counts - layout.skip) % step):
        return None
    heads = np.repeat(np.arange(body.n), counts)
    places = np.arange(values.size) - np.repeat(np.cumsum(counts) - counts, counts) - layout.skip
    is_neighbour = (places >= 0) & (places % step == 0)
    is_weight = (places >= 0) & ~is_neighbour
    if np.any((buffer[starts] == ord("-")) & ~is_weight):
        return None
    heads, tails = heads[is_neighbour], values[is_neighbour] - 1
    if tails.size and (not 0 <= tails.min() <= tails.max() < body.n or np.any(heads == tails)):
        return None
    weights = (
        values[(places >= 0) & (places % step == 1)] if layout.has_weights else np.ones(tails.size, dtype=np.int64)
    )
    return _Arcs(heads, tails, weights, np.arange(body.n) + body.line + 1)


def _slow_arcs(body: Body, layout: _Layout) -> _Arcs:
    """Return the entries line by line; stop at the first fault."""
    heads, tails, lines, column = array("q"), array("q"), array("q"), WeightColumn("integer")
    number = body.line
    for number, text in enumerate(io.BytesIO(body.data[body.offset :]), body.line + 1):
        text = text.strip(b" \t\n")
        if text.startswith(b"%"):
            continue
        if len(lines) < body.n:
            lines.append(number)
            _read_line(text, body.n, layout, (heads, tails, lines, column))
        elif text:
            raise GraphFormatError(f"something follows the lines of the {body.n} vertices: {show(text)}", line=number)
    if len(lines) < body.n:
        raise GraphFormatError(
            f"the header promises {body.n} vertices but the file has lines for {len(lines)}", line=number
        )
    return _Arcs(as_int64(heads), as_int64(tails), column.pack(), as_int64(lines))


def _read_line(
    text: bytes, n: int, layout: _Layout, target: tuple[array[int], array[int], array[int], WeightColumn]
) -> None:
    """Append the neighbours that the latest line lists."""
    heads, tails, lines, column = target
    vertex, number = len(lines), lines[-1]
    tokens = text.split()
    if len(tokens) < layout.skip:
        raise GraphFormatError(f"vertex {vertex} needs {layout.skip} sizes and weights, got {show(text)}", line=number)
    for token in tokens[: layout.skip]:
        parse_count(token, "a vertex size or weight", number)
    step = 1 + layout.has_weights
    if (len(tokens) - layout.skip) % step:
        raise GraphFormatError(f"the last neighbour of vertex {vertex} has no weight", line=number)
    for place in range(layout.skip, len(tokens), step):
        neighbour = parse_count(tokens[place], "a neighbour", number)
        if not 1 <= neighbour <= n:
            raise GraphFormatError(f"neighbour {neighbour} is outside 1..{n}", line=number)
        if neighbour == vertex:
            raise GraphFormatError(f"vertex {vertex} lists itself; METIS files can't hold self loops", line=number)
        heads.append(vertex - 1)
        tails.append(neighbour - 1)
        column.append(tokens[place + 1] if layout.has_weights else b"1", number)


def render_metis(edges: EdgeList) -> bytes:
    r"""Return the METIS text of a graph; `parse_metis` reads the same edges, sorted by their lower end.

    Parameters
    ----------
    edges : EdgeList
        Undirected, without labels and self loops, with integer weights.

    Returns
    -------
    bytes
        ASCII text with ``\n`` line ends.

    Raises
    ------
    InputError
        If the graph has something that the format can't hold.

    Examples
    --------
    >>> render_metis(EdgeList(3, [0, 2], [1, 1], [5, -1]))
    b'3 2 001\n2 5\n1 5 3 -1\n2 -1\n'
    """
    require_plain(edges, "metis")
    if edges.n_self_loops:
        raise InputError("edges hold self loops, which the format metis can't hold; call merged() to drop them")
    if edges.weights.dtype == np.float64:
        raise InputError("weights must be integers in the format metis; write rudy or csv instead")
    lines: list[list[str]] = [[] for _ in range(edges.n)]
    literals = weight_literals(edges.weights)
    for u, v, weight in zip(edges.heads.tolist(), edges.tails.tolist(), literals, strict=True):
        lines[u].append(f"{v + 1} {weight}")
        lines[v].append(f"{u + 1} {weight}")
    text = "".join([" ".join(line) + "\n" for line in lines])
    return f"{edges.n} {edges.m} 001\n{text}".encode("ascii")
