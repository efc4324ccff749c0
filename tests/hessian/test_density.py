"""Tests of the spectral density against known spectra and closed-form densities."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

from derand.exceptions import InputError, InputTypeError
from derand.hessian.density import spectral_density
from tests.hessian.spectra import NAMES, designed, reflected


def slq(w, seed=0, **options):
    return spectral_density(
        reflected(w, np.random.default_rng(seed + 1000)), method="lanczos", rng=np.random.default_rng(seed), **options
    )


@pytest.mark.parametrize("name", NAMES)
def test_moments_within_standard_errors(name):
    """Ten vectors give a t-distribution with nine degrees of freedom: |t| > 6.6 has probability 1e-4."""
    w = designed(name, 300, np.random.default_rng(0))
    found = slq(w)
    for order in (0, 1, 2, 3, 7):
        moment = found.moment(order)
        true = np.mean(w**order)
        assert abs(moment.value - true) <= 6.6 * moment.standard_error + 1e-12 * np.max(np.abs(w)) ** order


def test_moment_zero_and_constant_spectra_have_no_error():
    found = slq(np.full(100, 3.0))
    for order, true in ((0, 1.0), (1, 3.0), (5, 243.0)):
        assert found.moment(order).value == pytest.approx(true, rel=1e-12)
        assert found.moment(order).standard_error <= 1e-12 * true


def test_moments_are_exact_for_each_vector_up_to_2m_minus_1():
    """Against powers of A applied to the same vectors (drawn from the same stream)."""
    w = np.linspace(-1, 1, 60)
    A = reflected(w, np.random.default_rng(1))
    found = spectral_density(A, n_vectors=4, n_steps=5, method="lanczos", rng=7)
    rng, direct = np.random.default_rng(7), []
    for _ in range(4):
        v = rng.standard_normal(60)
        v /= np.linalg.norm(v)
        u = v
        for _ in range(9):
            u = A @ u
        direct.append(v @ u)
    assert found.moment(9).value == pytest.approx(np.mean(direct), rel=1e-10)
    with pytest.raises(InputError, match="order must be at most 9"):
        found.moment(10)


def _coverage(n_trials, seed):
    """Return the share of trials in which the third moment lies within the 95 % t-interval."""
    w = designed("uniform", 200, np.random.default_rng(seed)) ** 2
    hits = 0
    for trial in range(n_trials):
        moment = slq(w, seed + trial, n_steps=4).moment(3)
        hits += abs(moment.value - np.mean(w**3)) <= 2.262 * moment.standard_error
    return hits / n_trials


@pytest.mark.medium
def test_standard_errors_cover():
    """95 % of 200 trials, three standard errors of a share: 0.046."""
    assert abs(_coverage(200, 0) - 0.95) < 0.05


@pytest.mark.slow
def test_standard_errors_cover_in_2000_trials():
    assert abs(_coverage(2000, 1) - 0.95) < 0.016


@pytest.mark.parametrize("name", NAMES)
def test_cdf_of_designed_spectra(name):
    w = designed(name, 300, np.random.default_rng(0))
    found = slq(w, n_steps=80)
    points = np.concatenate([np.linspace(w[0] - 0.1, w[-1] + 0.1, 41), [0.0, 1.0]])
    cdf = found.cdf(points)
    true = np.mean(w <= points[:, None] + 1e-9, axis=1)
    assert np.all(cdf.lower - 1e-12 <= cdf.value)
    assert np.all(cdf.value <= cdf.upper + 1e-12)
    # n shares of a random unit vector add up with standard deviation about sqrt(p (1 - p) 2 / n); the floor covers
    # the ends, where all ten vectors may miss the few eigenvalues that are left.
    slack = 6.6 * cdf.standard_error + 5 * np.sqrt(2 * true * (1 - true) / 300 / 10) + 1e-9
    assert np.all(cdf.lower - slack <= true)
    assert np.all(true <= cdf.upper + slack)


def test_quadrature_bounds_hold_for_the_same_vectors():
    """The bounds must hold what the same vectors give when the Krylov space is exhausted (m = n)."""
    w = designed("uniform", 120, np.random.default_rng(3))
    A = reflected(w, np.random.default_rng(4))
    points = np.linspace(-1.1, 1.1, 200)
    full = spectral_density(A, n_vectors=3, n_steps=120, method="lanczos", rng=5).cdf_samples(points)
    for n_steps in (1, 2, 5, 20, 60):
        cdf = spectral_density(A, n_vectors=3, n_steps=n_steps, method="lanczos", rng=5).cdf(points)
        assert np.all(cdf.lower <= np.mean(full, axis=0) + 1e-9)
        assert np.all(np.mean(full, axis=0) <= cdf.upper + 1e-9)


def test_atoms_are_seen_at_full_weight():
    """Half of the eigenvalues exactly zero: the step of the distribution at 0 is 1/2."""
    w = designed("half zeros", 400, np.random.default_rng(0))
    found = slq(w)
    step = found.cdf(1e-6).value - found.cdf(-1e-6).value
    assert step == pytest.approx(0.5, abs=0.08)
    assert found.cdf(0.0).value == found.cdf(1e-6).value


def test_semicircle_density():
    """GOE, n = 700: the smoothed density against the semicircle law with the same Gaussian."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((700, 700))
    found = spectral_density((B + B.T) / np.sqrt(1400), n_vectors=8, n_steps=40, method="lanczos", rng=1)
    width, x = 0.15, np.linspace(-2.2, 2.2, 23)
    grid = np.linspace(-2, 2, 4001)
    law = np.sqrt(4 - grid**2) / (2 * np.pi)
    kernel = np.exp(-0.5 * ((x[:, None] - grid) / width) ** 2) / (width * np.sqrt(2 * np.pi))
    exact = np.trapezoid(kernel * law, grid, axis=1)
    density = found.density(x, width)
    assert np.all(np.abs(density.value - exact) <= 6.6 * density.standard_error + 0.006)
    # Variance of one vector about (2/n) int kernel^2 law = (2/n) law(0) / (2 sqrt(pi) width), hence 0.010 for eight
    # vectors.
    assert 0.007 < np.max(density.standard_error) < 0.03


