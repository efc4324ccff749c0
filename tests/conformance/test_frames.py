"""Data frames of pandas and polars into every estimator, and out of every transformer; names kept and checked."""

import numpy as np
import pytest

import derand.estimators
from derand.estimators import LearnedJL, MaxCutClusterer

#: Quick settings; an estimator without an entry is made with its defaults.
SETTINGS = {"LearnedJL": {"n_components": 2, "max_iter": 20}}
NAMES = ["height", "width", "depth", "age"]


def _table(n=60):
    """Return columns and a target that depends on the first two."""
    X = np.random.default_rng(0).standard_normal((n, len(NAMES)))
    return X, np.tanh(X[:, 0] + X[:, 1])


def _frame(library, X):
    module = pytest.importorskip(library)
    return module.DataFrame({name: X[:, j] for j, name in enumerate(NAMES)})


def _make(name):
    return getattr(derand.estimators, name)(**SETTINGS.get(name, {}))


def _target(estimator, y):
    from sklearn.base import is_classifier

    return (y > 0).astype(int) if is_classifier(estimator) else y


def _assert_same(actual, desired):
    """The columns of a frame lie one after the other in memory: sums are rounded differently, and nothing else."""
    np.testing.assert_allclose(actual, desired, rtol=0.0, atol=1e-6 * np.abs(desired).max())


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", derand.estimators.__all__)
def test_frames_give_what_arrays_give(name, library):
    X, y = _table()
    frame = _frame(library, X)
    by_array, by_frame = _make(name), _make(name)
    target = _target(by_array, y)
    by_array.fit(X, target)
    by_frame.fit(frame, target)
    assert by_frame.feature_names_in_.tolist() == NAMES
    for method in ("transform", "predict"):
        if hasattr(by_array, method):
            _assert_same(getattr(by_frame, method)(frame), getattr(by_array, method)(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    "name", [n for n in derand.estimators.__all__ if hasattr(getattr(derand.estimators, n), "transform")]
)
def test_frames_come_out_when_asked_for(name, library):
    X, y = _table()
    frame = _frame(library, X)
    estimator = _make(name)
    estimator.set_output(transform=library)
    images = estimator.fit(frame, _target(estimator, y)).transform(frame)
    assert type(images).__module__.startswith(library)
    assert list(images.columns) == list(estimator.get_feature_names_out())
    plain = _make(name).fit(X, _target(estimator, y)).transform(X)
    _assert_same(np.asarray(images), plain)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_other_names_are_refused(library):
    X, _ = _table()
    frame = _frame(library, X)
    learned = LearnedJL(2, max_iter=5).fit(frame)
    other = frame.rename(columns={"age": "years"}) if library == "pandas" else frame.rename({"age": "years"})
    with pytest.raises(ValueError, match="feature names"):
        learned.transform(other)


def test_index_of_a_pandas_frame_is_kept():
    pandas = pytest.importorskip("pandas")
    X, _ = _table(5)
    frame = pandas.DataFrame(X, columns=NAMES, index=list("abcde"))
    learned = LearnedJL(2, max_iter=5).set_output(transform="pandas").fit(frame)
    assert learned.transform(frame).index.tolist() == list("abcde")


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", derand.estimators.__all__)
def test_missing_values_are_refused_with_advice(name, library):
    X, y = _table(30)
    X[3, 1] = np.nan
    estimator = _make(name)
    with pytest.raises(ValueError, match=r"contains NaN") as error:
        estimator.fit(_frame(library, X), _target(estimator, y))
    assert "imput" in str(error.value)


def test_text_in_a_frame_is_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "z"]})
    with pytest.raises(ValueError, match="could not convert string to float: 'x'"):
        MaxCutClusterer().fit(frame)
