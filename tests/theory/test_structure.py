"""Structure discovery (arXiv:2510.19382, section 4), statement by statement, as (computed, predicted, tolerance)."""

import itertools
import math

import numpy as np
import pytest

from derand.gaussian import gauss_hermite
from derand.structure import (
    MultiIndexTeacher,
    Network,
    NetworkObjective,
    Sample,
    energy_share,
    gaussian_population,
    noisy_descent,
    split_weights,
    stream_batches,
    structure_certificate,
    subspace_distance,
    train_network,
)
from tests.structure.problems import (
    DIRECTION,
    LINKS,
    LOSSES,
    population_objective,
    teacher_for,
)

DEPTHS = {2: (6,), 3: (6, 5), 4: (6, 5, 4)}
ACTIVATIONS = ("softplus", "tanh", "gelu", "erf", "square")


def start_for(network, activation, seed):
    """Return a random start small enough for 160 Gauss-Hermite nodes across the teacher to reach rounding.

    The error falls geometrically with the distance of the integrand's poles, pi/2 over the size of the weights, from
    the axis; deep squares are polynomials of high degree inside a loss with poles, and need smaller weights.
    """
    return (0.25 if activation == "square" else 0.6) * network.random_parameters(rng=seed)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss if isinstance(loss, str) else type(loss).__name__)
def test_identity_behind_the_lemma(loss, depth, activation):
    """grad_perp = (H_b + 2 lam I) W_perp, at any point: both sides from separate derivatives, to 1e-10."""
    objective = population_objective(loss, DEPTHS[depth], activation)
    for seed in range(2):
        x = start_for(objective.network, activation, seed)
        W, gradient, hessian = objective.first_layer(x)
        perpendicular = split_weights(W, DIRECTION)[1]
        predicted = hessian @ perpendicular + 2.0 * objective.lam * perpendicular
        assert np.linalg.norm(predicted) > 1e-5
        np.testing.assert_allclose(split_weights(gradient, DIRECTION)[1], predicted, atol=1e-10)


@pytest.mark.medium
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("is_exact", [True, False])
def test_certificate_is_valid_at_random_points(depth, is_exact):
    """|W_perp| is below the bound at each of 170 random points: it is algebra, so no exception is allowed."""
    n_finite = 0
    for seed in range(170):
        loss = LOSSES[seed % len(LOSSES)]
        objective = population_objective(loss, (*DEPTHS[depth][:-1], 3), "softplus", nodes=(4, 24), lam=0.05)
        if not is_exact:
            sample = teacher_for(loss).sample(60, seed)
            objective = NetworkObjective(objective.network, sample, loss=loss, lam=0.05)
        found = structure_certificate(objective, objective.network.random_parameters(rng=seed))
        assert found.perpendicular_norm <= found.bound
        n_finite += math.isfinite(found.bound)
    assert n_finite > 85


@pytest.mark.parametrize("seed", [0, pytest.param(range(1, 10), marks=pytest.mark.slow)])
@pytest.mark.parametrize("link", LINKS)
def test_theorem_two_layers(link, seed):
    """Trained biases, lam 1e-3, output layer fixed: certified points have 0.99999 of their energy in the span."""
    population = gaussian_population(MultiIndexTeacher(DIRECTION, LINKS[link]), n_nodes=32)
    network = Network(2, 16, iota=4.0)
    for one in np.atleast_1d(seed):
        start = network.random_parameters(init="mean_field", rng=int(one))
        trained = train_network(network, population, lam=1e-3, frozen=("output",), start=start)
        assert trained.result.success
        assert trained.certificate.share >= 0.99999
        assert trained.certificate.perpendicular_norm <= trained.certificate.bound < 1e-3


def frozen_shares(link, seeds):
    """Return the energy shares of certified points with frozen first biases and a fixed output layer."""
    population = gaussian_population(MultiIndexTeacher(DIRECTION, LINKS[link]), n_nodes=32)
    network = Network(2, 16, iota=4.0)
    shares = []
    for seed in seeds:
        start = network.random_parameters(init="mean_field", rng=seed)
        trained = train_network(network, population, lam=1e-3, frozen=("b1", "output"), start=start)
        assert trained.result.success
        shares.append(trained.certificate.share)
        if shares[-1] < 0.99:
            # The same points show why: H_b isn't bounded below, so that the theorem is silent, not wrong.
            assert trained.certificate.min_bias_eigenvalue < -2e-3
            assert math.isinf(trained.certificate.bound)
    return np.array(shares)


