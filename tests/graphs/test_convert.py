"""Graphs become problems: semantics of weights, loops, parallel edges, labels, and errors that name the edge."""

import random
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

from derand.exceptions import InputError, InputTypeError
from derand.graphs import maxcut
from derand.graphs.convert import labelled_problem
from derand.io import read_graph


def _mixed_graph():
    G = nx.Graph()
    G.add_edge("a", "b", weight=3)
    G.add_edge("b", "c")
    G.add_edge("c", "a", weight=-2)
    G.add_edge("c", "c", weight=100)
    G.add_node("lonely")
    return G


def test_loops_ignored_and_missing_weight_is_one():
    labelled = labelled_problem(_mixed_graph())
    assert labelled.nodes == ("a", "b", "c", "lonely")
    assert labelled.problem.n_edges == 3
    side = labelled.side_of({"b"})
    assert labelled.problem.cut_value(side) == 4
    assert nx.cut_size(_mixed_graph(), {"b"}, weight="weight") == 4


@pytest.mark.parametrize("seed", range(5))
def test_cut_value_equals_networkx(seed):
    rng = random.Random(seed)
    G = nx.gnp_random_graph(20, 0.4, seed=seed)
    for _, _, data in G.edges(data=True):
        data["cost"] = rng.uniform(-5.0, 5.0)
    cut = set(rng.sample(range(20), 9))
    labelled = labelled_problem(G, "cost")
    ours = labelled.problem.cut_value(labelled.side_of(cut))
    assert ours == pytest.approx(nx.cut_size(G, cut, weight="cost"), abs=1e-12)


def test_parallel_edges_are_summed_exactly():
    G = nx.MultiGraph()
    G.add_edge(0, 1, weight=2**70)
    G.add_edge(1, 0, weight=1)
    labelled = labelled_problem(G)
    assert labelled.problem.cut_value(labelled.side_of({1})) == 2**70 + 1


def test_weight_none_and_callable():
    G = _mixed_graph()
    assert labelled_problem(G, None).problem.total_weight == 3
    assert labelled_problem(G, lambda u, v, data: 5).problem.total_weight == 15


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf"), -float("inf")])
def test_bad_weight_names_the_edge(bad):
    G = nx.Graph()
    G.add_edge("left", "right", weight=bad)
    with pytest.raises(InputError, match=r"'left', 'right'"):
        labelled_problem(G)


@pytest.mark.parametrize("bad", ["3", 1j, [1]])
def test_weight_of_wrong_type_names_the_edge(bad):
    G = nx.Graph()
    G.add_edge("left", "right", weight=bad)
    with pytest.raises(InputTypeError, match=r"'left', 'right'"):
        labelled_problem(G)


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_directed_graph_is_refused_with_advice(kind):
    with pytest.raises(InputError, match="to_undirected"):
        labelled_problem(kind([(0, 1)]))


def test_other_types_are_refused():
    with pytest.raises(InputTypeError, match="networkx graph"):
        labelled_problem([(0, 1)])


def test_order_of_insertion_does_not_matter():
    edges = [("x", "y", 2), ("y", "z", 3), ("z", "x", 4), ("x", "w", 5)]
    first = labelled_problem(nx.Graph([(u, v, {"weight": w}) for u, v, w in edges]))
    second = labelled_problem(nx.Graph([(v, u, {"weight": w}) for u, v, w in reversed(edges)]))
    assert first.nodes == second.nodes
    assert np.array_equal(first.problem.heads, second.problem.heads)
    assert np.array_equal(first.problem.weights, second.problem.weights)


def test_labels_of_mixed_types():
    G = nx.Graph([(1, "one"), ("one", (2, 3)), ((2, 3), frozenset({4}))])
    labelled = labelled_problem(G)
    assert set(labelled.nodes) == set(G.nodes)
    side = labelled.side_of({"one", frozenset({4})})
    assert labelled.problem.cut_value(side) == 3
    assert labelled.partition(side) == ({1, (2, 3)}, {"one", frozenset({4})})


def test_stranger_in_a_cut_is_named():
    with pytest.raises(InputError, match="'nobody'"):
        labelled_problem(_mixed_graph()).side_of({"nobody"})


def test_empty_graph():
    labelled = labelled_problem(nx.Graph())
    assert labelled.nodes == ()
    assert labelled.problem.n == 0


def test_the_edges_of_a_file_are_a_graph_too(tmp_path):
    """The same graph by way of networkx has the same problem, whatever the order of the labels in the file."""
    file = tmp_path / "graph.csv"
    file.write_text("source,target,weight\nz,a,2\nb,z,0.5\na,b,1\nb,z,1\n", encoding="utf-8")
    edges = read_graph(file)
    G = nx.Graph()
    G.add_weighted_edges_from([("a", "z", 2), ("b", "z", 1.5), ("a", "b", 1)])
    for weight in ("weight", None):
        if weight is None:
            G = nx.MultiGraph([("a", "z"), ("b", "z"), ("a", "b"), ("b", "z")])
        expected, found = labelled_problem(G, weight), labelled_problem(edges, weight)
        assert found.nodes == expected.nodes == ("a", "b", "z")
        for side in np.array([[1, -1, 1], [1, 1, -1], [-1, 1, 1]], dtype=np.int8):
            assert found.problem.cut_value(side) == expected.problem.cut_value(side)
    result = maxcut(edges)
    assert (result.value, result.partition, result.verify(edges)) == (3.5, ({"a", "b"}, {"z"}), True)


def test_programs_are_no_graphs(tmp_path):
    (tmp_path / "a.bq").write_text("2 1\n1 2 3\n", encoding="utf-8")
    with pytest.raises(InputError, match="solve_qubo"):
        labelled_problem(read_graph(tmp_path / "a.bq"))


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        ("graph.csv", "read_graph"),
        (Path("graph.csv"), "read_graph"),
        ([(0, 1)], "networkx.Graph"),
        (np.eye(3), "from_numpy_array"),
        (scipy.sparse.eye_array(3, format="csr"), "from_scipy_sparse_array"),
        (3, "got int$"),
    ],
)
def test_other_types_are_refused_with_advice(value, advice):
    with pytest.raises(InputTypeError, match=advice):
        labelled_problem(value)
