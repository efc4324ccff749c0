"""The classifier: labels of any kind, probabilities, and a task that logistic regression can't do."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from derand.estimators import StructureClassifier
from derand.exceptions import InputError


@pytest.fixture(scope="module")
def ring():
    X = np.random.default_rng(0).standard_normal((300, 4))
    return X, np.where(np.square(X[:, :2]).sum(axis=1) > 1.4, "out", "in")


@pytest.mark.medium
def test_ring(ring):
    X, y = ring
    model = StructureClassifier(2).fit(X, y)
    new = np.random.default_rng(1).standard_normal((500, 4))
    truth = np.where(np.square(new[:, :2]).sum(axis=1) > 1.4, "out", "in")
    assert model.score(new, truth) > LogisticRegression().fit(X, y).score(new, truth) + 0.25
    assert model.classes_.tolist() == ["in", "out"]
    proba = model.predict_proba(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(new))
    np.testing.assert_allclose(np.log(proba), model.predict_log_proba(new), atol=1e-10)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(model.transform(new), new @ model.components_.T)
    assert model.stderr_.shape == (2, 4)
    assert model.n_iter_ >= 1
    assert {step.k for step in model.rank_path_} == {2}


def test_one_class_is_refused(ring):
    with pytest.raises(InputError, match="1 class"):
        StructureClassifier().fit(ring[0], np.zeros(300))


@pytest.mark.parametrize("absent", [None, float("nan")], ids=["None", "NaN"])
def test_missing_labels_are_named(absent):
    X, y = np.random.default_rng(0).standard_normal((6, 2)), np.array(list("ababab"), dtype=object)
    y[3] = absent
    with pytest.raises(InputError, match="y has 1 missing label, the first in row 3: leave out"):
        StructureClassifier(1).fit(X, y)
