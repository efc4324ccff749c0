"""Dimensions against mpmath's chi-square tails, simulation-free identities and the usual formula."""

import math

import mpmath
import pytest
from sklearn.random_projection import johnson_lindenstrauss_min_dim

from derand.embedding import jl_failure_bound, jl_min_dim
from derand.exceptions import InputError, InputTypeError


@pytest.mark.parametrize(("k", "n", "eps"), [(1, 2, 0.3), (7, 50, 0.5), (300, 1000, 0.2), (6000, 1000, 0.1)])
def test_bound_against_mpmath(k, n, eps):
    with mpmath.workdps(40):
        half = mpmath.mpf(k) / 2
        upper = mpmath.gammainc(half, half * (1 + mpmath.mpf(eps)), regularized=True)
        lower = mpmath.gammainc(half, 0, half * (1 - mpmath.mpf(eps)), regularized=True)
        expected = float(n * (n - 1) / 2 * (upper + lower))
    assert jl_failure_bound(k, n, eps) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n", "eps", "delta"), [(2, 0.9, 1.0), (100, 0.5, 1.0), (100, 0.5, 0.05), (5000, 0.3, 0.01)])
def test_least_dimension(n, eps, delta):
    k = jl_min_dim(n, eps, delta)
    assert jl_failure_bound(k, n, eps) < delta
    assert k == 1 or jl_failure_bound(k - 1, n, eps) >= delta


def test_below_the_usual_formula():
    for n, eps in [(100, 0.5), (1000, 0.1), (1797, 0.1)]:
        assert jl_min_dim(n, eps) < johnson_lindenstrauss_min_dim(n, eps=eps)
    assert math.isclose(jl_min_dim(1797, 0.1), 6282)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((1, 0.1), InputError),
        ((10, 0.0), InputError),
        ((10, 1.0), InputError),
        ((10, 0.1, 0.0), InputError),
        ((10.5, 0.1), InputTypeError),
        ((10, "x"), InputTypeError),
    ],
)
def test_bad_input(arguments, error):
    with pytest.raises(error):
        jl_min_dim(*arguments)
