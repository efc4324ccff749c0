"""Descent with constant steps against steps by hand, its noise, its ends."""

import itertools

import numpy as np
import pytest

from derand.exceptions import InputError, NonConvergenceError
from derand.structure import (
    MultiIndexTeacher,
    Network,
    NetworkObjective,
    gaussian_population,
    noisy_descent,
    stream_batches,
)
from tests.structure.problems import DIRECTION, LINKS, teacher_for

POPULATION = gaussian_population(teacher_for("squared"), n_nodes=10)
NETWORK = Network(2, 4)
START = NETWORK.random_parameters(rng=0)


def test_three_steps_by_hand():
    objective = NetworkObjective(NETWORK, POPULATION, lam=0.01)
    steps = np.full(START.size, 0.1)
    for name in ("b1", "b2"):
        steps[NETWORK.slice_of(name)] = 0.05
    x = START.copy()
    for _ in range(3):
        x = x - steps * objective.value_and_grad(x)[1]
    run = noisy_descent(
        NETWORK, itertools.repeat(POPULATION), START, lam=0.01, step=0.1, bias_step=0.05, noise=0.0, max_steps=3
    )
    np.testing.assert_allclose(run.parameters, x, rtol=1e-13)
    assert (run.n_steps, run.n_perturbations, run.is_converged) == (3, 0, False)
    np.testing.assert_array_equal(run.path[0].W, NETWORK.unpack(START)[0][0])
    np.testing.assert_array_equal(run.path[-1].W, NETWORK.unpack(x)[0][0])


def test_noise_only_where_the_gradient_is_small():
    """With an infinite threshold every step is perturbed; the noise has the size asked for and spares frozen blocks."""
    options = {"lam": 0.01, "step": 1e-9, "frozen": ("output",), "max_steps": 400}
    run = noisy_descent(NETWORK, itertools.repeat(POPULATION), START, noise=1e-3, threshold=np.inf, **options)
    moved = (run.parameters - START)[NETWORK.mask(("output",))]
    assert run.n_perturbations == run.n_steps == 400
    # 12 sums of 400 draws: chi-square with 12 degrees of freedom, 5 standard errors sqrt(2 * 12).
    assert abs(np.sum(moved**2) / (400 * 1e-6) - 12.0) < 25.0
    np.testing.assert_array_equal(run.parameters[NETWORK.slice_of("W2")], START[NETWORK.slice_of("W2")])
    quiet = noisy_descent(NETWORK, itertools.repeat(POPULATION), START, threshold=0.0, **options)
    assert quiet.n_perturbations == 0


def test_ends_with_the_batches_and_with_the_gradient():
    run = noisy_descent(NETWORK, [POPULATION] * 5, START, step=0.1)
    assert run.n_steps == 5
    done = noisy_descent(NETWORK, itertools.repeat(POPULATION), START, step=0.1, gtol=1e9)
    assert done.is_converged
    np.testing.assert_array_equal(done.parameters, START)


def test_one_pass_over_a_stream_aligns():
    """A short one-pass run with a strong decay: the share of energy in the teacher's span rises from 1/2 to 0.95."""
    network = Network(2, 30, iota=4.0)
    start = network.random_parameters(init="mean_field", rng=1)
    run = noisy_descent(
        network,
        stream_batches(MultiIndexTeacher(DIRECTION, LINKS["tanh"]), 50, 2),
        start,
        lam=5e-3,
        frozen=("output",),
        step=0.5,
        max_steps=600,
    )
    W = network.unpack(run.parameters)[0][0]
    assert np.sum((W @ DIRECTION) ** 2) / np.sum(W**2) > 0.95
    assert run.gradient_norms.shape == (600,)


def test_divergence_is_an_error():
    cube = MultiIndexTeacher(DIRECTION, lambda s: s[:, 0] ** 3)
    with pytest.raises(NonConvergenceError, match="smaller step"):
        noisy_descent(
            Network(2, 4, activation="square"),
            itertools.repeat(gaussian_population(cube, n_nodes=10)),
            NETWORK.random_parameters(rng=0),
            step=50.0,
        )


def test_bad_input_is_named():
    for change, word in (({"step": 0.0}, "step"), ({"noise": -1.0}, "noise"), ({"max_steps": -1}, "max_steps")):
        with pytest.raises(InputError, match=word):
            noisy_descent(NETWORK, [POPULATION], START, **change)
    with pytest.raises(InputError, match="start"):
        noisy_descent(NETWORK, [POPULATION], START[1:])
