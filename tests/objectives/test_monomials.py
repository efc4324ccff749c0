import numpy as np
import pytest

from derand.exceptions import InputError
from derand.objectives.monomials import MonomialTable, remove
from tests.objectives.reference import gaussian_mean


def test_divisors_are_complete_and_sorted():
    table = MonomialTable([(0, 0, 2)])
    assert table.monomials == [(), (0,), (2,), (0, 0), (0, 2), (0, 0, 2)]
    assert remove((0, 0, 2), 0) == (0, 2)


def test_moments_are_isserlis():
    # E[z0 z1 z2 z3] = S01 S23 + S02 S13 + S03 S12 for mean zero (Isserlis 1918).
    factor = np.random.default_rng(0).standard_normal((4, 3))
    s = factor @ factor.T
    table = MonomialTable([(0, 1, 2, 3)])
    moment = table.moments(np.zeros(4), table.covariances(factor, factor))
    want = s[0, 1] * s[2, 3] + s[0, 2] * s[1, 3] + s[0, 3] * s[1, 2]
    assert moment[table.row[0, 1, 2, 3]] == pytest.approx(want, rel=1e-14)


def test_every_moment_against_quadrature_and_differences():
    rng = np.random.default_rng(1)
    table = MonomialTable([(0, 0, 0, 1, 1), (1, 2, 2)])
    mean, factor = rng.standard_normal(3), rng.standard_normal((3, 2))
    covariance = table.covariances(factor, factor)
    moment = table.moments(mean, covariance)
    np.testing.assert_allclose(moment, gaussian_mean(table.values, mean, factor, 8), rtol=1e-12, atol=1e-12)
    dmean, dcov = rng.standard_normal(3), rng.standard_normal(covariance.size)
    h = 1e-6
    central = (
        table.moments(mean + h * dmean, covariance + h * dcov) - table.moments(mean - h * dmean, covariance - h * dcov)
    ) / (2 * h)
    np.testing.assert_allclose(
        table.moment_derivatives(mean, covariance, moment, dmean, dcov), central, rtol=1e-7, atol=1e-7
    )


def test_constant_only():
    table = MonomialTable([()])
    assert table.moments(np.zeros(1), table.covariances(np.ones((1, 1)), np.ones((1, 1)))).tolist() == [1.0]
    assert table.values(np.ones((2, 1))).tolist() == [[1.0], [1.0]]


def test_absurd_degree_is_refused():
    with pytest.raises(InputError, match="terms"):
        MonomialTable([tuple(range(40))])
    with pytest.raises(InputError, match="terms"):
        MonomialTable([tuple(range(i, i + 15)) for i in range(0, 600, 15)])
