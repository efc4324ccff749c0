import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.two_step import as_activation
from derand.two_step.memory import active_orders, evaluate_table, memory_table, plain_table, slope_variance

_CUBIC = as_activation([0.0, 1.0, 0.5, 0.3])


def test_variance_of_the_slope():
    """sigma' = 1 + z + 0.9 (z^2 - 1): the Hermite coefficients 1 and 0.9 contribute 1 + 2 * 0.81."""
    assert slope_variance(_CUBIC) == pytest.approx(1.0 + 2 * 0.81, rel=1e-13)
    assert slope_variance(as_activation("relu")) == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize("activation", [_CUBIC, as_activation("gelu")])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("power", [0, 1])
def test_table_against_monte_carlo(activation, order, power):
    """T_k(y, r) as an average over z and xi, to five standard errors."""
    rng = np.random.default_rng(order)
    z, xi = rng.standard_normal((2, 400_000))
    variance, mean, r, u = 0.7, 0.4, -0.8, 0.6
    c1, c2 = activation.coefficients(2)[1:]
    moves = c1 * r + u * activation.derivative(z) + 2 * c2 * mean * z + math.sqrt(variance) * xi
    draws = z**power * activation.derivative(z, order + 1) * moves**order / math.factorial(order)
    table = memory_table(activation, order, variance=variance, mean=mean, power=power)
    found = evaluate_table(table, np.array([r]), np.array([u]))[0]
    error = float(np.std(draws)) / math.sqrt(draws.size)
    assert found == pytest.approx(float(np.mean(draws)), abs=5 * error + 1e-13)


def test_first_order_in_closed_form():
    """T_1 = 2 c_1 c_2 r + u E[sigma' sigma'']; a mean m adds 2 c_2 m E[z sigma''] = 2 c_2 m 6 c_3."""
    table = memory_table(_CUBIC, 1, variance=0.7, mean=0.4)
    slope_product = 1.0 + 2 * 0.9  # sigma' = 1 + z + 0.9 He_2, sigma'' = 1 + 1.8 z
    np.testing.assert_allclose(table, [[0.4 * 6 * 0.3, slope_product], [1.0, 0.0]], atol=1e-12)


def test_degree_two_has_no_memory_of_its_own():
    quadratic = as_activation([0.0, 1.3, -0.4])
    for order in (0, 1):
        np.testing.assert_allclose(
            memory_table(quadratic, order, variance=0.5), plain_table(quadratic, order), atol=1e-12
        )


def test_fresh_batches():
    """No power of u, but the noise of the first step stays: T_2 = 3 c_3 (c_1^2 r^2 + V)."""
    table = memory_table(_CUBIC, 2, variance=0.7, reuse=False)
    expected = np.zeros((3, 3))
    expected[0, 0], expected[2, 0] = 0.9 * 0.7, 0.9
    np.testing.assert_allclose(table, expected, atol=1e-12)


def test_plain_table_is_a_power_of_the_sum():
    rng = np.random.default_rng(0)
    r, u = rng.standard_normal((2, 5))
    np.testing.assert_allclose(evaluate_table(plain_table(_CUBIC, 2), r, u), 3 * 0.3 * (r + u) ** 2, rtol=1e-12)


def test_active_orders():
    assert active_orders(_CUBIC, 9) == (0, 1, 2)
    assert active_orders(as_activation("tanh"), 5) == (0, 2, 4)
    gap = as_activation([0.0, 1.0, 0.5, 0.0, 0.2])
    assert active_orders(gap, 9) == (0, 1, 2, 3)
    # Fresh: c_3 = 0 leaves E[sigma'''] = 0 times anything
    assert active_orders(gap, 9, reuse=False) == (0, 1, 3)


def test_too_few_derivatives():
    with pytest.raises(InputError, match="memory=False"):
        memory_table(as_activation("relu"), 1, variance=0.1)
