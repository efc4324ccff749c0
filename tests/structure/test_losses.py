"""Losses against closed forms, scipy and differences."""

import array_api_strict
import numpy as np
import pytest
from scipy.special import log_softmax

from derand.exceptions import InputError, InputTypeError
from derand.structure import make_loss
from derand.structure.losses import LOSSES, Multinomial, PointwiseLoss, check_targets

RNG = np.random.default_rng(0)
OUTPUTS = 3.0 * RNG.standard_normal((6, 3))
TARGETS = np.eye(3)[[0, 1, 2, 0, 1, 1]]
MOVES = RNG.standard_normal((6, 3))


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_against_differences(name):
    loss = make_loss(name, delta=0.7)
    h = 1e-5
    slope = (loss.value(OUTPUTS + h * MOVES, TARGETS) - loss.value(OUTPUTS - h * MOVES, TARGETS)) / (2 * h)
    np.testing.assert_allclose(np.sum(loss.gradient(OUTPUTS, TARGETS) * MOVES, axis=1), slope, rtol=1e-7, atol=1e-9)
    bend = (loss.gradient(OUTPUTS + h * MOVES, TARGETS) - loss.gradient(OUTPUTS - h * MOVES, TARGETS)) / (2 * h)
    np.testing.assert_allclose(loss.hessian_product(OUTPUTS, TARGETS, MOVES), bend, rtol=1e-7, atol=1e-9)


def test_values_in_closed_form():
    one = np.array([[2.0]])
    assert make_loss("squared").value(one, np.array([[5.0]])).item() == 4.5
    assert make_loss("logistic").value(np.zeros((1, 1)), np.ones((1, 1))).item() == pytest.approx(np.log(2.0))
    assert make_loss("huber", delta=2.0).value(one, np.zeros((1, 1))).item() == pytest.approx(4 * (np.sqrt(2) - 1))
    expected = -np.sum(TARGETS * log_softmax(OUTPUTS, axis=1), axis=1)
    np.testing.assert_allclose(make_loss("multinomial").value(OUTPUTS, TARGETS), expected, rtol=1e-13)


def test_two_classes_are_logistic():
    f, y = OUTPUTS[:, :1], TARGETS[:, :1]
    both, labels = np.concatenate([f, 0.0 * f], axis=1), np.concatenate([y, 1.0 - y], axis=1)
    np.testing.assert_allclose(make_loss("multinomial").value(both, labels), make_loss("logistic").value(f, y))


@pytest.mark.parametrize("name", LOSSES)
def test_no_overflow_and_other_library(name):
    loss = make_loss(name)
    huge, labels = np.array([[800.0, -800.0, 0.0]]), np.array([[0.0, 1.0, 0.0]])
    for part in (loss.value(huge, labels), loss.gradient(huge, labels), loss.hessian_product(huge, labels, labels)):
        assert np.isfinite(part).all()
    f, y, v = (array_api_strict.asarray(a) for a in (OUTPUTS, TARGETS, MOVES))
    for ours, theirs in (
        (loss.value(OUTPUTS, TARGETS), loss.value(f, y)),
        (loss.gradient(OUTPUTS, TARGETS), loss.gradient(f, y)),
        (loss.hessian_product(OUTPUTS, TARGETS, MOVES), loss.hessian_product(f, y, v)),
    ):
        np.testing.assert_allclose(np.asarray(theirs), ours, rtol=1e-13)


def test_users_loss_and_bad_ones():
    quartic = PointwiseLoss(lambda f, y: (f - y) ** 4, lambda f, y: 4 * (f - y) ** 3, lambda f, y: 12 * (f - y) ** 2)
    assert make_loss(quartic) is quartic
    assert quartic.hessian_product(np.full((1, 1), 2.0), np.ones((1, 1)), np.full((1, 1), 3.0)).item() == 36.0
    with pytest.raises(InputError, match="loss"):
        make_loss("hinge")
    with pytest.raises(InputTypeError, match="loss"):
        make_loss(3)
    with pytest.raises(InputError, match="delta"):
        make_loss("huber", delta=-1.0)


@pytest.mark.parametrize("y", [np.array([[1.5]]), np.array([[-0.1]])])
def test_logistic_targets_are_probabilities(y):
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        check_targets(make_loss("logistic"), y)


def test_multinomial_targets_are_rows_of_probabilities():
    for y in (np.array([[0.5, 0.6]]), np.array([[1.0]]), np.array([[-0.5, 1.5]])):
        with pytest.raises(InputError, match="probabilities"):
            check_targets(Multinomial(), y)
