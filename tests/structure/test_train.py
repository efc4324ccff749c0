"""Training ends at certified points, records its path, and reports what is missing."""

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.structure import (
    MultiIndexTeacher,
    Network,
    Sample,
    energy_share,
    gaussian_population,
    subspace_distance,
    train_network,
)
from derand.structure.train import Snapshots
from tests.structure.problems import DIRECTION, teacher_for

POPULATION = gaussian_population(teacher_for("squared"), n_nodes=16)


def test_certified_and_aligned():
    trained = train_network(Network(2, 6), POPULATION, lam=1e-2, rest_decay=1e-3, gtol=1e-7)
    assert trained.result.success
    assert trained.certificate.is_valid
    assert trained.certificate.share == pytest.approx(energy_share(trained.first_weights, DIRECTION))
    directions, sizes = trained.leading_directions(1)
    assert subspace_distance(directions, DIRECTION) < 1e-4
    assert sizes[1] <= trained.certificate.bound
    np.testing.assert_allclose(sizes, np.linalg.svd(trained.first_weights)[1])
    outputs = trained.outputs(POPULATION.X)
    # The best constant leaves the variance 0.394 of tanh.
    assert POPULATION.weights @ (outputs - POPULATION.y)[:, 0] ** 2 < 0.1 * 0.394


def test_same_seed_same_bits():
    runs = [train_network(Network(2, 3), POPULATION, lam=1e-2, rest_decay=1e-2, rng=5) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].parameters, runs[1].parameters)


@pytest.mark.parametrize("loss", ["logistic", "multinomial", "huber"])
def test_other_losses(loss):
    population = gaussian_population(teacher_for(loss), n_nodes=12)
    network = Network(2, (4,), population.y.shape[1])
    trained = train_network(network, population, loss=loss, lam=1e-2, rest_decay=1e-2, curv_tol=1e-2)
    assert trained.result.success
    assert trained.certificate.is_meaningful
    assert trained.certificate.share > 0.9999


def test_path_starts_and_ends_where_the_run_does():
    network = Network(2, 4)
    start = network.random_parameters(rng=2)
    trained = train_network(network, POPULATION, lam=1e-2, rest_decay=1e-2, start=start, n_snapshots=10)
    steps = [one.step for one in trained.path]
    np.testing.assert_array_equal(trained.path[0].W, network.unpack(start)[0][0])
    np.testing.assert_array_equal(trained.path[-1].W, trained.first_weights)
    assert steps == sorted(set(steps))
    assert 4 <= len(steps) <= 12


def test_thinning_of_snapshots():
    snapshots = Snapshots(4)
    for step in range(101):
        snapshots.add(step, np.array([[float(step)]]))
    path = snapshots.finish(100, np.array([[100.0]]))
    assert path[0].step == 0
    assert path[-1].step == 100
    assert len(set(np.diff([one.step for one in path[:-1]]))) == 1


def test_frozen_blocks_and_callback():
    network = Network(2, 3)
    start = network.random_parameters(rng=0)
    calls = []
    trained = train_network(
        network, POPULATION, frozen=("b1", "output"), start=start, callback=lambda state: calls.append(state.fun)
    )
    assert np.array_equal(trained.parameters[6:], start[6:])
    assert abs(len(calls) - trained.result.nit) <= 1


def test_early_end_proves_nothing_more_than_it_should():
    trained = train_network(Network(2, 3), POPULATION, max_evals=5)
    assert not trained.result.success
    assert trained.certificate.sosp is None


def test_unknown_teacher_has_no_certificate():
    X = np.random.default_rng(0).standard_normal((30, 2))
    trained = train_network(Network(2, 2), Sample(X, X[:, 0]), lam=0.1, rest_decay=0.1)
    assert trained.result.success
    assert trained.certificate is None


def test_methods_of_the_solver_are_available():
    teacher = MultiIndexTeacher([1.0, 0.0], lambda s: s[:, 0])
    population = gaussian_population(teacher, n_nodes=6)
    options = {"gtol": 1e-3, "curv_tol": 0.1, "method": "newton-cg"}
    trained = train_network(Network(2, 2), population, lam=0.1, rest_decay=0.1, **options)
    assert trained.result.success


def test_bad_input_is_named():
    with pytest.raises(InputError, match="start"):
        train_network(Network(2, 3), POPULATION, start=np.zeros(4))
    with pytest.raises(InputError, match="n_snapshots"):
        train_network(Network(2, 3), POPULATION, n_snapshots=1)
    trained = train_network(Network(2, 3), POPULATION, max_evals=3)
    with pytest.raises(InputError, match="k must"):
        trained.leading_directions(3)
