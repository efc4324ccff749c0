import numpy as np
import pytest

from derand.exceptions import InputError
from derand.teacher_student import FlowStatus, SmoothActivation, TeacherStudent
from derand.teacher_student.blocks import _Sweeper, advance, draw_samples, simulate_blocks
from derand.teacher_student.parameters import joint_covariance
from derand.teacher_student.runs import coordinates, own_layers
from derand.teacher_student.simulation import simulate_weights
from tests.teacher_student.reference import orthogonal_start, random_start

SETTINGS = [
    {"lr": 0.1, "noise": 0.3},
    {"lr": 0.1, "second_layer": [1.0, -1.0, 1.0], "second_layer_lr": 0.2},
    {"lr": 0.5, "activation": "relu"},
    {"lr": 0.5, "activation": SmoothActivation(np.tanh, lambda z: np.cosh(z) ** -2.0)},
]


def one_by_one(parameters, state, layer, teacher, samples, noise, n_inputs):
    """Return rho, Q and the second layers after steps of SGD done one after the other."""
    p, p_star = parameters.p, parameters.p_star
    weights = np.zeros((p, samples.shape[1]))
    weights[:, : state.shape[1]] = state
    for x, xi in zip(samples, noise, strict=True):
        z = np.concatenate([weights @ x, teacher @ x[:p_star]])
        values = parameters.activation.value(z)
        error = layer @ values[:p] / p + parameters.output[p:] @ values[p:] - np.sqrt(parameters.noise) * xi
        change = -parameters.step * error * layer / p * parameters.activation.derivative(z[:p])
        layer = layer - parameters.readout_rate * error * values[:p] / n_inputs
        weights = weights + np.outer(change, x) / n_inputs
    return weights[:, :p_star] @ teacher.T, weights @ weights.T, layer


@pytest.mark.parametrize("keywords", SETTINGS, ids=["square", "trained", "relu", "tanh"])
@pytest.mark.parametrize("n_inputs", [80, 10**7])
def test_a_block_does_the_steps_of_sgd(keywords, n_inputs):
    rho, Q, T = random_start(3, 2)
    parameters = TeacherStudent(3, 2, T=T, **keywords).parameters
    state, teacher = coordinates(parameters, np.stack([rho] * 2), np.stack([Q] * 2))
    generator = np.random.default_rng(4)
    samples, noise = draw_samples(40, 5, n_inputs, 2, generator), generator.standard_normal((2, 40))
    layer = np.broadcast_to(own_layers(parameters, 2).T, (2, 3))
    sweeper = _Sweeper(parameters, n_inputs)
    moved, layers, sweeps = advance(sweeper, (state, layer), teacher, samples, noise)
    assert sweeps <= 41
    for member in range(2):
        expected = one_by_one(
            parameters, state[member], layer[member], teacher, samples[member], noise[member], n_inputs
        )
        found = (moved[member, :, :2] @ teacher.T, moved[member] @ moved[member].T, layers[member])
        for a, b in zip(found, expected, strict=True):
            assert np.allclose(a, b, rtol=0, atol=1e-12)


def test_samples_have_the_law_of_gaussian_vectors():
    """Means and variances of their products: x.x = N and 2 N, x.y = 0 and N; and the first coordinates are normal."""
    samples = draw_samples(6, 3, 20, 40_000, np.random.default_rng(0))
    gram = samples @ np.swapaxes(samples, 1, 2)
    error = np.sqrt(np.var(gram, axis=0) / 40_000)
    assert np.all(np.abs(gram.mean(axis=0) - 20 * np.eye(6)) < 4.5 * error)
    assert np.allclose(np.var(gram, axis=0), 20 * (1 + np.eye(6)), rtol=0.05)
    assert np.allclose(np.var(samples[:, :, :3], axis=0), 1.0, rtol=0.05)
    assert not np.any(samples[:, 2, 6:])


@pytest.mark.parametrize("keywords", SETTINGS[:3], ids=["square", "trained", "relu"])
def test_runs_have_the_law_of_weight_space(keywords):
    """Means and covariances of all overlaps; 4.5 standard errors as for the other simulator."""
    rho, Q, T = random_start(3, 2, n_inputs=30)
    parameters = TeacherStudent(3, 2, T=T, **keywords).parameters
    sigma = np.broadcast_to(joint_covariance(parameters, rho, Q), (2000, 5, 5))
    samples = []
    for simulator, seed in ((simulate_blocks, 1), (simulate_weights, 2)):
        run = simulator(parameters, sigma, 70, np.array([0.5, 1.0]), seed)
        samples.append(np.concatenate([run.rho.reshape(2000, -1), run.Q.reshape(2000, -1)], axis=1))
    centre = samples[1].mean(axis=0)
    rows, columns = np.triu_indices(centre.size)
    products = [(a - centre)[:, rows] * (a - centre)[:, columns] for a in samples]
    for first, second in (samples, products):
        error = np.sqrt((first.var(axis=0) + second.var(axis=0)) / 2000)
        assert np.max(np.abs(first.mean(axis=0) - second.mean(axis=0)) / error) < 4.5


@pytest.mark.parametrize("members", [1, 3])
def test_divergence_is_a_status(members):
    rho, Q = orthogonal_start(4, 2, 0.1)
    run = TeacherStudent(4, 2, lr=2.0).simulate(rho, Q, 400, [0.0, 10.0, 20.0], n_replicas=members, rng=0)
    assert all(state is FlowStatus.DIVERGED for state in run.status)
    assert np.all(np.isfinite(run.loss[:, 0]))
    assert np.all(np.isnan(run.loss[:, 1:]))


def test_public_runs_of_few_replicas_are_reproducible_and_absorbed():
    model = TeacherStudent(2, 2)
    runs = [model.simulate(np.eye(2), 1.1 * np.eye(2), 10**9, [0.0, 1e-6], rng=5) for _ in range(2)]
    assert np.array_equal(runs[0].Q, runs[1].Q)
    assert runs[0].n_steps == 1000
    assert np.max(model.simulate(np.eye(2), np.eye(2), 10**6, [2e-4], n_replicas=3, rng=0).loss) < 1e-28


def test_bad_arguments():
    sigma = np.eye(3)[None]
    with pytest.raises(InputError, match="N must be at least"):
        simulate_blocks(TeacherStudent(2, 1).parameters, sigma, 60, np.ones(1), 0)
    with pytest.raises(InputError, match="constraint"):
        simulate_blocks(TeacherStudent(2, 1, constraint="norm").parameters, sigma, 1000, np.ones(1), 0)
