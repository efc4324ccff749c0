"""Verdicts on inputs: calibrated on Gaussian samples, sensitive to the usual departures."""

import array_api_strict
import numpy as np
import pytest

from derand.exceptions import InputError
from derand.structure import MultiIndexTeacher, check_inputs, gaussian_population


def test_gaussian_samples_pass():
    """100 samples of each size: not one is refused."""
    for n, d in ((50, 3), (2000, 20)):
        assert all(check_inputs(np.random.default_rng(s).standard_normal((n, d))).is_gaussian for s in range(100))


@pytest.mark.parametrize("kind", ["uniform", "chi-square", "shifted", "scaled", "correlated", "sign"])
def test_departures_are_seen(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    changed = {
        "uniform": np.sqrt(12.0) * (rng.random((2000, 3)) - 0.5),
        "chi-square": (rng.chisquare(4, (2000, 3)) - 4.0) / np.sqrt(8.0),
        "shifted": X + 0.3,
        "scaled": 1.3 * X,
        "correlated": X @ np.linalg.cholesky(0.5 * np.eye(3) + 0.5).T,
        "sign": np.sign(X),
    }[kind]
    assert not check_inputs(changed).is_gaussian


def test_quadrature_nodes_have_exact_moments():
    population = gaussian_population(MultiIndexTeacher([0.6, 0.8], lambda s: s[:, 0]), n_nodes=5)
    found = check_inputs(population.X, population.weights)
    largest = max(found.mean_error, found.variance_error, found.skewness, found.excess_kurtosis, found.correlation)
    assert largest < 1e-12
    assert found.is_gaussian


def test_weights_and_other_libraries():
    X = np.random.default_rng(1).standard_normal((30, 2))
    doubled = check_inputs(np.concatenate([X, X]))
    weighted = check_inputs(array_api_strict.asarray(X))
    assert weighted.excess_kurtosis == pytest.approx(doubled.excess_kurtosis, rel=1e-12)
    assert (weighted.n_effective, doubled.n_effective) == (pytest.approx(30.0), pytest.approx(60.0))


def test_fewer_points_than_columns_are_no_evidence():
    assert not check_inputs(np.random.default_rng(0).standard_normal((10, 10))).is_gaussian


def test_bad_input_is_named():
    with pytest.raises(InputError, match="X"):
        check_inputs(np.zeros((0, 2)))
    with pytest.raises(InputError, match="weights"):
        check_inputs(np.zeros((3, 2)), np.ones(2))
