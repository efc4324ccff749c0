"""Exchanges of neurons and averages over them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from derand.spectral import DMFT
from derand.spectral.symmetry import Exchange


@pytest.mark.parametrize("covariance", [np.eye(4), np.kron(np.eye(2), np.ones((2, 2)))], ids=["independent", "pairs"])
def test_average_over_the_group(covariance):
    vectors = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    orders = [
        np.array(order)
        for order in permutations(range(4))
        if np.array_equal(vectors[list(order)], vectors)
        and np.array_equal(covariance[np.ix_(order, order)], covariance)
    ]
    moments = np.random.default_rng(0).standard_normal((4, 8))
    blocks = moments.reshape(4, 2, 4)
    expected = np.mean([blocks[order][:, :, order] for order in orders], axis=0)
    exchange = Exchange(vectors, covariance)
    np.testing.assert_allclose(exchange.average(moments), expected.reshape(4, 8), atol=1e-14)
    rows = np.mean([moments[order] for order in orders], axis=0)
    np.testing.assert_allclose(exchange.average_rows(moments), rows, atol=1e-14)


def test_nothing_to_exchange():
    moments = np.random.default_rng(1).standard_normal((2, 6))
    exchange = Exchange(np.array([[1.0], [2.0]]), np.eye(2))
    assert exchange.is_trivial
    assert exchange.average(moments) is moments


def test_equal_neurons_stay_equal_and_errors_shrink():
    def run(seed, n_samples):
        model = DMFT("tanh", "pseudo-huber", "z**2", 3, delta=4.0, eta=0.2, n_samples=n_samples, rng=seed, a=[1, 1, -1])
        return model.run(15).covariances[15, 15]

    fine = run(0, 1 << 15)
    # equal up to rounding, which the dynamics amplifies a little; a plain sample has them 1e-3 apart
    assert abs(fine[0, 0] - fine[1, 1]) < 1e-11
    assert abs(fine[0, 2] - fine[1, 2]) < 1e-11
    assert abs(run(1, 1 << 12)[0, 0] - fine[0, 0]) < 5e-3
