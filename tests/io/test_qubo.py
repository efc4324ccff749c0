from __future__ import annotations

import pytest
from hypothesis import given

from derand.exceptions import InputError
from derand.io import EdgeList
from derand.io.qubo import parse_qubo, render_qubo
from tests.io.strategies import bits, edge_lists


@pytest.mark.medium
@given(edge_lists())
def test_round_trip(edges: EdgeList) -> None:
    again = parse_qubo(render_qubo(edges), name="q")
    assert bits(again) == bits(edges)
    assert (again.format, again.name) == ("qubo", "q")


def test_diagonal_is_kept() -> None:
    edges = parse_qubo(b"2 3\n1 1 -5\n2 2 3\n1 2 4\n")
    assert edges.n_self_loops == 2
    assert edges.weights.tolist() == [-5, 3, 4]


def test_labels_are_refused() -> None:
    with pytest.raises(InputError, match="qubo"):
        render_qubo(EdgeList(1, [], [], [], labels=("a",)))
