"""The displays of two gradient steps: what is drawn, read from the artists."""

import sys
import warnings

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError, MissingDependencyError
from derand.plotting import AlignmentDisplay, PhaseDiagramDisplay, SingularValueDisplay
from derand.two_step import (
    AssumptionWarning,
    PhaseDiagram,
    predict_outliers,
    random_problem,
    step_sizes,
    two_step_update,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.fixture(scope="module")
def result():
    problem = random_problem(200, 200, 200, [np.tanh], rng=0)
    series = [0.0, 1.0, 0.5]
    etas = step_sizes(problem.X, problem.y, 200, series, alphas=(0.4, 0.4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        return two_step_update(*problem[:4], *etas, activation=series)


def _diagram():
    counts = np.array([[1, 1, 2], [1, 2, 2]])
    off = counts.copy()
    off[1, 0] = 2
    return PhaseDiagram((0.1, 0.4), (0.1, 0.2, 0.3), counts + 1, counts, off, 0 * counts, np.zeros((2, 3, 7)), 500)


def test_histograms_hold_all_singular_values(result):
    display = SingularValueDisplay.from_result(result).plot()
    for ax in display.axes_:
        assert sum(patch.get_height() for patch in ax.patches) == 200
    prediction = predict_outliers(result)
    drawn = np.concatenate([line.get_xdata() for line in display.axes_[2].lines if line.get_linestyle() == "None"])
    np.testing.assert_allclose(np.sort(drawn), np.sort(prediction.location))
    assert display.figure_ is display.axes_[0].figure
    display.figure_.canvas.draw()


@pytest.mark.medium
def test_given_prediction_and_axes(result):
    from matplotlib import pyplot

    axes = pyplot.subplots(3)[1]
    prediction = predict_outliers(result, bulk="isotropic")
    display = SingularValueDisplay.from_result(result, prediction).plot(axes)
    assert display.axes_[1] is axes[1]
    assert display.prediction is prediction
    with pytest.raises(InputError, match="three axes"):
        display.plot(axes[:2])


def test_phase_diagrams_show_their_numbers():
    display = PhaseDiagramDisplay.from_diagram(_diagram()).plot()
    for ax, table in zip(display.axes_, (_diagram().asymptotic, _diagram().predicted, _diagram().counted), strict=True):
        shown = {tuple(map(int, text.get_position())): int(text.get_text()) for text in ax.texts}
        assert shown == {(i, j): int(number) for (i, j), number in np.ndenumerate(table)}
    frames = display.axes_[2].lines[0]
    assert list(zip(frames.get_xdata(), frames.get_ydata(), strict=True)) == [(1, 0)]
    assert [text.get_text() for text in display.axes_[2].get_legend().get_texts()] == ["not as predicted"]
    display.figure_.canvas.draw()
    with pytest.raises(InputError, match="three axes"):
        display.plot(display.axes_[:1])


def test_alignments():
    tables = {"reuse": [[0.3, 0.5], [0.4, 0.4]], "fresh": [[0.2, 0.2], [0.1, 0.1]]}
    display = AlignmentDisplay.from_alignments(
        [100, 400], tables, chance=[0.1, 0.05], theory={"reuse": 0.45, "fresh": 0.0}
    ).plot()
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert sorted(labels) == ["chance", "fresh", "reuse"]
    curve = display.ax_.containers[0].lines[0]
    np.testing.assert_allclose(curve.get_ydata(), [0.4, 0.4])
    assert any(np.allclose(line.get_ydata(), 0.45) for line in display.ax_.lines)
    single = AlignmentDisplay.from_alignments([100], {"reuse": [[0.3]]}).plot(scale="log")
    assert single.ax_.get_yscale() == "log"


def test_bad_input(result):
    with pytest.raises(InputTypeError, match="two_step_update"):
        SingularValueDisplay.from_result(result.W2)
    with pytest.raises(InputTypeError, match="phase_diagram"):
        PhaseDiagramDisplay.from_diagram(np.eye(2))
    with pytest.raises(InputError, match="alignments"):
        AlignmentDisplay.from_alignments([1, 2], {"a": [[1.0]]})
    with pytest.raises(InputError, match="theory"):
        AlignmentDisplay.from_alignments([1], {"a": [[1.0]]}, theory={"b": 1.0})
    with pytest.raises(InputError, match="scale"):
        AlignmentDisplay.from_alignments([1], {"a": [[1.0]]}).plot(scale="cubic")


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match="matplotlib"):
        PhaseDiagramDisplay.from_diagram(_diagram()).plot()
