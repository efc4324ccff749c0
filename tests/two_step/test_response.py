import warnings

import numpy as np
import pytest

from derand.two_step import AssumptionWarning, low_rank_part, random_problem, step_sizes, two_step_update
from derand.two_step.response import known_overlaps, response_weights


def _run(activation, size=150, batch="reuse", alphas=(0.4, 0.4), n=None):
    problem = random_problem(size, 120, n or 2 * size, [np.tanh, lambda z: np.sin(2 * z)], rng=3)
    etas = step_sizes(problem.X, problem.y, size, activation, alphas=alphas, kappas=(0.5, 0.5), batch=batch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        return two_step_update(*problem[:4], *etas, activation=activation, batch=batch)


def _overlaps(run, V, memory=True):
    return known_overlaps(run, response_weights(run, memory=memory))(V)


@pytest.mark.parametrize("batch", ["reuse", "fresh"])
@pytest.mark.parametrize("memory", [True, False])
def test_exact_for_quadratic_activations(batch, memory):
    """There both steps are linear in W0: all of W2 but its low-rank part."""
    run = _run([0.0, 1.0, 0.5], batch=batch)
    part = low_rank_part(run)
    rest = run.W2 - part.left @ part.right
    V = np.random.default_rng(0).standard_normal((150, 2))
    np.testing.assert_allclose(_overlaps(run, V, memory), rest.T @ V, atol=1e-10)


def test_linear_activation_has_the_start_only():
    run = _run([0.0, 2.0])
    V = np.eye(150, 3)
    np.testing.assert_allclose(_overlaps(run, V), run.W0.T @ V, atol=1e-12)


@pytest.mark.parametrize("activation", [[0.0, 1.0, 0.5, 1.0 / 6.0], [0.0, 1.0, 0.0, 1.0 / 6.0], "gelu"])
@pytest.mark.parametrize("batch", ["reuse", "fresh"])
def test_most_of_what_the_steps_change_is_known(activation, batch):
    """Along powers of the second layer, as in the spikes; the rest is noise that isn't linear in W0."""
    run = _run(activation, 600, batch=batch, n=600)
    part = low_rank_part(run)
    rest = run.W2 - part.left @ part.right
    V = run.a0[:, None]
    start = run.W0.T @ V
    change, known = rest.T @ V - start, _overlaps(run, V) - start
    assert np.sum(change * known) > 0.6 * np.linalg.norm(change) * np.linalg.norm(known)
    assert np.linalg.norm(change - known) < 0.8 * np.linalg.norm(change)


def test_columns_are_independent_of_one_another():
    run = _run([0.0, 1.0, 0.5, 0.2])
    V = np.random.default_rng(1).standard_normal((150, 3))
    np.testing.assert_allclose(_overlaps(run, V)[:, [1]], _overlaps(run, V[:, [1]]), rtol=1e-10)
