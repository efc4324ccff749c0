import math

from derand.spectral.results import Edge, Edges, Threshold


def test_finite_or_not():
    assert Threshold(0.5, "soft").is_finite
    assert not Threshold(math.inf, "none", reason="unbounded").is_finite


def test_edges_are_named():
    low, high = Edge(-1.0, "soft", 0.3), Edge(math.inf, "none", math.nan, 0.0)
    edges = Edges(low, high)
    assert (edges.left.kind, edges.right.value) == ("soft", math.inf)
    assert math.isnan(low.error)
