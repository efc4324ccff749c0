"""scikit-learn's callbacks see every step of a fit, can end it, and change nothing else."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import derand.estimators
from derand.estimators import LearnedJL, MaxCutClusterer
from derand.estimators.callbacks import FitTasks

callback = pytest.importorskip("sklearn.callback")


class Recorder:
    """A callback that keeps what it is told, and asks for the end after a number of steps."""

    def __init__(self, stop_after=None):
        self.events, self.stop_after = [], stop_after

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.events.append(f"begin {context.task_name}")
        assert X is not None

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.events.append(f"end {context.task_name}")
        if context.task_name != "fit":
            assert metadata["state"] is not None
        steps = sum(event.startswith("end") for event in self.events)
        return self.stop_after is not None and steps >= self.stop_after

    def teardown(self, estimator, context):
        self.events.append("teardown")


X = np.random.default_rng(0).standard_normal((40, 8))


def _supported():
    """Return quick instances of the estimators with progress."""
    quick = {"LearnedJL": {"n_components": 3, "max_iter": 50}, "NetworkReducer": {"hidden": 3}}
    classes = (getattr(derand.estimators, name) for name in derand.estimators.__all__)
    return [c(**quick.get(c.__name__, {})) for c in classes if issubclass(c, callback.CallbackSupportMixin)]


@pytest.mark.parametrize("estimator", _supported(), ids=lambda estimator: type(estimator).__name__)
def test_every_step_is_reported_and_nothing_else_changes(estimator):
    recorder, y = Recorder(), np.tanh(X[:, 0])
    y = np.where(y > 0.0, "up", "down") if is_classifier(estimator) else y
    plain = clone(estimator).fit(X, y)
    watched = clone(estimator).set_callbacks(recorder).fit(X, y)
    first, *steps, last = recorder.events[1:-1]
    assert (recorder.events[0], first, last, recorder.events[-1]) == ("setup", "begin fit", "end fit", "teardown")
    assert len(steps) >= 2
    assert steps[0::2] == ["begin " + step[4:] for step in steps[1::2]]
    for name in ("components_", "labels_"):
        if hasattr(plain, name):
            np.testing.assert_array_equal(getattr(plain, name), getattr(watched, name))


def test_estimators_with_progress():
    names = {type(estimator).__name__ for estimator in _supported()}
    assert names == {"LearnedJL", "MaxCutClusterer", "NetworkReducer", "StructureClassifier", "StructureRegressor"}


def test_a_callback_can_end_the_fit():
    recorder = Recorder(stop_after=1)
    learned = LearnedJL(3).set_callbacks(recorder).fit(X)
    assert recorder.events.count("end scan") == 1
    assert learned.transform(X).shape == (40, 3)
    assert recorder.events[-1] == "teardown"


def test_teardown_comes_also_after_a_failure():
    recorder = Recorder()
    with pytest.raises(ValueError, match="n_components"):
        LearnedJL(0).set_callbacks(recorder).fit(X)
    assert recorder.events == ["setup", "begin fit", "teardown"]


def test_without_callbacks_nothing_is_set_up():
    tasks = FitTasks(MaxCutClusterer(), X)
    assert tasks.step("state") is False
    tasks.end()
