import dataclasses

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.two_step import AssumptionWarning, learned_directions, low_rank_part, random_problem, two_step_update
from derand.two_step.directions import LowRank, default_orders
from tests.two_step.reference import averaged_direction, plain_directions

_LINKS = [np.tanh, lambda z: np.sin(2 * z)]
_CUBIC = [0.0, 1.0, 0.5, 0.3]


def _run(size, activation=_CUBIC, batch="reuse", seed=0, eta=1.0):
    problem = random_problem(size, size, size * (2 if batch == "fresh" else 1), _LINKS, rng=seed)
    return two_step_update(*problem[:4], eta, eta, activation=activation, batch=batch)


def _error(run, order, memory):
    truth = averaged_direction(run, order)
    return np.linalg.norm(learned_directions(run, memory=memory)[order] - truth) / np.linalg.norm(truth)


@pytest.mark.parametrize("batch", ["reuse", "fresh"])
def test_plain_form(batch):
    """(k+1) c_{k+1} c_1^k X^T (y o (X b)^k)/n, written out."""
    run = _run(60, batch=batch)
    X, y = (run.first.X, run.first.y) if batch == "reuse" else (
        np.concatenate([run.first.X, run.second.X]), np.concatenate([run.first.y, run.second.y])
    )  # fmt: skip
    expected = plain_directions(X, y, 2, batch) * np.array([[1.0], [2 * 0.5], [3 * 0.3]])
    np.testing.assert_allclose(learned_directions(run, memory=False), expected, rtol=1e-10, atol=1e-12)


def test_memory_wins_where_the_plain_form_is_stuck():
    errors = {memory: [_error(_run(size), 1, memory) for size in (100, 400)] for memory in (True, False)}
    assert errors[True][1] < 0.7 * errors[True][0] < 0.3
    assert min(errors[False]) > 0.5


def test_fresh_batches_need_the_noise_term_at_order_two():
    """The note's plain form drops V, the noise of the first step, which doesn't vanish."""
    run = _run(400, batch="fresh")
    assert _error(run, 2, True) < 0.15 < 0.45 < _error(run, 2, False)


def test_labels_with_a_mean():
    """The term of a mean in T_1: without it the error doesn't fall below a half."""
    problem = random_problem(400, 400, 400, _LINKS, rng=2)
    with pytest.warns(AssumptionWarning, match=r"E\[y\]"):
        run = two_step_update(problem.X, problem.y + 1.0, problem.W0, problem.a0, 1.0, 1.0, activation=_CUBIC)
    assert _error(run, 1, True) < 0.2


def test_low_rank_part_is_what_is_left_of_the_steps():
    """W2 - W0 along powers of a, in the direction predicted there: noise has a part d^(-1/2) in one direction."""
    run = _run(400, eta=4.0)
    spikes = low_rank_part(run)
    for power in (1, 2, 3):
        expected = (run.a0**power) @ spikes.left @ spikes.right
        found = (run.a0**power) @ (run.W2 - run.W0)
        assert found @ expected == pytest.approx(expected @ expected, rel=0.1)


def test_singular_values_of_the_whole_sum():
    rng = np.random.default_rng(0)
    spikes = LowRank(rng.standard_normal((30, 3)), rng.standard_normal((3, 20)))
    u, values, vt = spikes.singular_values()
    np.testing.assert_allclose(values, np.linalg.svd(spikes.left @ spikes.right, compute_uv=False)[:3], rtol=1e-12)
    np.testing.assert_allclose((u * values) @ vt, spikes.left @ spikes.right, atol=1e-12)


def test_default_orders():
    run = _run(30)
    assert default_orders(run.activation, memory=True, reuse=True) == [0, 1, 2]
    assert low_rank_part(run, kmax=1).left.shape == (30, 2)
    tanh = _run(30, activation="tanh")
    assert default_orders(tanh.activation, memory=True, reuse=True, kmax=4) == [0, 2, 4]
    relu = _run(30, activation="relu")
    assert default_orders(relu.activation, memory=False, reuse=True, kmax=3) == [0, 1, 3]
    assert low_rank_part(relu, memory=False, kmax=3).right.shape == (3, 30)


def test_missing_coefficients_are_named():
    tanh = _run(40, activation="tanh")
    with pytest.warns(AssumptionWarning, match="c_2"):
        found = learned_directions(tanh, 2)
    assert np.all(found[1] == 0.0)
    assert np.all(np.linalg.norm(found[[0, 2]], axis=1) > 0)


def test_bad_input():
    with pytest.raises(InputTypeError, match="two_step_update"):
        learned_directions(np.zeros((3, 3)))
    with pytest.raises(InputError, match="memory=False"):
        learned_directions(_run(30, activation="relu"), 2, memory=True)
    with pytest.raises(InputError, match="kmax"):
        learned_directions(_run(30), -1)
    assert dataclasses.is_dataclass(_run(30))
