import math

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.two_step import (
    alignment,
    extract_directions,
    learned_directions,
    random_problem,
    sampling_chance,
    step_sizes,
    two_step_update,
)
from tests.two_step.reference import ie3


def _run(seed, size=150, link=ie3, batch="fresh", activation=(0.0, 1.0, 0.5)):
    problem = random_problem(size, size, 2 * size * (2 if batch == "fresh" else 1), [link], rng=seed)
    etas = step_sizes(problem.X, problem.y, size, list(activation), alphas=(0.4, 0.3), kappas=(0.5, 0.5), batch=batch)
    return two_step_update(*problem[:4], *etas, activation=list(activation), batch=batch), problem.directions


def test_fresh_batches_align_by_chance():
    """A link that fresh batches don't learn: mean squares of the projections agree, to four standard errors."""
    excess = {"theory": [], "extracted": []}
    for seed in range(60):
        run, targets = _run(seed)
        chance = sampling_chance(run, targets)[0]
        rows = {
            "theory": learned_directions(run, memory=False),
            "extracted": extract_directions(run.W2 - run.W0, run.a0, 2).directions,
        }
        for name, directions in rows.items():
            excess[name].append(alignment(directions, targets).span[0] ** 2 - chance**2)
    for values in excess.values():
        assert abs(np.mean(values)) < 4 * np.std(values) / math.sqrt(60)
        assert abs(np.mean(values)) < 0.01


def test_first_step_in_closed_form():
    """With sigma(z) = z both steps of a reused batch point along b: chance^2 = Var(y z)/n/|b|^2."""
    run, targets = _run(1, batch="reuse", activation=(0.0, 1.0))
    b = run.first.X.T @ run.first.y / run.first.y.size
    spread = np.var(run.first.y * (run.first.X @ targets[0]), ddof=1) / run.first.y.size
    assert sampling_chance(run, 3.0 * targets) == pytest.approx([math.sqrt(spread) / np.linalg.norm(b)], rel=1e-6)


def test_two_batches_add_up():
    """Fresh batches: the covariances of both first-order directions, weighted by their step sizes."""
    run, targets = _run(2, activation=(0.0, 1.0))
    rows, spread = np.zeros(150), 0.0
    for eta, (X, y) in ((run.eta1, run.first), (run.eta2, run.second)):
        rows = rows + eta * X.T @ y / y.size
        spread += eta**2 * np.var(y * (X @ targets[0]), ddof=1) / y.size
    assert sampling_chance(run, targets) == pytest.approx([math.sqrt(spread) / np.linalg.norm(rows)], rel=1e-6)


def test_larger_than_uniform_for_labels_with_tails():
    def link(z):
        return z**2 - 1.0

    for batch in ("reuse", "fresh"):
        run, targets = _run(3, link=link, batch=batch)
        assert sampling_chance(run, targets)[0] > 1.5 * math.sqrt(2 / 150)


def test_bad_input():
    run, targets = _run(0)
    with pytest.raises(InputTypeError, match="two_step_update"):
        sampling_chance(run.W2, targets)
    with pytest.raises(InputError, match="columns"):
        sampling_chance(run, targets[:, 1:])
    with pytest.raises(InputError, match="zero"):
        sampling_chance(run, 0.0 * targets)
