"""What networkx reads about our back end whenever networkx is imported: so this file imports nothing."""

from __future__ import annotations

__all__ = ["get_info"]


def get_info() -> dict[str, object]:
    """Return what networkx shows about the back end."""
    functions = {
        "one_exchange": "Greedy exchange with incremental gains, O(n) per move instead of O(n m).",
        "randomized_partitioning": "Random cut, evaluated in one pass over the edge arrays.",
    }
    return {
        "backend_name": "derand",
        "project": "derand",
        "package": "derand",
        "short_summary": "Maximum cut heuristics with incremental gains.",
        "functions": {name: {"additional_docs": text} for name, text in functions.items()},
    }
