"""Laws of the regularised risk of a network: rotations, permutations of units, copies of samples, scaled labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derand.structure import Network, NetworkObjective, Sample, structure_certificate

SEEDS = st.integers(0, 2**31)


def problem(seed, d=4, m=5, n=12):
    """Return a random network, sample and point."""
    rng = np.random.default_rng(seed)
    network = Network(d, m, activation="gelu")
    sample = Sample(rng.standard_normal((n, d)), rng.standard_normal(n))
    return rng, network, sample, network.random_parameters(rng=rng)


@settings(max_examples=30)
@given(SEEDS)
def test_rotation_of_inputs_and_weights(seed):
    """F(W O', b, theta; O x) = F(W, b, theta; x), and the bound on W_perp doesn't see the rotation of U either."""
    rng, network, sample, x = problem(seed)
    rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    layers = network.unpack(x)
    turned = network.pack([(layers[0][0] @ rotation.T, layers[0][1]), layers[1]])
    objectives = [NetworkObjective(network, s, lam=0.1) for s in (sample, Sample(sample.X @ rotation.T, sample.y))]
    assert objectives[1].value(turned) == pytest.approx(objectives[0].value(x), rel=1e-12)
    U = rng.standard_normal((2, 4))
    found = [
        structure_certificate(objective, point, directions=basis)
        for objective, point, basis in zip(objectives, (x, turned), (U, U @ rotation.T), strict=True)
    ]
    assert found[1].perpendicular_norm == pytest.approx(found[0].perpendicular_norm, rel=1e-10)
    assert found[1].bound == pytest.approx(found[0].bound, rel=1e-7)
    assert all(one.is_valid for one in found)


@settings(max_examples=30)
@given(SEEDS)
def test_permutation_of_units(seed):
    rng, network, sample, x = problem(seed)
    order = rng.permutation(5)
    (W1, b1), (W2, b2) = network.unpack(x)
    permuted = network.pack([(W1[order], b1[order]), (W2[:, order], b2)])
    objective = NetworkObjective(network, sample)
    assert objective.value(permuted) == pytest.approx(objective.value(x), rel=1e-12)
    first, second = objective.first_layer(x).bias_hessian, objective.first_layer(permuted).bias_hessian
    np.testing.assert_allclose(second, first[np.ix_(order, order)], atol=1e-12)


@settings(max_examples=30)
@given(SEEDS, st.integers(2, 4))
def test_weights_are_copies(seed, copies):
    rng, network, sample, x = problem(seed)
    counts = rng.integers(1, copies + 1, sample.n)
    repeated = Sample(np.repeat(sample.X, counts, axis=0), np.repeat(sample.y, counts))
    weighted = Sample(sample.X, sample.y, counts / counts.sum())
    values = [NetworkObjective(network, s).value_and_grad(x) for s in (repeated, weighted)]
    assert values[1][0] == pytest.approx(values[0][0], rel=1e-12)
    np.testing.assert_allclose(values[1][1], values[0][1], atol=1e-12)


@settings(max_examples=30)
@given(SEEDS, st.floats(0.1, 10.0))
def test_scale_of_labels_and_output_layer(seed, scale):
    """The squared risk of (c W_2, c b_2) on labels c y is c^2 times the risk: first-layer gradients scale with it."""
    _, network, sample, x = problem(seed)
    W1, (W2, b2) = network.unpack(x)
    larger = network.pack([W1, (scale * W2, scale * b2)])
    first = NetworkObjective(network, sample, lam=0.0).first_layer(x)
    second = NetworkObjective(network, Sample(sample.X, scale * sample.y), lam=0.0).first_layer(larger)
    np.testing.assert_allclose(second.gradient, scale**2 * first.gradient, rtol=1e-9, atol=1e-12 * scale**2)
    np.testing.assert_allclose(second.bias_hessian, scale**2 * first.bias_hessian, rtol=1e-9, atol=1e-12 * scale**2)
