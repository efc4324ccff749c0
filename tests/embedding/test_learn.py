"""The public fit: exact reports, isometries, wide and sparse data, the least dimension, limits, bad input."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from derand._utils.threads import blas_threads
from derand.embedding import derandomize, distortion_report, embedding_lower_bound, learn_embedding, linear_lower_bound
from derand.exceptions import InputError, InputTypeError
from tests.embedding.data import brute_distortion, brute_ratios, gaussian


def _pca(X, k):
    """Return the least distortion of a multiple of the principal axes."""
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:k]
    ratios = brute_ratios(X, axes)
    return (ratios.max() - ratios.min()) / (ratios.max() + ratios.min())


@pytest.mark.parametrize(
    "method", ["minimax", *(pytest.param(name, marks=pytest.mark.slow) for name in ("derand", "union"))]
)
def test_better_than_pca_and_random(method):
    n = 30 if method == "minimax" else 10  # the path costs some ten thousand evaluations
    X = gaussian(n, 20) * np.linspace(1.0, 2.0, 20)
    result = learn_embedding(X, 4, method=method, max_iter=500)
    assert result.components.shape == (4, 20)
    worst = brute_distortion(X, result.components)
    assert result.report.distortion == pytest.approx(worst, rel=1e-12)
    assert worst < 0.8 * _pca(X, 4)
    assert embedding_lower_bound(X, 4).value <= worst
    assert (result.certificate is not None) == (method != "minimax")


@pytest.mark.parametrize(("n", "d", "k"), [(30, 3, 3), (30, 3, 5), (5, 40, 4), (5, 40, 6), (30, 1, 1)])
def test_isometry_where_dimensions_suffice(n, d, k):
    X = gaussian(n, d)
    result = learn_embedding(X, k)
    assert result.components.shape == (k, d)
    assert brute_distortion(X, result.components) < 1e-13
    assert result.report.distortion < 1e-13
    assert result.n_iter == 0


def test_constant_points():
    result = learn_embedding(np.ones((4, 3)))
    assert result.components.shape == (1, 3)
    assert (result.report.distortion, result.report.n_zero_pairs, result.rank) == (0.0, 6, 0)


def test_equal_points():
    X = np.repeat(gaussian(12, 6), 2, axis=0)
    result = learn_embedding(X, 2, max_iter=300)
    assert result.report.n_zero_pairs == 12
    assert result.report.distortion == pytest.approx(brute_distortion(X, result.components), rel=1e-12)


def test_wide_points_cost_their_rank():
    """Coordinates in a larger space change nothing but the basis."""
    X = gaussian(15, 8)
    frame = np.linalg.qr(gaussian(3000, 8, 1))[0].T
    wide, narrow = learn_embedding(X @ frame, 3, max_iter=300), learn_embedding(X, 3, max_iter=300)
    assert wide.rank == 8
    assert wide.report.distortion == pytest.approx(narrow.report.distortion, rel=1e-3)


def test_sparse_equals_dense():
    X = gaussian(30, 10) * (gaussian(30, 10, 1) > 0.3)
    dense, sparse = learn_embedding(X, 3, max_iter=100), learn_embedding(sp.csr_array(X), 3, max_iter=100)
    assert sparse.report.distortion == pytest.approx(dense.report.distortion, rel=1e-2)
    assert sparse.report.distortion == pytest.approx(brute_distortion(X, sparse.components), rel=1e-11)


@pytest.mark.parametrize("scale", [1e-200, 1e20, 1e200])
def test_scale(scale):
    """Powers of ten round, so runs differ in their last bits and end at maps of nearly the same distortion."""
    X = gaussian(20, 6)
    one, other = learn_embedding(X, 2), learn_embedding(X * scale, 2)
    assert other.report.distortion == pytest.approx(one.report.distortion, rel=0.02)


def test_least_dimension_is_the_least_found():
    X = gaussian(40, 12) * np.geomspace(4.0, 0.2, 12)
    result = learn_embedding(X, eps=0.2)
    k = result.components.shape[0]
    assert distortion_report(X, result.components).distortion <= 0.2
    assert learn_embedding(X, k - 1).report.distortion > 0.2
    assert k < 12


def test_starts():
    X = gaussian(20, 6)
    best = learn_embedding(X, 2, n_init=3, init="random").report.distortion
    assert best <= learn_embedding(X, 2, init="random").report.distortion
    again = learn_embedding(X, 2, init=learn_embedding(X, 2).components)
    assert again.report.distortion <= learn_embedding(X, 2).report.distortion + 1e-12


def test_limits_return_a_measured_map():
    X = gaussian(30, 10)
    for result in (learn_embedding(X, 3, time_limit=0.0), learn_embedding(X, time_limit=0.0)):
        assert result.status == "time_limit"
        assert result.report.distortion == pytest.approx(brute_distortion(X, result.components), abs=1e-12)
    assert learn_embedding(X, 3, callback=lambda record: True).status == "callback"
    assert learn_embedding(X, 3, max_iter=10).status == "max_iter"


def _numbers(X, M):
    """Return what all functions of the module make of points and a map."""
    learned = learn_embedding(X, 3, init=M, max_iter=5)
    bound = linear_lower_bound(X, 3, M=M, max_iter=2)
    report = distortion_report(X, M)
    return (
        learned.components.tobytes(),
        learn_embedding(X, 3, max_iter=5).components.tobytes(),
        embedding_lower_bound(X, 3, max_iter=5).value,
        bound.value,
        report.distortion,
        report.mean_distortion,
    )


def test_a_path_that_ends_at_the_saddle_is_polished_from_a_draw(monkeypatch):
    """No level but the first: M = 0, from where the search could not leave."""
    monkeypatch.setattr(derandomize, "_LEAST_STEP", 0.0)
    X = gaussian(12, 6)
    monkeypatch.setattr(derandomize._Path, "_step", lambda path, sigma: False)
    result = learn_embedding(X, 3, method="derand")
    assert result.certificate.sigma > 0.0
    assert result.report.distortion < 0.5  # from M = 0 it stays 1


@pytest.mark.parametrize("k", [2, "auto"])
def test_ctrl_c_within_a_path_ends_the_whole_run(monkeypatch, k):
    solve, calls = derandomize.minimize_sosp, []

    def interrupted_later(fun, x0, **options):
        calls.append(x0)

        def stop(_):
            raise KeyboardInterrupt

        return solve(fun, x0, **{**options, "max_evals": 8}, callback=stop if len(calls) == 8 else None)

    monkeypatch.setattr(derandomize, "minimize_sosp", interrupted_later)
    X = gaussian(8, 5)
    result = learn_embedding(X, k, eps=0.2, method="derand", n_init=3, rng=0)
    assert len(calls) == 8
    assert result.status == "interrupted"
    assert abs(result.report.distortion - brute_distortion(X, result.components)) < 1e-12


@pytest.mark.medium
def test_neither_layout_nor_threads_change_a_bit():
    """300 points in 90 dimensions: enough for two threads of BLAS to share a product."""
    X, M = gaussian(300, 90), gaussian(3, 90, 1)
    with blas_threads(1):
        alone = _numbers(X, M)
    with blas_threads(2):
        assert _numbers(X, M) == alone
        assert _numbers(np.asfortranarray(X), np.asfortranarray(M)) == alone


def test_same_seed_same_bits():
    X = gaussian(30, 10)
    first, second = learn_embedding(X, 3, max_iter=200), learn_embedding(X, 3, max_iter=200)
    np.testing.assert_array_equal(first.components, second.components)
    assert first.history == second.history


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n_components": 0}, InputError, "n_components"),
        ({"n_components": "many"}, InputError, "n_components"),
        ({"n_components": 1.5}, InputTypeError, "n_components"),
        ({"eps": 1.0}, InputError, "eps"),
        ({"method": "magic"}, InputError, "method"),
        ({"init": "zeros", "n_components": 1}, InputError, "init"),
        ({"init": np.ones((2, 3)), "n_components": 1}, InputError, "init"),
        ({"init": np.ones((1, 2)), "n_components": 1}, InputError, "init"),
        ({"n_init": 0}, InputError, "n_init"),
        ({"active_size": 0}, InputError, "active_size"),
        ({"temperature": 0.0}, InputError, "temperature"),
        ({"max_iter": 0}, InputError, "max_iter"),
        ({"tol": math.nan}, InputError, "tol"),
        ({"time_limit": -1.0}, InputError, "time_limit"),
    ],
)
def test_bad_input(options, error, words):
    with pytest.raises(error, match=words):
        learn_embedding(gaussian(6, 3), **options)
