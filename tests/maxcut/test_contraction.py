"""Contraction keeps cut values; recombination never loses and finds the best mix of components."""

import itertools

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.maxcut.contraction import contract_agreement, recombine
from derand.maxcut.problem import MaxCutProblem
from tests.maxcut.graphs import brute_force, random_graph, torus


def random_sides(rng, n, count):
    return rng.choice(np.array([-1, 1], dtype=np.int8), (n, count))


@pytest.mark.parametrize("weights", ["int", "float", "huge"])
def test_cut_values_are_kept(weights):
    rng = np.random.default_rng(0)
    for _ in range(20):
        problem = random_graph(rng, 12, 20, weights)
        sides = random_sides(rng, 12, 3)
        sides[:8, 1:] = sides[:8, :1]
        contraction = contract_agreement(problem, sides)
        assert contraction.problem.n < 12
        base = problem.cut_value(contraction.lift(np.ones(contraction.problem.n, dtype=np.int8)))
        assert base == problem.cut_value(sides[:, 0])
        groups = random_sides(rng, contraction.problem.n, 1)[:, 0]
        value = base + contraction.problem.cut_value(groups)
        assert problem.cut_value(contraction.lift(groups)) == pytest.approx(value, rel=1e-12)


def test_parents_are_cuts_of_the_merged_graph():
    rng = np.random.default_rng(1)
    problem = torus(8, 8, rng)
    sides = random_sides(rng, 64, 2)
    sides[:40, 1] = sides[:40, 0]
    contraction = contract_agreement(problem, sides)
    lifted = contraction.lift(contraction.restrict(sides))
    # the same cuts, up to flips of all vertices of connected components
    assert [problem.cut_value(lifted[:, r]) for r in range(2)] == [problem.cut_value(sides[:, r]) for r in range(2)]


def test_best_merged_cut_is_not_below_any_parent():
    rng = np.random.default_rng(2)
    for _ in range(10):
        problem = random_graph(rng, 14, 30)
        sides = random_sides(rng, 14, 3)
        contraction = contract_agreement(problem, sides)
        if contraction.problem.n <= 12:
            best = problem.cut_value(sides[:, 0]) + brute_force(contraction.problem)
            assert best >= max(problem.cut_value(sides[:, r]) for r in range(3))


def test_recombination_is_the_best_choice_of_components():
    rng = np.random.default_rng(3)
    for _ in range(20):
        problem = random_graph(rng, 12, 12)
        sides = random_sides(rng, 12, 2)
        side, gain = recombine(problem, sides[:, 0], sides[:, 1:])
        assert problem.cut_value(side) == problem.cut_value(sides[:, 0]) + gain
        assert problem.cut_value(side) >= max(problem.cut_value(sides[:, r]) for r in range(2))
        # by brute force over unions of components of the smaller set of differing vertices
        different = sides[:, 0] != sides[:, 1]
        if 2 * different.sum() > 12:
            different = ~different
        parts = components(problem, np.flatnonzero(different))
        values = []
        for choice in itertools.product([False, True], repeat=len(parts)):
            trial = sides[:, 0].copy()
            for part, chosen in zip(parts, choice, strict=True):
                if chosen:
                    trial[part] *= -1
            values.append(problem.cut_value(trial))
        assert problem.cut_value(side) == max(values)


def components(problem, vertices):
    parts, left = [], set(vertices.tolist())
    neighbors = {v: set() for v in left}
    for i, j in zip(problem.heads.tolist(), problem.tails.tolist(), strict=True):
        if i in left and j in left:
            neighbors[i].add(j)
            neighbors[j].add(i)
    while left:
        stack, part = [left.pop()], []
        while stack:
            v = stack.pop()
            part.append(v)
            for other in neighbors[v] & left:
                left.remove(other)
                stack.append(other)
        parts.append(part)
    return parts


def test_identical_cuts_change_nothing():
    problem = MaxCutProblem.from_edges([0, 1], [1, 2])
    side = np.array([1, -1, 1], dtype=np.int8)
    found, gain = recombine(problem, side, np.column_stack([side, -side]))
    assert gain == 0.0
    assert np.array_equal(found, side)
    with pytest.raises(InputError, match="sides"):
        contract_agreement(problem, np.ones((3, 0), dtype=np.int8))
