import math

import numpy as np
import pytest

from derand.spectral.easy_hard import conditional_moments, split_directions
from derand.spectral.expressions import parse_expression


@pytest.mark.parametrize(
    ("text", "k", "easy"),
    [
        ("z", 1, 1),
        ("z**2", 1, 0),
        ("z**3 - 3*z", 1, 1),
        ("sign(z1*z2)", 2, 0),
        ("z1 + sign(z1*z2)", 2, 2),
        pytest.param("z1**3 + z2", 2, 2, marks=pytest.mark.slow),
        pytest.param("sign(z1)*z2**2", 2, 1, marks=pytest.mark.slow),
        ("sign(z1*z2*z3)", 3, 0),
        ("z1 + sign(z1*z2*z3)", 3, 1),
    ],
)
def test_dimensions(text, k, easy):
    split = split_directions(parse_expression(text, k), k, 0.0, (0.0,))
    assert split.easy.shape == (k, easy)
    # three coordinates and a continuous response: nothing exact is known for the first step
    assert split.method == ("sampled" if text == "z1 + sign(z1*z2*z3)" else "exact")
    both = np.concatenate([split.easy, split.hard], axis=1)
    assert np.allclose(both.T @ both, np.eye(k), atol=1e-12)


@pytest.mark.slow
def test_staircase_climbs_in_steps():
    """sign(z1) exp(z1 z2): E[z2|y] = 0, since (z1, z2) -> (-z1, -z2) flips the sign of y only; given z1, y shows z2."""
    split = split_directions(parse_expression("sign(z1)*exp(z1*z2)", 2), 2, 0.0, (0.0,))
    assert split.easy.shape[1] == 2
    assert split.steps[-1] == 2
    assert len(split.strengths) == 2


def test_rotated_directions_are_found():
    """h(z1 + z2) depends on one direction, which needn't be an axis."""
    split = split_directions(lambda z: np.tanh(z[:, 0] + z[:, 1]), 2, 0.0, ())
    assert abs(abs(split.easy[:, 0] @ [1.0, 1.0]) / math.sqrt(2.0) - 1.0) < 1e-6


def test_sampled_split_says_so():
    split = split_directions(lambda z: z[:, 0] * z[:, 1] * z[:, 2], 3, 0.0, (0.0,))
    assert (split.method, split.easy.shape[1]) == ("sampled", 0)


def test_moments_given_easy_coordinates():
    """sign(z1) z2^2 given z1: parity gives E[z2|.] = 0 and 1/delta_alg = 2."""
    h = parse_expression("sign(z1)*z2**2", 2)
    moments = conditional_moments(h, np.eye(2)[:, :1], np.eye(2)[:, 1:], 0.0, (0.0,))
    assert abs(moments.information() - 2.0) < 1e-11
    assert abs(np.sum(moments.mass) - 1.0) < 1e-12
