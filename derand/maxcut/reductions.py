"""Exact preprocessing: what is left of a graph once everything easy has been decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from derand.exceptions import InputError
from derand.maxcut.blocks import balanced_sides, biconnected_blocks, join_sides
from derand.maxcut.low_degree import Elimination, eliminate_low_degree
from derand.maxcut.problem import IndexArray, MaxCutProblem

__all__ = ["Kernel", "Reduction", "reduce_problem"]

# Weights are brought to whole numbers of one power of two; a wider range than this would leave double precision.
_MAX_BITS = 900


@dataclass(frozen=True, eq=False)
class Kernel:
    """A biconnected block that no reduction decides.

    Attributes
    ----------
    problem : MaxCutProblem
        The block with whole-number weights, in units of 2^-`Reduction.exponent`.
    vertices : ndarray of int64
        Vertex k of the block is vertex ``vertices[k]`` of the original graph.
    """

    problem: MaxCutProblem
    vertices: IndexArray


@dataclass(frozen=True, eq=False)
class Reduction:
    """A graph as a constant and independent kernels.

    With optimal cuts of the kernels, (offset + sum of their values)/2^exponent is the optimum of the graph; with any
    cuts, `lift` gives a cut of exactly that value; with upper bounds, it is an upper bound.

    Attributes
    ----------
    problem : MaxCutProblem
        The graph that was reduced.
    scaled : MaxCutProblem
        The same graph with whole-number weights, in units of 2^-exponent.
    kernels : tuple of Kernel
        The undecided blocks, largest first.
    offset : int
        The decided part of the value.
    exponent : int
        Kernel weights and `offset` count in units of 2^-exponent; 0 for whole-number weights.
    elimination : Elimination
        The steps that removed vertices of low degree.
    """

    problem: MaxCutProblem
    scaled: MaxCutProblem
    kernels: tuple[Kernel, ...]
    offset: int
    exponent: int
    elimination: Elimination
    _blocks: tuple[IndexArray, ...]
    _block_sides: tuple[NDArray[np.int8] | None, ...]
    _kernel_of_block: tuple[int, ...]

    def total(self, values: Sequence[int | Fraction]) -> Fraction:
        """Return (offset + sum of values)/2^exponent, without rounding."""
        return sum(map(Fraction, values), Fraction(self.offset)) / (1 << self.exponent)

    def lift(self, sides: list[NDArray[np.int8]]) -> NDArray[np.int8]:
        """Return a cut of the graph from one cut per kernel.

        Parameters
        ----------
        sides : list of ndarray of int8
            A cut of every kernel, in the order of `kernels`.

        Returns
        -------
        ndarray of int8, shape (n,)
            A cut of value ``total`` of the kernels' cut values.

        Raises
        ------
        InputError
            If the number or the shape of the cuts is wrong.
        """
        if len(sides) != len(self.kernels):
            raise InputError(f"sides must hold {len(self.kernels)} cuts, got {len(sides)}")
        checked = [kernel.problem.check_side(side) for kernel, side in zip(self.kernels, sides, strict=True)]
        per_block = [
            checked[which] if side is None else side
            for side, which in zip(self._block_sides, self._kernel_of_block, strict=True)
        ]
        return self.elimination.lift(join_sides(self.problem.n, list(self._blocks), per_block))


def reduce_problem(problem: MaxCutProblem) -> Reduction:
    """Return the graph as a constant and undecided kernels, exactly.

    Vertices of at most two neighbours are eliminated, the rest is split into biconnected blocks, and balanced blocks
    (bipartite ones, for positive weights) are decided outright.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph; any weights.

    Returns
    -------
    Reduction
        Kernels, the constant and the way back.

    Raises
    ------
    InputError
        If weights range over more than 900 binary orders of magnitude.

    Notes
    -----
    Time O(n + m) in Python loops: seconds for 10^6 edges.  Deterministic; all arithmetic is in whole numbers.

    Examples
    --------
    A tree, a cycle and everything made of them by single vertices is decided.

    >>> reduction = reduce_problem(MaxCutProblem.from_edges([0, 1, 2, 2, 3, 4], [1, 2, 0, 3, 4, 2]))
    >>> len(reduction.kernels), reduction.total([])
    (0, Fraction(4, 1))
    """
    scaled, exponent = _whole_numbers(problem)
    elimination = eliminate_low_degree(scaled)
    blocks = biconnected_blocks(elimination.problem)
    parts = _split(elimination.problem, blocks)
    sides: list[NDArray[np.int8] | None] = []
    offset, undecided = elimination.offset, []
    for index, part in enumerate(parts):
        side, is_balanced = balanced_sides(part)
        if is_balanced.all():
            sides.append(side)
            offset += int(part.cut_value(side))
        else:
            sides.append(None)
            undecided.append(index)
    undecided.sort(key=lambda index: -parts[index].n)
    place = {index: rank for rank, index in enumerate(undecided)}
    kernels = tuple(Kernel(parts[index], blocks[index]) for index in undecided)
    which = tuple(place.get(index, -1) for index in range(len(parts)))
    return Reduction(problem, scaled, kernels, offset, exponent, elimination, tuple(blocks), tuple(sides), which)


def _whole_numbers(problem: MaxCutProblem) -> tuple[MaxCutProblem, int]:
    """Return the graph with weights times 2^exponent, all whole, and the exponent."""
    if problem.is_integer:
        return problem, 0
    ratios = [weight.as_integer_ratio() for weight in problem.weights.tolist()]
    bottom = max(q for _, q in ratios)
    exponent = bottom.bit_length() - 1
    if exponent + int(np.frexp(problem.scale)[1]) > _MAX_BITS:
        raise InputError(f"weights range over more than {_MAX_BITS} binary orders of magnitude")
    whole = [p * (bottom // q) for p, q in ratios]
    return MaxCutProblem.from_edges(problem.heads, problem.tails, whole, n=problem.n), exponent


def _split(problem: MaxCutProblem, blocks: list[IndexArray]) -> list[MaxCutProblem]:
    """Return the problem of every block, all in time O(n + m)."""
    if not blocks:
        return []
    # An edge belongs to the block that holds both of its ends: look for the common one among the few of each end.
    member = [[] for _ in range(problem.n)]  # type: list[list[int]]
    for index, block in enumerate(blocks):
        for vertex in block.tolist():
            member[vertex].append(index)
    single = np.array([own[0] if len(own) == 1 else -1 for own in member], dtype=np.int64)
    owner = np.maximum(single[problem.heads], single[problem.tails])
    sets = [frozenset(own) if len(own) > 1 else frozenset() for own in member]
    for edge in np.flatnonzero((single[problem.heads] < 0) & (single[problem.tails] < 0)).tolist():
        (owner[edge],) = sets[problem.heads[edge]] & sets[problem.tails[edge]]
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner[order], np.arange(len(blocks) + 1))
    parts = []
    for index, block in enumerate(blocks):
        edges = order[ends[index] : ends[index + 1]]
        heads, tails = np.searchsorted(block, problem.heads[edges]), np.searchsorted(block, problem.tails[edges])
        parts.append(MaxCutProblem.from_edges(heads, tails, problem.exact_weights[edges], n=int(block.size)))
    return parts
