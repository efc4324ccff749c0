import warnings

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.two_step import (
    AssumptionWarning,
    correlation_gradient,
    gradient_steps,
    random_problem,
    step_sizes,
    two_step_update,
)
from derand.two_step.dynamics import split_batches

_CUBIC = [0.0, 1.0, 0.5, 0.2]
_P = random_problem(30, 20, 50, [np.tanh], rng=0)


def test_two_steps_are_two_gradients():
    run = two_step_update(*_P[:4], 2.0, 0.7, activation=_CUBIC)
    W1 = _P.W0 + 2.0 * correlation_gradient(_P.X, _P.y, _P.W0, _P.a0, _CUBIC)
    W2 = W1 + 0.7 * correlation_gradient(_P.X, _P.y, W1, _P.a0, _CUBIC)
    np.testing.assert_allclose(run.W1, W1, rtol=1e-13)
    np.testing.assert_allclose(run.W2, W2, rtol=1e-13)
    steps = gradient_steps(*_P[:4], [2.0, 0.7, 0.1], activation=_CUBIC, block=11)
    assert len(steps) == 4
    np.testing.assert_allclose(steps[2], W2, rtol=1e-12)
    np.testing.assert_array_equal(steps[0], _P.W0)
    assert run.first is run.second


def test_fresh_batches_are_halves():
    run = two_step_update(*_P[:4], 2.0, 0.7, activation=_CUBIC, batch="fresh")
    np.testing.assert_array_equal(run.first.X, _P.X[:25])
    np.testing.assert_array_equal(run.second.y, _P.y[25:])
    W1 = _P.W0 + 2.0 * correlation_gradient(_P.X[:25], _P.y[:25], _P.W0, _P.a0, _CUBIC)
    np.testing.assert_allclose(run.G2, correlation_gradient(_P.X[25:], _P.y[25:], W1, _P.a0, _CUBIC), rtol=1e-13)
    parts = split_batches(_P.X, _P.y, 3, "fresh")
    assert [part.y.size for part in parts] == [16, 16, 16]
    with pytest.raises(InputError, match="at least 60"):
        split_batches(_P.X, _P.y, 60, "fresh")


def test_neurons_do_not_see_one_another():
    """The correlation loss is linear in the network: a neuron's steps depend on its own weights only."""
    whole = two_step_update(*_P[:4], 2.0, 0.7, activation=_CUBIC)
    part = two_step_update(_P.X, _P.y, _P.W0[:4], _P.a0[:4], 2.0, 0.7, activation=_CUBIC)
    np.testing.assert_allclose(part.W2, whole.W2[:4], rtol=1e-12)


def test_scaling_of_labels_is_undone_by_the_normalised_step():
    for scale in (1e-6, 1e5):
        etas = step_sizes(_P.X, scale * _P.y, 30, _CUBIC, alphas=(0.2, 0.3), kappas=(0.5, 0.7))
        run = two_step_update(_P.X, scale * _P.y, _P.W0, _P.a0, *etas, activation=_CUBIC)
        plain = step_sizes(_P.X, _P.y, 30, _CUBIC, alphas=(0.2, 0.3), kappas=(0.5, 0.7))
        same = two_step_update(*_P[:4], *plain, activation=_CUBIC)
        np.testing.assert_allclose(run.W2, same.W2, rtol=1e-10)


def test_step_sizes_move_the_fields_as_they_say():
    eta = step_sizes(_P.X, _P.y, 30, [0.0, -2.0], alphas=("0.25",), kappas=(0.3,))[0]
    assert eta < 0  # c_1 is
    move = eta * -2.0 * (_P.X @ (_P.X.T @ _P.y / 50))
    assert np.sqrt(np.mean(move**2)) == pytest.approx(0.3 * 30**0.25)
    fresh = step_sizes(_P.X, _P.y, 30, _CUBIC, alphas=(0, 0), batch="fresh")
    assert fresh[0] == pytest.approx(step_sizes(_P.X[:25], _P.y[:25], 30, _CUBIC, alphas=(0,))[0])
    assert fresh[1] == pytest.approx(step_sizes(_P.X[25:], _P.y[25:], 30, _CUBIC, alphas=(0,))[0])


