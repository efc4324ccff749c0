import itertools
import math

import numpy as np
import pytest
from numpy.polynomial import hermite_e

from derand.exceptions import InputError, InputTypeError, NonConvergenceError
from derand.two_step import information_exponent, leap_exponent, power_exponent


def he(k):
    return lambda z: hermite_e.hermeval(z, [0.0] * k + [1.0])


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7])
def test_hermite_polynomials(k):
    assert information_exponent(he(k)) == k
    assert information_exponent(lambda z: 1e6 * he(k)(z) + 3.0) == k
    assert power_exponent(he(k), max_power=4) == (1 if k % 2 else 2)


def test_others():
    assert information_exponent(np.abs) == power_exponent(np.abs) == 2
    bump = lambda z: z**2 * np.exp(-(z**2))  # noqa: E731
    assert information_exponent(bump) == power_exponent(bump) == 4
    assert information_exponent(lambda z: np.sin(z) - math.exp(1.5) / 2 * np.sin(2 * z)) == 3
    assert information_exponent(lambda z: np.full_like(z, 2.0)) == math.inf
    assert information_exponent(he(5), max_degree=4) == math.inf
    assert information_exponent(lambda z: np.maximum(z - 0.2, 0), kinks=[0.2]) == 1


def test_bad_links():
    with pytest.raises(NonConvergenceError):
        information_exponent(lambda z: np.abs(z - 0.3))
    with pytest.raises(InputError, match="max_degree"):
        information_exponent(np.tanh, max_degree=0)
    with pytest.raises(InputError, match="max_power"):
        power_exponent(np.tanh, max_power=0)
    with pytest.raises(InputError, match="grows too fast"):
        information_exponent(np.exp if False else (lambda z: np.exp(0.3 * z**2)))


def test_leaps():
    assert leap_exponent([{0}, {0, 1}, {0, 1, 2}]) == 1
    assert leap_exponent([{0, 1, 2}]) == 3
    assert leap_exponent([{0}, {0, 1, 2}, {3, 4, 1, 2}]) == 2
    assert leap_exponent([(1, 0), (1, 1)]) == 1
    assert leap_exponent([(3,)]) == 3
    assert leap_exponent([(2, 0), (0, 1)]) == 2
    assert leap_exponent(np.array([[1, 0], [1, 2]])) == 2
    assert leap_exponent([]) == leap_exponent([(0, 0)]) == 0


def test_leap_against_all_orders():
    """The greedy order against every one of them."""
    rng = np.random.default_rng(0)

    def cost(order):
        seen, worst = set(), 0
        for term in order:
            worst = max(worst, sum(degree for k, degree in enumerate(term) if k not in seen))
            seen |= {k for k, degree in enumerate(term) if degree}
        return worst

    for _ in range(40):
        terms = [tuple(map(int, rng.integers(0, 3, size=4))) for _ in range(rng.integers(1, 6))]
        assert leap_exponent(terms) == min(cost(order) for order in itertools.permutations(terms))


@pytest.mark.parametrize(
    ("terms", "error"),
    [
        ([(1, 0), (1,)], InputError),
        ([(-1,)], InputError),
        (["ab"], InputTypeError),
        ([3], InputTypeError),
        ([(0.5,)], InputTypeError),
    ],
)
def test_bad_terms(terms, error):
    with pytest.raises(error, match="indices"):
        leap_exponent(terms)


@pytest.mark.parametrize("exponent", [information_exponent, power_exponent])
def test_a_link_that_is_no_function(exponent):
    with pytest.raises(InputTypeError, match="function of an array, got str"):
        exponent("z")
