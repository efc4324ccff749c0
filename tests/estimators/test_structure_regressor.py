"""The regressor: attributes, weights, several outputs, refusal of sparse input, model selection."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from derand.estimators import StructureRegressor
from derand.structure.subspace import subspace_distance
from tests.structure.estimation.models import draw


@pytest.fixture(scope="module")
def fitted():
    X, y, B = draw("prod2", "gaussian", 300, 5, 1)
    return X, y, B, StructureRegressor(2).fit(X, y)


def test_attributes(fitted):
    X, y, B, model = fitted
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(model.projection_, model.components_.T @ model.components_)
    np.testing.assert_allclose(model.transform(X), X @ model.components_.T)
    assert subspace_distance(model.components_, B) < 3 * model.certificate_.expected_error
    assert model.stderr_.shape == (2, 5)
    assert model.singular_values_[0] >= model.singular_values_[1] > 0
    assert (model.n_components_, model.n_features_in_, model.rank_path_[0].k) == (2, 5, 2)
    assert model.score(X, y) > 0.7
    assert model.get_feature_names_out().tolist() == ["structureregressor0", "structureregressor1"]


def test_copies_agree(fitted):
    X, y, _, model = fitted
    np.testing.assert_array_equal(clone(model).fit(X, y).components_, model.components_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert make_pipeline(StandardScaler(), StructureRegressor(1, max_iter=2)).fit(X, y).predict(X).shape == (300,)


def test_weights_choose_samples(fitted):
    X, y, _, _ = fitted
    w = (np.arange(300) < 200).astype(float)
    weighted = StructureRegressor(2, max_iter=3).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(
        weighted.components_, StructureRegressor(2, max_iter=3).fit(X[:200], y[:200]).components_
    )


def test_shapes_of_responses(fitted):
    X, y, _, _ = fitted
    assert StructureRegressor(1, max_iter=1).fit(X, np.column_stack([y, y])).predict(X).shape == (300, 2)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert StructureRegressor(1, max_iter=1).fit(X, y[:, None]).predict(X).shape == (300,)


def test_sparse_input_is_refused(fitted):
    X, y, _, _ = fitted
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        StructureRegressor().fit(sp.csr_array(X), y)
