import math

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError, PrecisionWarning
from derand.spectral import SpectralLaw, as_loss, nn_threshold


@pytest.mark.parametrize(("activation", "value"), [("half-quad", 0.846633), ("quad", 0.923026), ("gelu", 1.692757)])
def test_one_neuron_at_its_start(activation, value):
    """Against a product rule of other nodes: Gauss-Hermite with 150 x 150 points."""
    from derand.gaussian import tensor_gauss_hermite
    from derand.spectral.network import make_network

    found = nn_threshold(activation, "pseudo-huber", "z**2")
    nodes, weights = tensor_gauss_hermite(150, 2)
    G = make_network(activation, "pseudo-huber", 1).blocks(nodes[None, :, 1], nodes[:, 0] ** 2)[:, 0, 0]
    low = -2.0 if activation == "quad" else float(np.min(G))
    law = SpectralLaw(G, nodes[:, 0], weights, support=(low, math.inf))
    assert abs(found.value / law.threshold("left").value - 1.0) < 3e-4  # pseudo-Huber has poles close to the axis
    assert abs(found.value - value) < 2e-6
    assert (found.method, found.is_finite) == ("quadrature", True)


def test_square_loss_has_no_finite_threshold():
    for activation in ("quad", "half-quad", "gelu"):
        found = nn_threshold(activation, "square", "z**2")
        assert found.value == math.inf
        assert "unbounded" in found.reason


@pytest.mark.parametrize(("name", "scale"), [("log-cosh", 0.45), ("pseudo-huber", 0.385)])
def test_zero_output_of_smooth_losses_to_eight_digits(name, scale):
    """Quad: an adaptive rule in z alone, as s'' is constant.  GeLU: the trapezoidal rule in both coordinates."""
    loss = as_loss(name, scale)

    def psi(z):
        return loss.dl(np.zeros_like(z), z**2)

    found = nn_threshold("quad", loss, "z**2", "zero_output", math.inf)
    line = SpectralLaw.from_function(lambda z: 2.0 * psi(z)).threshold("left", 0.0)
    assert abs(found.value / line.value - 1.0) < 1e-8
    assert found.error < 1e-7
    found = nn_threshold("gelu", loss, "z**2", "zero_output", math.inf)
    z = np.arange(-8.0, 8.01, 0.08)
    second = (2 - z**2) * np.exp(-(z**2) / 2) / (2 * np.pi) ** 0.5
    weights = np.exp(-(z**2) / 2)
    G = (psi(z)[:, None] * second[None, :]).reshape(-1)
    law = SpectralLaw(
        G, np.repeat(z, len(z)), np.outer(weights, weights).reshape(-1), support=(float(np.min(G)), float(np.max(G)))
    )
    assert abs(found.value / law.threshold("left", 0.0).value - 1.0) < 1e-8


@pytest.mark.parametrize(("activation", "value"), [("quad", 3.624905), ("gelu", 5.991980)])
def test_zero_output_of_infinite_width(activation, value):
    """Huber with c = 0.605 to six digits, and by the scalar law of the weights written out."""
    loss = as_loss("huber", 0.605)
    found = nn_threshold(activation, loss, "z**2", "zero_output", math.inf)
    assert abs(found.value - value) < 1e-5
    assert found.error < 1e-6
    second = {"quad": lambda u: 2.0 + 0.0 * u, "gelu": lambda u: (2 - u**2) * np.exp(-(u**2) / 2) / (2 * np.pi) ** 0.5}
    root = 0.605**0.5
    law = SpectralLaw.from_function(
        lambda z, u: -np.minimum(z**2, 0.605) * second[activation](u), k=1, n_latent=1, breakpoints=[-root, 0.0, root]
    )
    assert abs(law.threshold("left").value - found.value) < 1e-5


