"""Steps against their recursion written out, and variables that join later."""

import numpy as np
import pytest

from derand.embedding.adam import Adam


def test_second_step():
    adam = Adam(1, tiny=0.0)
    adam.step(np.array([2.0]), 0.1)
    mean = 0.9 * 0.1 * 2.0 + 0.1 * -1.0
    square = 0.99 * 0.01 * 4.0 + 0.01 * 1.0
    expected = 0.1 * (mean / (1 - 0.9**2)) / np.sqrt(square / (1 - 0.99**2))
    assert adam.step(np.array([-1.0]), 0.1)[0] == pytest.approx(expected, rel=1e-12)


def test_variables_that_join_start_afresh():
    adam = Adam(1)
    for _ in range(5):
        adam.step(np.array([1.0]), 0.1)
    adam.extend(1)
    assert adam.step(np.array([0.0, -7.0]), 0.1)[1] == pytest.approx(-0.1)


def test_climbs_a_concave_function():
    adam, x = Adam(2), np.array([3.0, -2.0])
    for _ in range(400):
        x += adam.step(-2.0 * (x - [1.0, 0.5]), 0.02)
    np.testing.assert_allclose(x, [1.0, 0.5], atol=1e-2)
