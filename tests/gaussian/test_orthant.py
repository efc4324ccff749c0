import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from derand.exceptions import InputError, InputTypeError
from derand.gaussian.bivariate import bivariate_normal_cdf
from derand.gaussian.orthant import orthant_probability


@given(st.floats(-1, 1))
def test_two_coordinates_agree_with_the_distribution_function(rho):
    assert abs(orthant_probability([[1, rho], [rho, 1]]) - bivariate_normal_cdf(0.0, 0.0, rho)) <= 1e-15


def test_relative_accuracy_near_minus_one():
    rho = -1 + 2.0**-40
    # acos(1 - e) = sqrt(2 e) (1 + e/12 + ...)
    exact = np.sqrt(2.0**-39) * (1 + 2.0**-40 / 12) / (2 * np.pi)
    assert abs(orthant_probability([[1, rho], [rho, 1]]) / exact - 1) <= 1e-15


def test_three_coordinates_against_sampling():
    rng = np.random.default_rng(4)
    factor = rng.normal(size=(3, 3))
    factor /= np.linalg.norm(factor, axis=1, keepdims=True)
    hits = np.all(rng.standard_normal((400_000, 3)) @ factor.T > 0, axis=1)
    matrix = factor @ factor.T
    np.fill_diagonal(matrix, 1.0)
    assert abs(hits.mean() - orthant_probability(matrix)) <= 4.5 * hits.std() / np.sqrt(hits.size)


def test_the_eight_octants_sum_to_one():
    rng = np.random.default_rng(5)
    factors = rng.normal(size=(50, 3, 3))
    factors /= np.linalg.norm(factors, axis=-1, keepdims=True)
    matrices = factors @ np.swapaxes(factors, -1, -2)
    signs = np.array(np.meshgrid(*[[1, -1]] * 3)).reshape(3, -1).T
    total = sum(orthant_probability(matrices * np.outer(s, s)) for s in signs)
    assert total.shape == (50,)
    assert np.max(np.abs(total - 1)) <= 2e-15


def test_special_matrices():
    assert orthant_probability([[1.0]]) == 0.5
    assert orthant_probability(np.eye(3)) == 0.125
    assert abs(orthant_probability(np.ones((3, 3))) - 0.5) <= 1e-16
    assert orthant_probability([[1, -0.5, -0.5], [-0.5, 1, -0.5], [-0.5, -0.5, 1]]) <= 1e-16
    assert orthant_probability(np.zeros((0, 2, 2)) + np.eye(2)).shape == (0,)


@pytest.mark.parametrize(
    ("matrix", "exception"),
    [
        (np.eye(4), InputError),
        (np.ones(3), InputError),
        (np.ones((2, 3)), InputError),
        (np.diag([1.0, 2.0]), InputError),
        ([[1, 0.5], [0.4, 1]], InputError),
        ([[1, 1.5], [1.5, 1]], InputError),
        ([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]], InputError),
        ([[1, np.nan], [np.nan, 1]], InputError),
        (np.eye(2) * (1 + 0j), InputTypeError),
    ],
)
def test_bad_input(matrix, exception):
    with pytest.raises(exception, match="correlation"):
        orthant_probability(matrix)
