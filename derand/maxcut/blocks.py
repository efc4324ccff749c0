"""Biconnected blocks: a cut of the graph is one cut per block, since blocks share single vertices only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from derand.maxcut.problem import IndexArray, MaxCutProblem

__all__ = ["balanced_sides", "biconnected_blocks", "join_sides"]


def biconnected_blocks(problem: MaxCutProblem) -> list[IndexArray]:
    """Return the vertex sets of the biconnected blocks, each sorted; every edge lies in exactly one.

    A block comes before the blocks nearer to the root of the search: going through the list backwards meets every
    block but the first of its component through one vertex that is already known.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph; weights don't matter.

    Returns
    -------
    list of ndarray of int64
        Blocks of at least two vertices; isolated vertices are in none.

    Notes
    -----
    Time O(n + m) in a Python loop, without recursion.

    References
    ----------
    Hopcroft and Tarjan (1973), Efficient algorithms for graph manipulation.

    Examples
    --------
    >>> bow_tie = MaxCutProblem.from_edges([0, 1, 2, 2, 3, 4], [1, 2, 0, 3, 4, 2])
    >>> [block.tolist() for block in biconnected_blocks(bow_tie)]
    [[2, 3, 4], [0, 1, 2]]
    """
    starts, neighbors = problem.adjacency.indptr.tolist(), problem.adjacency.indices.tolist()
    depth, blocks = [-1] * problem.n, []
    for root in range(problem.n):
        if depth[root] < 0 and starts[root] < starts[root + 1]:
            blocks.extend(_search(root, starts, neighbors, depth))
    return [np.array(sorted(block), dtype=np.int64) for block in blocks]


def _search(root: int, starts: list[int], neighbors: list[int], depth: list[int]) -> list[list[int]]:
    """Return the blocks of one component by depth-first search; fills ``depth``."""
    low = {root: 0}
    depth[root] = 0
    path, position, pending, blocks = [root], [starts[root]], [], []
    while path:
        vertex, where = path[-1], position[-1]
        if where < starts[vertex + 1]:
            position[-1] += 1
            other = neighbors[where]
            if depth[other] < 0:
                depth[other] = low[other] = len(path)
                path.append(other)
                position.append(starts[other])
                pending.append(other)
            elif depth[other] < low[vertex]:
                low[vertex] = depth[other]
            continue
        path.pop()
        position.pop()
        if not path:
            break
        parent = path[-1]
        if low[vertex] < depth[parent]:
            low[parent] = min(low[parent], low[vertex])
            continue
        # No edge leads from below `vertex` past `parent`, or only the tree edge: a block ends here.
        cut = len(pending) - 1
        while pending[cut] != vertex:
            cut -= 1
        blocks.append([*pending[cut:], parent])
        del pending[cut:]
    return blocks


def join_sides(n: int, blocks: list[IndexArray], sides: list[NDArray[np.int8]]) -> NDArray[np.int8]:
    """Return one side vector (n,) whose restriction to every block is the block's side vector, possibly flipped.

    Parameters
    ----------
    n : int
        Number of vertices.
    blocks : list of ndarray
        From `biconnected_blocks`, in its order.
    sides : list of ndarray of int8
        A cut of every block.

    Returns
    -------
    ndarray of int8, shape (n,)
        +1 for vertices in no block.
    """
    joined = np.zeros(n, dtype=np.int8)
    for block, side in zip(reversed(blocks), reversed(sides), strict=True):
        known = np.flatnonzero(joined[block])
        flip = joined[block[known[0]]] * side[known[0]] if known.size else 1
        joined[block] = flip * side
    joined[joined == 0] = 1
    return joined


def balanced_sides(problem: MaxCutProblem) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Return a cut of all positive and no negative edges in every component that has one.

    Such a component is balanced as a signed graph (bipartite, for positive weights), and that cut is optimal.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.

    Returns
    -------
    side : ndarray of int8, shape (n,)
        The cut; meaningless on components that aren't balanced.
    is_balanced : ndarray of bool, shape (n,)
        Whether the component of the vertex is balanced.

    Notes
    -----
    Time O(n + m): components of the double cover, in which a positive edge changes the sheet.

    References
    ----------
    Harary (1953), On the notion of balance of a signed graph.

    Examples
    --------
    >>> square = MaxCutProblem.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> balanced_sides(square)[0].tolist()
    [1, -1, 1, -1]
    """
    n, heads, tails = problem.n, problem.heads, problem.tails
    change = np.where(problem.weights > 0, n, 0)
    rows, cols = np.concatenate([heads, heads + n]), np.concatenate([tails + change, tails + n - change])
    cover = csr_array((np.ones(rows.size, dtype=np.int8), (rows, cols)), shape=(2 * n, 2 * n))
    _, labels = connected_components(cover, directed=False)
    upper, lower = labels[:n], labels[n:]
    # The sheet that holds the smallest vertex of the component got the smaller label.
    return np.where(upper < lower, 1, -1).astype(np.int8), upper != lower
