"""Signs, factors and offsets of every conversion, on all assignments of small random instances."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from derand.exceptions import InputError, InputTypeError
from derand.io.qubo import parse_qubo
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.quadratic import from_ising, from_maxcut, from_qubo, to_ising, to_qubo

_LABELS = ["a", 7, (1, 2), None, frozenset({3})]


def _qubo_value(Q, offset, assignment):
    return Fraction(offset) + sum(Fraction(q) * assignment[i] * assignment[j] for (i, j), q in Q.items())


def _ising_value(h, J, offset, assignment):
    return _qubo_value(J, offset, assignment) + sum(Fraction(b) * assignment[i] for i, b in h.items())


def _assignments(model, low):
    for values in itertools.product([low, 1], repeat=model.n_variables):
        yield values, dict(zip(model.variables, values, strict=True))


_WEIGHTS = {
    "int": st.integers(-9, 9),
    "huge": st.integers(-(2**90), 2**90),
    "float": st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda q: q == 0 or abs(q) > 1e-6),
}


def _forms(kind):
    pair = st.tuples(st.sampled_from(_LABELS), st.sampled_from(_LABELS))
    return st.dictionaries(pair, _WEIGHTS[kind], max_size=12)


@pytest.mark.medium
@pytest.mark.parametrize("kind", _WEIGHTS)
def test_qubo_energies_are_exact(kind):
    @given(_forms(kind), _WEIGHTS[kind])
    def check(Q, offset):
        model = from_qubo(Q, offset)
        again = from_qubo(*to_qubo(model))
        h, J, shift = to_ising(model)
        for values, assignment in _assignments(model, 0):
            expected = _qubo_value(Q, offset, assignment)
            assert model.energy(values) == expected
            spins = {label: 2 * x - 1 for label, x in assignment.items()}
            if kind == "float":
                magnitude = sum(map(abs, [*Q.values(), offset]))
                assert float(_ising_value(h, J, shift, spins)) == pytest.approx(float(expected), abs=1e-13 * magnitude)
            else:
                assert _ising_value(h, J, shift, spins) == expected
                # A variable without any coefficient left is no variable of the written form.
                kept = [assignment[label] for label in again.variables]
                assert again.energy(kept) == expected

    check()


@pytest.mark.parametrize("kind", _WEIGHTS)
def test_ising_energies_are_exact(kind):
    @given(st.dictionaries(st.sampled_from(_LABELS), _WEIGHTS[kind]), _forms(kind), _WEIGHTS[kind])
    def check(h, J, offset):
        model = from_ising(h, J, offset)
        Q, constant = to_qubo(model)
        again = from_ising(*to_ising(model))
        for values, assignment in _assignments(model, -1):
            expected = _ising_value(h, J, offset, assignment)
            assert model.energy(values) == expected
            if kind != "float":
                binary = {label: (s + 1) // 2 for label, s in assignment.items()}
                assert _qubo_value(Q, constant, binary) == expected
                assert again.energy([assignment[label] for label in again.variables]) == expected

    check()


@pytest.mark.medium
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(-9, 9)), max_size=12))
def test_minus_the_cut_as_a_form(edges):
    heads, tails, weights = (list(column) for column in zip(*edges, strict=True)) if edges else ([], [], [])
    problem = MaxCutProblem.from_edges(heads, tails, weights, n=6)
    Q, offset = to_qubo(problem)
    h, J, shift = to_ising(problem)
    assert offset == 0
    for values in itertools.product([0, 1], repeat=6):
        cut = problem.cut_value([2 * x - 1 for x in values])
        assert _qubo_value(Q, offset, values) == -cut
        assert _ising_value(h, J, shift, [2 * x - 1 for x in values]) == -cut
        assert from_maxcut(problem).energy(values) == -cut


def test_fractional_weights_of_a_cut_problem():
    problem = MaxCutProblem.from_edges([0, 1], [1, 2], [0.1, -2.5])
    assert from_maxcut(problem).energy([0, 1, 1]) == -Fraction(0.1)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, np.ndarray.tolist])
def test_matrix_means_the_quadratic_form(kind):
    rng = np.random.default_rng(5)
    square = rng.integers(-5, 6, (6, 6))
    for Q in (np.triu(square), square + square.T, square):
        model = from_qubo(kind(Q), 3)
        for x in itertools.product([0, 1], repeat=6):
            assert model.energy(x) == np.array(x) @ Q @ np.array(x) + 3
    J = np.triu(square, 1)
    model = from_ising(square[0], kind(J))
    for s in itertools.product([-1, 1], repeat=6):
        assert model.energy(s) == square[0] @ np.array(s) + np.array(s) @ J @ np.array(s)


def test_round_trip_returns_the_coefficients():
    Q = {("a", "a"): -3, ("a", "b"): 5, ("b", "b"): 2**70 + 1, ("b", "c"): -(2**65)}
    assert to_qubo(from_qubo(Q, 11)) == (Q, 11)
    h, J = {"a": -3, "b": 2**70 + 1, "c": 0}, {("a", "b"): 5, ("b", "c"): -(2**65)}
    assert to_ising(from_ising(h, J, 11)) == (h, J, 11)
    floats = {(0, 0): 0.1, (0, 1): 0.7, (1, 1): -1e-3}
    assert to_qubo(from_qubo(floats, 0.3)) == (floats, 0.3)


def test_quarters_beyond_double_precision_stay_exact():
    _, J, _ = to_ising(from_qubo({(0, 1): 2**60 + 1}))
    assert J[0, 1] == Fraction(2**60 + 1, 4)


def test_entries_of_a_file_fill_a_symmetric_matrix():
    entries = parse_qubo(b"3 4\n1 1 -3\n1 2 4\n3 2 -1\n3 3 2\n")
    Q = np.array([[-3, 4, 0], [4, 0, -1], [0, -1, 2]])
    model = from_qubo(entries)
    assert model.variables == (1, 2, 3)
    for x in itertools.product([0, 1], repeat=3):
        assert model.energy(x) == np.array(x) @ Q @ np.array(x)


def test_values_and_sides_are_inverse():
    for model in (from_qubo([[1, 2], [3, 4]]), from_ising([1, 2], [[0, 1], [0, 0]])):
        low = 0 if model.vartype == "binary" else -1
        for values in itertools.product([low, 1], repeat=2):
            assert tuple(model.values(model.side(values)).tolist()) == values
            assert tuple(model.values(-model.side(values)).tolist()) == values


def test_empty_forms():
    model = from_qubo({}, 3)
    assert (model.n_variables, model.energy([])) == (0, 3)
    assert from_ising([], {}, 2).energy([]) == 2
    assert to_qubo(model) == ({}, 3)
    assert from_qubo(np.zeros((4, 4))).n_variables == 4


@pytest.mark.parametrize(("values", "match"), [([0], "shape"), ([0, 2], "index 1"), ([-1, 1], "index 0")])
def test_values_are_checked(values, match):
    with pytest.raises(InputError, match=match):
        from_qubo([[1, 2], [3, 4]]).energy(values)


def test_cut_problems_are_required():
    with pytest.raises(InputTypeError, match="MaxCutProblem"):
        from_maxcut([[0, 1], [1, 0]])
