r"""Rudy text, the format of the Gset and of the Biq Mac library's MAXCUT instances (extensions .rud, .rudy, .mc).

First line "n m", then m lines "i j weight" with vertices from 1.  The weight may be left out in all lines and is 1
then. Blank lines and, before the first line, lines that begin with ``#`` are ignored.
"""

from __future__ import annotations

from derand.exceptions import InputError
from derand.io.edge_list import EdgeList
from derand.io.numerals import weight_literals
from derand.io.rows import LineScanner, RowFormat, read_rows, split_header

_ROWS = RowFormat()


def parse_rudy(data: bytes, *, name: str = "", format: str = "rudy") -> EdgeList:  # noqa: A002
    r"""Return the graph of a rudy text.

    Parameters
    ----------
    data : bytes
        The text with ``\n`` line ends.
    name : str
        Name for the result.
    format : {"rudy", "qubo"}
        Stored in the result; QUBO files have the same syntax.

    Returns
    -------
    EdgeList
        Edges in file order, self loops and parallel edges kept.

    Raises
    ------
    GraphFormatError
        If the text is anything else; the message names the line.

    Examples
    --------
    >>> parse_rudy(b"3 2\n1 2 5\n2 3 -1\n").weights.tolist()
    [5, -1]
    """
    scanner = LineScanner(data)
    n, m = split_header(scanner.next_content(b"#") or b"", max(scanner.number, 1), ("n", "m"))
    heads, tails, weights = read_rows(scanner.body(n, m), _ROWS)
    return EdgeList(n, heads, tails, weights, name=name, format=format)


def render_rudy(edges: EdgeList) -> bytes:
    r"""Return the rudy text of a graph; `parse_rudy` reads the same edges in the same order.

    Parameters
    ----------
    edges : EdgeList
        Undirected and without labels.

    Returns
    -------
    bytes
        ASCII text with ``\n`` line ends.

    Raises
    ------
    InputError
        If the edges are directed, or the vertices have labels, which the format can't hold.

    Examples
    --------
    >>> render_rudy(EdgeList(2, [0], [1], [0.5]))
    b'2 1\n1 2 0.5\n'
    """
    require_plain(edges, "rudy")
    return f"{edges.n} {edges.m}\n".encode() + render_rows(edges)


def render_rows(edges: EdgeList, prefix: str = "") -> bytes:
    """Return one line "i j weight" for each edge, with vertices from 1."""
    columns = (edges.heads + 1).tolist(), (edges.tails + 1).tolist(), weight_literals(edges.weights)
    return "".join([f"{prefix}{i} {j} {weight}\n" for i, j, weight in zip(*columns, strict=True)]).encode("ascii")


def require_plain(edges: EdgeList, format: str, *, allow_directed: bool = False) -> None:  # noqa: A002
    """Refuse what a format of numbered vertices can't hold.

    Raises
    ------
    InputError
        If the vertices have labels, or the edges are directed and ``allow_directed`` is false.
    """
    if edges.labels is not None:
        raise InputError(
            f"edges have labels, which the format {format} can't hold; write csv, or drop them with "
            "dataclasses.replace(edges, labels=None)"
        )
    if edges.directed and not allow_directed:
        raise InputError(f"edges are directed, which the format {format} can't hold; call undirected() first")
