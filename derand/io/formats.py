"""The graph formats by name, and how a file's format is found from its name and its content."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from derand.exceptions import GraphFormatError, InputError
from derand.io.delimited import parse_delimited, render_delimited
from derand.io.dimacs import parse_dimacs, render_dimacs
from derand.io.edge_list import EdgeList
from derand.io.matrix_market import parse_matrix_market, render_matrix_market
from derand.io.metis import parse_metis, render_metis
from derand.io.qubo import parse_qubo, render_qubo
from derand.io.rudy import parse_rudy, render_rudy

GRAPHML_ADVICE = (
    "GraphML is read by networkx, not by derand.io: pass networkx.read_graphml(path) to the functions of derand.graphs"
)


@dataclass(frozen=True)
class Format:
    """A text format: its parser, its writer, and the file name extensions that mean it."""

    parse: Callable[..., EdgeList]
    render: Callable[[EdgeList], bytes]
    extensions: tuple[str, ...]


FORMATS = MappingProxyType(
    {
        "rudy": Format(parse_rudy, render_rudy, (".rud", ".rudy", ".gset", ".mc")),
        "qubo": Format(parse_qubo, render_qubo, (".sparse", ".bq")),
        "dimacs": Format(parse_dimacs, render_dimacs, (".dimacs", ".col", ".clq", ".gr")),
        "metis": Format(parse_metis, render_metis, (".metis", ".graph")),
        "matrix_market": Format(parse_matrix_market, render_matrix_market, (".mtx", ".mm")),
        "csv": Format(parse_delimited, render_delimited, (".csv", ".edges", ".edgelist")),
        "tsv": Format(partial(parse_delimited, delimiter="\t"), partial(render_delimited, delimiter="\t"), (".tsv",)),
    }
)

_GRAPHML_EXTENSIONS = (".graphml", ".graphml.xml")
_SNIFFED = 1 << 16
_MAX_DIGITS = 18
_INTEGERS = re.compile(rb"[0-9]++(?:[ \t]++[+-]?+[0-9]++)*+")
_DIMACS_START = re.compile(rb"(?:c(?:[ \t][^\n]*+)?+\n[\s]*+)*+p[ \t]", re.ASCII)


def check_format(name: object) -> str:
    """Return a known format name.

    Returns
    -------
    str
        The name.

    Raises
    ------
    InputError
        If there is no such format; for GraphML the message says where it is read.
    """
    if name == "graphml":
        raise InputError(GRAPHML_ADVICE)
    if not isinstance(name, str) or name not in FORMATS:
        raise InputError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {name!r}")
    return name


def format_of_name(name: str) -> str | None:
    """Return the format that a file name's extension means, None if it means none; a final ``.gz`` is ignored.

    Returns
    -------
    str or None
        A key of `FORMATS`.

    Raises
    ------
    GraphFormatError
        For GraphML.

    Examples
    --------
    >>> format_of_name("G11.rud.gz"), format_of_name("graph.txt")
    ('rudy', None)
    """
    stem = name.lower().removesuffix(".gz")
    if stem.endswith(_GRAPHML_EXTENSIONS):
        raise GraphFormatError(GRAPHML_ADVICE)
    for key, entry in FORMATS.items():
        if stem.endswith(entry.extensions):
            return key
    return None


def format_of_content(data: bytes) -> str:
    r"""Return the format of a text by its first lines and the number of its lines.

    Decisions, in order: the Matrix Market banner; XML; a DIMACS problem line; a header of two integers above rows of
    three, or as many rows as it promises edges (rudy); a header of integers above as many lines as it promises
    vertices (METIS); a first line with a tab, comma, semicolon or bar (csv).

    Parameters
    ----------
    data : bytes
        The text with ``\n`` line ends.

    Returns
    -------
    str
        A key of `FORMATS`.

    Raises
    ------
    GraphFormatError
        If no rule applies, or the content is GraphML: a guess could silently read a wrong graph.

    Examples
    --------
    >>> format_of_content(b"3 2\n1 2 5\n2 3 -1\n"), format_of_content(b"3 2\n2\n1 3\n2\n"), format_of_content(b"a,b\n")
    ('rudy', 'metis', 'csv')
    """
    start = data[:_SNIFFED].lstrip()
    if start[:14].lower() == b"%%matrixmarket":
        return "matrix_market"
    if start.startswith(b"<"):
        raise GraphFormatError(
            GRAPHML_ADVICE if b"graphml" in start.lower() else "XML is not a graph format here", line=1
        )
    if _DIMACS_START.match(start):
        return "dimacs"
    lines = [line.strip(b" \t") for line in start.split(b"\n")[:200]]
    content = [line for line in lines if line and line[:1] not in {b"#", b"%"}]
    if content and _INTEGERS.fullmatch(content[0]):
        found = _format_of_integers(data, content)
        if found:
            return found
    if content and re.search(rb"[\t,;|]", content[0]):
        return "csv"
    text = "the content doesn't tell its format; name it, for instance format='csv' (--format csv in a shell)"
    raise GraphFormatError(text, line=1)


def _format_of_integers(data: bytes, content: list[bytes]) -> str | None:
    """Return "rudy" or "metis" for a text that begins with a line of integers, None when neither is certain."""
    header = content[0].split(None, 4)
    if not 2 <= len(header) <= 4 or any(len(token) > _MAX_DIGITS for token in header):
        return None
    n, m = int(header[0]), int(header[1])
    widths = {len(row.split(None, 3)) for row in content[1:]}
    n_rows = sum(1 for line in io.BytesIO(data) if line[:1] not in {b"#", b"%"} and line.strip(b" \t\n")) - 1
    is_rudy = len(header) == 2 and n_rows == m and widths <= {2, 3}
    is_metis = n_rows <= n <= data.count(b"\n")
    looks_rudy = len(header) == 2 and widths == {3}
    if is_metis and (is_rudy or looks_rudy):
        # METIS lists every edge twice, which a rudy file does by accident at most.
        is_rudy, is_metis = _parses(parse_rudy, data), _parses(parse_metis, data)
    if is_rudy != is_metis:
        return "rudy" if is_rudy else "metis"
    # A damaged file of rudy's shape: its parser will say what is wrong.
    return "rudy" if looks_rudy and not is_rudy else None


def _parses(parse: Callable[..., EdgeList], data: bytes) -> bool:
    """Return whether a parser accepts a text."""
    try:
        parse(data)
    except GraphFormatError:
        return False
    return True
