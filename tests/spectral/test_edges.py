import math

import numpy as np

from derand.spectral.edges import (
    find_edge,
    find_outliers,
    find_roots,
    margin,
    outlier_exists,
    planted_gap,
    scan_threshold,
)
from derand.spectral.moments import SideMoments
from derand.spectral.quadrature import gaussian_panels, panel_edges

NODES, WEIGHTS = gaussian_panels(panel_edges(), 16)


def side_of(G):
    return SideMoments(G, WEIGHTS, NODES[:, None], float(np.min(G)))


def test_edge_is_the_largest_value_of_the_curve():
    """Brute force: z(tau) on a fine grid of tau."""
    side = side_of(np.tanh(NODES) + 0.3)
    tau, z, kind = find_edge(side, 2.0)
    grid = np.linspace(1e-3, side.tau_max * (1 - 1e-9), 20_001)
    levels = [side.level(t, 2.0) for t in grid]
    assert kind == "soft"
    assert max(levels) <= z + 1e-12
    assert z - max(levels) < 1e-5
    assert abs(grid[int(np.argmax(levels))] - tau) < 1e-3


def test_outlier_conditions_hold():
    side = side_of(np.exp(-(NODES**2)) - 0.2 * np.cos(NODES))
    delta = 40.0
    for tau, z, overlap, direction in find_outliers(side, delta):
        t = side.t(tau)
        assert abs(delta * (WEIGHTS @ (t * (1 - NODES**2))) - 1.0) < 1e-9
        assert abs(z - WEIGHTS @ (NODES**2 * side.G / (1 + side.G * tau))) < 1e-12
        assert 0.0 < overlap < 1.0
        assert abs(abs(direction[0]) - 1.0) < 1e-12


def test_overlap_is_the_slope_of_the_planted_resolvent():
    """1/overlap = -d/dz (E[v^2 G/(1 + G tau)] - z), here by differences in tau."""
    side = side_of(-np.tanh(NODES**2))
    delta = 6.0
    tau, z, overlap, _ = find_outliers(side, delta)[0]

    def planted(s):
        return WEIGHTS @ (NODES**2 * side.G / (1 + side.G * s)) - side.level(s, delta)

    h = 1e-4 * tau
    slope = (planted(tau + h) - planted(tau - h)) / (side.level(tau + h, delta) - side.level(tau - h, delta))
    assert abs(-1.0 / slope - overlap) < 1e-7
    assert z < find_edge(side, delta)[1]


def test_roots_agree_with_existence():
    side = side_of(-np.tanh(NODES**2))
    ((root, kind),) = find_roots(side, None, 0)
    assert kind == "soft"
    assert not outlier_exists(side, 0.999 * root, None, 0)
    assert outlier_exists(side, 1.001 * root, None, 0)
    assert abs(margin(side, root, None, 0)[0]) < 1e-10
    value, _, roots, intervals = scan_threshold(side, None, 0)
    assert (value, roots, intervals) == (root, (root,), ((root, math.inf),))
    assert planted_gap(side, find_edge(side, 2 * root)[0], 2 * root)[0] < 0.0


def test_weights_that_know_nothing_have_no_root():
    rng = np.random.default_rng(0)
    side = SideMoments(np.repeat([-1.0, 1.0], len(NODES)), np.tile(WEIGHTS, 2) / 2, np.tile(NODES, 2)[:, None], -1.0)
    assert scan_threshold(side, None, 0)[0] == math.inf
    assert find_outliers(side, float(rng.uniform(0.5, 50.0))) == []
