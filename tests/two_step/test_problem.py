import math

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.two_step import random_problem


def test_problems():
    problem = random_problem(2000, 30, 400, [np.tanh, np.sin], noise=0.5, rng=1)
    assert problem.a0 @ problem.a0 == pytest.approx(1.0, abs=5 * math.sqrt(2 / 2000))
    assert np.mean(np.sum(problem.W0**2, axis=1)) == pytest.approx(1.0, rel=0.05)
    clean = np.tanh(problem.X[:, 0]) + np.sin(problem.X[:, 1])
    assert np.std(problem.y - clean) == pytest.approx(0.5, rel=0.15)
    np.testing.assert_array_equal(problem.directions, np.eye(2, 30))
    same = random_problem(2000, 30, 400, [np.tanh, np.sin], noise=0.5, rng=1)
    np.testing.assert_array_equal(problem.y, same.y)


def test_bad_problems():
    with pytest.raises(InputError, match="links"):
        random_problem(3, 1, 3, [np.tanh, np.sin])
    with pytest.raises(InputError, match="noise"):
        random_problem(3, 3, 3, np.tanh, noise=-1.0)


def test_a_link_that_returns_another_shape():
    with pytest.raises(InputError, match=r"links\[1\]"):
        random_problem(3, 3, 5, [np.tanh, lambda z: z[:2]])


def test_a_link_that_is_no_function_is_named():
    with pytest.raises(InputTypeError, match=r"links\[1\] must be a function"):
        random_problem(10, 10, 10, [np.tanh, "z**2"], rng=0)