def test_linear_activation():
    """sigma(z) = z: every step adds eta a b^T."""
    run = two_step_update(*_P[:4], 2.0, 0.7, activation=[0.0, 1.0])
    np.testing.assert_allclose(run.W2, _P.W0 + 2.7 * np.outer(_P.a0, _P.X.T @ _P.y / 50), atol=1e-13)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"activation": [0.0, 0.0, 1.0]}, "c_1"),
        ({"activation": "abs"}, "c_1"),
        ({"batch": "both"}, "batch"),
        ({"dtype": np.int64}, "dtype"),
        ({"block": 0}, "block"),
        ({"eta1": np.nan}, "eta1"),
        ({"eta2": np.inf}, "eta2"),
        ({"X": np.zeros((0, 20)), "y": np.zeros(0)}, "X must have"),
        ({"y": np.zeros(7)}, "y must"),
        ({"W0": np.zeros((30, 3))}, "W0"),
        ({"a0": np.zeros(3)}, "a0"),
        ({"X": np.full((50, 20), np.nan)}, "finite"),
    ],
)
def test_bad_input(change, match):
    given = {**_P._asdict(), "eta1": 1.0, "eta2": 1.0, "activation": _CUBIC, **change}
    del given["directions"]
    with pytest.raises(InputError, match=match):
        two_step_update(**given)


def test_bad_steps():
    with pytest.raises(InputError, match=r"alphas\[1\]"):
        step_sizes(_P.X, _P.y, 30, _CUBIC, alphas=(0.1, 0.5))
    with pytest.raises(InputError, match="kappas"):
        step_sizes(_P.X, _P.y, 30, _CUBIC, alphas=(0.1, 0.2), kappas=(1.0,))
    with pytest.raises(InputError, match=r"kappas\[0\]"):
        step_sizes(_P.X, _P.y, 30, _CUBIC, alphas=(0.1,), kappas=(0.0,))
    with pytest.raises(InputError, match="orthogonal"):
        step_sizes(_P.X, np.zeros(50), 30, _CUBIC, alphas=(0.1,))
    with pytest.raises(InputTypeError, match="eta1"):
        two_step_update(*_P[:4], "1", 1.0, activation=_CUBIC)


def test_assumptions_are_named():
    X, y, W0, a0, _ = random_problem(200, 200, 400, [np.tanh], rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        two_step_update(X, y, W0, a0, 2.0, 1.0, activation=_CUBIC)
    with pytest.warns(AssumptionWarning, match=r"E\[y\] = 0"):
        two_step_update(X, y + 1.0, W0, a0, 2.0, 1.0, activation=_CUBIC)
    with pytest.warns(AssumptionWarning, match="light-tailed"):
        two_step_update(X, np.sinh(2 * X[:, 0]), W0, a0, 0.1, 0.1, activation=_CUBIC)
    with pytest.warns(AssumptionWarning, match="full-rank"):
        two_step_update(X, y, W0, a0, 2.0, 100.0, activation=_CUBIC)


def test_steps_that_would_overflow():
    problem = random_problem(30, 20, 40, [np.tanh], rng=0)
    for etas, name in (((1e300, 1.0), "eta1"), ((1.0, 1e300), "eta2")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)
            with pytest.raises(InputError, match=f"{name} must be smaller"):
                two_step_update(*problem[:4], *etas, activation=[0.0, 1.0, 0.5])
    with pytest.raises(InputError, match=r"etas\[1\] must be smaller"):
        gradient_steps(*problem[:4], [1.0, 1e300], activation=[0.0, 1.0, 0.5])
