import time

import numpy as np
import pytest

from derand.exceptions import BudgetExceededError, InputError
from derand.teacher_student import FlowStatus, TeacherStudent, conserved_frame
from derand.teacher_student.simulation import run_simulation, simulate_exact, simulate_weights
from tests.teacher_student.reference import orthogonal_start, random_start

RUNS = 3000


def statistics(run):
    """Order parameters of all runs and times, one row for each run."""
    return np.concatenate([run.rho.reshape(len(run.rho), -1), run.Q.reshape(len(run.rho), -1)], axis=1)


def worst_z(a, b):
    """Return the largest difference of two samples' means in standard errors; parts without spread must agree."""
    difference = np.abs(a.mean(axis=0) - b.mean(axis=0))
    error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / len(a))
    scale = np.max(np.abs(a), axis=0)
    fixed = error <= 1e-12 * scale
    assert np.all(difference[fixed] <= 1e-12 * np.maximum(scale[fixed], 1e-300))
    return np.max(difference[~fixed] / error[~fixed])


SETTINGS = [
    {"lr": 0.1},
    {"lr": 0.1, "noise": 0.3},
    {"lr": 0.1, "constraint": "norm"},
    {"lr": 0.1, "second_layer": [1.0, -1.0, 1.0]},
    {"lr": 0.5, "activation": "erf"},
    {"lr": 0.5, "activation": "relu"},
]


@pytest.mark.parametrize("keywords", SETTINGS)
def test_exact_has_the_law_of_weight_space(keywords):
    """Means, variances and covariances of all order parameters at two times.

    About 140 products of pairs are compared: the largest of that many normal variables exceeds 4.5 with probability
    1e-3, and the seeds are fixed.
    """
    rho, Q, T = random_start(3, 2, n_inputs=30)
    model = TeacherStudent(3, 2, T=T, **keywords)
    exact, weights = (
        statistics(model.simulate(rho, Q, 30, [0.5, 1.5], n_replicas=RUNS, method=method, rng=seed))
        for method, seed in (("exact", 1), ("weights", 2))
    )
    assert worst_z(exact, weights) < 4.5
    centre = weights.mean(axis=0)
    rows, columns = np.triu_indices(exact.shape[1])
    products = [(a - centre)[:, rows] * (a - centre)[:, columns] for a in (exact, weights)]
    assert worst_z(*products) < 4.5


def test_one_step_has_the_exact_mean():
    rho, Q, T = random_start(2, 1)
    model = TeacherStudent(2, 1, T=T, noise=0.2, lr=0.2)
    n = 6
    run = model.simulate(rho, Q, n, [1 / n], n_replicas=200_000, rng=0)
    for found, start, speed in zip((run.rho, run.Q), (rho, Q), model.rhs(rho, Q, finite_N=n), strict=True):
        change = n * (found[:, 0] - start)
        error = change.std(axis=0) / np.sqrt(len(change))
        assert np.all(np.abs(change.mean(axis=0) - speed) < 4 * error)


def test_deviation_from_the_equations_shrinks_like_the_root_of_n():
    """sqrt(N) max |rho_SGD - rho_ODE| between 1 and 4, from a warm start (the constant grows with lr and time)."""
    rho, Q = orthogonal_start(4, 2, 0.5, q=2.0)
    alphas = np.linspace(0.0, 10.0, 11)
    for n in (100, 1000):
        model = TeacherStudent(4, 2, lr=0.1)
        run = model.simulate(rho, Q, n, alphas, n_replicas=32, rng=n)
        gap = np.abs(run.rho - model.solve(rho, Q, alphas).rho)
        assert 1.0 < np.sqrt(n) * np.mean(np.max(gap, axis=(1, 2, 3))) < 4.0


