"""A run that has settled goes on from the cut itself: a step down, and to a cut of the same value."""

import numpy as np
from scipy.special import erf

from derand.maxcut.conditioning import round_means
from derand.maxcut.derandomize import derandomize
from derand.maxcut.objective import SmoothedCutObjective
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.relaxation import solve_relaxation
from derand.maxcut.settling import SettlingWatch, joined_runs
from derand.optimize.minimize import minimize_sosp
from tests.maxcut.graphs import random_graph, torus


def start_of(problem):
    vectors = solve_relaxation(problem, tol=1e-4).vectors
    objective = SmoothedCutObjective(problem, min(8, vectors.shape[1]))
    W = np.ascontiguousarray(vectors[:, : objective.d])
    W /= np.linalg.norm(W, axis=1)[:, None]
    return objective, objective.pack(W, 0.3 * W[:, 0])


def minimise(objective, start, callback):
    return minimize_sosp(
        objective.value_and_grad,
        start,
        hessp=objective.hessp,
        gtol=1e-6,
        curv_tol=objective.lam,
        memory=10,
        callback=callback,
        rng=0,
    )


def cut_at(objective, x):
    _, b = objective.unpack(x)
    return round_means(objective.problem, erf(b / (objective.sigma * np.sqrt(2.0))))


def test_the_short_way_leads_lower_and_to_the_same_value():
    settled = 0
    for problem in (torus(16, 16, np.random.default_rng(1)), random_graph(np.random.default_rng(2), 150, 500)):
        objective, start = start_of(problem)
        watch = SettlingWatch(objective)
        first = minimise(objective, start, watch)
        whole = minimise(objective, start, None)
        if watch.target is None:
            continue
        settled += 1
        assert objective.value_and_grad(watch.target)[0] <= first.fun
        second = minimise(objective, watch.target, None)
        # Vertices without a preference may end on either side.
        value = problem.cut_value(cut_at(objective, second.x))
        assert value == problem.cut_value(cut_at(objective, whole.x))
        assert value == problem.cut_value(cut_at(objective, first.x))
        run = joined_runs(first, second)
        assert run.success
        assert run.nfev == first.nfev + second.nfev < whole.nfev
        assert [record.nit for record in run.history] == sorted(record.nit for record in run.history)
        assert len(run.history) == len(first.history) + len(second.history)
        np.testing.assert_array_equal(objective.unpack(run.x)[0], 0.0)
    assert settled >= 1


def test_a_vertex_on_the_wrong_side_has_a_gradient_at_the_target():
    # Five edges: the rounding of settled biases is never like this, but if it were, the solver would go on.
    path = MaxCutProblem.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 5])
    objective = SmoothedCutObjective(path, 2)
    side = np.array([1, -1, 1, -1, 1, 1])
    x = objective.pack(np.zeros((6, 2)), 5.0 * objective.sigma * side)
    gradient = objective.unpack(objective.value_and_grad(x)[1])[1]
    assert gradient[5] > 1e-6
    assert (gradient * side)[:4].max() < 0.0


def test_moving_signs_do_not_count_as_settled():
    objective, start = start_of(torus(8, 8, np.random.default_rng(3)))
    watch = SettlingWatch(objective)
    state = minimise(objective, start, lambda _state: True)
    assert not any(watch(state) for _ in range(30))  # nothing is certain at the start
    assert watch.target is None


def test_derandomize_counts_both_runs():
    problem = torus(16, 16, np.random.default_rng(1))
    result = derandomize(problem, solve_relaxation(problem, tol=1e-4).vectors)
    assert result.sosp.success
    assert result.sosp.nfev == result.sosp.history[-1].nfev
    assert result.weight_norm <= result.weight_bound