@pytest.mark.medium
def test_loss_scale_is_irrelevant_for_wide_networks_up_to_units():
    """G -> lambda G changes nothing: Huber's slope c against a loss of slope one with the same kink."""
    a = nn_threshold("quad", as_loss("huber", 1.0), "z**2", "zero_output", math.inf)
    b = nn_threshold("quad", as_loss("huber", 1.0), "4*z**2/4", "zero_output", math.inf)
    assert a.value == pytest.approx(b.value, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "t", "value"), [("half-quad", 5, 1.262), ("gelu", 5, 2.145)])
def test_dynamics(activation, t, value):
    """Values of longer runs (four replicas of 65,536 samples); here 16,384."""
    found = nn_threshold(activation, "pseudo-huber", "z**2", t=t, n_samples=1 << 14, n_replicas=2)
    assert abs(found.value - value) < 4.0 * found.error + 0.01
    assert found.error < 0.05
    assert found.method == "dynamics"


def test_dynamics_at_time_zero_is_the_quadrature():
    """Two neurons of equal weights and signs are one; so the sampled law has the threshold of the exact one."""
    from derand.spectral.threshold import _Problem

    problem = _Problem.checked("half-quad", "pseudo-huber", "z**2", "random", 1, eta=0.2, a=None, b=None)
    exact = nn_threshold("half-quad", "pseudo-huber", "z**2").value
    values = [problem.law(1.0, 0, 1 << 14, seed).threshold("left").value for seed in range(4)]
    assert abs(np.mean(values) - exact) < 4 * np.std(values, ddof=1) / 2 + 1e-3


@pytest.mark.medium
def test_error_bar_of_the_dynamics_where_the_value_is_known():
    """At the start the sampled law has the threshold of the exact one: six adaptive runs against it."""
    from derand.spectral.threshold import _dynamic, _Problem, _Sampling

    problem = _Problem.checked("half-quad", "pseudo-huber", "z**2", "random", 1, eta=0.2, a=None, b=None)
    exact = nn_threshold("half-quad", "pseudo-huber", "z**2").value
    runs = [
        _dynamic(problem, 0, _Sampling(1 << 14, 8, 2e-3, 1 << 22, np.random.default_rng(seed))) for seed in range(6)
    ]
    scores = np.array([(run.value - exact) / run.error for run in runs])
    assert all(run.error <= 2e-3 * run.value for run in runs)
    assert np.all(np.abs(scores) < 3.0)
    assert np.sqrt(np.mean(scores**2)) < 1.6  # of six standard normals: exceeded once in 60, were the bias term nothing


def test_rtol_is_reached_or_a_warning_says_that_it_is_not():
    setting = {"t": 1, "n_samples": 1 << 13, "n_replicas": 4}
    found = nn_threshold("half-quad", "pseudo-huber", "z**2", rtol=4e-3, **setting)
    assert found.error <= 4e-3 * found.value
    with pytest.warns(PrecisionWarning, match="max_samples"):
        short = nn_threshold("half-quad", "pseudo-huber", "z**2", rtol=1e-6, max_samples=1, **setting)
    assert len(short.replicas) == 4
    assert abs(short.value - found.value) < 4.0 * np.hypot(short.error, found.error)


def test_bad_arguments():
    with pytest.raises(InputError, match="t must be 0"):
        nn_threshold("quad", "huber", "z**2", "zero_output", math.inf, t=3)
    with pytest.raises(InputError, match="m must be finite"):
        nn_threshold("quad", "huber", "z**2", m=math.inf)
    with pytest.raises(InputError, match="even"):
        nn_threshold("quad", "huber", "z**2", "zero_output", 3)
    with pytest.raises(InputError, match="no hard direction"):
        nn_threshold("quad", "huber", "z")
    for name, value in (("rtol", 0.0), ("max_samples", 0)):
        with pytest.raises(InputError, match=name):
            nn_threshold("quad", "huber", "z**2", t=1, **{name: value})
    with pytest.raises(InputError, match="init"):
        nn_threshold("quad", "huber", "z**2", "warm")
    with pytest.raises(InputTypeError, match="link"):
        nn_threshold("quad", "huber", 3)
