import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from derand.exceptions import BudgetExceededError, InputError, InputTypeError
from derand.gaussian.quadrature import gauss_hermite, tensor_gauss_hermite


def exact_node_and_weight(n, start):
    """Return the zero of He_n next to ``start`` and its weight, by Newton steps with 40 digits."""
    with mp.workdps(40):

        def last_two(z):
            before, current = mp.mpf(0), mp.mpf(1)
            for k in range(1, n + 1):
                before, current = current, (z * current - mp.sqrt(k - 1) * before) / mp.sqrt(k)
            return before, current

        z = mp.mpf(start)
        for _ in range(2):
            before, current = last_two(z)
            z -= current / (mp.sqrt(n) * before)
        before, _ = last_two(z)
        return z, 1 / (n * before**2)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40, 371, 400, 1000, 2000])
def test_moments(n):
    nodes, weights = gauss_hermite(n)
    assert np.all(np.isfinite(nodes))
    assert np.all(weights >= 0.0)
    assert np.array_equal(nodes, -nodes[::-1])
    assert np.array_equal(weights, weights[::-1])
    assert np.all(np.diff(nodes) > 0.0)
    moment = 1.0
    for power in range(
        0, min(2 * n, 120), 2
    ):  # beyond 118 the double factorial leaves the range where powers are accurate
        # x^p/E x^p has relative error p eps/2 from each node
        assert abs(weights @ nodes**power / moment - 1.0) <= 1e-15 * (4 + power)
        moment *= power + 1


@pytest.mark.parametrize(("n", "indices"), [(40, (0, 5, 30)), (371, (0, 185, 200, 350)), (2000, (1001, 1500))])
def test_nodes_and_weights_against_mpmath(n, indices):
    nodes, weights = gauss_hermite(n)
    for index in indices:
        node, weight = exact_node_and_weight(n, float(nodes[index]))
        assert abs(nodes[index] - node) <= 1e-15 * max(1.0, abs(node))
        # the recurrence loses about n roundings; a weight moves by 2 x times the error of its node
        assert abs(weights[index] / weight - 1) <= 1e-15 * (4 + n)


@given(st.integers(1, 300), st.floats(-3.0, 3.0))
def test_cosine(n, frequency):
    nodes, weights = gauss_hermite(n)
    # remainder of Gauss-Hermite for cos(a z): at most n! a^(2n)/(2n)!
    bound = math.exp(
        min(700.0, math.lgamma(n + 1) - math.lgamma(2 * n + 1) + 2 * n * math.log(abs(frequency) or 1e-300))
    )
    assert abs(weights @ np.cos(frequency * nodes) - math.exp(-(frequency**2) / 2)) <= bound + 1e-14


def test_tensor_rule():
    nodes, weights = tensor_gauss_hermite(5, 3)
    assert nodes.shape == (125, 3)
    x, y, z = nodes.T
    assert abs(weights.sum() - 1) < 1e-14
    assert abs(weights @ (x**4 * y**2 * z**8) - 3 * 1 * 105) < 1e-10
    assert abs(weights @ (x * y**2)) < 1e-13
    assert np.array_equal(nodes[:5, 2], gauss_hermite(5)[0])


def test_one_dimension_is_the_plain_rule():
    nodes, weights = tensor_gauss_hermite(9, 1)
    assert np.array_equal(nodes[:, 0], gauss_hermite(9)[0])
    assert np.array_equal(weights, gauss_hermite(9)[1])


@pytest.mark.parametrize(("n", "dim"), [(10, 8), (2, 10**9), (300, 3)])
def test_memory_guard(n, dim):
    with pytest.raises(BudgetExceededError, match="max_nodes"):
        tensor_gauss_hermite(n, dim)


@pytest.mark.parametrize("n", [0, -3, 20_001])
def test_bad_number(n):
    with pytest.raises(InputError, match="n must"):
        gauss_hermite(n)
    with pytest.raises(InputError, match="n must"):
        tensor_gauss_hermite(n, 2)


@pytest.mark.parametrize("n", [2.0, "3", True, None])
def test_bad_type(n):
    with pytest.raises(InputTypeError, match="n must"):
        gauss_hermite(n)


def test_bad_dimension():
    with pytest.raises(InputError, match="dim"):
        tensor_gauss_hermite(3, 0)
