"""The display of a cut: what is drawn, counted in the artists."""

import sys

import networkx as nx
import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError, MissingDependencyError
from derand.graphs import maxcut
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.solve import solve_maxcut
from derand.plotting import CutDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def _legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_graph_shows_every_edge_and_node():
    G = nx.petersen_graph()
    result = maxcut(G)
    display = CutDisplay.from_result(result, G).plot()
    cut, kept, first, second = display.ax_.collections
    assert (len(cut.get_segments()), len(kept.get_segments())) == (12, 3)
    assert (len(first.get_offsets()), len(second.get_offsets())) == tuple(map(len, result.partition))
    assert [text.get_text() for text in display.ax_.texts] == [str(node) for node in range(10)]
    assert display.ax_.get_title() == "cut 12, proved optimal"
    assert _legend(display.ax_)[:2] == ["cut edge (12)", "edge within a side (3)"]
    assert display.figure_ is display.ax_.figure
    display.figure_.canvas.draw()


def test_cut_segments_join_the_two_sides():
    G = nx.gnp_random_graph(20, 0.3, seed=3)
    result = maxcut(G, effort="quick")
    display = CutDisplay.from_result(result, G).plot()
    place = {tuple(xy): node for node, xy in zip(result.labelled.nodes, display.positions.tolist(), strict=True)}
    for collection, is_cut in zip(display.ax_.collections[:2], [True, False], strict=True):
        for start, end in collection.get_segments():
            u, v = place[tuple(start.tolist())], place[tuple(end.tolist())]
            assert G.has_edge(u, v)
            assert (result.side[u] != result.side[v]) is is_cut


def test_large_graphs_show_value_and_bound():
    G = nx.gnp_random_graph(301, 0.02, seed=1)
    result = maxcut(G, effort="derandomize")
    display = CutDisplay.from_result(result, G)
    assert display.kind == "history"
    ax = display.plot().ax_
    value, bound, expected = ax.lines
    assert value.get_ydata()[-1] == result.value
    assert bound.get_ydata()[-1] == result.upper_bound
    assert expected.get_ydata()[0] == result.expected_cut
    assert _legend(ax) == ["best cut", "proved upper bound", "expected cut of a random hyperplane"]
    assert [label.get_text() for label in ax.get_xticklabels()][-1] == result.history[-1].stage
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("stage", "weight of the cut")
    display.figure_.canvas.draw()


def test_history_without_bound():
    solution = solve_maxcut(MaxCutProblem.from_edges([0, 1, 2], [1, 2, 0]), bound=False)
    ax = CutDisplay.from_result(solution).plot(kind="history").ax_
    assert "proved upper bound" not in _legend(ax)
    assert ax.get_title() == "cut 2, no proved bound"


def test_positions_from_the_graph_or_the_caller():
    G = nx.path_graph(["a", "b", "c"])
    result = maxcut(G)
    pos = {"a": (0.0, 0.0), "b": (1.0, 5.0), "c": (2.0, 0.0)}
    given = CutDisplay.from_result(result, pos=pos)
    nx.set_node_attributes(G, pos, "pos")
    assert given.positions.tolist() == CutDisplay.from_result(result, G).positions.tolist() == [[0, 0], [1, 5], [2, 0]]


def test_given_axes_are_used():
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    display = CutDisplay.from_result(maxcut(nx.path_graph(4))).plot(ax)
    assert display.ax_ is ax
    assert display.figure_ is figure


@pytest.mark.parametrize("G", [nx.Graph(), nx.empty_graph(3), nx.path_graph(1)], ids=["empty", "edgeless", "one node"])
def test_degenerate_graphs(G):
    display = CutDisplay.from_result(maxcut(G), G)
    display.plot().figure_.canvas.draw()
    display.plot(kind="history").figure_.canvas.draw()


def test_colours_differ_in_lightness():
    # Relative luminance: what is left without any colour vision.
    display = CutDisplay.from_result(maxcut(nx.petersen_graph())).plot()
    colours = [scatter.get_facecolor()[0][:3] for scatter in display.ax_.collections[2:]]
    linear = [colour**2.2 @ [0.2126, 0.7152, 0.0722] for colour in colours]
    assert abs(linear[0] - linear[1]) > 0.4


def test_bad_arguments_are_named():
    result = maxcut(nx.path_graph(3))
    with pytest.raises(InputTypeError, match="result"):
        CutDisplay.from_result(3)
    with pytest.raises(InputError, match="G must have the nodes"):
        CutDisplay.from_result(result, nx.path_graph(4))
    with pytest.raises(InputError, match="pos must have the nodes"):
        CutDisplay.from_result(result, pos={0: (0, 0)})
    with pytest.raises(InputError, match="finite"):
        CutDisplay.from_result(result, pos={0: (0, 0), 1: (0, np.nan), 2: (1, 1)})
    with pytest.raises(InputError, match="kind"):
        CutDisplay.from_result(result).plot(kind="pie")


def test_missing_matplotlib_is_named(monkeypatch):
    display = CutDisplay.from_result(maxcut(nx.path_graph(3)))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match="matplotlib"):
        display.plot()


@pytest.mark.medium
def test_import_is_light():
    import subprocess

    code = "import sys, derand.plotting; assert not {'matplotlib', 'networkx'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
