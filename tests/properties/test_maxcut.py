"""Laws of maximum cuts: scaling, relabelling, isolated vertices, unions, the two sides, bounds, degenerate input."""

import itertools
import math
import random
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from derand.estimators import MaxCutClusterer
from derand.exceptions import InputError
from derand.graphs import maxcut
from derand.maxcut.exhaustive import best_cut_exhaustive
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.qubo import solve_qubo
from derand.maxcut.solve import solve_maxcut
from tests.maxcut.graphs import brute_force, random_graph

_N = 9
_edges = st.lists(
    st.tuples(st.integers(0, _N - 1), st.integers(0, _N - 1), st.integers(-20, 20)), min_size=1, max_size=24
)
# The optimum of graphs this small is found (asserted below), so that laws of the optimum are laws of the answer.
_few = settings(max_examples=25)


def _problem(edges, n=_N, scale=1):
    heads, tails, weights = zip(*edges, strict=True)
    return MaxCutProblem.from_edges(heads, tails, [scale * w for w in weights], n=n)


def _solve(problem, **options):
    return solve_maxcut(problem, effort=1, **options)


@_few
@given(_edges)
def test_the_optimum_is_found_and_bounded(edges):
    problem = _problem(edges)
    solution = _solve(problem)
    assert solution.value == brute_force(problem) <= solution.upper_bound
    assert solution.is_guaranteed
    assert problem.cut_value(solution.side) == solution.value
    value, bound = solution.certificate().verify(problem)
    assert (value, math.floor(bound)) == (solution.value, solution.upper_bound)


@pytest.mark.medium
@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["unit", "int", "float", "huge"]), st.integers(13, 17))
def test_the_optimum_beyond_enumeration(seed, weights, n):
    # More than 12 vertices and few of low degree: the relaxation, its derandomization and its dual bound are at work.
    problem = random_graph(np.random.default_rng(seed), n, 4 * n, weights)
    solution = _solve(problem)
    optimum = best_cut_exhaustive(problem)[0]
    assert solution.value <= optimum <= solution.upper_bound
    assert solution.value == pytest.approx(optimum, rel=1e-14)
    assert solution.is_guaranteed
    relabelled = np.random.default_rng(seed).permutation(n)
    other = MaxCutProblem.from_edges(relabelled[problem.heads], relabelled[problem.tails], problem.exact_weights, n=n)
    assert _solve(other).value == solution.value


@_few
@given(_edges, st.sampled_from([2, 7, 2**70, 0.5, 0.1, 1e-12, 1e12]))
def test_scaling_the_weights_scales_the_answer(edges, scale):
    base = _solve(_problem(edges))
    scaled_problem = _problem(edges, scale=scale)
    scaled = _solve(scaled_problem)
    exact = scale if isinstance(scale, int) else Fraction(scale)
    magnitude = float(np.abs(scaled_problem.weights).sum())
    # Weights times 0.1 are rounded one by one: the cut that is best may change within that rounding.
    slack = 0 if scale in {2, 7, 2**70, 0.5} else 1e-14 * magnitude
    assert abs(Fraction(scaled.value) - exact * base.value) <= slack
    assert scaled.upper_bound >= scaled.value
    if isinstance(scale, int):
        assert isinstance(scaled.value, int)
        assert scaled.is_optimal == base.is_optimal


@_few
@given(_edges, st.randoms(use_true_random=False))
def test_relabelling_and_shuffling(edges, rng):
    solution = _solve(_problem(edges))
    order = rng.sample(range(_N), _N)
    shuffled = [(order[j], order[i], w) if rng.random() < 0.5 else (order[i], order[j], w) for i, j, w in edges]
    rng.shuffle(shuffled)
    other = _solve(_problem(shuffled))
    assert (other.value, other.upper_bound) == (solution.value, solution.upper_bound)


@_few
@given(_edges, st.integers(1, 5))
def test_isolated_vertices_change_nothing(edges, extra):
    solution, more = _solve(_problem(edges)), _solve(_problem(edges, n=_N + extra))
    assert (more.value, more.upper_bound) == (solution.value, solution.upper_bound)
    assert more.side.shape == (_N + extra,)


@_few
@given(_edges, _edges)
def test_disjoint_unions_and_shared_vertices_add_up(first, second):
    one, two = _solve(_problem(first)), _solve(_problem(second))
    moved = [(i + _N, j + _N, w) for i, j, w in second]
    apart = _solve(_problem(first + moved, n=2 * _N))
    # Glued at one vertex, the cuts still don't interfere: either half may be turned over.
    glued = _solve(_problem(first + [(i + _N - 1, j + _N - 1, w) for i, j, w in second], n=2 * _N - 1))
    for both in (apart, glued):
        assert both.value == one.value + two.value
        assert both.upper_bound >= both.value
        assert not (one.is_optimal and two.is_optimal) or both.is_optimal


@_few
@given(_edges, st.lists(st.sampled_from([-1, 1]), min_size=_N, max_size=_N))
def test_turning_both_sides_over_and_complements(edges, side):
    problem = _problem(edges)
    s = np.array(side)
    assert problem.cut_value(s) == problem.cut_value(-s)
    # Moving a vertex changes the cut by its uncut minus its cut weight; the sum over vertices counts each edge twice.
    changes = [problem.cut_value(np.where(np.arange(_N) == k, -s, s)) - problem.cut_value(s) for k in range(_N)]
    assert sum(changes) == 2 * problem.total_weight - 4 * problem.cut_value(s)


