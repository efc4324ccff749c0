"""Certificates at random and at trained points, with exact and with sampled means, known and wrong directions."""

import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.structure import (
    MultiIndexTeacher,
    Network,
    NetworkObjective,
    Sample,
    gaussian_population,
    structure_certificate,
    train_network,
)
from tests.structure.problems import DIRECTION, LINKS, population_objective, teacher_for


@pytest.mark.parametrize("hidden", [(5,), (4, 3)])
def test_against_a_linear_solve(hidden):
    """W_perp is the solution of (H_b + 2 lam) W = grad - R, computed here by another route."""
    objective = population_objective("huber", hidden, nodes=(6, 60), lam=0.5)
    x = objective.network.random_parameters(rng=0)
    found = structure_certificate(objective, x)
    W, gradient, hessian = objective.first_layer(x)
    rest = np.eye(2) - np.outer(DIRECTION, DIRECTION)
    solved = np.linalg.solve(hessian + np.eye(len(W)), gradient @ rest)
    assert found.perpendicular_norm == pytest.approx(np.linalg.norm(solved), rel=1e-9)
    assert found.min_bias_eigenvalue == pytest.approx(np.linalg.eigvalsh(hessian)[0], abs=1e-10)
    expected = np.linalg.norm(gradient @ rest) / (1.0 + np.linalg.eigvalsh(hessian)[0])
    assert found.gaussian_bound == pytest.approx(expected, rel=1e-9)
    assert found.is_valid
    assert found.is_meaningful
    assert found.stein_residual < 1e-10


@pytest.mark.parametrize("kind", ["gaussian", "uniform", "few", "labels"])
def test_bound_is_algebra_for_any_inputs(kind):
    """Uniform inputs, few samples, labels of other directions: valid always, and called meaningful in none of them."""
    rng = np.random.default_rng(4)
    n, d = (5, 8) if kind == "few" else (4000, 3)
    X = rng.random((n, d)) - 0.5 if kind == "uniform" else rng.standard_normal((n, d))
    y = np.tanh(X[:, 1] if kind == "labels" else X[:, 0]) + 1.0
    network = Network(d, 6)
    objective = NetworkObjective(network, Sample(X, y), lam=0.3)
    for seed in range(20):
        found = structure_certificate(objective, network.random_parameters(rng=seed), directions=np.eye(d)[0])
        assert found.is_valid
        if kind != "gaussian":
            assert not found.is_meaningful
    assert len(found.reason) > 20


def test_large_gaussian_sample_is_meaningful():
    sample = MultiIndexTeacher(DIRECTION, LINKS["tanh"]).sample(20_000, 0)
    network = Network(2, 4, activation="tanh")
    start = network.random_parameters(rng=0)
    found = structure_certificate(NetworkObjective(network, sample, lam=0.5), start)
    assert found.stein_score < 2.0
    assert 0.0 < found.relative_stein_residual < 0.1
    assert found.bound > found.gaussian_bound
    trained = train_network(network, sample, lam=0.05, rest_decay=0.05, start=start, gtol=1e-5, curv_tol=1e-2)
    assert trained.certificate.is_meaningful
    assert trained.certificate.relative_bound < 0.3
    assert "sampling error" in trained.certificate.reason


def test_score_is_calibrated_and_sees_wrong_directions():
    """Mean square 1 over samples within 5 standard errors; with a wrong U it grows like sqrt(n)."""
    network = Network(6, 5, activation="tanh")
    x = network.random_parameters(rng=0)
    x[network.slice_of("W1")].reshape(5, 6)[:, 1:] = 0.0  # W_perp = 0: R is the gradient, of mean 0
    teacher = MultiIndexTeacher(np.eye(6)[0], LINKS["tanh+1"], noise=0.1)
    squares = [
        structure_certificate(NetworkObjective(network, teacher.sample(200, seed)), x).stein_score ** 2
        for seed in range(60)
    ]
    assert abs(np.mean(squares) - 1.0) < 5.0 * np.std(squares) / math.sqrt(60.0)
    wrong = [
        structure_certificate(NetworkObjective(network, teacher.sample(n, 1)), x, directions=np.eye(6)[1]).stein_score
        for n in (500, 8000)
    ]
    assert 3.0 < wrong[1] / wrong[0] < 5.0
    assert wrong[1] > 5.0


def test_infinite_without_curvature():
    """At this point H_b has an eigenvalue far below -2 lam: nothing is proved, and it says so."""
    objective = population_objective("squared", (1,), "square", lam=1e-3, nodes=(10, 10))
    x = np.array([0.1, -0.1, 0.0, 1.0, -5.0])  # f - y < 0 and phi'' = 2
    found = structure_certificate(objective, x)
    assert found.min_bias_eigenvalue < -1.0
    assert math.isinf(found.bound)
    assert not found.is_meaningful
    assert "eigenvalue" in found.reason


def test_full_certificate_and_the_papers_bound():
    teacher = teacher_for("squared")
    population = gaussian_population(teacher, n_nodes=16)
    trained = train_network(Network(2, 5), population, lam=0.05, rest_decay=0.05, gtol=1e-7, curv_tol=1e-6)
    assert trained.result.success
    x = trained.objective.restrict(trained.parameters)
    found = structure_certificate(trained.objective, x, gtol=1e-7, curv_tol=1e-6, hessian_lipschitz=50.0)
    assert found.sosp.is_certified
    assert found.is_lipschitz_given
    rho = max(found.sosp.gradient_norm, min(found.sosp.min_eigenvalue_lower, 0.0) ** 2 / 50.0)
    assert found.lemma_bound == pytest.approx(rho / (0.1 - math.sqrt(50.0 * rho)), rel=1e-9)
    assert found.perpendicular_norm <= found.gaussian_bound <= found.lemma_bound
    estimated = structure_certificate(trained.objective, x, sosp=found.sosp)
    assert not estimated.is_lipschitz_given
    assert 0.0 < estimated.hessian_lipschitz < math.inf


def test_no_decay_and_no_certificate():
    objective = population_objective("squared", (3,), lam=0.0, nodes=(6, 6))
    found = structure_certificate(objective, objective.network.random_parameters(rng=0))
    assert math.isnan(found.lemma_bound)
    assert found.sosp is None
    assert found.lam == 0.0


def test_directions_are_needed():
    objective = NetworkObjective(Network(2, 3), Sample(np.zeros((4, 2)), np.zeros(4)))
    with pytest.raises(InputError, match="directions"):
        structure_certificate(objective, np.zeros(13))
    with pytest.raises(InputError, match="directions"):
        structure_certificate(objective, np.zeros(13), directions=[1.0, 0.0, 0.0])
    with pytest.raises(InputError, match="x must"):
        structure_certificate(objective, np.zeros(3), directions=[1.0, 0.0])
