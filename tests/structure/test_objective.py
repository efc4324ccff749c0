"""Derivatives of the regularised risk, the block of the biases, the identity, chunks, and other array libraries."""

import array_api_strict
import numpy as np
import pytest

from derand.exceptions import InputError
from derand.hessian import check_gradient, check_hessian
from derand.structure import Network, NetworkObjective, Sample, split_weights
from derand.structure import objective as module
from tests.structure.problems import LOSSES, central, population_objective, teacher_for

HIDDEN = [(5,), (4, 3), (4, 3, 3)]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss if isinstance(loss, str) else type(loss).__name__)
def test_gradient_and_products_against_differences(loss, hidden):
    objective = population_objective(loss, hidden, nodes=(6, 6), lam=0.02, rest_decay=0.01)
    rng = np.random.default_rng(0)
    x, v = objective.network.random_parameters(rng=rng), rng.standard_normal(objective.n_variables)
    _, gradient = objective.value_and_grad(x)
    assert gradient @ v == pytest.approx(central(objective.value, x, v), rel=1e-7, abs=1e-10)
    product = objective.hessp(x, v)
    difference = central(lambda z: objective.value_and_grad(z)[1], x, v)
    np.testing.assert_allclose(product, difference, rtol=1e-6, atol=1e-8 * np.linalg.norm(product))
    w = rng.standard_normal(objective.n_variables)
    assert w @ product == pytest.approx(v @ objective.hessp(x, w), rel=1e-10)


def test_own_derivative_checks_agree():
    objective = population_objective("squared", (3, 2), "gelu", nodes=(5, 5))
    x = objective.network.random_parameters(rng=1)
    assert check_gradient(objective.value_and_grad, x).is_consistent
    assert check_hessian(objective.value_and_grad, objective.hessp, x).is_consistent


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss if isinstance(loss, str) else type(loss).__name__)
def test_two_layer_block_agrees_with_products(loss):
    objective = population_objective(loss, (5,), nodes=(6, 6))
    x = objective.network.random_parameters(rng=2)
    deep = objective._deep_block(objective.full(x))
    np.testing.assert_allclose(objective.first_layer(x).bias_hessian, deep, atol=1e-14)


@pytest.mark.parametrize("hidden", HIDDEN)
def test_identity_holds_with_frozen_parameters_too(hidden):
    base = 0.6 * Network(2, hidden).random_parameters(rng=3)
    objective = population_objective("squared", hidden, "softplus", frozen=("biases", "output"), base=base)
    W, gradient, hessian = objective.first_layer(objective.restrict(base))
    perpendicular = split_weights(W, objective.sample.directions)[1]
    slope = split_weights(gradient, objective.sample.directions)[1]
    np.testing.assert_allclose(slope, hessian @ perpendicular + 2e-3 * perpendicular, atol=1e-13)


def test_frozen_parameters_keep_their_values():
    base = np.arange(13.0) / 13.0
    objective = population_objective("squared", 3, frozen=("b1", "output"), base=base)
    assert objective.n_variables == 6
    x = objective.restrict(base) + 1.0
    full = objective.full(x)
    np.testing.assert_array_equal(objective.restrict(full), x)
    np.testing.assert_array_equal(full[6:], base[6:])
    whole = population_objective("squared", 3)
    np.testing.assert_allclose(objective.value_and_grad(x)[1], whole.value_and_grad(full)[1][:6], rtol=1e-13)
    v = np.zeros(13)
    v[:6] = x
    np.testing.assert_allclose(objective.hessp(x, x), whole.hessp(full, v)[:6], rtol=1e-12)


def test_chunks_change_nothing_but_rounding(monkeypatch):
    sample = teacher_for("multinomial").sample(50, 0)
    network = Network(2, (4, 3), 2)
    x, v = network.random_parameters(rng=0), network.random_parameters(rng=1)
    whole = NetworkObjective(network, sample, loss="multinomial")
    monkeypatch.setattr(module, "_CHUNK_FLOATS", 6 * sum(network.widths) * 7)
    chunked = NetworkObjective(network, sample, loss="multinomial")
    assert len(list(chunked._parts())) == 8
    assert chunked.value(x) == pytest.approx(whole.value(x), rel=1e-14)
    np.testing.assert_allclose(chunked.value_and_grad(x)[1], whole.value_and_grad(x)[1], atol=1e-15)
    np.testing.assert_allclose(chunked.hessp(x, v), whole.hessp(x, v), atol=1e-14)
    np.testing.assert_allclose(chunked.first_layer(x).bias_hessian, whole.first_layer(x).bias_hessian, atol=1e-15)


