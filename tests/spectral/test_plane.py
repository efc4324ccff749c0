import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import k0, k1

from derand.spectral.plane import PlaneFibres, line_families


def product(z):
    return z[:, 0] * z[:, 1]


def test_product_against_bessel_functions():
    """D(y) = K0(|y|)/pi and E[z1^2|y] = |y| K1/K0; for small y the fibres hug the axes, which costs digits."""
    fibres = PlaneFibres(product)
    y = np.array([-3.0, -0.7, 0.5, 1.0, 5.0])
    density, _, second = fibres.integrals(y)
    assert np.max(np.abs(density / (k0(np.abs(y)) / np.pi) - 1.0)) < 1e-9
    small, _, _ = fibres.integrals(np.array([0.01]))
    assert abs(small[0] / (k0(0.01) / np.pi) - 1.0) < 1e-6
    size = np.abs(y) * k1(np.abs(y)) / k0(np.abs(y))
    assert np.max(np.abs(second[:, 0, 0] / density / size - 1.0)) < 1e-9
    assert np.max(np.abs(second[:, 0, 1] / density - y)) < 1e-8


def test_information_of_the_product():
    exact = 1.0 + 2.0 * sum(
        quad(lambda y: k0(y) / np.pi * (y * k1(y) / k0(y) - 1) ** 2, a, b, epsabs=1e-15, epsrel=1e-13, limit=300)[0]
        for a, b in ((0, 1e-8), (1e-8, 1e-4), (1e-4, 1e-2), (1e-2, 1), (1, 10), (10, 40))
    )
    moments = PlaneFibres(product).moments()
    assert abs(np.sum(moments.mass) - 1.0) < 1e-11
    assert abs(1.0 / moments.information() - 1.0 / exact) < 1e-10


def test_radial_function():
    """|z|^2 = y: E[z z'|y] = y/2 I, so M = (y/2 - 1) I with mean square 1."""
    moments = PlaneFibres(lambda z: z[:, 0] ** 2 + z[:, 1] ** 2).moments()
    assert abs(moments.information() - 1.0) < 1e-12


def test_values_with_a_probability():
    moments = PlaneFibres(lambda z: np.sign(z[:, 0] * z[:, 1])).moments()
    assert np.allclose(moments.mass, 0.5, atol=1e-14)
    assert abs(1.0 / moments.information() - math.pi**2 / 4) < 1e-12
    rectified = PlaneFibres(lambda z: np.maximum(product(z), 0.0))
    assert len(rectified.atoms) == 1
    assert abs(np.sum(rectified.moments().mass) - 1.0) < 1e-9
    first, second = rectified.evaluate(np.array([0.0, 1.0]))
    assert np.allclose(first, 0.0, atol=1e-9)
    assert second[1, 0, 1] == pytest.approx(1.0, abs=1e-8)


def test_lines_serve_what_is_monotone_in_one_coordinate():
    """y = z1^2 + z2 by Monte Carlo in a narrow bin."""
    fibres = PlaneFibres(lambda z: z[:, 0] ** 2 + z[:, 1])
    assert not fibres.family.is_radial
    z = np.random.default_rng(0).standard_normal((2_000_000, 2))
    chosen = z[np.abs(z[:, 0] ** 2 + z[:, 1] - 1.0) < 0.01]
    first, second = fibres.evaluate(np.array([1.0]))
    error = 5.0 / math.sqrt(len(chosen)) + 0.01
    assert np.max(np.abs(first[0] - chosen.mean(axis=0))) < error
    assert np.max(np.abs(second[0] + np.eye(2) - chosen.T @ chosen / len(chosen))) < 2 * error


def test_families_cover_the_plane():
    for family in line_families(product, [0.0], 0.2):
        t = np.linspace(family.grid[0], family.grid[-1], 20_001)
        total = np.sum(family.mass) * np.sum(family.density(t)) * (t[1] - t[0])
        assert abs(total - 1.0) < 1e-3
