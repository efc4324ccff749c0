import math

import numpy as np
import pytest

from derand.spectral.density import bulk_density, bulk_rule, bulk_support, stieltjes_transform


def law(name):
    rng = np.random.default_rng(0)
    return {
        "plus-minus": (np.array([1.0, -1.0]), np.array([0.5, 0.5])),
        "three": (np.array([-2.0, 0.5, 1.0]), np.array([0.3, 0.3, 0.4])),
        "tanh": (np.tanh(rng.standard_normal(150)), np.full(150, 1 / 150)),
    }[name]


@pytest.mark.parametrize("delta", [0.3, 1.0, 4.0])
def test_marchenko_pastur(delta):
    low, high = (1 - delta**-0.5) ** 2, (1 + delta**-0.5) ** 2
    x = np.linspace(low, high, 23)[1:-1]
    exact = delta * np.sqrt((high - x) * (x - low)) / (2 * np.pi * x)
    assert np.max(np.abs(bulk_density(np.ones(1), np.ones(1), x, delta) / exact - 1.0)) < 1e-10


def test_plus_minus_weights_at_delta_two_against_the_cubic():
    """z tau (1 - tau^2) delta... : the transform solves a polynomial of degree three, whose roots NumPy knows."""
    delta, x = 2.0, np.linspace(-1.6, 1.6, 9)
    G, p = law("plus-minus")
    s = stieltjes_transform(G, p, x + 0j, delta)
    for z, value in zip(x, s, strict=True):
        # z = -1/(delta t) - t/(1 - t^2)  <=>  delta z t (1 - t^2) + (1 - t^2) + delta t^2 = 0
        roots = delta * np.roots([-delta * z, delta - 1.0, delta * z, 1.0])
        assert np.min(np.abs(roots - value)) < 1e-9
        assert value.imag > 0.0


@pytest.mark.parametrize("name", ["plus-minus", "three", "tanh"])
@pytest.mark.parametrize("delta", [0.4, 1.0, 2.5])
def test_mass_and_first_two_moments(name, delta):
    """E[x] = E[G] and E[x^2] = E[G^2]/delta + E[G]^2, with the atom's mass at zero."""
    G, p = law(name)
    x, w = bulk_rule(G, p, delta)
    atom = max(0.0, 1.0 - delta)
    assert abs(np.sum(w) + atom - 1.0) < 1e-6
    assert abs(w @ x - p @ G) < 1e-6
    assert abs(w @ x**2 - (p @ G**2 / delta + (p @ G) ** 2)) < 1e-6


def test_support_has_the_gap():
    (a, b), (c, d) = bulk_support(*law("plus-minus"), 0.5)
    assert a == pytest.approx(-d, rel=1e-9)
    assert b == pytest.approx(-c, rel=1e-6)
    assert b < 0.0
    inside = bulk_density(*law("plus-minus"), np.array([0.5 * (a + b), 0.0, 0.5 * (c + d)]), 0.5)
    assert inside[0] > 0.0
    assert inside[2] > 0.0


def test_transform_in_the_plane_satisfies_its_equation():
    G, p = law("tanh")
    z = np.array([[0.3 + 0.1j, -2.0 + 1e-6j], [5.0 + 0j, 1j]])
    s = stieltjes_transform(G, p, z, 1.7)
    back = -1.0 / s + np.array([[p @ (G / (1 + G * v / 1.7)) for v in row] for row in s])
    assert np.max(np.abs(back - z)) < 1e-9
    assert math.isclose(s[1, 0].imag, 0.0, abs_tol=1e-12)


@pytest.mark.slow
def test_eigenvalues_of_one_matrix():
    """d = 600: the largest error of a bin's mass is that of a random matrix, about 1/d times a few."""
    rng = np.random.default_rng(3)
    d, delta = 600, 3
    G = np.tanh(rng.standard_normal(delta * d)) - 0.2
    X = rng.standard_normal((delta * d, d))
    values = np.linalg.eigvalsh((X.T * G) @ X / (delta * d))
    x, w = bulk_rule(G, np.full(len(G), 1 / len(G)), float(delta))
    for cut in np.quantile(values, [0.1, 0.35, 0.6, 0.9]):
        assert abs(np.mean(values < cut) - np.sum(w[x < cut])) < 0.006
