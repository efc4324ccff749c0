"""Tests of the deflated search and its enclosures."""

import numpy as np
import pytest

from derand.hessian.deflation import Deflation, enclosures, search, search_budget
from derand.hessian.symmetric import as_symmetric
from tests.hessian.spectra import reflected


class Below:
    """Everything below an edge is wanted."""

    def __init__(self, edge):
        self.edge = edge

    def wanted(self, locked, ritz, margin):
        return ritz < self.edge

    def is_complete(self, locked, low, high, margin):
        return low >= self.edge - margin


def run(w, edge, seed=0, **options):
    matrix = as_symmetric(reflected(np.asarray(w, dtype=float), np.random.default_rng(seed + 100)))
    arguments = {"tol": 1e-8, "delta": 1e-6, "max_products": 10**4, **options}
    return search(matrix, Below(edge), rng=np.random.default_rng(seed), **arguments)


@pytest.mark.parametrize("copies", [0, 1, 2, 7])
def test_all_copies_are_found_and_the_rest_is_bounded(copies):
    w = np.concatenate([np.full(copies, -2.0), np.linspace(0, 1, 200)])
    found = run(w, -1.0)
    assert found.is_complete
    assert len(found.vectors) == copies
    np.testing.assert_allclose(found.values, -2.0)
    assert -1.0 - 1e-7 <= found.low <= 0.0
    assert found.high >= 1.0
    np.testing.assert_allclose(found.vectors @ found.vectors.T, np.eye(copies), atol=1e-12)


def test_wanting_everything_fills_the_space():
    w = np.repeat([1.0, 2.0, 3.0], 5)
    found = run(w, np.inf)
    np.testing.assert_allclose(found.values, w, rtol=1e-12)
    assert found.is_complete
    assert (found.low, found.high) == (np.inf, -np.inf)


def test_products_are_counted_and_limited():
    matrix = as_symmetric(reflected(np.linspace(0, 1, 300), np.random.default_rng(0)))
    found = search(matrix, Below(0.01), tol=1e-8, delta=1e-6, max_products=20, rng=np.random.default_rng(0))
    assert not found.is_complete
    assert found.n_products <= 20 + len(found.vectors)


def test_deflated_directions_do_not_come_back_as_zeros():
    """A spectrum in [1, 2]: without projecting each Lanczos vector, rounding would grow a ghost eigenvalue 0."""
    found = run(np.linspace(1, 2, 400), 1.004)
    assert found.is_complete
    np.testing.assert_allclose(found.values, [1.0, 1.0 + 1 / 399], rtol=1e-10)
    assert found.low > 1.0


def _enclosure_failures(n_trials, seed):
    """Count intervals that miss, for a random subspace V with the complement's exact spectral bounds."""
    rng = np.random.default_rng(seed)
    failures = 0
    for _ in range(n_trials):
        n = int(rng.integers(2, 12))
        count = int(rng.integers(1, n))
        w = np.sort(rng.standard_normal(n) * 10 ** rng.uniform(-3, 3))
        Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
        A = (Q * w) @ Q.T
        A = (A + A.T) / 2
        tilt = 10 ** rng.uniform(-9, 0)
        V = np.linalg.qr(Q[:, rng.permutation(n)[:count]] + tilt * rng.standard_normal((n, count)))[0]
        rest = np.linalg.svd(V.T)[2][count:]
        found = Deflation(as_symmetric(A), V.T.copy(), (A @ V).T.copy())
        found.refine()
        spectrum = np.linalg.eigvalsh(rest @ A @ rest.T)
        found.low, found.high, found.scale = spectrum[0], spectrum[-1], np.max(np.abs(w))
        bottom_lower, bottom_upper, top_lower, top_upper = enclosures(found, 0.0)
        known = 20 * np.finfo(float).eps * found.scale  # A has the spectrum w up to the rounding of Q diag(w) Q'
        failures += bool(np.any(bottom_lower > w[:count] + known) or np.any(bottom_upper < w[:count] - known))
        failures += bool(np.any(top_lower > w[n - count :] + known) or np.any(top_upper < w[n - count :] - known))
    return failures


def test_enclosures_hold():
    assert _enclosure_failures(300, 0) == 0


@pytest.mark.slow
def test_enclosures_hold_often():
    assert _enclosure_failures(20000, 1) == 0


def test_enclosure_is_quadratic_in_the_residual_when_there_is_a_gap():
    """A = [[0, e], [e, 1]], V = e_1: theta = 0, rho = e, gap 1; the eigenvalue is -e^2 + O(e^4)."""
    e = 1e-4
    A = np.array([[0.0, e], [e, 1.0]])
    found = Deflation(as_symmetric(A), np.eye(1, 2), A[:1].copy(), low=1.0, high=1.0, scale=1.0)
    lower = enclosures(found, 0.0)[0][0]
    assert lower == pytest.approx(-(e**2), rel=1e-3)
    assert lower <= np.linalg.eigvalsh(A)[0]
    assert enclosures(found, 1e-3)[0][0] < -1e-3


def test_nothing_found_has_empty_enclosures():
    matrix = as_symmetric(np.eye(2))
    assert [len(part) for part in enclosures(Deflation(matrix, np.empty((0, 2)), np.empty((0, 2))), 0.0)] == [0] * 4


def test_search_budget():
    assert search_budget(100, 1000) == (100, True)
    assert search_budget(100, 299) == (299, False)
    assert search_budget(10**5, 10**7) == (10**7, False)
