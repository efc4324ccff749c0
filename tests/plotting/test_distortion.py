"""The display of distortion: counts, curves and bounds against brute force, and what is drawn."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from derand.embedding import linear_lower_bound
from derand.estimators import LearnedJL
from derand.exceptions import InputError, MissingDependencyError
from derand.plotting import DistortionDisplay
from derand.plotting import distortion as module
from tests.embedding.data import brute_distortion, brute_ratios, gaussian

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def _legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_histogram_counts_every_pair():
    X = gaussian(30, 6)
    M = 0.9 * np.eye(4, 6)
    display = DistortionDisplay.from_map(X, M, n_random=3)
    ratios = brute_ratios(X, M)
    np.testing.assert_array_equal(display.counts["learned"], np.histogram(ratios, display.edges)[0])
    assert display.distortions["learned"][0] == pytest.approx(np.abs(ratios - 1).max(), rel=1e-9)
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:4]
    principal = brute_ratios(X, axes)
    expected = (principal.max() - principal.min()) / (principal.max() + principal.min())
    assert display.distortions["principal axes"][0] == pytest.approx(expected, rel=1e-9)
    ax = display.plot().ax_
    assert len(ax.patches) == 3
    assert _legend(ax)[2].startswith("Gaussian, best of 3: ")
    assert ax.get_title() == "4 dimensions"
    display.figure_.canvas.draw()


def test_fitted_estimator_brings_its_bound():
    X = gaussian(30, 6)
    learned = LearnedJL(2, max_iter=50, compute_lower_bound=True).fit(X)
    display = DistortionDisplay.from_map(X, learned, n_random=1).plot()
    assert display.lower_bounds[0] == learned.lower_bound_
    assert display.distortions["learned"][0] == pytest.approx(learned.distortion_, rel=1e-9)
    lines = [line.get_xdata()[0] for line in display.ax_.lines]
    assert lines == [1 - learned.lower_bound_, 1 + learned.lower_bound_]


@pytest.mark.medium
def test_curves_against_dimension():
    X = gaussian(25, 6) * np.geomspace(2.0, 0.5, 6)
    display = DistortionDisplay.from_dimensions(sp.csr_array(X), [2, 4, 6], n_random=2)
    learned, bounds = display.distortions["learned"], display.lower_bounds
    assert (bounds <= learned).all()
    assert (learned[:2] < display.distortions["principal axes"][:2]).all()
    assert learned[2] < 1e-12
    ax = display.plot().ax_
    assert _legend(ax) == ["learned", "principal axes", "Gaussian, best of 2", "lower bound for linear maps"]
    assert np.isnan(ax.lines[0].get_ydata()[2])
    np.testing.assert_array_equal(ax.lines[3].get_ydata()[:2], bounds[:2])
    display.figure_.canvas.draw()
    plain = DistortionDisplay.from_dimensions(X, [2], lower_bound=False, n_random=1).plot()
    assert len(plain.ax_.lines) == 3
    assert linear_lower_bound(X, 2).value <= plain.distortions["learned"][0]


def test_many_points_are_drawn(monkeypatch):
    monkeypatch.setattr(module, "_MOST_POINTS", 10)
    X = gaussian(40, 4)
    display = DistortionDisplay.from_map(X, np.eye(2, 4), n_random=1)
    assert display.counts["learned"].sum() == 45
    assert display.distortions["learned"][0] <= brute_distortion(X, np.eye(2, 4))


def test_equal_points_have_no_ratio():
    X = np.repeat(gaussian(6, 3), 2, axis=0)
    assert DistortionDisplay.from_map(X, np.eye(2, 3), n_random=1).counts["learned"].sum() == 60


def test_given_axes_are_used():
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    display = DistortionDisplay.from_map(gaussian(8, 3), np.eye(2, 3), n_random=1).plot(ax)
    assert display.ax_ is ax
    assert display.figure_ is figure


def test_bad_arguments_are_named():
    with pytest.raises(InputError, match="M must have shape"):
        DistortionDisplay.from_map(gaussian(8, 3), np.eye(2))
    with pytest.raises(InputError, match="two distinct points"):
        DistortionDisplay.from_map(np.ones((3, 2)), np.eye(2))
    with pytest.raises(InputError, match="two distinct points"):
        DistortionDisplay.from_dimensions(np.ones((3, 2)), [1])
    with pytest.raises(InputError, match="n_random"):
        DistortionDisplay.from_map(gaussian(8, 3), np.eye(3), n_random=0)
    with pytest.raises(InputError, match="dimensions"):
        DistortionDisplay.from_dimensions(gaussian(8, 3), [])
    with pytest.raises(InputError, match="dimensions"):
        DistortionDisplay.from_dimensions(gaussian(8, 3), [0])


def test_missing_matplotlib_is_named(monkeypatch):
    display = DistortionDisplay.from_map(gaussian(8, 3), np.eye(2, 3), n_random=1)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match="matplotlib"):
        display.plot()
