import math
from fractions import Fraction

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.maxcut.weights import convert_weights, exact_integers, sum_parallel

HEADS, TAILS = np.array([0, 1]), np.array([1, 2])


def test_missing_weights_are_one():
    assert convert_weights(None, HEADS, TAILS).tolist() == [1, 1]


@pytest.mark.parametrize("big", [2**53 + 1, 2**63, -(2**200)])
def test_large_integers_stay_exact(big):
    assert convert_weights([big, 3], HEADS, TAILS).tolist() == [big, 3]


def test_unsigned_weights_above_the_signed_range_stay_exact():
    values = convert_weights(np.array([2**64 - 1, 1], dtype=np.uint64), HEADS, TAILS)
    assert values.tolist() == [2**64 - 1, 1]


def test_mixed_entries_become_floats():
    assert convert_weights([1, Fraction(1, 2)], HEADS, TAILS).tolist() == [1.0, 0.5]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", [list, np.array])
def test_non_finite_weight_names_the_edge(bad, kind):
    with pytest.raises(InputError, match=r"edge \(1, 2\)"):
        convert_weights(kind([1.0, bad]), HEADS, TAILS)


@pytest.mark.parametrize("bad", [None, "3", 1j, [1]])
def test_wrong_type_names_the_edge(bad):
    with pytest.raises(InputTypeError, match=r"edge \(1, 2\)"):
        convert_weights([1, bad], HEADS, TAILS)


def test_integer_above_the_float_range_is_refused():
    with pytest.raises(InputError, match="too large"):
        convert_weights([10**400, 1], HEADS, TAILS)


def test_parallel_integers_are_summed_exactly():
    values = np.array([2**61, 2**61, 2**61, 5], dtype=np.int64)
    keys, summed = sum_parallel(np.array([4, 4, 4, 1]), values, keep=np.ones(4, dtype=bool))
    assert keys.tolist() == [1, 4]
    assert summed.tolist() == [5, 3 * 2**61]


def test_parallel_floats_do_not_depend_on_their_order():
    values = np.array([1e16, 1.0, -1e16, 1e-3])
    keys = np.zeros(4, dtype=np.int64)
    sums = {
        float(sum_parallel(keys, values[list(order)], keep=np.ones(4, dtype=bool))[1][0])
        for order in ([0, 1, 2, 3], [2, 3, 1, 0])
    }
    assert sums == {1.001}


def test_exact_integers_widen_before_sums_could_wrap():
    small, large = np.array([3.0, -4.0]), np.array([2.0**62, 2.0**61])
    assert exact_integers(small, small).dtype == np.int64
    assert exact_integers(large, large).tolist() == [2**62, 2**61]
    assert exact_integers(np.array([0.5]), np.array([0.5])) is None
