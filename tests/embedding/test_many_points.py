"""Many points: the distortion is the true one, about as small as that of the plain run; limits and determinism."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from derand._utils.threads import blas_threads
from derand.embedding import learn, learn_embedding, many_points
from derand.embedding.many_points import anneal_distortion
from derand.embedding.minimax import MinimaxOptions, minimise_distortion
from tests.embedding.data import brute_distortion, gaussian


def _start(k, r):
    return np.eye(k, r) + 0.05 * gaussian(k, r, 1)


def _fit(X, k, **options):
    return anneal_distortion(X, _start(k, X.shape[1]), MinimaxOptions(**options), np.random.default_rng(0))


@pytest.fixture(scope="module")
def fitted():
    X = gaussian(200, 10)
    return X, _fit(X, 4, active_size=500)


def test_distortion_is_the_true_one(fitted):
    X, result = fitted
    true = brute_distortion(X, result.M)
    assert true * (1 - 1e-12) <= result.distortion <= true * (1 + 1e-5)
    assert result.status == "finished"
    assert result.n_iter == result.history[-1].n_iter


@pytest.mark.medium
def test_as_good_as_the_plain_run(fitted):
    """Local minima of other seeds and sizes of the active set lie within 2 % of each other here."""
    X, result = fitted
    plain = minimise_distortion(X, _start(4, 10), MinimaxOptions(active_size=500), np.random.default_rng(0))
    assert result.distortion <= 1.05 * plain.distortion


def test_same_bits_for_any_number_of_jobs_and_threads():
    X, M = gaussian(300, 8), _start(3, 8)
    options = {"active_size": 500, "max_iter": 150}
    alone = anneal_distortion(X, M, MinimaxOptions(**options), np.random.default_rng(0))
    with ThreadPoolExecutor(2) as pool, blas_threads(2):
        other = anneal_distortion(X, M, MinimaxOptions(**options, block_map=pool.map), np.random.default_rng(0))
    np.testing.assert_array_equal(alone.M, other.M)
    assert alone.history == other.history


def test_small_distortions_take_the_full_scan():
    """Seven of eight dimensions, the last one tiny: single precision would choose pairs by its own rounding."""
    X = gaussian(200, 8) * np.append(np.ones(7), 1e-5)
    result = _fit(X, 7, active_size=500, max_iter=100)
    assert result.distortion == pytest.approx(brute_distortion(X, result.M), rel=1e-9)
    assert result.distortion < 1e-4


def test_limits(fitted):
    X, _ = fitted
    assert _fit(X, 4, active_size=500, max_iter=60).status == "max_iter"
    stopped = _fit(X, 4, active_size=500, deadline=time.monotonic())
    assert (stopped.status, len(stopped.history)) == ("time_limit", 1)
    soft = _fit(X, 4, active_size=500, temperature=0.1)
    assert max(record.beta for record in soft.history) <= 10.0
    assert anneal_distortion(np.zeros((5, 3)), _start(2, 3), MinimaxOptions(), np.random.default_rng(0)).history == []


def test_the_fit_takes_it_for_many_points(monkeypatch):
    monkeypatch.setattr(learn, "MANY", 100)
    X = gaussian(150, 6)
    result = learn_embedding(X, 3, active_size=500, max_iter=200)
    assert result.report.distortion == pytest.approx(brute_distortion(X, result.components), rel=1e-12)
    assert [record.n_iter for record in result.history[:3]] == [0, 20, 40]
    assert many_points.MANY == 4000
