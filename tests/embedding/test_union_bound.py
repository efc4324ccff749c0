"""The union bound against simulation, the central law, differences of itself, and the limit of a fixed map."""

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

from derand.embedding.johnson_lindenstrauss import jl_failure_bound
from derand.embedding.union_bound import UnionBound, _density, _exact_tail, _series_tail
from derand.embedding.unit_differences import UnitDifferences
from tests.embedding.data import brute_ratios, gaussian


def _bound(n=7, r=5, k=3):
    X = gaussian(n, r)
    first, second = np.triu_indices(n, 1)
    return X, UnionBound(UnitDifferences(X, first, second), (k, r))


def test_at_zero_it_is_the_chi_square_bound():
    _, union = _bound()
    for eps in (0.3, 0.9):
        value = union.of_squares(np.zeros(21), 1 / np.sqrt(3), eps)[0]
        assert value == pytest.approx(jl_failure_bound(3, 7, eps), rel=1e-12)
    # Beyond 1 no image can be too short.
    value = union.of_squares(np.zeros(21), 1 / np.sqrt(3), 2.0)[0]
    assert value == pytest.approx(21 * chi2.sf(9.0, 3), rel=1e-12)


@pytest.mark.medium
def test_mean_number_of_failures_by_simulation():
    """F is the expected number of pairs that fail; 20,000 draws, three standard errors."""
    X, union = _bound()
    M, sigma, eps, rng = 0.5 * gaussian(3, 5, 1), 0.2, 0.6, np.random.default_rng(3)
    squares = brute_ratios(X, M)
    value = union.of_squares(squares, sigma, eps)[0]
    failures = np.array(
        [np.sum(np.abs(brute_ratios(X, M + sigma * rng.standard_normal(M.shape)) - 1) > eps) for _ in range(20_000)]
    )
    assert value == pytest.approx(failures.mean(), abs=3 * failures.std() / np.sqrt(failures.size))


@pytest.mark.parametrize(("sigma", "eps"), [(0.5, 0.4), (0.1, 0.7), (0.02, 0.3), (0.3, 1.5)])
def test_gradient(sigma, eps):
    _, union = _bound()
    x, step, h = 0.5 * gaussian(1, 15, 1).ravel(), gaussian(1, 15, 2).ravel(), 1e-6
    gradient = union.log_value_and_grad(x, sigma, eps)[1]
    ends = [union.log_value_and_grad(x + s * h * step, sigma, eps)[0] for s in (1, -1)]
    assert gradient @ step == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5, abs=1e-8)


def test_density():
    centre = np.array([0.0, 1e-9, 0.3, 7.0, 400.0])
    for df, x in ((3, 2.0), (18, 30.0)):
        # The last one is below what scipy returns as 0.
        expected = [chi2.pdf(x, df), *ncx2.pdf(x, df, centre[1:])]
        np.testing.assert_allclose(
            _density(x, df, centre), expected, rtol=1e-8, atol=1e-70
        )  # scipy gives up on the last


def test_tails_left_out_are_counted_upwards():
    """With the reach of the tails at infinity the value differs by at most exp(-32) for each."""
    _, union = _bound()
    squares, sigma, eps = np.linspace(0.5, 1.6, 21), 0.01, 0.5
    value = union.of_squares(squares, sigma, eps)[0]
    exact = np.sum(ncx2.sf(1.5e4, 3, squares * 1e4) + ncx2.cdf(0.5e4, 3, squares * 1e4))
    assert exact - 1e-12 <= value <= exact + 42 * (np.exp(-32) + 1e-12) + 1e-12


def test_fixed_map():
    _, union = _bound()
    squares = np.array([0.8, 1.0, 1.3])
    assert union.of_squares(squares, 0.0, 0.25)[0] == 1.0
    assert union.least_eps(squares, 0.0) == (pytest.approx(0.3), 0.0)


def test_least_eps_has_even_odds():
    X, union = _bound()
    squares = brute_ratios(X, 0.5 * gaussian(3, 5, 1))
    eps, failure = union.least_eps(squares, 0.1)
    assert failure <= 0.5
    assert union.of_squares(squares, 0.1, 0.999 * eps)[0] > 0.5
    # The limit of little randomness is the distortion itself.
    assert union.least_eps(squares, 1e-4)[0] == pytest.approx(np.abs(squares - 1).max(), rel=1e-2)


@pytest.mark.parametrize("k", [1, 2, 3, 16, 64])
@pytest.mark.parametrize("sigma", [0.5, 0.1, 0.01, 0.001])
def test_the_series_of_a_tail(k, sigma):
    """scipy's own distribution function is good to 2e-13 here."""
    x = 1.3 / sigma**2
    reach = np.sqrt(k) + 8.0
    roots = np.sqrt(x) + np.random.default_rng(k).uniform(-reach, reach, 300)
    below, density, error = _series_tail(x, k, np.square(roots))
    exact, exact_density, _ = _exact_tail(x, k, np.square(roots))
    assert np.abs(below - exact).max() < 0.5 * error
    assert np.abs(density - exact_density).max() < 1e-12 * exact_density.max()
