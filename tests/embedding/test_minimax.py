"""The least largest distortion against closed forms and a grid; limits; how a run ends."""

import math
import time

import numpy as np
import pytest

from derand.embedding.minimax import MinimaxOptions, minimise_distortion, scaled_to_middle
from tests.embedding.data import brute_distortion, brute_ratios, gaussian


def _start(k, r, seed=1):
    return np.eye(k, r) + 0.05 * gaussian(k, r, seed)


def _fit(X, k, *, start_seed=None, **options):
    start = _start(k, X.shape[1]) if start_seed is None else gaussian(k, X.shape[1], start_seed)
    return minimise_distortion(X, start, MinimaxOptions(**options), np.random.default_rng(0))


def test_plane_to_line_against_a_grid():
    """With k = 1 and r = 2 the map is a direction and a scale; the best scale for a direction is known."""
    X = gaussian(12, 2) * [3.0, 1.0]
    best = math.inf
    for angle in np.linspace(0.0, np.pi, 5001):
        ratios = brute_ratios(X, [[np.cos(angle), np.sin(angle)]])
        best = min(best, (ratios.max() - ratios.min()) / (ratios.max() + ratios.min()))
    result = min((_fit(X, 1, start_seed=seed) for seed in range(4)), key=lambda found: found.distortion)
    # A grid step moves ratios by up to 6e-4 times their slope, which is near 1.
    assert result.distortion == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize(("n", "k"), [(3, 1), (4, 1), (7, 1)])
def test_regular_simplex_to_a_line(n, k):
    """On a line the best images of a simplex are equidistant: ratios from c to c (n-1)^2."""
    X = np.eye(n) @ np.linalg.svd(np.eye(n) - 1.0 / n)[2][: n - 1].T
    expected = ((n - 1) ** 2 - 1) / ((n - 1) ** 2 + 1)
    best = min(
        minimise_distortion(X, gaussian(k, n - 1, seed), MinimaxOptions(), np.random.default_rng(0)).distortion
        for seed in range(4)
    )
    assert best == pytest.approx(expected, rel=0.02)
    assert best >= expected - 1e-12


def test_reported_distortion_is_the_true_one_and_improves():
    X = gaussian(60, 12)
    result = _fit(X, 4)
    assert result.distortion == pytest.approx(brute_distortion(X, result.M), rel=1e-12)
    for seed in range(100):
        ratios = brute_ratios(X, gaussian(4, 12, seed))
        assert result.distortion < 0.95 * (ratios.max() - ratios.min()) / (ratios.max() + ratios.min())
    assert result.n_iter == result.history[-1].n_iter
    assert result.status == "finished"


def test_same_seed_same_bits():
    X = gaussian(40, 8)
    np.testing.assert_array_equal(_fit(X, 3).M, _fit(X, 3).M)


def test_target_ends_the_run():
    X = gaussian(50, 8)
    result = _fit(X, 4, target=0.8)
    assert result.status == "target"
    assert result.distortion <= 0.8


def test_limits():
    X = gaussian(50, 8)
    assert _fit(X, 4, max_iter=60).status == "max_iter"
    assert _fit(X, 4, max_iter=60).n_iter <= 60
    stopped = _fit(X, 4, deadline=time.monotonic())
    assert stopped.status == "time_limit"
    assert len(stopped.history) == 1
    assert stopped.distortion == pytest.approx(brute_distortion(X, stopped.M), rel=1e-12)


@pytest.mark.parametrize(("answer", "status"), [(True, "callback"), (KeyboardInterrupt, "interrupted")])
def test_callback_and_interrupt_keep_the_best(answer, status):
    def callback(record):
        if record.n_iter == 0:
            return False
        if answer is True:
            return True
        raise answer

    X = gaussian(50, 8)
    result = _fit(X, 4, callback=callback)
    assert result.status == status
    assert result.distortion == pytest.approx(brute_distortion(X, result.M), rel=1e-12)
    assert result.distortion <= result.history[0].distortion


def test_temperature_limits_sharpness():
    X = gaussian(50, 8)
    soft, sharp = _fit(X, 4, temperature=0.1), _fit(X, 4)
    assert max(record.beta for record in soft.history) <= 10.0
    assert soft.distortion > sharp.distortion


def test_equal_points_only():
    result = minimise_distortion(np.zeros((5, 3)), _start(2, 3), MinimaxOptions(), np.random.default_rng(0))
    assert (result.history, result.status) == ([], "finished")


def test_scaling_to_the_middle():
    X, M = gaussian(20, 5), gaussian(2, 5, 1)
    ratios = brute_ratios(X, M)
    scaled = brute_ratios(X, scaled_to_middle(M, ratios.min(), ratios.max()))
    assert scaled.max() - 1 == pytest.approx(1 - scaled.min(), rel=1e-12)
    np.testing.assert_array_equal(scaled_to_middle(np.zeros((1, 2)), 0.0, 0.0), 0.0)
