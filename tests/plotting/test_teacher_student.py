"""What the pictures of runs show, read from the artists."""

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.plotting import EscapeTimeDisplay, LossCurvesDisplay
from derand.plotting.teacher_student import check_model, style
from derand.teacher_student import TeacherStudent

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_losses_start_as_predicted_and_stay_on_their_dotted_plateau():
    models = {f"p = {p}": TeacherStudent(p, 2, lr=0.1) for p in (2, 4)}
    display = LossCurvesDisplay.from_models(models, np.linspace(0.0, 20.0, 21), N=1e8, rng=0).plot()
    lines = display.ax_.get_lines()
    assert len(lines) == 4
    for (label, model), line, level in zip(models.items(), lines[::2], lines[1::2], strict=True):
        assert line.get_label() == label
        assert level.get_ydata()[0] == model.plateau().loss
        assert np.isclose(line.get_ydata()[-1], level.get_ydata()[0], rtol=1e-3)
        assert np.array_equal(line.get_xdata(), np.linspace(0.0, 20.0, 21))
    assert display.ax_.get_yscale() == "log"
    assert display.figure_ is display.ax_.figure


def test_models_without_a_plateau_and_runs_that_diverge():
    models = {"erf": TeacherStudent(2, 1, "erf"), "too fast": TeacherStudent(4, 2, lr=0.9)}
    display = LossCurvesDisplay.from_models(models, [0.0, 50.0], rng=0).plot()
    assert display.plateaus == {"erf": None, "too fast": None}
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["erf", "too fast (diverged)"]


def test_overlaps_of_a_given_teacher_have_its_covariance():
    T = np.diag([4.0, 1e-4])
    model = TeacherStudent(300, 2, T=T, lr=1e-3)
    rho = LossCurvesDisplay.from_models({"": model}, [0.0], N=1e4, rng=0).curves[""].rho[0]
    assert np.allclose(rho.std(axis=0), [0.02, 1e-4], rtol=0.2)


def test_escape_times_are_the_models():
    display = EscapeTimeDisplay.from_widths((2, 4), (1, 2), N=1e6, n_starts=None, lr=0.1).plot()
    assert len(display.points) == 4
    for point in display.points:
        alone = TeacherStudent(**point.setting, lr=0.1).escape_time(1e6, second_order=False)
        assert (point.value.time, point.value.rate) == (alone.time, alone.rate)
    first = display.ax_.containers[0].lines[0]
    assert first.get_xdata().tolist() == [2, 4]
    times = [p.value.time for p in display.points if p.setting["p_star"] == 1]
    assert first.get_ydata().tolist() == times
    assert display.ax_.get_ylim()[0] == 0.0


def test_escape_times_over_jobs_and_with_settings_that_have_none():
    one, two = (
        EscapeTimeDisplay.from_widths((2, 4), (2,), N=1e6, n_starts=2, second_order=True, n_jobs=jobs, rng=0, lr=0.25)
        for jobs in (1, 2)
    )
    assert [p.value for p in one.points] == [p.value for p in two.points]
    worse = EscapeTimeDisplay.from_widths((2,), (2,), n_starts=None, second_order=True, lr=5.0)
    assert not worse.points[0].success
    worse.plot()


def test_given_axes_are_used():
    from matplotlib import pyplot

    _, axes = pyplot.subplots()
    assert LossCurvesDisplay.from_models({"a": TeacherStudent(1, 1)}, [0.0, 1.0], rng=0).plot(axes).ax_ is axes


def test_bad_arguments():
    with pytest.raises(InputError, match="models"):
        LossCurvesDisplay.from_models({}, [0.0])
    with pytest.raises(InputTypeError, match="models"):
        LossCurvesDisplay.from_models({"a": 3}, [0.0])
    with pytest.raises(InputError, match="N must"):
        LossCurvesDisplay.from_models({"a": TeacherStudent(1, 1)}, [0.0], N=0.0)
    with pytest.raises(InputError, match="at least one width"):
        EscapeTimeDisplay.from_widths((), (1,))
    with pytest.raises(InputTypeError, match="model"):
        check_model(None, "model")


def test_lines_differ_in_colour_and_dashes():
    styles = [style(index) for index in range(7)]
    assert len({s["color"] for s in styles}) == len({str(s["linestyle"]) for s in styles}) == 7
