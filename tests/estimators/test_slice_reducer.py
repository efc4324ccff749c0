"""Inverse regression as a transformer: the links that each method sees, classes, ranks."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from derand.estimators import SliceReducer
from derand.exceptions import InputError
from derand.structure.subspace import subspace_distance


@pytest.mark.parametrize(
    ("method", "link", "seen"),
    [
        ("sir", np.tanh, True),
        ("sir", np.square, False),
        ("save", np.square, True),
        ("phd", np.square, True),
        ("phd", np.tanh, False),
        ("dr", np.tanh, True),
        ("dr", np.square, True),
    ],
)
def test_what_each_method_sees(method, link, seen):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 6))
    y = link(X[:, 0]) + 0.2 * rng.standard_normal(1000)
    error = subspace_distance(SliceReducer(1, method=method).fit(X, y).components_, np.eye(6)[:1])
    assert (error < 0.25) is seen


def test_classes_are_the_discriminant_subspace():
    X, y = load_wine(return_X_y=True)
    reducer = SliceReducer("auto", method="sir").fit(X, y)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert reducer.n_components_ <= 2
    assert subspace_distance(SliceReducer(2, method="sir").fit(X, y).components_, lda.scalings_[:, :2].T) < 1e-4
    assert reducer.n_slices_ == 3
    np.testing.assert_allclose(reducer.transform(X), X @ reducer.components_.T)
    assert np.all(np.diff(reducer.singular_values_) <= 0)


def test_bad_arguments():
    X = np.random.default_rng(0).standard_normal((20, 2))
    for change in ({"method": "pca"}, {"n_slices": 0}, {"n_components": 0}, {"n_components": "bic"}):
        with pytest.raises(InputError, match=next(iter(change))):
            SliceReducer(**change).fit(X, X[:, 0])
    with pytest.raises(InputError, match="constant"):
        SliceReducer().fit(np.ones((20, 2)), X[:, 0])
