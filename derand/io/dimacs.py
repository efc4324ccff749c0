r"""DIMACS text: graphs (extensions .col, .clq, .dimacs) and shortest-path networks (.gr).

Lines "c ..." are comments.  One line "p edge n m" (or "p col", "p edges") is followed by m lines "e i j" or "e i j
weight"; one line "p sp n m" by m arcs "a i j weight", and the result is directed then.  Vertices count from 1.

Some published colouring files list every edge in both directions.  They are read as they stand, so such edges come out
parallel, and `EdgeList.merged` doubles their weight.
"""

from __future__ import annotations

import re

from derand.exceptions import GraphFormatError
from derand.io.edge_list import EdgeList
from derand.io.numerals import parse_count, show
from derand.io.rows import LineScanner, RowFormat, read_rows
from derand.io.rudy import render_rows, require_plain

_PROBLEM = re.compile(rb"p[ \t]++(edge|edges|col|sp)[ \t]++([^ \t]++)[ \t]++([^ \t]++)")
_EDGES = RowFormat(prefix=b"e", comment=b"c")
_ARCS = RowFormat(prefix=b"a", comment=b"c", widths=(3,))


def parse_dimacs(data: bytes, *, name: str = "") -> EdgeList:
    r"""Return the graph of a DIMACS text.

    Parameters
    ----------
    data : bytes
        The text with ``\n`` line ends.
    name : str
        Name for the result.

    Returns
    -------
    EdgeList
        Edges in file order; directed for "p sp".

    Raises
    ------
    GraphFormatError
        If the text is anything else; the message names the line.  Flow problems ("p max", "p min") and vertex weights
        (lines "n i weight") are refused.

    Examples
    --------
    >>> parse_dimacs(b"c a path\np edge 3 2\ne 1 2\ne 2 3\n").tails.tolist()
    [1, 2]
    """
    scanner = LineScanner(data)
    line = scanner.next_content(b"c") or b""
    number = max(scanner.number, 1)
    problem = _PROBLEM.fullmatch(line)
    if problem is None:
        raise GraphFormatError(
            f"the first line must be 'p edge n m', 'p col n m' or 'p sp n m', got {show(line)}", line=number
        )
    is_arcs = problem[1] == b"sp"
    n, m = (parse_count(problem[k], what, number) for k, what in ((2, "n"), (3, "m")))
    heads, tails, weights = read_rows(scanner.body(n, m), _ARCS if is_arcs else _EDGES)
    return EdgeList(n, heads, tails, weights, name=name, directed=is_arcs, format="dimacs")


def render_dimacs(edges: EdgeList) -> bytes:
    r"""Return the DIMACS text of a graph; `parse_dimacs` reads the same edges in the same order.

    Parameters
    ----------
    edges : EdgeList
        Without labels; a directed one is written as "p sp".

    Returns
    -------
    bytes
        ASCII text with ``\n`` line ends.

    Raises
    ------
    InputError
        If the vertices have labels.

    Examples
    --------
    >>> render_dimacs(EdgeList(2, [0], [1], [7]))
    b'p edge 2 1\ne 1 2 7\n'
    """
    require_plain(edges, "dimacs", allow_directed=True)
    kind, prefix = ("sp", "a ") if edges.directed else ("edge", "e ")
    return f"p {kind} {edges.n} {edges.m}\n".encode() + render_rows(edges, prefix)
