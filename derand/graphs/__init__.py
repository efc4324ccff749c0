"""Algorithms on networkx graphs."""

# networkx ends its own import by loading the back ends, ours included: that must happen before any module here begins.
import networkx  # noqa: F401

from derand.graphs.local import one_exchange, randomized_partitioning
from derand.graphs.maxcut import maxcut, maximum_cut
from derand.graphs.result import MaxCutResult

__all__ = ["MaxCutResult", "maxcut", "maximum_cut", "one_exchange", "randomized_partitioning"]
