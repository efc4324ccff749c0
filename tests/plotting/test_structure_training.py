"""The cloud of weights: coordinates against projections, artists against the path."""

import itertools
import sys

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError, MissingDependencyError
from derand.plotting import WeightCloudDisplay
from derand.structure import MultiIndexTeacher, Network, gaussian_population, noisy_descent, train_network

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

DIRECTION = np.array([0.6, 0.8])
POPULATION = gaussian_population(MultiIndexTeacher(DIRECTION, lambda s: np.tanh(s[:, 0])), n_nodes=10)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def trained(m=6):
    """Return a network trained on the population."""
    return train_network(Network(2, m), POPULATION, lam=0.05, rest_decay=0.05)


def test_coordinates_are_projections():
    run = trained()
    points = WeightCloudDisplay.from_trained(run).coordinates()
    assert points.shape == (len(run.path), 6, 2)
    across = np.array([0.8, -0.6])
    for snapshot, drawn in zip(run.path, points, strict=True):
        np.testing.assert_allclose(np.abs(drawn[:, 0]), np.abs(snapshot.W @ DIRECTION), atol=1e-12)
        np.testing.assert_allclose(np.abs(drawn[:, 1]), np.abs(snapshot.W @ across), atol=1e-12)


def test_every_unit_is_drawn():
    run = trained()
    display = WeightCloudDisplay.from_trained(run).plot()
    paths, start, end = display.ax_.collections
    assert len(paths.get_segments()) == 6
    points = display.coordinates()
    np.testing.assert_allclose(start.get_offsets(), points[0])
    np.testing.assert_allclose(end.get_offsets(), points[-1])
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["span of the teacher", "start", "end"]
    assert f"{run.certificate.share:.5g}" in display.ax_.get_title()
    display.figure_.canvas.draw()


def test_given_axes_and_descents():
    from matplotlib import pyplot

    network = Network(2, 300)
    run = noisy_descent(network, itertools.repeat(POPULATION), network.random_parameters(rng=0), step=0.01, max_steps=3)
    ax = pyplot.subplots()[1]
    display = WeightCloudDisplay.from_trained(run, DIRECTION).plot(ax)
    assert display.ax_ is ax
    assert len(display.ax_.collections[0].get_segments()) == 200
    assert display.shares.shape == (len(run.path),)


def test_bad_input_is_named(monkeypatch):
    with pytest.raises(InputTypeError, match="trained"):
        WeightCloudDisplay.from_trained(3)
    network = Network(2, 3)
    run = noisy_descent(network, [POPULATION], network.random_parameters(rng=0))
    with pytest.raises(InputError, match="directions"):
        WeightCloudDisplay.from_trained(run)
    with pytest.raises(InputError, match="directions"):
        WeightCloudDisplay.from_trained(run, [1.0, 0.0, 0.0])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match="matplotlib"):
        WeightCloudDisplay.from_trained(run, DIRECTION).plot()


def test_the_legend_lies_outside_the_axes():
    display = WeightCloudDisplay.from_trained(trained()).plot()
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y1 < display.ax_.xaxis.label.get_window_extent().y0
    assert legend.y0 >= 0.0
