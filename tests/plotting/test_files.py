"""Files of pictures."""

import pytest

from derand.plotting.files import save_figure

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