def test_products_at_one_point_after_another_do_not_mix():
    objective = population_objective("huber", 4, nodes=(5, 5))
    x, y = (objective.network.random_parameters(rng=seed) for seed in (0, 1))
    first = objective.hessp(x, y)
    objective.hessp(y, x)
    objective.value_and_grad(y)
    np.testing.assert_array_equal(objective.hessp(x, y), first)


def compare(reference, loss, rtol):
    """Assert that another library gives the same numbers as NumPy."""
    sample = teacher_for(loss).sample(20, 0)
    network = Network(2, (4, 3), 2 if loss == "multinomial" else 1, activation="gelu")
    x, v = network.random_parameters(rng=0), network.random_parameters(rng=1)
    ours = NetworkObjective(network, sample, loss=loss)
    theirs = NetworkObjective(network, sample.like(reference), loss=loss)
    assert theirs.value(x) == pytest.approx(ours.value(x), rel=rtol)
    for a, b in ((ours.value_and_grad(x)[1], theirs.value_and_grad(x)[1]), (ours.hessp(x, v), theirs.hessp(x, v))):
        np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol)
    two = [NetworkObjective(Network(2, 3, network.widths[-1]), s, loss=loss) for s in (sample, sample.like(reference))]
    blocks = [o.first_layer(o.network.random_parameters(rng=2)).bias_hessian for o in two]
    np.testing.assert_allclose(blocks[1], blocks[0], rtol=rtol, atol=rtol)


@pytest.mark.parametrize("loss", LOSSES[:-1])
def test_strict_array_api(loss):
    compare(array_api_strict.zeros(1, dtype=array_api_strict.float64), loss, 1e-12)


@pytest.mark.parametrize("loss", LOSSES[:-1])
def test_torch(loss):
    torch = pytest.importorskip("torch")
    compare(torch.zeros(1, dtype=torch.float64), loss, 1e-12)


def test_single_precision_stays_single():
    compare(np.zeros(1, dtype=np.float32), "squared", 2e-4)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"sample": Sample(np.zeros((3, 2)), np.zeros(2))}, "y must have shape"),
        ({"sample": Sample(np.zeros((3, 3)), np.zeros(3))}, "X must have shape"),
        ({"sample": Sample(np.zeros((0, 2)), np.zeros(0))}, "X must have shape"),
        ({"sample": Sample(np.full((3, 2), np.nan), np.zeros(3))}, "X must be finite"),
        ({"sample": Sample(np.zeros((3, 2)), np.zeros(3), np.array([0.5, 0.6, -0.1]))}, "weights"),
        ({"sample": Sample(np.zeros((3, 2)), np.full(3, 2.0)), "loss": "logistic"}, "logistic"),
        ({"lam": -1.0}, "lam"),
        ({"rest_decay": np.inf}, "rest_decay"),
        ({"frozen": ("b1",)}, "base"),
        ({"frozen": ("W1", "b1", "W2", "b2"), "base": np.zeros(13)}, "frozen"),
        ({"base": np.zeros(3)}, "base"),
    ],
)
def test_bad_input_is_named(change, word):
    arguments = {"sample": Sample(np.zeros((3, 2)), np.zeros(3)), **change}
    with pytest.raises(InputError, match=word):
        NetworkObjective(Network(2, 3), **arguments)


def test_points_and_directions_of_the_wrong_shape():
    objective = population_objective("squared", 3, nodes=(3, 3))
    x = np.zeros(13)
    for call in (objective.value, objective.value_and_grad, objective.first_layer):
        with pytest.raises(InputError, match="x must"):
            call(x[1:])
    with pytest.raises(InputError, match="v must"):
        objective.hessp(x, x[1:])
    with pytest.raises(InputError, match="parameters"):
        objective.restrict(x[1:])
