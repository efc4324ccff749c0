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
