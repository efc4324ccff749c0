"""The certificate's coverage, price and bound, through `minimize_sosp` itself."""

import math

import numpy as np
import pytest

from tests.benchmarks import certificate


def _check_rate(name, delta, runs):
    """The rate is at most delta, within two standard errors of a binomial share, and at least delta/2."""
    rate = certificate.false_certificates(name, delta, runs)
    error = math.sqrt(delta * (1.0 - delta) / runs)
    assert rate <= delta + 2.0 * error
    assert rate >= 0.5 * delta


def test_planted_eigenvalue_is_missed_as_often_as_stated():
    _check_rate("uniform", 0.3, 100)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.3, 0.05])
@pytest.mark.parametrize("name", certificate.SPECTRA)
def test_planted_eigenvalue_is_missed_as_often_as_stated_on_four_spectra(name, delta):
    _check_rate(name, delta, 1500)


@pytest.mark.parametrize("tol", [1e-3])
@pytest.mark.parametrize("name", ["half zeros", "uniform"])
def test_certificate_takes_at_most_half_of_the_a_priori_count(name, tol):
    used, bound, _ = certificate.products(name, tol=tol, n=2000)
    assert used <= 0.5 * bound


@pytest.mark.slow
@pytest.mark.parametrize("tol", [1e-3, 1e-4])
@pytest.mark.parametrize("name", certificate.SPECTRA)
def test_certificate_takes_at_most_half_of_the_a_priori_count_on_four_spectra(name, tol):
    used, bound, informed = certificate.products(name, tol=tol)
    assert used <= 0.5 * bound
    # No worse than the theorem for somebody who knows spread and sign: the a-posteriori sum is at least that sharp.
    assert used <= informed


def test_a_priori_count_is_the_theorem_solved_for_the_number_of_products():
    for n, norm, tol, delta in [(1000, 1.0, 1e-3, 1e-6), (50000, 30.0, 1e-2, 0.1)]:
        k = certificate.a_priori_count(n, norm, tol, delta)
        epsilon = 0.5 * tol / (2.0 * norm)
        miss = 1.648 * math.sqrt(n) * np.exp(-math.sqrt(epsilon) * (2.0 * np.array([k, k - 2]) - 1.0))
        assert miss[0] <= delta * 1.01  # 2.75 is 1.648^2 = 2.716 rounded up
        assert miss[1] > delta * 0.9


@pytest.mark.parametrize("products_given", [True, False])
def test_lower_bound_lies_below_the_eigenvalue(products_given):
    wrong, certified = certificate.violations(60, products_given=products_given)
    assert wrong == 0
    assert certified >= 50


@pytest.mark.slow
@pytest.mark.parametrize("products_given", [True, False])
def test_lower_bound_lies_below_the_eigenvalue_in_a_thousand_of_a_thousand(products_given):
    # The expected number of violations is below 1000 * 1e-6.
    wrong, certified = certificate.violations(1000, products_given=products_given)
    assert wrong == 0
    assert certified >= 950
