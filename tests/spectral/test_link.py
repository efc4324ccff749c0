import math

import numpy as np
import pytest
from scipy.stats import norm

from derand.exceptions import InputError, InputTypeError
from derand.spectral import MultiIndexLink


@pytest.mark.parametrize("text", ["z**2", "abs(z)", "cosh(z)"])
def test_one_half(text):
    delta = MultiIndexLink(text).delta_alg()
    assert abs(delta.value - 0.5) < 1e-12
    assert delta.error < 1e-12
    assert delta.method == "exact"


@pytest.mark.parametrize(("text", "k"), [("z**2*exp(-z**2)", 1), ("sign(z1*z2*z3)", 3)])
def test_infinite(text, k):
    assert MultiIndexLink(text, k).delta_alg().value == math.inf


def test_parity():
    assert abs(float(MultiIndexLink("sign(z1*z2)", 2).delta_alg()) - math.pi**2 / 4) < 1e-12


def test_nothing_hard():
    link = MultiIndexLink("z**3")
    assert link.delta_alg().value == 0.0
    with pytest.raises(InputError, match="no hard direction"):
        link.optimal_preprocessing()
    with pytest.raises(InputError, match="no hard direction"):
        link.moments()


def test_noise_raises_the_threshold_as_sums_say():
    """1/delta_alg = integral of N(y)^2/D(y), both integrals by the trapezoidal rule on fine grids."""
    sigma = 0.5
    z, y = np.linspace(-9.0, 9.0, 1801), np.linspace(-4.0, 85.0, 1600)
    kernel = norm.pdf((y[:, None] - z**2) / sigma) / sigma * norm.pdf(z) * (z[1] - z[0])
    density = np.sum(kernel, axis=1)
    exact = np.sum((kernel @ (z**2 - 1)) ** 2 / np.maximum(density, 1e-300)) * (y[1] - y[0])
    assert abs(1.0 / MultiIndexLink("z**2", noise=sigma).delta_alg().value - exact) < 1e-9


def test_forms_of_a_link():
    z = np.random.default_rng(0).standard_normal((20, 2))
    links = [
        MultiIndexLink("z1*z2", 2),
        MultiIndexLink.from_expression("z1*z2"),
        MultiIndexLink(lambda a, b: a * b, 2),
        MultiIndexLink(lambda z: z[:, 0] * z[:, 1], 2),
    ]
    assert all(np.array_equal(link(z), z[:, 0] * z[:, 1]) for link in links)
    noisy = MultiIndexLink("z", noise=0.5)
    assert np.std(noisy.sample(np.zeros(4000), 0)) == pytest.approx(0.5, rel=0.05)
    assert np.array_equal(links[0].sample(z), links[0](z))


def test_bad_arguments():
    with pytest.raises(InputTypeError, match="h must be callable"):
        MultiIndexLink(3)
    with pytest.raises(InputError, match="noise"):
        MultiIndexLink("z", noise=-1.0)
    with pytest.raises(InputError, match="finite"):
        MultiIndexLink("log(z)")
    with pytest.raises(InputError, match="names z2"):
        MultiIndexLink("z1*z2")
    with pytest.raises(InputError, match="shape"):
        MultiIndexLink("z1*z2", 2)(np.zeros((3, 3)))
    with pytest.raises(InputError, match="easy directions"):
        MultiIndexLink("sign(z1)*z2**2", 2).optimal_preprocessing()
    with pytest.raises(InputError, match="delta"):
        MultiIndexLink("z**2").optimal_preprocessing(-1.0)


@pytest.mark.parametrize("h", ["min(z, 1)", lambda z: np.minimum(z, 1.0)], ids=["text", "function"])
def test_flat_parts_end_between_the_nodes(h):
    """E|E[z|y]|^2 of min(z, 1): the second moment of z below 1, and the squared mean above it times its probability."""
    density, above = norm.pdf(1.0), norm.sf(1.0)
    split = MultiIndexLink(h).easy_hard()
    assert split.strengths == pytest.approx([norm.cdf(1.0) - density + density**2 / above], rel=1e-10)


def test_constant_along_the_hard_directions():
    """tanh(z1 + z2) shows z1 + z2, and nothing about z1 - z2, which it depends on by rounding only."""
    link = MultiIndexLink("tanh(z1 + z2)", 2)
    assert abs(np.sum(link.easy_hard().easy)) == pytest.approx(math.sqrt(2.0), rel=1e-9)
    assert math.isinf(link.delta_alg().value)


def test_moments_that_overflow_are_refused():
    with pytest.raises(InputError, match="breakpoints"):
        MultiIndexLink("exp(z**9)").easy_hard()


@pytest.mark.parametrize("h", [math.cos, lambda a, b: a * b, lambda z: min(z, 1.0)], ids=["math", "arity", "min"])
def test_functions_that_do_not_take_arrays(h):
    with pytest.raises(InputError, match="h must be a function h"):
        MultiIndexLink(h)
