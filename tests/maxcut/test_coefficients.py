"""Coefficients of all containers as exact whole numbers."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from derand.exceptions import InputError, InputTypeError
from derand.io import EdgeList
from derand.maxcut.coefficients import check_offset, linear_terms, quadratic_terms


def _form(terms):
    total = {}
    for i, j, value in zip(terms.rows.tolist(), terms.cols.tolist(), terms.values.tolist(), strict=True):
        key = (terms.variables[i], terms.variables[j])
        total[key] = total.get(key, 0) + Fraction(value, 2**terms.exponent)
    return total


def test_mapping_with_any_labels():
    terms = quadratic_terms({("b", (1, 2)): 3, ((1, 2), (1, 2)): 2**70})
    assert set(terms.variables) == {"b", (1, 2)}
    assert _form(terms) == {("b", (1, 2)): 3, ((1, 2), (1, 2)): 2**70}


@pytest.mark.parametrize("kind", [np.array, sp.coo_array, sp.csr_matrix, np.ndarray.tolist])
def test_matrices_of_all_kinds(kind):
    dense = np.array([[1.5, -2.0, 0.0], [0.0, 0.0, 0.25], [4.0, 0.0, 0.0]])
    terms = quadratic_terms(kind(dense))
    assert terms.variables == (0, 1, 2)
    assert _form(terms) == {(0, 0): Fraction(3, 2), (0, 1): -2, (1, 2): Fraction(1, 4), (2, 0): 4}
    assert terms.exponent == 2


def test_floats_are_exact():
    values = np.random.default_rng(0).standard_normal(50) * 10.0 ** np.arange(-25, 25)
    terms = linear_terms(values)
    assert [Fraction(v, 2**terms.exponent) for v in terms.values.tolist()] == [Fraction(v) for v in values.tolist()]


def test_entries_of_files_count_twice_unless_directed():
    ends = ([0, 0], [0, 1], [5, 3])
    assert _form(quadratic_terms(EdgeList(2, *ends))) == {(1, 1): 5, (1, 2): 6}
    assert _form(quadratic_terms(EdgeList(2, *ends, directed=True))) == {(1, 1): 5, (1, 2): 3}
    assert _form(quadratic_terms(EdgeList(2, *ends), symmetric=False)) == {(1, 1): 5, (1, 2): 3}
    assert _form(quadratic_terms({("a", "b"): 3, ("a", "a"): 5}, symmetric=True)) == {("a", "a"): 5, ("a", "b"): 6}


def test_sums_over_the_union_of_variables():
    both = linear_terms({"b": 0.5}).joined(quadratic_terms({("a", "b"): 3}))
    assert both.variables == ("a", "b")
    assert _form(both) == {("b", "b"): Fraction(1, 2), ("a", "b"): 3}


@pytest.mark.parametrize(
    ("Q", "error", "match"),
    [
        ([[1, 2, 3], [4, 5, 6]], InputError, "square"),
        ([1, 2], InputError, "square"),
        ([[np.nan]], InputError, "finite"),
        ([[np.inf]], InputError, "finite"),
        ({("a", "b"): float("nan")}, InputError, "a, b"),
        ({("a", "b"): "x"}, InputTypeError, "a, b"),
        ({("a", "b"): None}, InputTypeError, "a, b"),
        ({"a": 1}, InputError, "pairs"),
        ({("a", "b", "c"): 1}, InputError, "pairs"),
        ([[1j]], InputTypeError, "real"),
        ([[1e300, 1e-300], [0, 0]], InputError, "orders of magnitude"),
        ([[10**400]], InputError, "large"),
    ],
)
def test_bad_coefficients_are_named(Q, error, match):
    with pytest.raises(error, match=match):
        quadratic_terms(Q)


def test_symmetric_matrix_entries_are_not_doubled():
    with pytest.raises(InputTypeError, match="symmetric"):
        quadratic_terms([[1]], symmetric=True)


def test_fields_must_be_a_vector():
    with pytest.raises(InputError, match="one dimension"):
        linear_terms(np.zeros((2, 2)))


def test_offsets():
    assert check_offset(2**80) == 2**80
    assert check_offset(np.float32(0.5)) == Fraction(1, 2)
    assert check_offset(Fraction(1, 3)) == Fraction(1, 3)
    assert check_offset(np.int8(-3)) == -3
    with pytest.raises(InputError, match="offset"):
        check_offset(float("inf"))
    with pytest.raises(InputTypeError, match="offset"):
        check_offset("1")
