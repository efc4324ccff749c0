import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.two_step import is_single_step, new_spike_orders, predicted_count, spike_exponents
from derand.two_step.count import as_exponent


def test_all_pairs_of_two_decimals():
    """Integers are the reference: floor((j/100)/(1/2 - i/100)) = j // (50 - i)."""
    naive = 0
    for i in range(50):
        for j in range(50):
            truth = j // (50 - i)
            assert predicted_count(i / 100, j / 100) == 1 + truth
            assert predicted_count(i / 100, j / 100, 4) == 1 + min(truth, 3)
            assert is_single_step(i / 100, j / 100) == (i + j < 50) == (truth == 0)
            naive += math.floor((j / 100) / (0.5 - i / 100)) != truth
    assert naive == 112


def test_ways_to_write_a_number():
    grid = np.linspace(0.0, 0.49, 50)
    for i, value in enumerate(grid):
        for same in (value, i * 0.01, f"{i / 100:.2f}", Decimal(i) / 100, Fraction(i, 100), np.float64(i / 100)):
            assert as_exponent(same) == Fraction(i, 100)
    assert as_exponent(0) == 0
    assert as_exponent(math.pi / 10) == Fraction(math.pi / 10)  # no short fraction: taken as it is


def test_coefficients():
    assert new_spike_orders(0.4, 0.4, coefficients="relu") == (1, 3)
    assert new_spike_orders(0.4, 0.4, coefficients="tanh") == (2, 4)
    assert new_spike_orders(0.4, 0.4, coefficients=[0, 1, 0, 0.5]) == (2,)
    assert new_spike_orders(0.4, 0.4, coefficients=[0, 1, 0.5, 0.2]) == (1, 2) == new_spike_orders(0.4, 0.4, 3)
    assert predicted_count(0.4, 0.4, coefficients=[0, 1]) == predicted_count(0.4, 0.4, 1) == 1
    assert predicted_count(0.1, 0.1, coefficients="gelu") == 1


def test_memory_fills_gaps():
    """c_3 = 0, but E[sigma''' sigma'] = 24 c_4 E[z sigma'] isn't."""
    series = [0.0, 1.0, 0.5, 0.0, 0.2]
    assert new_spike_orders(0.4, 0.3, coefficients=series) == (1, 3)
    assert new_spike_orders(0.4, 0.3, coefficients=series, memory=True) == (1, 2, 3)
    assert new_spike_orders(0.4, 0.3, coefficients="tanh", memory=True) == (2,)  # parity, not an accident


def test_exponents_of_spikes():
    assert spike_exponents("0.45", "0.3", 2) == (Fraction(9, 20), Fraction(1, 4), Fraction(1, 5))
    assert spike_exponents(0, 0.25, 1) == (Fraction(1, 4), Fraction(-1, 4))
    for i in range(0, 50, 7):
        for j in range(0, 50, 3):
            exponents = spike_exponents(i / 100, j / 100, 60)[1:]
            assert sum(e >= 0 for e in exponents) == predicted_count(i / 100, j / 100) - 1


@pytest.mark.parametrize("bad", [0.5, -0.01, math.nan, math.inf, "1/2", "x", Fraction(3, 4)])
def test_exponents_out_of_range(bad):
    with pytest.raises(InputError, match="alpha1"):
        predicted_count(bad, 0.1)
    with pytest.raises(InputError, match="alpha2"):
        predicted_count(0.1, bad)


def test_bad_arguments():
    for bad in (True, None, [0.1]):
        with pytest.raises(InputTypeError, match="alpha1"):
            predicted_count(bad, 0.1)
    with pytest.raises(InputError, match="both"):
        predicted_count(0.1, 0.1, 3, coefficients=[0, 1])
    with pytest.raises(InputError, match="c_1"):
        predicted_count(0.1, 0.1, coefficients=[0, 0, 1])
    with pytest.raises(InputError, match="c_1"):
        predicted_count(0.1, 0.1, coefficients="abs")
    with pytest.raises(InputError, match="c_1"):
        predicted_count(0.1, 0.1, coefficients=[1.0])
    with pytest.raises(InputError, match="degree"):
        predicted_count(0.1, 0.1, 0)
