"""Statements of arXiv 2602.01434, one test each, as pairs (computed, predicted), with the qualifications they need.

1. The Hessian's bulk is a Marchenko-Pastur law with weights of any sign.
2. Its outliers solve a determinant in which the weights delta G/(delta + G alpha(z)) appear, alpha the transform.
3. They exist from delta_NN on, and their eigenvectors then have an overlap with the hard directions -- not below.
4. In a constant number of steps gradient descent learns easy directions and stays orthogonal to hard ones.
5. delta_NN exceeds delta_alg: the weights that training makes are not the best ones.
6. The time of late learning grows as delta comes down to delta_NN, since the gap closes.
7. For many neurons the blocks of the Hessian decouple -- at the start.
8. The thresholds 3.6 and 6.0 belong to one loss, start and time; square loss has none at the start.
"""

import math

import numpy as np
import pytest

from derand.spectral import (
    DMFT,
    MatrixSpectralLaw,
    MultiIndexLink,
    SpectralLaw,
    TwoLayerGD,
    as_loss,
    nn_threshold,
)
from derand.spectral.network import make_network

DELTA = 4.0


@pytest.fixture(scope="module")
def start():
    """The law of one half-quad neuron at its start, pseudo-Huber loss, phase retrieval."""
    network = make_network("half-quad", "pseudo-huber", 1)
    return SpectralLaw.from_function(lambda z, u: network.blocks(u[None], z**2)[:, 0, 0], 1, n_latent=1)


def test_bulk():
    """One matrix with d = 300: the cumulative law within 0.02 at four places."""
    model = TwoLayerGD("half-quad", "pseudo-huber", "z**2", d=300, delta=DELTA, eta=0.1, init="orthogonal")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((model.n, model.d))
    u = model.initial_weights(1) @ X.T
    y = X[:, 0] ** 2
    values = np.linalg.eigvalsh(model.hessian_operator(X, u, y).dense())
    law = SpectralLaw(model.network.blocks(u, y)[:, 0, 0], support=(-1.0, math.inf))
    grid = np.linspace(law.edges(DELTA).left.value, 0.4, 100)
    density = law.density(grid, DELTA)
    mass = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(grid) * (density[1:] + density[:-1]))])
    for cut in (-0.4, -0.1, 0.2, 0.4):
        assert abs(np.mean(values < cut) - np.interp(cut, grid, mass)) < 0.02


def test_determinant(start):
    """-z + E[delta G/(delta + G alpha) v^2] = 0 at the outlier, alpha = s(z) computed independently."""
    (outlier,) = start.outliers(DELTA, "left")
    alpha = start.stieltjes(outlier.value + 0j, DELTA).real
    computed = start.weights @ (DELTA * start.G / (DELTA + start.G * alpha) * start.v[:, 0] ** 2)
    assert abs(computed - outlier.value) < 1e-8


def test_informative_outlier_from_the_threshold_on(start):
    threshold = start.threshold("left", below=0.0).value
    assert start.outliers(0.99 * threshold, "left") == ()
    (near,), (far,) = start.outliers(1.01 * threshold, "left"), start.outliers(4.0 * threshold, "left")
    assert 0.0 < near.overlap < 0.03 < far.overlap
    assert near.value < 0.0


def test_hard_directions_stay_hidden_and_easy_ones_show():
    """tanh on z1 + (z2^2 - 1)/2: O(t) has its z1 entry growing and its z2 entry zero (exactly, in the limit)."""
    link = MultiIndexLink(lambda a, b: a + 0.5 * (b**2 - 1.0), 2)
    split = link.easy_hard()
    assert np.allclose(np.abs(split.easy[:, 0]), [1.0, 0.0], atol=1e-9)
    run = DMFT("tanh", "square", link, delta=3.0, eta=0.3, n_samples=2048).run(5)
    assert np.all(np.diff(run.overlaps[:, 0, 0]) > 0.0)
    assert np.max(np.abs(run.overlaps[:, 0, 1])) < 1e-12


@pytest.mark.parametrize("activation", ["half-quad", "quad", "gelu"])
def test_training_is_not_the_best_preprocessing(activation):
    best = MultiIndexLink("z**2").delta_alg().value
    for loss in ("pseudo-huber", "log-cosh"):
        assert nn_threshold(activation, loss, "z**2").value > 1.5 * best


def test_gap_closes_at_the_threshold(start):
    """Escape takes time ~ log(d) / (2 |outlier|): the distance to the bulk falls monotonically to zero."""
    threshold = start.threshold("left", below=0.0).value
    gaps = []
    for factor in (1.02, 1.2, 1.6, 2.4):
        delta = factor * threshold
        gaps.append(start.edges(delta).left.value - start.outliers(delta, "left")[0].value)
    assert np.all(np.diff(gaps) > 0.0)
    assert gaps[0] < 0.02 * gaps[-1] + 0.01


def test_blocks_decouple_for_many_neurons():
    """At the start, with outputs of order 1/m, the coupling l''/m (a s')(a s')' changes edges by O(1/m)."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal(1000)
    changes = []
    for m in (2, 4):
        u = rng.standard_normal((m, 1000))
        network = make_network("tanh", "pseudo-huber", m, np.where(np.arange(m) % 2 == 0, 1.0, -1.0))
        S = network.blocks(u, z**2)
        alone = S * np.eye(m)
        pair = [MatrixSpectralLaw(blocks, z, is_bounded=(True, True)).edges(DELTA).left.value for blocks in (S, alone)]
        changes.append(abs(pair[0] / pair[1] - 1.0))
    assert changes[1] < changes[0]
    assert changes[1] < 0.2


@pytest.mark.medium
def test_headline_numbers_belong_to_a_setting():
    """Huber at 0.605 (fitted), zero output, infinite width, t = 0: both numbers at once; other losses give others."""
    numbers = {
        (activation, name, c): nn_threshold(activation, as_loss(name, c), "z**2", "zero_output", math.inf).value
        for activation in ("quad", "gelu")
        for name, c in (("huber", 0.605), ("pseudo-huber", 1.0))
    }
    assert abs(numbers["quad", "huber", 0.605] - 3.6) < 0.05
    assert abs(numbers["gelu", "huber", 0.605] - 6.0) < 0.05
    assert abs(numbers["quad", "pseudo-huber", 1.0] - 1.343) < 1e-3
    assert nn_threshold("quad", "square", "z**2").value == math.inf
