"""Tests of outliers against designed spectra and random-matrix edges."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

from derand.exceptions import InputError, NonConvergenceWarning, PrecisionWarning
from derand.hessian.density import spectral_density
from derand.hessian.outliers import estimate_bulk_edges, outliers
from tests.hessian.spectra import designed, reflected


def goe(n, rng):
    B = rng.standard_normal((n, n))
    return (B + B.T) / np.sqrt(2 * n)


def as_operator(A):
    return LinearOperator(A.shape, matvec=lambda v: A @ v.ravel(), dtype=np.float64)


@pytest.mark.parametrize("n", [60, 400])
@pytest.mark.parametrize(
    ("side", "edge", "true"),
    [
        ("upper", 1.0, [1.5, 1.5, 1.5, 9.0]),
        ("lower", -1.0, [-3.0, -2.0, -2.0]),
        ("both", (-1.0, 1.0), [-3.0, -2.0, -2.0, 1.5, 1.5, 1.5, 9.0]),
        ("both", (-4.0, 10.0), []),
    ],
)
def test_given_edges(n, side, edge, true):
    planted = [-3.0, -2.0, -2.0, 1.5, 1.5, 1.5, 9.0]
    w = np.sort(np.concatenate([np.linspace(-0.99, 0.99, n - 7), planted]))
    found = outliers(reflected(w, np.random.default_rng(0)), bulk_edge=edge, side=side, rng=0)
    assert found.method == ("dense" if n == 60 else "lanczos")
    np.testing.assert_allclose(found.values, true, rtol=1e-10)
    assert np.all((found.lower <= true) & (true <= found.upper))
    assert np.all(found.upper - found.lower < 1e-6)
    assert np.all(found.residuals < 1e-6)
    assert found.is_converged
    assert not found.edges.is_estimated
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(len(true)), atol=1e-10)


def test_edge_inside_a_cluster():
    """Eigenvalues on both sides of the edge at distance 1e-3: exactly those beyond it."""
    w = np.sort(np.concatenate([np.linspace(-0.9, 0.9, 300), 1 + 1e-3 * np.arange(-3, 4)]))
    found = outliers(reflected(w, np.random.default_rng(0)), bulk_edge=1.0005, side="upper", rng=0)
    np.testing.assert_allclose(found.values, [1.001, 1.002, 1.003], rtol=1e-10)


def _random_failures(n_trials, seed):
    """Count wrong numbers of outliers or intervals that miss, for random bulks and random planted values."""
    rng = np.random.default_rng(seed)
    failures = 0
    for _ in range(n_trials):
        n, r = int(rng.integers(151, 250)), int(rng.integers(0, 6))
        planted = rng.choice([-1, 1], r) * rng.choice([1.05, 1.3, 2.0, 10.0], r)
        w = np.sort(np.concatenate([rng.uniform(-1, 1, n), planted]))
        found = outliers(reflected(w, rng), bulk_edge=(-1.0, 1.0), rng=rng, tol=1e-6)
        true = np.sort(planted)
        if len(found.values) != r or np.any(found.lower > true) or np.any(found.upper < true):
            failures += 1
    return failures


@pytest.mark.medium
def test_random_spectra():
    assert _random_failures(30, 0) == 0


@pytest.mark.slow
def test_random_spectra_1000():
    assert _random_failures(1000, 1) == 0


def test_estimated_edges_of_the_semicircle():
    A = goe(800, np.random.default_rng(0))
    edges = estimate_bulk_edges(spectral_density(A, n_vectors=5, n_steps=50, method="lanczos", rng=0))
    assert edges.is_settled
    assert edges.is_estimated
    # Edges 2 of the law; for one matrix the coefficients fluctuate by about 1/sqrt(n).
    assert edges.high == pytest.approx(2.0, abs=0.05)
    assert edges.low == pytest.approx(-2.0, abs=0.05)
    assert 0.0 < edges.high_error < 0.05


@pytest.mark.parametrize("zeros", [0, 200])
def test_estimated_edges_of_marchenko_pastur_with_outliers_and_zeros(zeros):
    """A third of the eigenvalues exactly zero is an isolated mass and must not move the edges (1 -+ sqrt(1/2))^2.

    The estimate scatters by 0.03 from matrix to matrix at this order, so 0.1 is three deviations.
    """
    n = 400
    rng = np.random.default_rng(1)
    w = np.linalg.eigvalsh(np.cov(rng.standard_normal((n, 2 * n))))
    w = np.concatenate([w, [4.0, 6.0, 6.0], np.zeros(zeros)])
    A = reflected(w, rng)
    edges = estimate_bulk_edges(spectral_density(A, n_vectors=5, n_steps=40, method="lanczos", rng=0))
    assert edges.high == pytest.approx((1 + np.sqrt(0.5)) ** 2, abs=0.1)
    assert edges.low == pytest.approx((1 - np.sqrt(0.5)) ** 2, abs=0.1)
    found = outliers(A, side="upper", rng=0)
    np.testing.assert_allclose(found.values, [4.0, 6.0, 6.0], rtol=1e-8)
    below = outliers(A, side="lower", rng=0)
    assert len(below.values) == zeros
    # Two hundred copies one by one would take far more products than all columns.
    assert below.n_products <= 300 + 2 * len(w) + zeros


def test_spiked_goe_above_the_transition():
    """A rank-one spike theta > 1 gives one outlier at theta + 1/theta (Baik, Ben Arous, Peche); theta < 1 gives
    none."""
    n = 500
    rng = np.random.default_rng(2)
    u = rng.standard_normal(n)
    u /= np.linalg.norm(u)
    A = goe(n, rng)
    found = outliers(as_operator(A + 2.0 * np.outer(u, u)), rng=0)
    assert len(found.values) == 1
    assert found.values[0] == pytest.approx(2.5, abs=0.1)
    assert (found.vectors[:, 0] @ u) ** 2 == pytest.approx(1 - 1 / 4, abs=0.1)
    assert len(outliers(as_operator(A + 0.5 * np.outer(u, u)), rng=0).values) == 0


def test_no_false_outliers_in_plain_goe():
    """Ten matrices: the cut lies some 3.5 Tracy-Widom deviations beyond the edge."""
    rng = np.random.default_rng(3)
    counts = [len(outliers(goe(200, rng), rng=i).values) for i in range(10)]
    assert sum(counts) == 0


def test_a_spectrum_that_is_no_single_bulk_is_announced():
    w = np.concatenate([np.linspace(0, 1, 300), np.linspace(9, 10, 300)])
    with pytest.warns(PrecisionWarning, match="bulk_edge"):
        outliers(reflected(w, np.random.default_rng(0)), rng=0, max_products=5000)


def test_identity_and_zero_have_no_outliers():
    for w in (np.ones(200), np.zeros(200)):
        found = outliers(reflected(w, np.random.default_rng(0)), rng=0)
        assert len(found.values) == 0
        assert found.is_converged


def test_budget():
    w = designed("uniform", 400, np.random.default_rng(0))
    with pytest.warns(NonConvergenceWarning, match="further outliers"):
        found = outliers(reflected(w, np.random.default_rng(0)), bulk_edge=0.5, side="upper", max_products=60, rng=0)
    assert not found.is_converged


def test_bad_input():
    A = np.eye(3)
    for edge, side in ((1.0, "both"), ((1.0, -1.0), "both"), ((0.0, 1.0), "upper"), (np.nan, "lower")):
        with pytest.raises(InputError, match="bulk_edge"):
            outliers(A, bulk_edge=edge, side=side)
    with pytest.raises(InputError, match="side"):
        outliers(A, side="left")
    with pytest.raises(InputError, match="lanczos"):
        estimate_bulk_edges(spectral_density(A))
