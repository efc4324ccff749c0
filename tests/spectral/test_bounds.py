import math

import numpy as np
import pytest

from derand.spectral.bounds import function_range, tail_range
from derand.spectral.weight_rules import weight_rule


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (np.tanh, -1.0, 1.0),
        (lambda z: z, -math.inf, math.inf),
        (lambda z: z**2 - 3.0, -3.0, math.inf),
        (lambda z: 1.0 - 1.0 / z**2, -math.inf, 1.0),
        (lambda z: np.abs(z) / (1.0 + np.abs(z)), 0.0, 1.0),
        (lambda z: -np.log(np.abs(z)), -math.inf, math.inf),
        (lambda z: np.exp(z), 0.0, math.inf),
        (lambda z: 1.0 / (z - 1.0), -math.inf, math.inf),
    ],
)
def test_functions(function, low, high):
    nodes, weights = weight_rule(1, [1.0], None, 8)
    with np.errstate(all="ignore"):
        found = function_range(lambda z: function(z[:, 0]), nodes, weights, [1.0])
    for got, want in ((found.low, low), (found.high, high)):
        assert got == pytest.approx(want, abs=1e-5) if math.isfinite(want) else got == want


def test_ridges_are_seen():
    """Unbounded only along u = z, a direction that no probe hits."""
    nodes, weights = weight_rule(2, [], None, 10)
    found = function_range(lambda p: p[:, 0] ** 2 / (1.0 + (p[:, 0] - p[:, 1]) ** 2) ** 1.5, nodes, weights)
    assert found.high == math.inf
    assert found.low == 0.0


@pytest.mark.parametrize("n", [1000, 20_000])
def test_samples(n):
    z = np.random.default_rng(1).standard_normal(n)
    assert tail_range(z, None).low == -math.inf
    assert tail_range(-(z**2), None).low == -math.inf
    assert tail_range(-(z**2), None).high <= 0.0
    assert tail_range(np.tanh(2 * z), None).low >= -1.0
    assert tail_range(np.sign(z), None).high == 1.0
    assert tail_range(np.cos(z), None).low >= -1.0
    assert tail_range(np.sort(z), None).high == math.inf  # the order of the sample doesn't matter


def test_weighted_nodes():
    nodes, weights = weight_rule(1, [], None, 16)
    z = nodes[:, 0]
    assert tail_range(z, weights).high == math.inf
    assert tail_range(np.tanh(z), weights).high <= 1.0
    assert tail_range(np.array([1.0, -1.0]), np.array([0.5, 0.5])).low == -1.0
