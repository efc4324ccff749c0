from math import comb

import numpy as np
import pytest

from derand.commands.graph_input import karloff_graph, read_edges, suspected_header, to_problem
from derand.exceptions import GraphFormatError, InputError


@pytest.mark.parametrize(("m", "b"), [(4, 1), (6, 1), (8, 1), (6, 0)])
def test_karloff_graph_is_regular_of_the_counted_degree(m, b):
    edges, t = karloff_graph(m, b), m // 2
    assert edges.n == comb(m, t)
    degrees = np.bincount(np.concatenate([edges.heads, edges.tails]), minlength=edges.n)
    assert set(degrees.tolist()) == {comb(t, b) * comb(t, t - b)}


def test_karloff_graph_has_the_cut_of_its_theory():
    """Splitting the subsets by one point cuts the fraction 1 - b/t of the edges, which is the maximum."""
    edges = karloff_graph()
    side = np.where(np.arange(edges.n) < comb(7, 3), 1, -1)  # the subsets that hold the first point come first
    assert to_problem(edges).cut_value(side) == 560 * 3 // 4


def test_files_and_the_built_in_graph(tmp_path):
    assert read_edges(None).n == 70
    path = tmp_path / "triangle.csv"
    path.write_text("u,v\na,b\nb,c\nc,a\n", encoding="utf-8")
    edges = read_edges(str(path))
    assert list(edges.node_labels) == ["a", "b", "c"]
    assert to_problem(edges).n_edges == 3


def test_what_is_no_undirected_graph_is_refused(tmp_path):
    path = tmp_path / "arcs.mtx"
    path.write_text("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 5\n", encoding="utf-8")
    with pytest.raises(InputError, match="directed"):
        read_edges(str(path))
    path = tmp_path / "program.bq"
    path.write_text("2 2\n1 1 5\n1 2 3\n", encoding="utf-8")
    with pytest.raises(InputError, match="quadratic binary program"):
        read_edges(str(path))
    with pytest.raises(GraphFormatError):
        read_edges(str(path), "dimacs")


@pytest.mark.parametrize(
    ("text", "is_suspected"),
    [
        ("person,friend\nAnn,Bert\nBert,Carla\n", True),
        ("source,target\nAnn,Bert\nBert,Carla\nCarla,Ann\n", False),
        ("Ann,Bert\nBert,Carla\nCarla,Ann\n", False),
        ("n1,n2\nn3,n4\nn4,n5\n", False),
        ("person,friend\nAnn,Bert\n", False),
        ("person1,friend1\nAnn,Bert\nBert,Carla\n", False),
        ("1,2\n3,4\n4,5\n", False),
        ("person,friend\n1,2\n2,3\n", False),
    ],
    ids=[
        "names of columns",
        "a header",
        "edges",
        "numbered nodes",
        "too few edges",
        "two words",
        "numbers",
        "of numbers",
    ],
)
def test_a_first_line_that_looks_like_a_header_is_mentioned(text, is_suspected, tmp_path, capsys):
    path = tmp_path / "graph.csv"
    path.write_text(text, encoding="utf-8")
    edges = read_edges(str(path))
    assert bool(suspected_header(edges)) == is_suspected
    err = capsys.readouterr().err
    assert ("'person' and 'friend'" in err and "source,target" in err) == is_suspected


def test_a_file_of_names_without_edges_is_mentioned(tmp_path, capsys):
    path = tmp_path / "graph.csv"
    path.write_text("source,target,weight\n", encoding="utf-8")
    assert read_edges(str(path)).m == 0
    assert "holds no edge" in capsys.readouterr().err


def test_columns_told_apart_by_digits_are_mentioned_too(tmp_path, capsys):
    path = tmp_path / "graph.csv"
    path.write_text("id1,id2\nAnn,Bert\nBert,Carla\n", encoding="utf-8")
    assert read_edges(str(path)).m == 3
    assert "'id1' and 'id2'" in capsys.readouterr().err
