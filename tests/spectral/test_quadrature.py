import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from derand.exceptions import BudgetExceededError, InputError
from derand.spectral.quadrature import RADIUS, gaussian_panels, panel_edges, refined_panels, tensor_panels


def test_moments_are_exact():
    nodes, weights = gaussian_panels(panel_edges([0.3]), 16)
    for power, moment in ((0, 1.0), (1, 0.0), (2, 1.0), (4, 3.0), (6, 15.0)):
        assert abs(weights @ nodes**power - moment) < 1e-13 * max(1.0, moment)


def test_breakpoints_are_panel_ends():
    edges = panel_edges([0.25, -1.0, 99.0])
    assert {0.25, -1.0, -RADIUS, RADIUS} <= set(edges.tolist())
    assert np.all(np.diff(edges) > 0.0)
    with pytest.raises(InputError, match="breakpoints"):
        panel_edges([np.nan])


def test_refinement_finds_poles_close_to_the_axis():
    """1/(z^2 + a^2): its average is sqrt(pi/2) exp(a^2/2) erfc(a/sqrt 2)/a."""
    from scipy.special import erfcx

    a = 1e-3
    nodes, weights = gaussian_panels(refined_panels(lambda z: (1.0 / (z**2 + a**2))[None]), 16)
    exact = np.sqrt(np.pi / 2) * erfcx(a / np.sqrt(2)) / a
    assert abs(weights @ (1.0 / (nodes**2 + a**2)) / exact - 1.0) < 1e-12


def test_refinement_finds_undeclared_kinks():
    nodes, weights = gaussian_panels(refined_panels(lambda z: np.abs(z - 0.37)[None]), 16)
    exact = quad(lambda z: abs(z - 0.37) * norm.pdf(z), -12, 12, points=[0.37], epsabs=1e-14)[0]
    assert abs(weights @ np.abs(nodes - 0.37) - exact) < 1e-12


def test_refinement_ends_with_noisy_functions():
    rng = np.random.default_rng(0)
    edges = refined_panels(lambda z: (np.cos(z) * (1.0 + 1e-9 * rng.standard_normal(z.shape)))[None])
    assert len(edges) <= 2002


def test_product_rule():
    nodes, weights = tensor_panels(2, [0.0])
    assert abs(weights @ np.abs(nodes[:, 0] * nodes[:, 1]) - 2.0 / np.pi) < 1e-13
    with pytest.raises(BudgetExceededError, match="dimensions"):
        tensor_panels(4)
    with pytest.raises(InputError, match="width"):
        tensor_panels(1, width=0.0)
