"""Algorithms on networkx graphs."""

from derand.graphs.local import one_exchange, randomized_partitioning
from derand.graphs.maxcut import maxcut, maximum_cut
from derand.graphs.result import MaxCutResult

__all__ = ["MaxCutResult", "maxcut", "maximum_cut", "one_exchange", "randomized_partitioning"]
