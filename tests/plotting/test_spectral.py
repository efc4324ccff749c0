"""The displays of the spectral theory: what is drawn, read back from the artists."""

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.plotting.spectral import GrokkingDisplay, SpectrumDisplay, SuccessDisplay, ThresholdDisplay
from derand.spectral import NNThreshold, SpectralLaw, SuccessCurve, TwoLayerGD

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def _legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_spectrum():
    law = SpectralLaw.from_function(lambda z: -np.tanh(z**2))
    eigenvalues = np.linspace(-1.0, -0.2, 50)
    display = SpectrumDisplay.from_law(law, 8.0, eigenvalues).plot()
    curve, mark = display.ax_.lines
    assert np.array_equal(curve.get_ydata(), law.density(curve.get_xdata(), 8.0))
    assert mark.get_xdata()[0] == law.outliers(8.0, "left")[0].value
    assert _legend(display.ax_) == ["eigenvalues", "predicted bulk", "predicted outlier"]
    display.figure_.canvas.draw()
    with pytest.raises(InputTypeError, match="law"):
        SpectrumDisplay.from_law(eigenvalues, 1.0)


def test_spectrum_of_a_law_alone():
    display = SpectrumDisplay.from_law(SpectralLaw([1.0], weights=[1.0]), 4.0)
    assert display.outliers == ()
    assert (display.x[0], display.x[-1]) == pytest.approx((0.25, 2.25))


def test_success():
    table = np.array([[0.1, 0.2], [0.9, 0.8]])
    curve = SuccessCurve(np.array([1.0, 4.0]), table, table, table)
    display = SuccessDisplay.from_curves(curve, {"delta_alg": 0.5, "delta_NN": 3.6, "none": np.inf}).plot()
    assert display.ax_.containers[0].lines[0].get_ydata().tolist() == [0.0, 1.0]
    assert {"delta_alg = 0.5", "delta_NN = 3.6", "gradient descent"} == set(_legend(display.ax_))
    with pytest.raises(InputTypeError, match="curves"):
        SuccessDisplay.from_curves({"a": table})


def test_grokking():
    run = TwoLayerGD("half-quad", "pseudo-huber", "z**2", d=20, delta=4.0, eta=0.2).run(3, rng=0)
    display = GrokkingDisplay.from_run(run).plot()
    assert np.array_equal(display.ax_.lines[1].get_ydata(), run.test_risk)
    assert len(_legend(display.ax_)) == 3
    with pytest.raises(InputTypeError, match="run"):
        GrokkingDisplay.from_run(None)
    short = TwoLayerGD("half-quad", "pseudo-huber", "z**2", d=20, delta=4.0, eta=0.2).run(0, rng=0)
    with pytest.raises(InputError, match="two recorded"):
        GrokkingDisplay.from_run(short)


def test_thresholds_against_time():
    row = [NNThreshold(v, 0.01, "dynamics", np.zeros(0)) for v in (0.8, np.inf, 1.8)]
    display = ThresholdDisplay.from_thresholds([0, 5, 10], {"quad": row}, 0.5)
    from matplotlib import pyplot

    ax = pyplot.figure().gca()
    assert display.plot(ax).ax_ is ax
    assert ax.containers[0].lines[0].get_xdata().tolist() == [0.0, 10.0]
    assert "delta_alg = 0.5" in _legend(ax)
    with pytest.raises(InputError, match="thresholds must hold 2"):
        ThresholdDisplay.from_thresholds([0, 5], {"quad": row})