@_few
@given(_edges)
def test_negated_weights_give_the_smallest_cut(edges):
    problem, negated = _problem(edges), _problem(edges, scale=-1)
    smallest = min(problem.cut_value(np.array([1, *rest])) for rest in itertools.product([1, -1], repeat=problem.n - 1))
    solution = _solve(negated)
    assert solution.value == -smallest <= solution.upper_bound
    # A lower bound on every cut and an upper bound on every cut leave room for all of them.
    assert -solution.upper_bound <= smallest <= _solve(problem).upper_bound


@_few
@given(st.integers(2, 9), st.integers(1, 12))
def test_complete_and_complementary_graphs(n, seed):
    G = nx.gnp_random_graph(n, 0.5, seed=seed)
    whole = (n // 2) * (n - n // 2)
    G_result, other = (maxcut(H, weight=None, effort="quick", bound=True) for H in (G, nx.complement(G)))
    side = G_result.partition[0]
    # A cut of G and the same cut of its complement fill a cut of the complete graph, at most floor(n^2/4) edges.
    assert nx.cut_size(G, side) + nx.cut_size(nx.complement(G), side) == len(side) * (n - len(side)) <= whole
    assert whole <= G_result.upper_bound + other.upper_bound
    assert maxcut(nx.complete_graph(n), effort="quick").value == whole


@_few
@given(_edges, st.integers(0, _N - 1))
def test_switching_a_vertex(edges, k):
    problem = _problem(edges)
    # Negating the weights at one vertex moves the optimum by the weight that this vertex had: x -> cut + const.
    switched = _problem([(i, j, -w if (i == k) != (j == k) else w) for i, j, w in edges])
    at_vertex = sum(w for i, j, w in edges if (i == k) != (j == k))
    assert _solve(switched).value == _solve(problem).value - at_vertex


@_few
@given(_edges)
def test_more_weight_never_lowers_the_optimum(edges):
    (i, j, w), *rest = edges
    assume(i != j)
    assert _solve(_problem([(i, j, w + 5), *rest])).value >= _solve(_problem(edges)).value


@_few
@given(_edges, st.randoms(use_true_random=False))
def test_labels_of_any_kind(edges, rng):
    kinds = [str, lambda k: (k, "x"), lambda k: frozenset({k}), float, lambda k: k if k % 2 else str(k)]
    name = rng.choice(kinds)
    G = nx.MultiGraph()
    G.add_nodes_from(map(name, range(_N)))
    G.add_weighted_edges_from((name(i), name(j), w) for i, j, w in edges)
    result, solution = maxcut(G, effort="quick"), _solve(_problem(edges))
    assert (result.value, result.upper_bound) == (solution.value, solution.upper_bound)
    assert set().union(*result.partition) == set(G)
    assert result.verify(G)


@_few
@given(_edges, st.randoms(use_true_random=False))
def test_order_of_nodes_whose_labels_are_sets(edges, rng):
    # Comparing sets is inclusion: sorting them would keep the order in which the nodes were added.
    def graph(order):
        G = nx.MultiGraph()
        G.add_nodes_from(frozenset({k, k + 1}) for k in order)
        G.add_weighted_edges_from((frozenset({i, i + 1}), frozenset({j, j + 1}), w) for i, j, w in edges)
        return maxcut(G, effort="quick")

    assert graph(range(_N)).partition == graph(rng.sample(range(_N), _N)).partition


@_few
@given(_edges)
def test_clusters_and_quadratic_programs_are_the_same_problem(edges):
    problem = _problem(edges)
    weights = problem.adjacency.toarray()
    optimum = brute_force(problem)
    assert MaxCutClusterer("precomputed").fit(weights).value_ == optimum
    # -cut(x) = sum_ij w_ij (x_i x_j - x_i) over ordered pairs.
    assert solve_qubo((weights - np.diag(weights.sum(axis=1))).astype(np.int64), effort=1).value == -optimum


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_graphs_without_edges(n):
    for edges in ([], [(k, k, 3) for k in range(n)]):
        heads, tails, weights = zip(*edges, strict=True) if edges else ([], [], [])
        solution = _solve(MaxCutProblem.from_edges(heads, tails, weights, n=n))
        assert (solution.value, solution.upper_bound, solution.is_optimal, solution.gap) == (0, 0, True, 0.0)
        assert solution.certificate().verify(solution.problem) == (0, 0)


@pytest.mark.parametrize("weight", [-1, -0.25, -(2**80)])
def test_all_negative_weights(weight):
    rng = random.Random(1)
    pairs = rng.sample(list(itertools.combinations(range(14), 2)), 40)
    heads, tails = zip(*pairs, strict=True)
    solution = _solve(MaxCutProblem.from_edges(heads, tails, [weight] * 40))
    assert (solution.value, solution.upper_bound, solution.is_optimal) == (0, 0, True)


def test_weights_that_cancel():
    solution = _solve(MaxCutProblem.from_edges([0, 1, 1], [1, 0, 2], [5, -5, 1]))
    assert (solution.value, solution.upper_bound) == (1, 1)


def test_weights_over_many_orders_of_magnitude():
    problem = MaxCutProblem.from_edges([0, 1, 2, 0, 1], [1, 2, 0, 3, 3], [1e-100, 1.0, 1e100, 3.0, -1e-3])
    solution = _solve(problem)
    assert solution.value == brute_force(problem) <= solution.upper_bound
    with pytest.raises(InputError, match="orders of magnitude"):
        _solve(MaxCutProblem.from_edges([0, 1], [1, 2], [1e-200, 1e200]))
