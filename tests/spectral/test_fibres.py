import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from derand.spectral.fibres import Branches, derivative


def test_pieces_of_known_functions():
    assert [p.high for p in Branches(lambda z: z**2).pieces[:-1]] == [0.0]
    cubic = Branches(lambda z: z**3 - 3 * z)
    assert np.allclose([p.high for p in cubic.pieces[:-1]], [-1.0, 1.0], atol=1e-10)
    step = Branches(lambda z: np.where(z > 0.3, 1.0, z))
    assert any(abs(p.high - 0.3) < 1e-12 for p in step.pieces)
    assert step.pieces[-1].is_constant


@pytest.mark.parametrize("function", [np.square, np.abs, np.cosh, lambda z: 1 / (1 + z**2)])
def test_even_monotone_links(function):
    """Two branches +-z of equal weight: E[z^2 - 1|y] = z^2 - 1, whose square has the mean 2."""
    moments = Branches(function).moments()
    assert abs(np.sum(moments.mass) - 1.0) < 1e-14
    assert abs(moments.information() - 2.0) < 1e-12
    assert moments.first_covariance()[0, 0] < 1e-20


def test_cosine_against_its_infinitely_many_branches():
    def deviation(z):
        shifts = 2 * np.pi * np.arange(-4, 5)
        branches = np.concatenate([z + shifts, -z + shifts])
        weights = np.exp(-(branches**2) / 2)
        return weights @ (branches**2 - 1) / weights.sum()

    parts = [
        quad(lambda z: 2 * norm.pdf(z) * deviation(z) ** 2, k * np.pi, (k + 1) * np.pi, epsabs=1e-15, epsrel=1e-13)[0]
        for k in range(3)
    ]
    assert abs(Branches(np.cos).moments().information() - sum(parts)) < 1e-12


def test_three_branches_against_monte_carlo():
    """z^3 - 3 z: conditional moments in narrow bins of y from 4 million samples."""
    branches = Branches(lambda z: z**3 - 3 * z)
    z = np.random.default_rng(0).standard_normal(4_000_000)
    y = z**3 - 3 * z
    for level in (-1.5, 0.0, 1.0, 3.0):
        chosen = z[np.abs(y - level) < 5e-3]
        first, second, _ = branches.posterior(np.array([level]))
        for got, sample in ((first[0], chosen), (second[0], chosen**2 - 1.0)):
            assert abs(got - sample.mean()) < 5.0 * sample.std() / math.sqrt(len(sample)) + 5e-3


def test_no_information():
    assert Branches(lambda z: z**2 * np.exp(-(z**2))).moments().information() == 0.0
    sign = Branches(np.sign).moments()
    assert sign.information() == 0.0
    assert np.allclose(sign.first[:, 0], [-math.sqrt(2 / math.pi), math.sqrt(2 / math.pi)], rtol=1e-12)


def test_atoms_beside_a_continuous_part():
    """relu: P(y = 0) = 1/2, and E[E[z|y]^2] = (1/pi) + 1/2."""
    moments = Branches(lambda z: np.maximum(z, 0.0)).moments()
    assert abs(moments.mass[moments.y == 0.0].sum() - 0.5) < 1e-14
    assert abs(moments.first_covariance()[0, 0] - (1 / math.pi + 0.5)) < 1e-12
    first, second = Branches(lambda z: np.maximum(z, 0.0)).evaluate(np.array([0.0, 2.0, -1.0]))
    assert np.allclose(first[:2], [-math.sqrt(2 / math.pi), 2.0], rtol=1e-12)
    assert np.allclose(second[:2], [0.0, 3.0], atol=1e-12)
    assert np.isnan(first[2])


def test_derivative():
    z = np.linspace(-2.0, 2.0, 9)
    assert np.max(np.abs(derivative(np.sin, z, np.full(9, 1.0)) - np.cos(z))) < 1e-13
    near = np.array([1e-6])
    assert abs(derivative(np.abs, near, near)[0] - 1.0) < 1e-9
