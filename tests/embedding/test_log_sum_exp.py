"""The smooth maximum: its definition, its sandwich, its gradient by finite differences."""

import numpy as np
import pytest
from scipy.special import logsumexp

from derand.embedding.log_sum_exp import SmoothMaximum
from derand.embedding.unit_differences import UnitDifferences
from tests.embedding.data import brute_distortion, brute_ratios, gaussian

_X = gaussian(12, 5)
_DIFFERENCES = UnitDifferences(_X, *np.triu_indices(12, 1))


@pytest.mark.parametrize("beta", [0.5, 10.0, 1e4])
def test_definition_and_sandwich(beta):
    M = gaussian(3, 5, 1)
    value = SmoothMaximum(_DIFFERENCES, beta, (3, 5)).value_and_grad(M.ravel())[0]
    excess = brute_ratios(_X, M) - 1
    assert value == pytest.approx(logsumexp(beta * np.concatenate([excess, -excess])) / beta, rel=1e-12)
    top = brute_distortion(_X, M)
    assert top - 1e-12 <= value <= top + np.log(2 * excess.size) / beta + 1e-12


@pytest.mark.parametrize("beta", [0.5, 10.0])
def test_gradient(beta):
    smooth = SmoothMaximum(_DIFFERENCES, beta, (3, 5))
    x, v, h = gaussian(3, 5, 1).ravel() / 2, gaussian(1, 15, 2).ravel(), 1e-5
    slope = (smooth.value_and_grad(x + h * v)[0] - smooth.value_and_grad(x - h * v)[0]) / (2 * h)
    # Central differences: an error of h^2 times third derivatives (up to beta^2), and of 1e-16/h from rounding.
    assert smooth.value_and_grad(x)[1] @ v == pytest.approx(slope, rel=1e-6, abs=1e-8)