def test_frozen_biases_fail_where_the_teacher_is_not_odd():
    """Counter-example: second-order points with |W_perp| of order one, for an offset or an even part of the teacher.

    A frozen network imitates these with noise.  tanh itself leaves it nothing to imitate.  The figures for one start
    each, 1.000, 0.500, 0.584 and 0.640, lie within the ranges over ten starts (0.49..0.65, 0.43..0.72, 0.68..0.93),
    but for the last one, by 0.04.
    """
    assert frozen_shares("tanh", range(4)).min() >= 0.99999
    for link, (low, high) in {"tanh+1": (0.4, 0.75), "1-|s|": (0.4, 0.75), "He2": (0.6, 0.95)}.items():
        shares = frozen_shares(link, range(4))
        assert low < shares.min() <= shares.max() < high


def test_frozen_biases_with_a_trained_output_layer_may_still_find_the_span():
    """Trained biases are needed for the guarantee, not always for the outcome."""
    population = gaussian_population(MultiIndexTeacher(DIRECTION, LINKS["tanh+1"]), n_nodes=24)
    network = Network(2, 16, iota=4.0)
    start = network.random_parameters(rng=0)
    trained = train_network(network, population, lam=1e-3, rest_decay=1e-3, frozen=("b1",), start=start)
    assert trained.result.success
    assert trained.certificate.share > 0.999


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
@pytest.mark.parametrize("depth", [3, 4])
def test_theorem_any_depth_and_loss(depth, loss):
    """All layers trained, exact population: |W_perp| is within its certificate, the share beyond 0.9999."""
    population = gaussian_population(teacher_for(loss), n_nodes=16)
    network = Network(2, (8,) * (depth - 1), iota=4.0)
    trained = train_network(network, population, loss=loss, lam=1e-3, rest_decay=1e-3, gtol=1e-5, curv_tol=1e-2)
    assert trained.result.success
    assert trained.certificate.perpendicular_norm <= trained.certificate.bound < 5e-3
    assert trained.certificate.share > 0.9999


@pytest.mark.parametrize(("k", "d", "n_nodes"), [(2, 3, 14), (3, 4, 8)])
def test_multi_index_teachers(k, d, n_nodes):
    """The first layer has rank k up to its certificate, and its leading directions are the teacher's."""
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((d, d)))[0][:k]
    teacher = MultiIndexTeacher(U, lambda s: np.tanh(2.0 * s).mean(1) + s[:, 0] * s[:, 1] / 2.0)
    population = gaussian_population(teacher, n_nodes=n_nodes)
    trained = train_network(Network(d, 12, iota=4.0), population, lam=1e-3, rest_decay=1e-3, gtol=1e-5, curv_tol=1e-2)
    directions, sizes = trained.leading_directions(k)
    assert trained.result.success
    assert sizes[k] <= trained.certificate.bound < 0.01 * sizes[k - 1]
    assert subspace_distance(directions, U) <= trained.certificate.bound / sizes[k - 1] * 1.01


def test_frozen_bias_minimiser_against_lambda():
    """min_w E(softplus_3(w x) - 1)^2 + lam w^2, the paper's picture: w = 0 is a strict saddle below a threshold.

    Its second derivative at 0 is 2 (1/4 + (log(2)/3 - 1) 3/4 + lam), so the threshold is lam = 3/4 - log(2)/4 - 1/4.
    The network's loss has the factor 1/2, hence lam / 2 there.  The minimiser is compared with a scan.
    """
    nodes, weights = gauss_hermite(200)
    threshold = 0.5 - math.log(2.0) / 4.0
    network = Network(1, 1, iota=3.0)
    start = np.array([0.5, 0.0, 1.0, 0.0])

    def minimiser(lam, frozen):
        sample = Sample(nodes[:, None], np.ones(nodes.size), weights, np.ones((1, 1)), is_exact=True)
        run = train_network(network, sample, lam=lam / 2.0, frozen=frozen, start=start, gtol=1e-9)
        assert run.result.success
        return abs(run.parameters[0])

    grid = np.linspace(0.0, 4.0, 4001)
    softplus = np.logaddexp(0.0, 3.0 * grid[:, None] * nodes) / 3.0
    for lam in (0.02, 0.1, 0.9 * threshold):
        scanned = grid[np.argmin((softplus - 1.0) ** 2 @ weights + lam * grid**2)]
        assert scanned > 0.1
        assert minimiser(lam, ("b1", "output")) == pytest.approx(scanned, abs=1e-3)
    assert minimiser(1.1 * threshold, ("b1", "output")) < 1e-6
    for lam in (0.02, 0.1):
        assert minimiser(lam, ("output",)) < 1e-6


