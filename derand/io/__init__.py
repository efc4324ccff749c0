"""Strict, exact readers and writers of graph files; NumPy and SciPy only."""

from __future__ import annotations

from derand.io.edge_list import EdgeList
from derand.io.files import read_graph, write_graph

__all__ = ["EdgeList", "read_graph", "write_graph"]
