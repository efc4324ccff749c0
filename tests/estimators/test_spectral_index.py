import pickle

import numpy as np
import pytest

from derand.estimators.spectral_index import SpectralIndexEstimator
from derand.exceptions import InputError
from derand.spectral import MultiIndexLink


def data(n=1600, d=200, h=np.square, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, h(X[:, 0])


@pytest.mark.parametrize("delta", [1, 2, 4])
def test_overlap_agrees_with_theory(delta):
    """d = 300, 6 seeds: within four standard errors and a shift of 0.03 of the finite dimension."""
    overlaps = []
    for seed in range(6):
        X, y = data(300 * delta, 300, seed=seed)
        found = SpectralIndexEstimator(link="z**2").fit(X, y)
        overlaps.append(found.components_[0, 0] ** 2)
    error = np.std(overlaps, ddof=1) / 6**0.5
    assert abs(np.mean(overlaps) - found.predicted_overlap_) < 4 * error + 0.03
    assert found.is_above_threshold_


def test_eigenvector_is_that_of_the_dense_matrix():
    X, y = data()
    found = SpectralIndexEstimator(link="z**2", tol=1e-6).fit(X, y)
    T = MultiIndexLink("z**2").optimal_preprocessing(floor=-10.0)(y)
    values, vectors = np.linalg.eigh((X.T * T) @ X / len(y))
    assert abs(found.eigenvalues_[0] / values[-1] - 1.0) < 1e-5  # single precision
    assert abs(vectors[:, -1] @ found.components_[0]) > 1.0 - 1e-8
    assert found.is_converged_
    assert abs(found.predicted_outlier_ / values[-1] - 1.0) < 0.2


def test_below_the_threshold_nothing_is_promised():
    X, y = data(80, 200)
    found = SpectralIndexEstimator(link="z**2").fit(X, y)
    assert found.is_above_threshold_ is False
    assert found.predicted_overlap_ == 0.0
    assert np.isnan(found.predicted_outlier_)
    assert found.threshold_ == pytest.approx(0.5, abs=1e-3)


def test_unknown_link_is_estimated():
    X, y = data(4000, 200, lambda z: np.cos(1.5 * z))
    found = SpectralIndexEstimator().fit(X, y)
    assert found.components_[0, 0] ** 2 > 0.8
    assert found.threshold_ is None
    assert found.predicted_overlap_ is None


def test_two_directions_from_a_matrix_preprocessing():
    X = np.random.default_rng(0).standard_normal((4000, 100))
    y = np.sign(X[:, 0] * X[:, 1])
    found = SpectralIndexEstimator(2, link=MultiIndexLink("sign(z1*z2)", 2)).fit(X, y)
    assert np.linalg.norm(found.components_[:, :2]) ** 2 / 2 > 0.85
    assert np.allclose(found.components_ @ found.components_.T, np.eye(2), atol=1e-6)
    assert found.is_above_threshold_
    assert found.transform(X[:3]).shape == (3, 2)


def test_own_preprocessing_is_predicted_too():
    X, y = data(2000, 200)
    found = SpectralIndexEstimator(link="z**2", preprocessing=lambda y: np.tanh(y - 1)).fit(X, y)
    assert abs(found.components_[0, 0] ** 2 - found.predicted_overlap_) < 0.1


def test_results_are_reproducible_and_can_be_stored():
    X, y = data()
    one, two = SpectralIndexEstimator(link="z**2").fit(X, y), SpectralIndexEstimator(link="z**2").fit(X, y)
    assert np.array_equal(one.components_, two.components_)
    stored = pickle.loads(pickle.dumps(one))
    assert stored.predicted_overlap_ == one.predicted_overlap_
    assert one.get_feature_names_out().tolist() == ["spectralindexestimator0"]


def test_bad_arguments():
    X, y = data(50, 5)
    for options, message in (
        ({"n_components": 9}, "exceeds"),
        ({"link": "z1*z2"}, "has 2 directions"),
        ({"link": 3}, "link"),
        ({"preprocessing": "best"}, "preprocessing"),
        ({"tol": 0.0}, "tol"),
    ):
        with pytest.raises(InputError, match=message):
            SpectralIndexEstimator(**options).fit(X, y)