def test_times_start_and_smallest_size():
    rho, Q, T = random_start(2, 1, n_inputs=3)
    run = TeacherStudent(2, 1, T=T).simulate(rho, Q, 3, [0.0, 0.4, 5.0], n_replicas=2, rng=0)
    assert run.alphas.tolist() == [0.0, 1 / 3, 5.0]
    assert np.allclose(run.rho[:, 0], rho, rtol=0, atol=1e-14)
    assert np.allclose(run.Q[:, 0], Q, rtol=0, atol=1e-14)
    assert run.success
    assert run.n_steps == 15


def test_seed_decides():
    rho, Q = orthogonal_start(2, 1, 0.1)
    model = TeacherStudent(2, 1)
    first, second = (model.simulate(rho, Q, 50, [1.0], rng=7) for _ in range(2))
    assert np.array_equal(first.Q, second.Q)


@pytest.mark.parametrize("method", ["exact", "weights"])
def test_divergence_is_a_status(method):
    rho, Q = orthogonal_start(4, 2, 0.1)
    run = TeacherStudent(4, 2, lr=2.0).simulate(rho, Q, 40, [0.0, 10.0], n_replicas=4, method=method, rng=0)
    assert all(state is FlowStatus.DIVERGED for state in run.status)
    assert not run.success
    assert np.all(np.isfinite(run.loss[:, 0]))
    assert np.all(np.isnan(run.loss[:, 1]))


def test_zero_loss_is_absorbing():
    run = TeacherStudent(2, 2).simulate(np.eye(2), np.eye(2), 10**6, [2e-4], n_replicas=3, rng=0)
    assert np.max(run.loss) < 1e-28


def test_bad_arguments():
    rho, Q = orthogonal_start(2, 1, 0.1)
    model = TeacherStudent(2, 1)
    sigma = np.block([[Q, rho], [rho.T, np.eye(1)]])[None]
    for simulator in (simulate_exact, simulate_weights):
        with pytest.raises(InputError, match="N must be at least"):
            simulator(model.parameters, sigma, 2, np.ones(1), 0)
    with pytest.raises(InputError, match="n_replicas"):
        run_simulation(model.parameters, sigma, 10, np.ones(1), n_replicas=0, method="exact", rng=0)
    with pytest.raises(InputError, match="samples"):
        model.simulate(rho, Q, 10**15, [1e4])
    with pytest.raises(InputError, match="method"):
        model.simulate(rho, Q, 10, [1.0], method="fast")
    with pytest.raises(InputError, match="single matrices"):
        model.simulate(np.stack([rho, rho]), np.stack([Q, Q]), 10, [1.0])
    with pytest.raises(BudgetExceededError, match="4 GB"):
        model.simulate(rho, Q, 10**9, [1e-9], method="weights")


def test_starts_of_their_own():
    starts = [random_start(2, 1, seed, n_inputs=4) for seed in range(3)]
    rho, Q = np.stack([s[0] for s in starts]), np.stack([s[1] for s in starts])
    T = np.array([[4.0]])
    for method in ("exact", "weights"):
        run = TeacherStudent(2, 1, T=T, lr=0.01).simulate(rho, Q, 20, [0.0, 0.5], n_replicas=3, method=method, rng=0)
        assert np.allclose(run.rho[:, 0], rho, rtol=0, atol=1e-14)
        assert np.allclose(run.Q[:, 0], Q, rtol=0, atol=1e-14)


def cold_runs(p, p_star, lr, n_inputs, replicas, horizon, seed, t=None):
    """Return starts, times and runs of SGD from random weights in many dimensions, for T = diag(t)."""
    t = np.ones(p_star) if t is None else np.array(t)
    weights = np.random.default_rng(seed).standard_normal((replicas, p, n_inputs))
    rho, Q = weights[..., :p_star] * np.sqrt(t / n_inputs), weights @ np.swapaxes(weights, 1, 2) / n_inputs
    model = TeacherStudent(p, p_star, lr=lr, T=np.diag(t))
    alphas = np.linspace(0.0, horizon, 301)
    return model, rho, model.simulate(rho, Q, n_inputs, alphas, n_replicas=replicas, rng=seed)


