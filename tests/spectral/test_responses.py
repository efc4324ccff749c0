import numpy as np
import pytest

from derand.spectral import DMFT
from derand.spectral.network import make_network
from derand.spectral.responses import sample_responses


def full_tangents(run):
    """Return E[dL(t)/dg(s)] of one neuron by one tangent for each start, which costs t^3, and the responses Rw."""
    n_steps = run.n_steps
    D = np.zeros((n_steps, n_steps, len(run.y)))
    for t in range(n_steps):
        J = run.network.blocks(run.fields[t], run.y)[:, 0, 0]
        D[t, t] = J
        for s in range(t):
            past = np.einsum("r,rn->n", run.weight_response[t, s:t, 0, 0], D[s:t, s])
            D[t, s] = -(run.eta / run.delta) * J * past
    return np.mean(D, axis=2)


def test_against_the_full_tangents():
    run = DMFT("gelu", "pseudo-huber", "z**2", delta=4.0, eta=0.3, n_samples=4096).run(12)
    exact = full_tangents(run)
    found = run.loss_response[:, :, 0, 0]
    assert np.max(np.abs(found - exact)) < 1e-3
    assert np.max(np.abs(np.diagonal(found) - np.diagonal(exact))) < 1e-14


def test_against_a_push_at_every_sample():
    """Rl of two neurons by finite differences: the first field is moved, and all later ones with the same Rw."""
    network, eta, delta = make_network("tanh", "square", 2, [1.0, -1.0]), 0.3, 2.0
    rng = np.random.default_rng(0)
    g, y = rng.standard_normal((3, 2, 4096)), rng.standard_normal(4096)

    def forces(g, Rw):
        u, L = g.copy(), []
        for t in range(len(g)):
            u[t] -= eta / delta * sum((Rw[t, s] @ L[s] for s in range(t)), np.zeros((2, 4096)))
            L.append(network.force(u[t], y))
        return u, np.array(L)

    # the responses of the weights depend on those of the forces along the same path: iterate to agreement
    Rw = np.zeros((3, 3, 2, 2))
    for _ in range(4):
        fields = forces(g, Rw)[0]
        Rw, Rl = sample_responses(network, fields, y, eta=eta, delta=delta)
    for j in range(2):
        move = np.zeros_like(g)
        move[0, j] = 1e-5
        change = (forces(g + move, Rw)[1] - forces(g - move, Rw)[1]) / 2e-5
        for t in range(2):
            assert np.max(np.abs(np.mean(change[t], axis=1) - Rl[t, 0, :, j])) < 1e-3


def test_only_the_first_samples_are_used_of_very_many():
    network = make_network("tanh", "square", 1)
    fields = np.random.default_rng(0).standard_normal((2, 1, 1 << 16))
    few = sample_responses(network, fields[:, :, : 1 << 15], fields[1, 0, : 1 << 15], eta=0.1, delta=2.0)
    many = sample_responses(network, fields, fields[1, 0], eta=0.1, delta=2.0)
    assert few[1] == pytest.approx(many[1], abs=1e-15)