def test_marchenko_pastur_density():
    """Ratio 1/2, edges (1 -+ sqrt(1/2))^2."""
    n = 400
    X = np.random.default_rng(0).standard_normal((n, 2 * n))
    A = LinearOperator((n, n), matvec=lambda v: X @ (X.T @ v.ravel()) / (2 * n), dtype=np.float64)
    found = spectral_density(A, n_vectors=8, n_steps=40, method="lanczos", rng=1)
    low, high = (1 - np.sqrt(0.5)) ** 2, (1 + np.sqrt(0.5)) ** 2
    grid = np.linspace(low, high, 20001)
    law = np.sqrt((high - grid) * (grid - low)) / (np.pi * grid)
    width, x = 0.15, np.linspace(0.0, 3.2, 20)
    kernel = np.exp(-0.5 * ((x[:, None] - grid) / width) ** 2) / (width * np.sqrt(2 * np.pi))
    exact = np.trapezoid(kernel * law, grid, axis=1)
    density = found.density(x, width)
    assert np.all(np.abs(density.value - exact) <= 6.6 * density.standard_error + 0.01)


def test_dense_is_exact():
    w = np.array([-1.0, 0.0, 0.0, 2.0])
    for A in (np.diag(w), reflected(w, np.random.default_rng(0))):
        found = spectral_density(A)
        assert found.is_exact
        assert found.moment(40).value == pytest.approx(np.mean(w**40), rel=1e-10)
        cdf = found.cdf([-2.0, -1.0, 0.0, 1.0, 2.0])
        np.testing.assert_allclose(cdf.value, [0, 0.25, 0.75, 0.75, 1.0])
        np.testing.assert_array_equal(cdf.standard_error, 0.0)
        np.testing.assert_array_equal(cdf.lower, cdf.upper)
    assert found.n_products == 4
    assert spectral_density(np.diag(w)).n_products == 0


def test_one_variable():
    A = reflected(np.array([2.5]), np.random.default_rng(0))
    for method in ("dense", "lanczos"):
        found = spectral_density(A, method=method, rng=0)
        assert found.moment(1).value == pytest.approx(2.5)
        assert (found.cdf(2.0).value, found.cdf(2.5).value) == (0.0, 1.0)


def test_same_seed_same_numbers():
    w = designed("uniform", 200, np.random.default_rng(0))
    A = reflected(w, np.random.default_rng(0))
    a, b = (spectral_density(A, method="lanczos", rng=3).moment(2) for _ in range(2))
    assert a == b


def test_bad_input():
    for arguments in ({"n_vectors": 1}, {"n_steps": 0}, {"method": "kpm"}):
        with pytest.raises(InputError, match=next(iter(arguments))):
            spectral_density(np.eye(3), **arguments)
    found = spectral_density(np.eye(3))
    with pytest.raises(InputError, match="width"):
        found.density(0.0, 0.0)
    with pytest.raises(InputError, match="x must be finite"):
        found.cdf(np.nan)
    with pytest.raises(InputError, match="order"):
        found.moment(-1)
    with pytest.raises(InputTypeError, match="order"):
        found.moment(1.5)
    bad = LinearOperator((50, 50), matvec=lambda v: np.full(50, np.inf), dtype=np.float64)
    for method in ("dense", "lanczos"):
        with pytest.raises(InputError, match="finite"):
            spectral_density(bad, method=method, rng=0)
