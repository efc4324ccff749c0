"""Upper bounds on cuts from a packing of frustrated cycles: weaker than the relaxation, but no matrix is factorised.

Call an edge satisfied by a cut if its weight is positive and it is cut, or its weight is negative and it isn't.  With P
the sum of the positive weights, every cut weighs P minus the sum of |w| over the edges that it doesn't satisfy.  A
cycle with an odd number of positive edges (an odd cycle, for positive weights) is *frustrated*: a cut that satisfied
all of its edges would cut an odd number of them, and a closed walk changes sides an even number of times.  So every cut
leaves one edge of every frustrated cycle unsatisfied.

**Theorem.**  Let y_C >= 0 be amounts of frustrated cycles C such that the amounts of the cycles through any edge e add
up to at most |w_e|.  Then every cut weighs at most P - sum_C y_C.

*Proof.*  Let U be the edges that a cut doesn't satisfy.  Then sum_{e in U} |w_e| >= sum_{e in U} sum_{C through e} y_C
= sum_C y_C |C intersect U| >= sum_C y_C.

For y_C in {0, 1} and unit weights this is a packing of edge-disjoint odd cycles.  The best amounts would be those of a
linear program; what is found here is greedy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from derand._utils.html import ResultRepr
from derand._utils.validation import check_int
from derand.maxcut.blocks import balanced_sides
from derand.maxcut.low_degree import neighbor_rows
from derand.maxcut.problem import IndexArray, MaxCutProblem

__all__ = ["CyclePacking", "pack_cycles"]

# Looking at one edge costs one unit of work; a vertex reached, or an edge of a cycle found, costs several.
_MAX_WORK = 60_000_000
_VERTEX_WORK, _CYCLE_WORK = 4, 20
# Work for one root at first, and by how much it grows once that finds nothing more.
_ROOT_WORK, _ROOT_GROWTH = 20_000, 16
# A packing in fractions 1/k of the weights takes about this times k the work of one in whole weights.
_FRACTION_WORK = 1.4
_FRACTIONS = (4, 2)
# The checker tries all cuts of a part: longer cycles are split by chords.
_PART_SIZE = 6

Rows = list[dict[int, int]]
SignedEdge = tuple[int, int, Fraction]


@dataclass(frozen=True, eq=False, repr=False)
class CyclePacking(ResultRepr):
    """Frustrated cycles with amounts that fit into the weights.

    Attributes
    ----------
    positive_weight : int
        Sum of the positive weights.
    vertices : ndarray of int64
        The vertices of all cycles, one cycle after the other.
    signs : ndarray of int8
        Sign of the weight between each of `vertices` and the next one of its cycle.
    lengths : ndarray of int64, shape (n_cycles,)
        Number of edges of every cycle.
    amounts : tuple of int
        y_C times `fraction`.
    fraction : int
        Amounts count in units of 1/fraction.
    is_complete : bool
        Whether what the packing left of the weights holds no frustrated cycle; False where the work ended before.
    """

    positive_weight: int
    vertices: IndexArray
    signs: NDArray[np.int8]
    lengths: IndexArray
    amounts: tuple[int, ...]
    fraction: int
    is_complete: bool

    @property
    def n_cycles(self) -> int:
        """Number of cycles."""
        return len(self.amounts)

    @property
    def saved(self) -> Fraction:
        """Sum of the amounts: how far the bound is below the sum of the positive weights."""
        return Fraction(sum(self.amounts), self.fraction)

    @property
    def upper_bound(self) -> Fraction:
        """Proved upper bound on every cut."""
        return self.positive_weight - self.saved

    def renamed(self, names: IndexArray) -> CyclePacking:
        """Return the packing of a graph whose vertex ``names[k]`` is vertex k here."""
        return replace(self, vertices=names[self.vertices])

    def parts(self, names: IndexArray, unit: Fraction) -> Iterator[tuple[tuple[int, ...], tuple[SignedEdge, ...]]]:
        """Yield pieces of the cycles, weights of few vertices whose best cut is known, that prove the bound.

        A cycle of more than six vertices is split by chords.  A chord's weight appears once with each sign, so that it
        cancels; its signs are those that leave both pieces frustrated.

        Parameters
        ----------
        names : ndarray of int64
            Name of every vertex.
        unit : Fraction
            What a weight of one stands for.

        Yields
        ------
        vertices : tuple of int
            Names of the vertices of a piece, a frustrated cycle of equal |weights|.
        edges : tuple of (int, int, Fraction)
            Its weights.
        """
        ends = np.cumsum(self.lengths).tolist()
        for end, length, amount in zip(ends, self.lengths.tolist(), self.amounts, strict=True):
            ring = names[self.vertices[end - length : end]].tolist()
            signs = self.signs[end - length : end].tolist()
            weights = {sign: sign * amount * unit / self.fraction for sign in (1, -1)}
            while len(ring) > _PART_SIZE:
                head, first = ring[:_PART_SIZE], signs[: _PART_SIZE - 1]
                chord = 1 if first.count(1) % 2 == 0 else -1
                yield _piece(head, [*first, chord], weights)
                ring, signs = [ring[0], *ring[_PART_SIZE - 1 :]], [-chord, *signs[_PART_SIZE - 1 :]]
            yield _piece(ring, signs, weights)


def _piece(
    ring: list[int], signs: list[int], weights: dict[int, Fraction]
) -> tuple[tuple[int, ...], tuple[SignedEdge, ...]]:
    """Return the vertices of a cycle and its edges, each with the weight of its sign."""
    ends = zip(ring, [*ring[1:], ring[0]], signs, strict=True)
    return tuple(ring), tuple((i, j, weights[sign]) for i, j, sign in ends)


def pack_cycles(
    problem: MaxCutProblem, *, max_work: int = _MAX_WORK, should_stop: Callable[[], bool] | None = None
) -> CyclePacking:
    """Return a packing of frustrated cycles, and with it an upper bound on all cuts.

    From every vertex, breadth-first search finds short frustrated cycles through different edges of the vertex; each
    takes as much as the weights left to its edges allow.  When no frustrated cycle is left and the work allows it, all
    is repeated with amounts of a quarter or a half of the weights, which fit together better.

    Parameters
    ----------
    problem : MaxCutProblem
        A graph with whole-number weights.
    max_work : int, default 60,000,000
        Limit on the work of either round, in units of looking at one edge; some seconds by default.
    should_stop : callable, optional
        Asked before every search; a true answer ends the packing with the cycles found so far.

    Returns
    -------
    CyclePacking
        The cycles.

    Raises
    ------
    InputError
        If ``max_work`` is negative.

    Notes
    -----
    Deterministic, exact integer arithmetic.  Memory about 200 bytes per edge.

    References
    ----------
    Barahona and Mahjoub (1986), On the cut polytope: the inequalities of odd cycles.

    Examples
    --------
    Two triangles with a common vertex: each leaves one of its edges uncut.

    >>> bow_tie = MaxCutProblem.from_edges([0, 1, 2, 2, 3, 4], [1, 2, 0, 3, 4, 2])
    >>> packing = pack_cycles(bow_tie)
    >>> packing.n_cycles, packing.upper_bound
    (2, Fraction(4, 1))
    """
    limit = check_int(max_work, "max_work", low=0)
    packer = _Packer(problem, 1)
    best = packer.run(limit, should_stop)
    fitting = [k for k in _FRACTIONS if _FRACTION_WORK * k * packer.work <= limit]
    if best.is_complete and best.n_cycles and fitting:
        del packer
        finer = _Packer(problem, fitting[0]).run(limit, should_stop)
        best = max(best, finer, key=lambda packing: packing.saved)
    return best


class _Ball:
    """The vertices around a root, level by level, in branches that begin with the edges of the root.

    Every vertex has a code: twice its branch (0 for the root), plus 1 if the way from the root has an odd number of
    positive edges.  Two vertices whose codes and edge don't fit close a frustrated cycle.
    """

    def __init__(self, rows: Rows, root: int) -> None:
        self.rows, self.root = rows, root
        self.code, self.parent = {root: 0}, dict[int, int]()
        for branch, (vertex, weight) in enumerate(rows[root].items(), 1):
            self.code[vertex] = 2 * branch + (weight > 0)
            self.parent[vertex] = root
        self.level = list(self.parent)
        self.levels = [[root], self.level]
        self.is_dead, self.alive = bytearray(len(self.level) + 1), len(self.level)
        self.work = _VERTEX_WORK * len(self.level)

    def closures(self) -> Iterator[tuple[int, int]]:
        """Yield edges that close frustrated cycles, from the outermost level to any, between branches alive."""
        code, rows, is_dead, known = self.code, self.rows, self.is_dead, self.code.get
        for vertex in self.level:
            own = code[vertex]
            if is_dead[own >> 1]:
                continue
            self.work += len(rows[vertex])
            for other, weight in rows[vertex].items():
                theirs = known(other)
                if theirs is not None and (theirs ^ own ^ (weight > 0)) & 1 and not is_dead[theirs >> 1]:
                    # The cycle will be taken from the row, so that the loop over it must not go on.
                    yield vertex, other
                    break
            if self.alive < 2:
                return

    def cycle(self, first: int, second: int) -> list[int]:
        """Return the vertices of the cycle that an edge closes, and retire its branches."""
        ways = self._way(first), self._way(second)
        while len(ways[0]) > 1 and len(ways[1]) > 1 and ways[0][-2] == ways[1][-2]:
            ways[0].pop()
            ways[1].pop()
        for branch in {self.code[first] >> 1, self.code[second] >> 1} - {0}:
            self.is_dead[branch] = 1
            self.alive -= 1
        return ways[0] + ways[1][-2::-1]

    def _way(self, vertex: int) -> list[int]:
        """Return the vertices from one to the root."""
        way = [vertex]
        while way[-1] != self.root:
            way.append(self.parent[way[-1]])
        return way

    def expand(self) -> None:
        """Add the next level."""
        code, rows, parent = self.code, self.rows, self.parent
        outer = []
        for vertex in self.level:
            own = code[vertex]
            for other, weight in rows[vertex].items():
                if other not in code:
                    code[other] = own ^ (weight > 0)
                    parent[other] = vertex
                    outer.append(other)
        self.work += _VERTEX_WORK * len(outer)
        self.level = outer
        self.levels.append(outer)

    def settled(self) -> list[int]:
        """Return vertices that no search of the same work needs to begin at, if this one found nothing."""
        # Around a vertex in the inner half of a ball without frustrated cycles there's another one of half the depth.
        inner = self.levels[: (len(self.levels) + 1) // 2] if self.level else self.levels
        return [vertex for level in inner for vertex in level]


class _Packer:
    """The weights that are left, and the cycles that took the rest."""

    def __init__(self, problem: MaxCutProblem, fraction: int) -> None:
        self.problem, self.fraction, self.work = problem, fraction, 0
        # One cycle takes at most the whole weight of an edge, of which there are `fraction` copies.
        self.whole = neighbor_rows(problem)
        self.rows = self.whole
        if fraction > 1:
            self.rows = [{vertex: fraction * weight for vertex, weight in row.items()} for row in self.whole]
        self.vertices, self.signs, self.lengths, self.amounts = list[int](), list[int](), list[int](), list[int]()

    def run(self, max_work: int, should_stop: Callable[[], bool] | None) -> CyclePacking:
        """Return the packing that the work allows."""
        roots, limit, is_settled = list(range(self.problem.n)), _ROOT_WORK, bytearray(self.problem.n)
        is_over = False
        while roots and not is_over:
            before = len(self.amounts)
            for root in roots:
                is_over = self.work >= max_work or (should_stop is not None and should_stop())
                if is_over:
                    break
                if len(self.rows[root]) > 1 and not is_settled[root]:
                    self._search(root, limit, is_settled)
            if len(self.amounts) == before:
                limit, is_settled = _ROOT_GROWTH * limit, bytearray(self.problem.n)
            roots = [] if is_over else self._unbalanced()
        return CyclePacking(
            sum(w for w in self.problem.exact_weights.tolist() if w > 0),
            np.array(self.vertices, dtype=np.int64),
            np.array(self.signs, dtype=np.int8),
            np.array(self.lengths, dtype=np.int64),
            tuple(self.amounts),
            self.fraction,
            not is_over,
        )

    def _search(self, root: int, limit: int, is_settled: bytearray) -> None:
        """Take the shortest frustrated cycles around a root, at most one for each of its edges."""
        ball, before = _Ball(self.rows, root), len(self.amounts)
        while ball.level:
            for first, second in ball.closures():
                self._take(ball.cycle(first, second))
            if len(self.amounts) > before or ball.work > limit:
                break
            ball.expand()
        self.work += ball.work
        if len(self.amounts) == before:
            for vertex in ball.settled():
                is_settled[vertex] = 1

    def _take(self, ring: list[int]) -> None:
        """Add a cycle, with as large an amount as fits."""
        rows, pairs = self.rows, list(zip(ring, [*ring[1:], ring[0]], strict=True))
        weights = [rows[i][j] for i, j in pairs]
        amount = min(map(abs, weights))
        if self.fraction > 1:
            amount = min(amount, *(abs(self.whole[i][j]) for i, j in pairs))
        for (i, j), weight in zip(pairs, weights, strict=True):
            left = weight - amount if weight > 0 else weight + amount
            if left:
                rows[i][j] = rows[j][i] = left
            else:
                del rows[i][j], rows[j][i]
        self.vertices += ring
        self.signs += [1 if weight > 0 else -1 for weight in weights]
        self.lengths.append(len(ring))
        self.amounts.append(amount)
        self.work += _CYCLE_WORK * len(ring)

    def _unbalanced(self) -> list[int]:
        """Return the vertices of the components that still hold a frustrated cycle."""
        edges = [(i, j, 1 if w > 0 else -1) for i, row in enumerate(self.rows) for j, w in row.items() if i < j]
        if not edges:
            return []
        heads, tails, signs = np.array(edges, dtype=np.int64).T
        _, is_balanced = balanced_sides(MaxCutProblem.from_edges(heads, tails, signs, n=self.problem.n))
        return np.flatnonzero(~is_balanced).tolist()
