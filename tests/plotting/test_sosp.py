"""The display of a search: what is drawn, read from the artists."""

import sys

import numpy as np
import pytest

from derand.commands.demonstrations import coupled_wells
from derand.exceptions import InputError, InputTypeError, MissingDependencyError
from derand.optimize import minimize_sosp
from derand.plotting import SOSPDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.fixture(scope="module")
def result():
    problem = coupled_wells(12)
    return minimize_sosp(problem.fun, problem.x0, hessp=problem.hessp, gtol=1e-6, curv_tol=1e-3)


def _lines(ax):
    return {line.get_label().split(" (")[0]: line for line in ax.lines}


@pytest.mark.medium
def test_gradient_norms_against_calls(result):
    display = SOSPDisplay.from_result(result).plot()
    lines = _lines(display.ax_)
    x, y = lines["search"].get_data()
    assert x.tolist() == [record.nfev + record.nhev for record in result.history]
    # The start is a saddle: its gradient is zero and stands below all others, not at minus infinity.
    assert result.history[0].gradient_norm == 0.0
    assert y[0] == pytest.approx(min(record.gradient_norm for record in result.history[1:]) / 10.0, rel=1e-12)
    assert y[1:].tolist() == [record.gradient_norm for record in result.history[1:]]
    assert display.ax_.get_yscale() == "log"
    assert lines["tolerance 1e-06"].get_ydata()[0] == 1e-6
    display.figure_.canvas.draw()


def test_escapes_and_certificates_are_marked(result):
    lines = _lines(SOSPDisplay.from_result(result).plot().ax_)
    assert len(lines["saddle left along negative curvature"].get_xdata()) == result.n_escapes >= 1
    assert lines["certificate computed"].get_xdata()[-1] == result.nfev + result.nhev


def test_title_states_the_proof_or_its_absence(result):
    title = SOSPDisplay.from_result(result).plot().ax_.get_title()
    assert title.startswith("certified: gradient norm")
    assert f"{result.certificate.min_eigenvalue_lower:.3g}" in title
    problem = coupled_wells(12)
    early = minimize_sosp(problem.fun, problem.x0, max_evals=3)
    assert SOSPDisplay.from_result(early).plot().ax_.get_title() == "not certified: budget"


def test_values_into_given_axes(result):
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    display = SOSPDisplay.from_result(result).plot(ax, kind="value")
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert _lines(ax)["search"].get_ydata().tolist() == [record.fun for record in result.history]
    assert ax.get_yscale() == "linear"


def test_run_and_draw_at_once():
    display = SOSPDisplay.from_function(lambda x: (float(x @ x), 2.0 * x), np.zeros(2), curv_tol=1e-3)
    assert display.result.success
    assert display.ax_.get_title().endswith("at least 2")


def test_mistakes_are_named(result, monkeypatch):
    with pytest.raises(InputTypeError, match="result must be the result of minimize_sosp, got dict"):
        SOSPDisplay.from_result({})
    with pytest.raises(InputError, match="kind"):
        SOSPDisplay.from_result(result).plot(kind="pie")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"derand\[plot\]"):
        SOSPDisplay.from_result(result).plot()
