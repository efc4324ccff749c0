"""Displays of estimated structures, counted in the artists."""

import numpy as np
import pytest

from derand.estimators import SliceReducer
from derand.exceptions import InputError, InputTypeError
from derand.plotting import RankPathDisplay, SufficientSummaryDisplay
from derand.structure.estimation.classification import estimate_class_structure
from derand.structure.estimation.estimate import estimate_structure

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


X = np.random.default_rng(0).standard_normal((80, 3))


@pytest.mark.parametrize("k", [1, 2])
def test_summary_of_a_regression(k):
    y = X[:, 0] + X[:, 1] ** 2
    display = SufficientSummaryDisplay.from_estimate(estimate_structure(X, y, k), X, y).plot()
    offsets = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(offsets[:, 0], display.coordinates[:, 0])
    assert len(offsets) == 80
    assert display.ax_.get_ylabel() == ("response" if k == 1 else "second direction")
    display.figure_.canvas.draw()


def test_summary_of_classes():
    labels = (X[:, 0] > 0).astype(int)
    found = estimate_class_structure(X, labels, 1, max_iter=10)
    display = SufficientSummaryDisplay.from_estimate(found, X, labels).plot()
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == ["0", "1"]
    assert sum(len(c.get_offsets()) for c in display.ax_.collections) == 80


def test_path():
    found = estimate_structure(X, X[:, 0], max_components=2)
    display = RankPathDisplay.from_estimate(found).plot()
    assert display.criterion == "BIC"
    np.testing.assert_allclose([bar.get_height() for bar in display.ax_.patches], found.singular_values)
    display.figure_.canvas.draw()


def test_estimators_and_bad_arguments():
    reducer = SliceReducer(1, method="sir").fit(X, X[:, 0])
    assert SufficientSummaryDisplay.from_estimator(reducer, X, X[:, 0]).coordinates.shape == (80, 1)
    with pytest.raises(InputError, match="y"):
        SufficientSummaryDisplay.from_estimator(reducer, X, X[:5, 0])
    for call in (
        lambda: SufficientSummaryDisplay.from_estimator(SliceReducer(), X, X),
        lambda: RankPathDisplay.from_estimate(3),
    ):
        with pytest.raises(InputTypeError):
            call()
