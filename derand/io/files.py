"""Reading and writing graph files: the two functions most users need from `derand.io`."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import Any

from derand._utils.validation import check_int
from derand.exceptions import GraphFormatError, InputError, InputTypeError
from derand.io.edge_list import EdgeList
from derand.io.formats import FORMATS, check_format, format_of_content, format_of_name
from derand.io.source import read_source


def read_graph(source: Any, format: str | None = None, *, max_bytes: int | None = None) -> EdgeList:  # noqa: A002
    r"""Return the edges of a graph file, exactly as the file gives them.

    The reader is strict: whatever isn't a clean file of its format is refused with the number of the first wrong line.
    Nothing is repaired, summed or dropped; see `EdgeList` for what self loops, parallel edges and directions mean.

    Parameters
    ----------
    source : path or file object
        A file, compressed with gzip or not, or an object with ``read`` (bytes or text).
    format : {"rudy", "qubo", "dimacs", "metis", "matrix_market", "csv", "tsv"}, optional
        By default found from the file name's extension, or else from the content.
    max_bytes : int, optional
        Refuse longer input.  By default only compressed input is limited: to 200 times its size, or one megabyte if
        that is more.

    Returns
    -------
    EdgeList
        Vertices from 0, exact integer weights or float64 ones, and the file's name without extensions.

    Raises
    ------
    GraphFormatError
        For any bad content.  It is a `ValueError` and its attribute ``line`` holds the line number.
    InputError
        If ``format`` or ``max_bytes`` is wrong.
    InputTypeError
        If ``source`` is neither a path nor readable.

    Notes
    -----
    O(size) time (METIS: a sort more) and O(size) memory: at most 64 bytes for each byte of decompressed input, plus
    one megabyte.  A header that promises more than the file can hold is refused before anything is allocated; a graph
    may have at most one vertex for each byte of the file plus 2**20.  Deterministic.  Errors of the operating system,
    such as `FileNotFoundError`, pass through.

    Examples
    --------
    >>> import io
    >>> edges = read_graph(io.StringIO("3 3\n1 2 1\n2 3 1\n1 3 -4\n"))
    >>> edges
    EdgeList(n=3, m=3, weights=int64)
    >>> read_graph(io.StringIO("3 1\n1 4 1\n"), format="rudy")
    Traceback (most recent call last):
    derand.exceptions.GraphFormatError: line 2: vertex 4 is outside 1..3
    """
    if format is not None:
        format = check_format(format)  # noqa: A001
    if max_bytes is not None:
        max_bytes = check_int(max_bytes, "max_bytes", low=0)
    data, name = read_source(source, max_bytes=max_bytes)
    if not data.strip():
        raise GraphFormatError("the file is empty", line=1)
    chosen = format or format_of_name(name) or format_of_content(data)
    return FORMATS[chosen].parse(data, name=_stem(name))


def write_graph(edges: EdgeList, target: Any, format: str | None = None) -> None:  # noqa: A002
    r"""Write a graph file that `read_graph` reads back to the same edges.

    Integers are written in full and floats by their shortest exact literal, so weights survive bit for bit.  Order
    and orientation survive in rudy, qubo, dimacs and csv; Matrix Market puts the higher vertex of an undirected edge
    first; METIS sorts the edges by their lower end.

    Parameters
    ----------
    edges : EdgeList
        What to write.
    target : path or file object
        A path (compressed when it ends in ``.gz``), or an object with ``write`` for bytes or text.
    format : {"rudy", "qubo", "dimacs", "metis", "matrix_market", "csv", "tsv"}, optional
        By default found from the path's extension, or else ``edges.format``.

    Raises
    ------
    InputError
        If the format is unknown, or can't hold these edges: labels (csv and tsv only), directions (dimacs,
        matrix_market), isolated vertices (not csv), self loops and decimals (not metis).
    InputTypeError
        If ``edges`` isn't an `EdgeList`, or ``target`` is neither a path nor writable.

    Notes
    -----
    O(m) time and memory; the bytes depend on nothing but the edges and the format.  Nothing is written unless all can
    be.

    Examples
    --------
    >>> import io
    >>> out = io.StringIO()
    >>> write_graph(EdgeList(2, [0], [1], [0.1]), out, format="rudy")
    >>> out.getvalue()
    '2 1\n1 2 0.1\n'
    """
    if not isinstance(edges, EdgeList):
        raise InputTypeError(f"edges must be an EdgeList, got {type(edges).__name__}")
    is_path = isinstance(target, (str, os.PathLike))
    name = Path(target).name if is_path else ""
    chosen = check_format(format if format is not None else _writing_format(name, edges))
    data = FORMATS[chosen].render(edges)
    if is_path:
        if name.lower().endswith(".gz"):
            data = gzip.compress(data, mtime=0)  # no time stamp: same edges, same bytes
        Path(target).write_bytes(data)
    elif not hasattr(target, "write"):
        raise InputTypeError(f"target must be a path or a file object, got {type(target).__name__}")
    elif isinstance(target, io.TextIOBase):
        target.write(data.decode("utf-8"))
    else:
        target.write(data)


def _writing_format(name: str, edges: EdgeList) -> str:
    """Return the format to write when none is given."""
    try:
        found = format_of_name(name) or edges.format
    except GraphFormatError as error:
        raise InputError(str(error)) from error
    if not found:
        raise InputError("format must be given: neither the file name nor the edges tell it")
    return found


def _stem(name: str) -> str:
    """Return a file name without its extension and without ``.gz``."""
    return Path(name.removesuffix(".gz")).stem if name else ""
