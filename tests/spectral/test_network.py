import numpy as np
import pytest

from derand.exceptions import InputError
from derand.spectral.network import make_network

M, N = 3, 5
A, B = np.array([1.0, -2.0, 0.5]), np.array([0.1, 0.0, -0.3])


@pytest.mark.parametrize("activation", ["gelu", "quad", "tanh"])
@pytest.mark.parametrize("loss", ["square", "pseudo-huber"])
def test_force_and_blocks_are_derivatives(activation, loss):
    """m dl/du and m d2l/du2 by central differences."""
    net = make_network(activation, loss, M, A, B)
    rng = np.random.default_rng(0)
    u, y, h = rng.standard_normal((M, N)), rng.standard_normal(N), 1e-5
    force, blocks = net.force(u, y), net.blocks(u, y)
    for j in range(M):
        step = np.zeros((M, N))
        step[j] = h
        up, down = net.loss.l(net.output(u + step), y), net.loss.l(net.output(u - step), y)
        assert np.max(np.abs(M * (up - down) / (2 * h) - force[j])) < 1e-8
        change = (net.force(u + step, y) - net.force(u - step, y)) / (2 * h)
        assert np.max(np.abs(change.T - blocks[:, :, j])) < 1e-8


def test_risk_is_the_mean_loss():
    net = make_network("linear", "square", 2)
    assert net.risk(np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros(2)) == 0.5 * (4.0 + 9.0) / 2


def test_bad_sizes():
    with pytest.raises(InputError, match="a must"):
        make_network("quad", "square", 2, a=[1.0])
    with pytest.raises(InputError, match="finite"):
        make_network("quad", "square", float("inf"))
