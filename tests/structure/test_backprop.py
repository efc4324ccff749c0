"""Reverse mode and its derivative against complex and real differences, layer by layer."""

import array_api_strict
import numpy as np
import pytest

from derand.structure import Network
from derand.structure.backprop import Tape, unit_column


def problem(hidden, seed=0):
    """Return layers, inputs and a weight for every output: the scalar is their inner product with the outputs."""
    network = Network(3, hidden, 2, activation="tanh")
    rng = np.random.default_rng(seed)
    return network, network.random_parameters(rng=rng), rng.standard_normal((7, 3)), rng.standard_normal((7, 2))


@pytest.mark.parametrize("hidden", [(4,), (4, 5), (3, 2, 4)])
def test_gradient_by_complex_step(hidden):
    """tanh is analytic, so a complex step of 1e-30 gives the derivative to rounding."""
    network, x, X, weight = problem(hidden)
    gradient = network.pack(Tape(network.unpack(x), X, network.activation, 1).gradient(weight))
    for i in range(x.size):
        moved = x.astype(complex)
        moved[i] += 1e-30j
        a, place = X, 0
        for layer, (m, d) in enumerate(network.shapes[::2]):
            W = moved[place : place + m * d].reshape(m, d)
            b = moved[place + m * d : place + m * d + m]
            place += m * d + m
            z = a @ W.T + b
            a = np.tanh(z) if layer < network.depth - 1 else z
        assert gradient[i] == pytest.approx(np.sum(weight * a).imag / 1e-30, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("hidden", [(4,), (4, 5), (3, 2, 4)])
def test_tangent_and_product_by_differences(hidden):
    network, x, X, weight = problem(hidden)
    v = np.random.default_rng(1).standard_normal(x.size)
    tape, moves, h = Tape(network.unpack(x), X, network.activation), network.unpack(v), 1e-5
    tape.gradient(weight)
    tangent = tape.tangent(moves)
    difference = (network.outputs(x + h * v, X) - network.outputs(x - h * v, X)) / (2 * h)
    np.testing.assert_allclose(tangent[0], difference, rtol=1e-7, atol=1e-8)

    def gradient(point):
        return network.pack(Tape(network.unpack(point), X, network.activation, 1).gradient(weight))

    # The scalar is linear in the outputs: its slope doesn't move, and all curvature is the network's own.
    product = network.pack(tape.hessian_product(moves, tangent, 0.0 * weight))
    np.testing.assert_allclose(product, (gradient(x + h * v) - gradient(x - h * v)) / (2 * h), rtol=1e-6, atol=1e-8)


def test_first_deltas_of_a_two_layer_network():
    network, x, X, weight = problem((4,))
    tape = Tape(network.unpack(x), X, network.activation)
    delta, pulled = tape.first_deltas(weight)
    (W1, b1), (W2, _) = network.unpack(x)
    np.testing.assert_allclose(pulled, weight @ W2, rtol=1e-14)
    np.testing.assert_allclose(delta, weight @ W2 / np.cosh(X @ W1.T + b1) ** 2, rtol=1e-12)


def test_unit_column():
    np.testing.assert_array_equal(unit_column(np.zeros((2, 3)), 1), [[0.0, 1.0, 0.0]] * 2)
    strict = unit_column(array_api_strict.zeros((2, 1)), 0)
    assert strict.dtype == array_api_strict.float64
