r"""Quadratic binary programs as the Biq Mac library writes them (extensions .sparse, .bq).

First line "n m", then m lines "i j q" with variables from 1; a line "i i q" is a linear coefficient.  The syntax is
that of rudy, the meaning is not: the result carries ``format="qubo"`` and its self loops matter.  What matrix the
entries stand for (whether an off-diagonal q counts once or twice in x'Qx) is for the conversion to decide, not for
the reader.
"""

from __future__ import annotations

from derand.io.edge_list import EdgeList
from derand.io.rudy import parse_rudy, render_rows, require_plain


def parse_qubo(data: bytes, *, name: str = "") -> EdgeList:
    r"""Return the entries of a Biq Mac QUBO text.

    Parameters
    ----------
    data : bytes
        The text with ``\n`` line ends.
    name : str
        Name for the result.

    Returns
    -------
    EdgeList
        One edge for each entry, diagonal entries as self loops, with ``format="qubo"``.

    Raises
    ------
    GraphFormatError
        If the text is anything else; the message names the line.

    Examples
    --------
    >>> parse_qubo(b"2 2\n1 1 -3\n1 2 4\n")
    EdgeList(n=2, m=2, weights=int64, loops=1)
    """
    return parse_rudy(data, name=name, format="qubo")


def render_qubo(edges: EdgeList) -> bytes:
    r"""Return the QUBO text of a list of entries; `parse_qubo` reads the same entries in the same order.

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
        If the edges are directed, or the vertices have labels.

    Examples
    --------
    >>> render_qubo(EdgeList(2, [0, 0], [0, 1], [-3, 4]))
    b'2 2\n1 1 -3\n1 2 4\n'
    """
    require_plain(edges, "qubo")
    return f"{edges.n} {edges.m}\n".encode() + render_rows(edges)
