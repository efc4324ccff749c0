"""The path from the random map to a fixed one: bounds that hold and never rise, the saddle left, limits."""

import time

import numpy as np
import pytest

from derand.embedding import derandomize as module
from derand.embedding.derandomize import derandomize_map
from derand.exceptions import InputError
from derand.optimize import SOSPStatus
from tests.embedding.data import brute_distortion, gaussian


@pytest.fixture(scope="module")
def path():
    X = gaussian(16, 12)
    return X, *derandomize_map(X, 5, np.random.default_rng(0), max_evals=40)


def test_from_the_random_map_to_a_fixed_one(path):
    _, M, certificate = path
    assert certificate.sigma == 0.0
    assert certificate.never_rose
    bounds = [level.bound for level in certificate.levels]
    assert bounds == sorted(bounds, reverse=True)
    assert (certificate.start_bound, certificate.end_bound) == (bounds[0], bounds[-1])
    sigmas = [level.sigma for level in certificate.levels]
    assert sigmas[0] == pytest.approx(5**-0.5)
    assert sigmas == sorted(sigmas, reverse=True)
    assert np.abs(M).max() > 0.1


def test_end_bound_holds_for_the_fixed_map(path):
    """Staying at the saddle M = 0 would give a distortion of 1."""
    X, M, certificate = path
    worst = brute_distortion(X, M)
    assert worst <= certificate.end_bound
    assert worst < 0.7
    assert certificate.end_bound < certificate.start_bound


def test_start_bound_holds_for_random_maps(path):
    X, _, certificate = path
    worst = [brute_distortion(X, gaussian(5, 12, seed) / np.sqrt(5)) for seed in range(300)]
    assert np.mean(worst) <= certificate.start_bound


def test_without_perturbation_the_saddle_holds(monkeypatch):
    """M = 0 has gradient exactly 0; only the search for negative curvature or the perturbation leaves it."""
    X = gaussian(10, 6)
    monkeypatch.setattr(module, "_PERTURBATION", 0.0)

    def first_order(fun, x0, **_):
        value, gradient = fun(x0)
        assert np.linalg.norm(gradient) == 0.0

        class Outcome:
            x, fun, success, nfev, status = x0, value, False, 1, SOSPStatus.STALLED

        return Outcome

    monkeypatch.setattr(module, "minimize_sosp", first_order)
    M, _ = derandomize_map(X, 3, np.random.default_rng(0))
    assert np.abs(M).max() == 0.0


def test_deadline_keeps_the_start():
    M, certificate = derandomize_map(gaussian(10, 4), 2, np.random.default_rng(0), deadline=time.monotonic())
    assert len(certificate.levels) == 1
    assert not M.any()


def test_ctrl_c_keeps_the_accepted_levels(monkeypatch):
    """minimize_sosp turns Ctrl-C into a status; the path must not go on to its next level."""
    solve, calls = module.minimize_sosp, []

    def interrupted_later(fun, x0, **options):
        calls.append(x0)

        def stop(_):
            raise KeyboardInterrupt

        return solve(fun, x0, **options, callback=stop if len(calls) == 8 else None)

    monkeypatch.setattr(module, "minimize_sosp", interrupted_later)
    _, certificate = derandomize_map(gaussian(7, 4), 2, np.random.default_rng(3), max_evals=8)
    assert len(calls) == 8
    assert len(certificate.levels) == 3  # the start and two levels of three runs each
    assert certificate.sigma > 0.0


def test_same_seed_same_bits():
    X = gaussian(7, 4)
    runs = [derandomize_map(X, 2, np.random.default_rng(3), max_evals=8) for _ in range(2)]
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]


def test_too_many_pairs(monkeypatch):
    monkeypatch.setattr(module, "_MAX_PAIRS", 10)
    with pytest.raises(InputError, match="up to 10 pairs, X has 15"):
        derandomize_map(gaussian(6, 3), 2, np.random.default_rng(0))
