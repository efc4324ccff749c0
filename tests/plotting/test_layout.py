"""Layouts against distances known in closed form."""

import numpy as np
import pytest

from derand.maxcut.problem import MaxCutProblem
from derand.plotting.layout import stress_layout
from tests.maxcut.graphs import complete, cycle, petersen


def _distances(x):
    return np.linalg.norm(x[:, None, :] - x[None, :, :], axis=2)


def _stress(x, hops):
    off = ~np.eye(len(x), dtype=bool)
    return (((_distances(x) - hops) / np.where(off, hops, 1.0))[off] ** 2).sum()


def test_path_lies_on_a_line():
    n = 12
    x = stress_layout(MaxCutProblem.from_edges(np.arange(n - 1), np.arange(1, n)))
    hops = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    # A path embeds without stress; the start is 0.01 off, and the iteration ends early.
    np.testing.assert_allclose(_distances(x), hops, atol=0.05)


def test_cycle_becomes_a_circle():
    radius = np.linalg.norm(stress_layout(cycle(20)), axis=1)
    assert radius.std() < 0.02 * radius.mean()


def test_layout_is_better_than_its_start_and_than_chance():
    hops = np.where(petersen().adjacency.toarray() > 0, 1.0, 2.0) - 2.0 * np.eye(10)
    stress = _stress(stress_layout(petersen()), hops)
    rng = np.random.default_rng(0)
    assert all(stress < _stress(rng.standard_normal((10, 2)), hops) for _ in range(50))


def test_vertices_do_not_coincide():
    for problem in (complete(9), MaxCutProblem.from_edges([0] * 8, np.arange(1, 9))):
        distances = _distances(stress_layout(problem)) + np.eye(9)
        assert distances.min() > 0.05


def test_components_stay_apart():
    x = stress_layout(MaxCutProblem.from_edges([0, 1, 3, 4], [1, 2, 4, 5], n=7))
    assert _distances(x)[:3, 3:].min() > 0.5
    assert np.isfinite(x).all()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_tiny_graphs(n):
    x = stress_layout(MaxCutProblem.from_edges([], [], n=n))
    assert x.shape == (n, 2)
    assert np.isfinite(x).all()


def test_layout_repeats():
    assert stress_layout(petersen()).tobytes() == stress_layout(petersen()).tobytes()
