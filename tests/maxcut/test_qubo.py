"""Minima of quadratic binary programs against all assignments, with bounds that hold and proofs that are checked."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from derand.exceptions import CertificateError, InputTypeError
from derand.maxcut.quadratic import from_ising
from derand.maxcut.qubo import solve_qubo


def _minimum(Q, offset=0):
    n = Q.shape[0]
    exact = [[Fraction(q) for q in row] for row in Q.tolist()]
    best = None
    for x in itertools.product([0, 1], repeat=n):
        chosen = [i for i in range(n) if x[i]]
        value = Fraction(offset) + sum(exact[i][j] for i in chosen for j in chosen)
        best = value if best is None else min(best, value)
    return best


@pytest.mark.parametrize("seed", range(4))
def test_integer_minima(seed):
    rng = np.random.default_rng(seed)
    Q = rng.integers(-9, 10, (9, 9))
    solution = solve_qubo(Q, 17, effort=1)
    assert solution.value == _minimum(Q, 17) == solution.x @ Q @ solution.x + 17
    assert isinstance(solution.value, int)
    assert isinstance(solution.lower_bound, int)
    assert solution.lower_bound <= solution.value
    assert solution.verify(Q, 17)


@pytest.mark.parametrize("seed", range(3))
def test_float_minima(seed):
    Q = np.random.default_rng(seed).standard_normal((8, 8))
    solution = solve_qubo(Q, effort=1)
    optimum = _minimum(Q)
    assert solution.value == float(optimum)
    assert Fraction(solution.lower_bound) <= optimum
    assert solution.is_optimal
    assert solution.gap == 0.0
    assert solution.verify(Q)


def test_larger_instances_have_a_bound_below_every_sample():
    rng = np.random.default_rng(8)
    Q = np.triu(rng.integers(-50, 51, (60, 60)))
    solution = solve_qubo(Q, effort=1)
    samples = rng.integers(0, 2, (2000, 60))
    values = np.einsum("ki,ij,kj->k", samples, Q, samples)
    assert solution.lower_bound <= solution.value <= values.min()
    assert 0.0 <= solution.gap < 0.2
    assert solution.verify(Q)


def test_spin_glass_by_labels():
    # A frustrated triangle: one coupling stays unsatisfied, and the field picks the orientation.
    model = from_ising({"a": 0.5}, {("a", "b"): 1, ("b", "c"): 1, ("a", "c"): 1})
    solution = solve_qubo(model)
    assert solution.value == solution.lower_bound == -1.5
    assert solution.assignment["a"] == -1
    assert sum(solution.assignment.values()) in {-1, 1}


def test_without_a_bound():
    solution = solve_qubo([[1, -3], [0, 1]], bound=False)
    assert (solution.value, solution.lower_bound, solution.gap, solution.is_optimal) == (-1, None, None, False)
    with pytest.raises(CertificateError):
        solution.certificate()


def test_empty_form():
    solution = solve_qubo({}, 4)
    assert (solution.x.size, solution.value, solution.lower_bound) == (0, 4, 4)


def test_verify_refuses_other_coefficients():
    solution = solve_qubo([[-2, 3], [0, -1]])
    for other in ([[-2, 3], [0, -4]], [[-3, 3], [0, -1]], [[1]]):
        with pytest.raises(CertificateError):
            solution.verify(other)


def test_model_takes_no_offset():
    model = from_ising([1], {})
    with pytest.raises(InputTypeError, match="offset"):
        solve_qubo(model, 3)
