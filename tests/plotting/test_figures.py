"""Figures: new axes and files."""

import sys

import pytest

from derand.exceptions import MissingDependencyError
from derand.plotting.figures import axes_for, save_figure

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "PDF"])
def test_the_same_picture_is_the_same_file_and_is_closed(suffix, tmp_path, monkeypatch):
    from matplotlib import pyplot

    monkeypatch.setitem(matplotlib.rcParams, "svg.hashsalt", "derand")
    paths = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    for path in paths:
        figure, ax = pyplot.subplots()
        ax.set_title("a line")
        save_figure(figure, str(path))
    assert not pyplot.get_fignums()  # a long process keeps no picture
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_new_axes_or_those_given():
    from matplotlib import pyplot

    ax = axes_for(None, (3.0, 2.0))
    assert tuple(ax.figure.get_size_inches()) == (3.0, 2.0)
    assert axes_for(ax, (5.0, 5.0)) is ax
    assert axes_for(None, (3.0, 2.0), 2, 3).shape == (2, 3)
    assert len(pyplot.get_fignums()) == 2


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'derand\[plot\]'"):
        axes_for(None, (3.0, 2.0))
