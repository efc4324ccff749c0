"""Limits of the plateau that is followed against closed forms, and against where integrations diverge."""

import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.teacher_student import SmoothActivation, TeacherStudent
from derand.teacher_student.branch import plateau_limits


@pytest.mark.parametrize(
    ("p", "p_star", "keywords"),
    [
        (4, 2, {"noise": 0.1}),
        (2, 2, {"noise": 0.1}),  # the escape limit lies 4e-4 below the fold
        (1, 4, {"noise": 3.0}),
        (3, 1, {}),
        (3, 2, {"T": np.diag([1.0, 0.3])}),
    ],
)
def test_followed_limits_are_the_closed_ones_of_the_plain_square(p, p_star, keywords):
    model = TeacherStudent(p, p_star, **keywords)
    exact = model.critical_lr()
    found = plateau_limits(model.parameters, p * exact.stable, 1.0)
    assert math.isclose(found[0] / p, exact.plateau, rel_tol=1e-9)
    if exact.escape is None:
        assert found[1] is None
    else:
        assert math.isclose(found[1] / p, exact.escape, rel_tol=1e-8)


@pytest.mark.slow
def test_integrations_reach_the_plateau_just_below_the_fold_and_diverge_above():
    limit = TeacherStudent(2, 2, "relu").critical_lr().plateau
    below = TeacherStudent(2, 2, "relu", lr=0.999 * limit).plateau()
    assert below.residual < 1e-12
    assert below.escape_rates[0] > 0.01
    with pytest.raises(InputError, match="norms diverge"):
        TeacherStudent(2, 2, "relu", lr=1.001 * limit).plateau()


@pytest.mark.slow
def test_largest_rate_vanishes_at_the_escape_limit():
    model = TeacherStudent(2, 1, "relu", noise=2.0)
    plateau, escape = plateau_limits(model.parameters, 4.0, 1.0)
    assert escape < plateau
    sides = [TeacherStudent(2, 1, "relu", noise=2.0, lr=escape / 2 * s).plateau() for s in (0.99, 1.01)]
    assert sides[0].escape_rates[0] > 0.0 > sides[1].escape_rates[0]


@pytest.mark.medium
def test_erf_plateau_lasts_to_a_fold_at_large_norms():
    limit = TeacherStudent(4, 2, "erf").critical_lr().plateau
    below = TeacherStudent(4, 2, "erf", lr=0.999 * limit).plateau()
    assert below.q > 40.0
    with pytest.raises(Exception, match=r"don't settle|diverge"):
        TeacherStudent(4, 2, "erf", lr=1.02 * limit).plateau()


@pytest.mark.medium
def test_a_million_times_the_norm_counts_as_divergence():
    model = TeacherStudent(2, 2, "erf", noise=1.0)
    limit = model.critical_lr().plateau
    assert 0.87 < limit < 0.88
    with pytest.raises(Exception, match=r"don't settle|diverge"):
        TeacherStudent(2, 2, "erf", noise=1.0, lr=1.05 * limit).plateau()


@pytest.mark.medium
def test_scaling_and_the_start_are_taken_into_account():
    mean_field = TeacherStudent(2, 2, "erf").critical_lr()
    standard = TeacherStudent(2, 2, "erf", lr_scaling="standard").critical_lr(q0=0.5)
    assert np.allclose(np.array(standard[::2], dtype=float), 2.0 * np.array(mean_field[::2], dtype=float), rtol=1e-9)
    with pytest.raises(InputError, match="q0"):
        TeacherStudent(2, 2, "erf").critical_lr(q0=0.0)


def test_none_where_there_is_no_plateau_or_nothing_to_follow():
    tanh = SmoothActivation(np.tanh, lambda z: 1.0 / np.cosh(z) ** 2)
    for model in (
        TeacherStudent(1, 1, "erf"),
        TeacherStudent(1, 1, "relu"),
        TeacherStudent(2, 2, tanh),
        TeacherStudent(2, 2, "erf", second_layer_lr=0.1),
        TeacherStudent(8, 2, "relu"),
    ):
        assert model.critical_lr()[:2] == (None, None)