def test_gradient_steps_act_on_the_perpendicular_part_as_a_matrix():
    """One step of size eta maps W_perp to (I - eta (H_b + 2 lam)) W_perp; to rounding, for any eta."""
    objective = population_objective("squared", (5,), "softplus", lam=0.01)
    x = start_for(objective.network, "softplus", 0)
    run = noisy_descent(objective.network, [objective.sample], x, lam=0.01, step=0.7, noise=0.0, max_steps=1)
    W, _, hessian = objective.first_layer(x)
    predicted = (np.eye(5) - 0.7 * (hessian + 0.02 * np.eye(5))) @ split_weights(W, DIRECTION)[1]
    np.testing.assert_allclose(split_weights(run.path[-1].W, DIRECTION)[1], predicted, atol=1e-13)


def test_directions_without_curvature_shrink_at_the_rate_of_the_decay():
    """Units with output weight 0 have no curvature: after n steps they are (1 - 2 lam eta)^n of their start.

    For the published recipe that is e^-2 after all 20,000 steps: its runs end before W_perp is small.
    """
    network = Network(2, 3)
    x = network.random_parameters(rng=0)
    x[network.slice_of("W2")] = 0.0
    population = gaussian_population(teacher_for("squared"), n_nodes=4)
    options = {"lam": 5e-5, "frozen": ("output",), "noise": 0.0, "max_steps": 300}
    run = noisy_descent(network, itertools.repeat(population), x, **options)
    np.testing.assert_allclose(run.path[-1].W, (1.0 - 1e-4) ** 300 * run.path[0].W, rtol=1e-12)
    assert pytest.approx(math.exp(-2.0), rel=1e-3) == (1.0 - 1e-4) ** 20_000


def test_decay_of_the_first_layer_alone_leaves_no_minimum():
    """A tanh network fits y = s ever better along (e W_1, W_2 / e), with a penalty lam e^2: F falls to 0, unattained.

    (1/e) tanh(e s) - s = -e^2 s^3 / 3 + O(e^4), so F = lam e^2 + e^4 E[s^6] / 18 + O(e^6) with E[s^6] = 15.
    """
    population = gaussian_population(MultiIndexTeacher([1.0, 0.0], lambda s: s[:, 0]), n_nodes=40)
    objective = NetworkObjective(Network(2, 1, activation="tanh"), population, lam=1e-3)
    for e in (0.1, 0.03, 0.01):
        computed = objective.value(np.array([e, 0.0, 0.0, 1.0 / e, 0.0]))
        assert computed == pytest.approx(1e-3 * e**2 + 15.0 * e**4 / 18.0, rel=20.0 * e**2)


@pytest.mark.slow
def test_published_recipe():
    """10,000 steps of size 1 on batches of 50, decay 1e-4: the share of energy rises from 0.53 to 0.9 or more.

    Frozen biases do as well on tanh and fall behind on tanh + 1, which has an offset: 0.946 and 0.645 against 0.935 and
    0.911 in one earlier run with 1000 units, whose seed isn't known.
    """
    network = Network(2, 1000, iota=4.0)
    start = network.random_parameters(init="mean_field", rng=0)
    shares = {}
    for link, frozen in itertools.product(("tanh", "tanh+1"), (("output",), ("biases", "output"))):
        batches = stream_batches(MultiIndexTeacher(DIRECTION, LINKS[link]), 50, 1)
        run = noisy_descent(network, batches, start, frozen=frozen, max_steps=10_000)
        shares[link, frozen] = energy_share(run.path[-1].W, DIRECTION)
    assert energy_share(network.unpack(start)[0][0], DIRECTION) == pytest.approx(0.5, abs=0.06)
    trained, frozen = ("output",), ("biases", "output")
    assert shares["tanh", trained] > 0.88
    assert shares["tanh+1", trained] > 0.85
    assert shares["tanh+1", frozen] < shares["tanh+1", trained] - 0.1


@pytest.mark.slow
def test_finite_samples_need_a_decay_of_their_own():
    """k = 1, d = 20, n = 400: a tiny decay leaves most of the energy outside the span, 1e-2 recovers the direction.

    "Arbitrarily small" is a statement about the population.  The certificate knows: on 20 points a dimension the
    sampling error allows more weight across than there is in all, and the theorem isn't claimed.
    """
    direction = np.eye(20)[0]
    teacher = MultiIndexTeacher(direction, LINKS["tanh+1"], noise=0.2)
    sample = teacher.sample(400, 0)
    found = {}
    for lam in (1e-5, 1e-2):
        trained = train_network(
            Network(20, 24, iota=4.0), sample, lam=lam, rest_decay=1e-2, gtol=1e-4, curv_tol=0.1, max_evals=2000
        )
        found[lam] = (trained.certificate.share, subspace_distance(trained.leading_directions(1)[0], direction))
    assert found[1e-5][0] < 0.6
    assert found[1e-2][0] > 0.9
    assert not trained.certificate.is_meaningful
    assert found[1e-2][1] < 0.5 * found[1e-5][1]
