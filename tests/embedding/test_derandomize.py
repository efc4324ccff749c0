"""The path from the random map to a fixed one: bounds that hold and never rise, the saddle left, limits."""

import time

import numpy as np
import pytest
from scipy.stats import chi2

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


@pytest.mark.medium
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
    monkeypatch.setattr(module, "_MAX_PAIRS", {"soft": 12, "union": 10})
    with pytest.raises(InputError, match='"derand" takes up to 12 pairs, X has 15'):
        derandomize_map(gaussian(6, 3), 2, np.random.default_rng(0))
    with pytest.raises(InputError, match='"union" takes up to 10 pairs, X has 15'):
        derandomize_map(gaussian(6, 3), 2, np.random.default_rng(0), kind="union")


@pytest.fixture(scope="module")
def union():
    X = gaussian(10, 9)
    return X, *derandomize_map(X, 4, np.random.default_rng(0), kind="union", max_evals=30)


def test_union_bound_goes_along(union):
    X, M, certificate = union
    assert (certificate.kind, certificate.never_rose, certificate.sigma) == ("union", True, 0.0)
    assert all(level.failure <= 0.5 and level.beta is None for level in certificate.levels)
    assert brute_distortion(X, M) == pytest.approx(certificate.end_bound, rel=1e-9)
    assert certificate.end_bound < 0.5 * certificate.start_bound


@pytest.mark.medium
def test_union_bound_of_the_start_is_the_chi_square_one(union):
    _, _, certificate = union
    pairs = 10 * 9 / 2
    eps = certificate.start_bound
    lower = chi2.cdf(4 * (1 - eps), 4) if eps < 1 else 0.0
    assert pairs * (chi2.sf(4 * (1 + eps), 4) + lower) == pytest.approx(0.5, rel=1e-6)
    X = union[0]
    worst = [brute_distortion(X, gaussian(4, 9, seed) / 2.0) for seed in range(300)]
    assert np.mean(np.array(worst) > eps) <= 0.5


@pytest.mark.slow
def test_union_bound_passes_where_images_too_short_take_over():
    """Below eps = 1 they count too, M = 0 has to be left, and a level must lower F for the bound at hand itself."""
    X = gaussian(30, 12)
    M, certificate = derandomize_map(X, 4, np.random.default_rng(0), kind="union", max_evals=60)
    assert (certificate.never_rose, certificate.sigma) == (True, 0.0)
    assert brute_distortion(X, M) < 0.6
