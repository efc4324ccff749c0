r"""Matrix Market coordinate text (extension .mtx): square matrices, pattern, integer or real, symmetric or general.

A symmetric file holds the lower triangle, each off-diagonal entry once: an undirected graph.  A general file holds
every entry and is read as a directed graph, even when its matrix happens to be symmetric; `EdgeList.undirected` then
joins the opposite entries.  Diagonal entries are self loops, repeated entries parallel edges, stored zeros edges of
weight zero.
"""

from __future__ import annotations

from derand.exceptions import GraphFormatError
from derand.io.edge_list import EdgeList
from derand.io.numerals import show, weight_literals
from derand.io.rows import LineScanner, RowFormat, read_rows, split_header
from derand.io.rudy import require_plain

_BANNER = b"%%matrixmarket"
_KINDS = {"pattern": ((2,), "auto"), "integer": ((3,), "integer"), "real": ((3,), "real")}


def parse_matrix_market(data: bytes, *, name: str = "") -> EdgeList:
    r"""Return the graph whose weighted adjacency matrix a Matrix Market text holds.

    Parameters
    ----------
    data : bytes
        The text with ``\n`` line ends.
    name : str
        Name for the result.

    Returns
    -------
    EdgeList
        Entries in file order with row and column as head and tail; directed for general storage.  Weights of a real
        matrix are float64 even if they look like integers.

    Raises
    ------
    GraphFormatError
        If the text is anything else, the matrix isn't square, or its storage is dense, complex, skew-symmetric or
        Hermitian; the message names the line.

    Examples
    --------
    >>> text = b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
    >>> parse_matrix_market(text)
    EdgeList(n=3, m=2, weights=int64)
    """
    field, symmetry = _parse_banner(data)
    scanner = LineScanner(data)
    sizes = scanner.next_content(b"%") or b""
    number = max(scanner.number, 1)
    rows, columns, m = split_header(sizes, number, ("rows", "columns", "entries"))
    if rows != columns:
        raise GraphFormatError(f"the matrix of a graph must be square, got {rows} x {columns}", line=number)
    widths, kind = _KINDS[field]
    syntax = RowFormat(widths=widths, kind=kind, is_lower=symmetry == "symmetric")
    heads, tails, weights = read_rows(scanner.body(rows, m), syntax)
    return EdgeList(rows, heads, tails, weights, name=name, directed=symmetry == "general", format="matrix_market")


def _parse_banner(data: bytes) -> tuple[str, str]:
    """Return field and symmetry from the first line."""
    end = data.find(b"\n")
    banner = data[: min(end if end >= 0 else len(data), 1024)]
    words = banner.lower().split()
    if len(words) != 5 or words[0] != _BANNER or words[1] != b"matrix":
        raise GraphFormatError(
            f"the first line must be '%%MatrixMarket matrix coordinate field symmetry', got {show(banner)}", line=1
        )
    storage, field, symmetry = (word.decode("ascii", "replace") for word in words[2:])
    if storage != "coordinate":
        raise GraphFormatError(f"only coordinate storage is read, got {show(words[2])}", line=1)
    if field not in _KINDS:
        raise GraphFormatError(f"weights must be pattern, integer or real, got {show(words[3])}", line=1)
    if symmetry not in {"symmetric", "general"}:
        raise GraphFormatError(f"the matrix must be symmetric or general, got {show(words[4])}", line=1)
    return field, symmetry


def render_matrix_market(edges: EdgeList) -> bytes:
    r"""Return a Matrix Market text of a graph's weighted adjacency matrix.

    Undirected edges are written as the lower triangle, so that the end with the higher number becomes the head;
    otherwise `parse_matrix_market` reads the same edges in the same order.

    Parameters
    ----------
    edges : EdgeList
        Without labels; a directed one is written in general storage.

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
    >>> print(render_matrix_market(EdgeList(2, [0], [1], [7])).decode(), end="")
    %%MatrixMarket matrix coordinate integer symmetric
    2 2 1
    2 1 7
    """
    require_plain(edges, "matrix_market", allow_directed=True)
    is_real = edges.weights.dtype.kind == "f"
    words = ("real" if is_real else "integer", "general" if edges.directed else "symmetric")
    lines = [f"%%MatrixMarket matrix coordinate {words[0]} {words[1]}\n{edges.n} {edges.n} {edges.m}\n"]
    columns = (edges.heads + 1).tolist(), (edges.tails + 1).tolist(), weight_literals(edges.weights)
    for i, j, weight in zip(*columns, strict=True):
        lines.append(f"{i} {j} {weight}\n" if edges.directed or i >= j else f"{j} {i} {weight}\n")
    return "".join(lines).encode("ascii")