@pytest.mark.slow
@pytest.mark.parametrize(("p", "p_star", "lr", "horizon"), [(4, 1, 0.08, 45.0), (4, 2, 0.15, 60.0), (8, 2, 0.15, 60.0)])
def test_escape_time_law(p, p_star, lr, horizon):
    """Mean half time of SGD, N = 2000, from random weights, within two joint standard errors of the law."""
    model, _, run = cold_runs(p, p_star, lr, 2000, 100, horizon, 3)
    below = run.loss < 0.5 * model.plateau().loss
    assert np.all(below[:, -1])
    times = run.alphas[np.argmax(below, axis=1)] - 0.5 * run.alphas[1]
    law = model.escape_time(2000, n_starts=1000, fluctuations=True, rng=0)
    error = np.hypot(times.std() / np.sqrt(times.size), law.standard_error)
    assert abs(times.mean() - law.time) < 2.0 * error


@pytest.mark.slow
@pytest.mark.parametrize(("lr", "horizon"), [(0.2, 60.0), (0.1, 110.0), (0.05, 200.0)])
def test_overlap_law(lr, horizon):
    """Mean overlap of the frames of SGD, N = 1500, within two joint standard errors."""
    model, rho, run = cold_runs(4, 2, lr, 1500, 64, horizon, 5)
    overlaps = np.sum(conserved_frame(rho) * conserved_frame(run.rho[:, -1]), axis=(1, 2)) / 2
    law = model.overlap_law(rng=0)
    assert abs(overlaps.mean() - law.mean) < 2.0 * np.hypot(overlaps.std() / 8.0, law.standard_error)


@pytest.mark.slow
@pytest.mark.parametrize(("t", "lr", "horizon"), [((1.2, 0.8), 0.1, 110.0), ((1.4, 0.6), 0.1, 130.0)])
def test_laws_of_unequal_teachers(t, lr, horizon):
    """Escape times and overlaps of SGD, N = 1500, within two joint standard errors of the laws."""
    model, rho, run = cold_runs(4, 2, lr, 1500, 64, horizon, 5, t)
    overlaps = np.sum(conserved_frame(rho) * conserved_frame(run.rho[:, -1]), axis=(1, 2)) / 2
    law = model.overlap_law(N=1500, rng=0)
    assert abs(overlaps.mean() - law.mean) < 2.0 * np.hypot(overlaps.std() / 8.0, law.standard_error)
    times = run.alphas[np.argmax(run.loss < 0.5 * model.plateau().loss, axis=1)] - 0.5 * run.alphas[1]
    law = model.escape_time(1500, n_starts=500, fluctuations=True, rng=0)
    assert abs(times.mean() - law.time) < 2.0 * np.hypot(times.std() / 8.0, law.standard_error)


@pytest.mark.slow
@pytest.mark.parametrize("n", [10_000, 100_000])
def test_deviation_from_the_equations_for_many_inputs(n):
    rho, Q = orthogonal_start(4, 2, 0.5, q=2.0)
    model, alphas = TeacherStudent(4, 2, lr=0.1), np.linspace(0.0, 10.0, 11)
    gap = np.abs(model.simulate(rho, Q, n, alphas, n_replicas=16, rng=n).rho - model.solve(rho, Q, alphas).rho)
    assert 1.0 < np.sqrt(n) * np.mean(np.max(gap, axis=(1, 2, 3))) < 4.0


@pytest.mark.benchmark
def test_cost_ignores_n_and_beats_weight_space():
    rho, Q = orthogonal_start(4, 2, 0.03)
    model = TeacherStudent(4, 2, lr=0.1)

    def cost(n, replicas, **keywords):
        begin = time.process_time()
        model.simulate(rho, Q, n, [64 / n], n_replicas=replicas, rng=0, **keywords)
        return (time.process_time() - begin) / (64 * replicas)

    small, large, weights = cost(1000, 5000), cost(10**8, 5000), cost(1000, 100, method="weights")
    assert large < 1.5 * small
    assert weights > 50 * small
