from types import SimpleNamespace

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.objectives.finish import finish


def quartic(b):
    return float(np.sum((b**2 - 1) ** 2)), 4 * b * (b**2 - 1)


def test_default_solver_reaches_a_minimum():
    np.testing.assert_allclose(finish(quartic, np.array([0.4, -2.0])), [1.0, -1.0], atol=1e-6)


def test_never_worse_than_the_start():
    start = np.array([0.9])
    assert finish(quartic, start, lambda fun, x0: SimpleNamespace(x=x0 + 5.0)).tolist() == [0.9]

    def nan_far(b):
        return (np.nan, b) if b[0] > 2 else quartic(b)

    assert finish(nan_far, start, lambda fun, x0: SimpleNamespace(x=x0 + 5.0)).tolist() == [0.9]


def test_the_start_is_not_written_to():
    start = np.array([0.5])

    def solver(fun, x0):
        x0 += 0.5
        return SimpleNamespace(x=x0)

    assert finish(quartic, start, solver).tolist() == [1.0]
    assert start.tolist() == [0.5]


@pytest.mark.parametrize("answer", [np.array([np.nan]), np.ones(3)])
def test_a_solvers_nonsense_is_named(answer):
    with pytest.raises(InputError, match="solver"):
        finish(quartic, np.array([0.5]), lambda fun, x0: SimpleNamespace(x=answer))
