import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from derand.exceptions import InputError, InputTypeError
from derand.maxcut.problem import MaxCutProblem


def random_edges(rng, n=9, m=20):
    heads, tails = rng.integers(0, n, m), rng.integers(0, n, m)
    return heads, tails, rng.integers(-9, 10, m)


def test_edges_are_canonical_whatever_their_order():
    rng = np.random.default_rng(0)
    heads, tails, weights = random_edges(rng)
    problem = MaxCutProblem.from_edges(heads, tails, weights, n=9)
    order, flip = rng.permutation(heads.size), rng.integers(0, 2, heads.size).astype(bool)
    other = MaxCutProblem.from_edges(
        np.where(flip, tails, heads)[order], np.where(flip, heads, tails)[order], weights[order], n=9
    )
    for name in ("heads", "tails", "weights", "integer_weights"):
        assert np.array_equal(getattr(problem, name), getattr(other, name))
    assert np.all(problem.heads < problem.tails)
    assert np.all(problem.weights != 0)


def test_cut_value_is_the_sum_over_crossing_edges():
    rng = np.random.default_rng(1)
    heads, tails, weights = random_edges(rng)
    problem = MaxCutProblem.from_edges(heads, tails, weights, n=9)
    for bits in itertools.product([1, -1], repeat=9):
        expected = sum(int(w) for i, j, w in zip(heads, tails, weights, strict=True) if bits[i] != bits[j])
        assert problem.cut_value(bits) == expected


def test_cut_value_equals_the_laplacian_form():
    rng = np.random.default_rng(2)
    heads, tails, _ = random_edges(rng)
    problem = MaxCutProblem.from_edges(heads, tails, rng.standard_normal(heads.size), n=9)
    side = rng.choice([-1.0, 1.0], 9)
    # A few roundings of numbers below 10.
    assert problem.cut_value(side) == pytest.approx(side @ problem.laplacian_product(side) / 4, abs=1e-13)
    block = np.stack([side, side], axis=1)
    assert np.array_equal(problem.laplacian_product(block)[:, 0], problem.laplacian_product(block)[:, 1])


@pytest.mark.parametrize("big", [2**53 + 1, 10**30])
def test_whole_numbers_of_any_size_are_exact(big):
    problem = MaxCutProblem.from_edges([0, 1, 0], [1, 2, 1], [big, big, 2])
    assert problem.cut_value([1, -1, 1]) == 2 * big + 2
    assert type(problem.cut_value([1, -1, 1])) is int
    assert problem.total_weight == 2 * big + 2


def test_sums_beyond_64_bits_do_not_wrap():
    problem = MaxCutProblem.from_edges([0, 1, 2], [1, 2, 3], np.full(3, 2**62, dtype=np.int64))
    assert problem.cut_value([1, -1, 1, -1]) == 3 * 2**62


def test_self_loops_and_cancelled_edges_vanish():
    problem = MaxCutProblem.from_edges([0, 0, 1, 2], [0, 1, 0, 1], [7, 3, -3, 1])
    assert (problem.n, problem.n_edges) == (3, 1)
    assert problem.heads.tolist() == [1]


def test_empty_graphs():
    for n in (0, 1, 5):
        problem = MaxCutProblem.from_edges([], [], n=n)
        assert problem.cut_value(np.ones(n)) == 0
        assert problem.adjacency.shape == (n, n)
        assert problem.scale == 1.0
    assert MaxCutProblem.from_matrix(np.zeros((0, 0))).n == 0


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.coo_matrix])
def test_matrices_give_the_same_problem(make):
    dense = np.array([[5, 2, 0], [2, 0, -1], [0, -1, 0]])
    problem = MaxCutProblem.from_matrix(make(dense))
    assert list(zip(problem.heads.tolist(), problem.tails.tolist(), problem.weights.tolist(), strict=True)) == [
        (0, 1, 2.0),
        (1, 2, -1.0),
    ]
    assert problem.cut_value([1, -1, 1]) == 1


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1], [2, 0]], r"\(0, 1\)"),
        ([[0, 1], [0, 0]], "symmetric"),
        ([[0, np.nan], [np.nan, 0]], "finite"),
        (np.zeros((2, 3)), "square"),
    ],
)
def test_bad_matrices_are_refused(matrix, message):
    with pytest.raises(InputError, match=message):
        MaxCutProblem.from_matrix(matrix)


@pytest.mark.parametrize(
    ("heads", "tails", "weights", "n", "error"),
    [
        ([0], [1, 2], None, None, InputError),
        ([0], [1], [1, 2], None, InputError),
        ([0], [3], None, 2, InputError),
        ([-1], [1], None, None, InputError),
        ([0.5], [1], None, None, InputTypeError),
        ([[0]], [[1]], None, None, InputError),
        ([0], [1], None, -1, InputError),
        ([0], [1], None, 2**40, InputError),
        ([0, 1], [1, 2], [1e308, 1e308], None, InputError),
    ],
)
def test_bad_edges_are_refused(heads, tails, weights, n, error):
    with pytest.raises(error):
        MaxCutProblem.from_edges(heads, tails, weights, n=n)


@pytest.mark.parametrize("side", [[1, -1], [1, 0, 1], [1, np.nan, 1], ["a", "b", "c"]])
def test_bad_sides_are_refused(side):
    with pytest.raises(InputError, match="side"):
        MaxCutProblem.from_edges([0, 1], [1, 2]).cut_value(side)


def test_subproblem_is_induced():
    problem = MaxCutProblem.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [1, 2, 3, 4])
    part = problem.subproblem(np.array([3, 2, 1]))
    assert list(zip(part.heads.tolist(), part.tails.tolist(), part.integer_weights.tolist(), strict=True)) == [
        (0, 1, 3),
        (1, 2, 2),
    ]


def test_arrays_are_read_only():
    problem = MaxCutProblem.from_edges([0], [1], [2.0])
    with pytest.raises(ValueError, match="read-only"):
        problem.weights[0] = 1.0
