import math

import numpy as np

from derand.spectral.moments import SideMoments


def test_averages_against_sums():
    rng = np.random.default_rng(0)
    G, p, V = rng.uniform(-1, 2, 50), rng.uniform(0, 1, 50), rng.standard_normal((50, 2))
    p = p / p.sum()
    side = SideMoments(G, p, V, -1.0)
    assert side.tau_max == 1.0
    tau = 0.4
    t = G * tau / (1 + G * tau)
    assert np.allclose(side.first_two(tau), (p @ t, p @ t**2), rtol=1e-14)
    assert np.allclose(side.planted(tau), (V * (p * t)[:, None]).T @ V, rtol=1e-12)
    assert np.allclose(side.squared(tau), (V * (p * (t / tau) ** 2)[:, None]).T @ V, rtol=1e-12)
    first, second, planted = side.table(np.array([0.1, tau]))
    assert np.allclose([first[1], second[1]], side.first_two(tau), rtol=1e-14)
    assert np.allclose(planted[1], side.planted(tau), rtol=1e-13)
    assert math.isclose(side.level(tau, 3.0), -1 / (3 * tau) + p @ (G / (1 + G * tau)), rel_tol=1e-13)
    assert math.isclose(side.dominance(tau), np.max(p * t**2) / np.sum(p * t**2), rel_tol=1e-13)


def test_positions_cover_the_range_of_tau():
    p, V = np.ones(2) / 2, np.zeros((2, 0))
    bounded = SideMoments(np.array([-2.0, 1.0]), p, V, -2.0)
    assert bounded.tau_of(0.0) == 0.25
    assert bounded.tau_of(700.0) == 0.5
    positive = SideMoments(np.array([2.0, 1.0]), p, V, 1.0)
    assert math.isinf(positive.tau_max)
    assert SideMoments(np.array([-2.0, 1.0]), p, V, -math.inf).tau_max == 0.0
