import numpy as np

from derand.spectral.bounds import Range
from derand.spectral.quadrature import panel_edges
from derand.spectral.weight_rules import resolved_integrands, weight_rule


def test_rules_have_one_column_a_coordinate():
    for dim in (1, 2):
        nodes, weights = weight_rule(dim, [0.0], None, 8)
        assert nodes.shape == (len(weights), dim)
        assert abs(np.sum(weights) - 1.0) < 1e-14
    nodes, _ = weight_rule(1, [], panel_edges([], 5.0), 3)
    assert len(nodes) == 3 * (len(panel_edges([], 5.0)) - 1)


def test_what_is_resolved():
    z = np.linspace(-3.0, 3.0, 7)
    bounded = resolved_integrands(np.tanh(z), z, Range(-1.0, 1.0))
    assert bounded.shape == (25, 7)
    assert np.all(np.isfinite(bounded))
    assert resolved_integrands(z, z, Range(-np.inf, np.inf)).tolist() == [[1.0] * 7]
