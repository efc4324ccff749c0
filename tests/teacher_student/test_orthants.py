import math
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from derand.teacher_student.orthants import joint_signs


def correlations(p, seed, rank=None):
    """Return correlations of p random vectors."""
    vectors = np.random.default_rng(seed).standard_normal((p, rank or p + 1))
    gram = vectors @ vectors.T
    size = np.sqrt(np.diag(gram))
    return gram / np.outer(size, size)


@pytest.mark.parametrize("r", [-0.3, 0.2, 0.9])
def test_equicorrelated_variables(r):
    """P = E[Phi(sqrt(r/(1-r)) x)^4] for r > 0; for all r Genz's integration."""
    from scipy.integrate import quad

    matrix = np.full((4, 4), r) + (1 - r) * np.eye(4)
    found = joint_signs(matrix)[0, 1, 2, 3]
    if r > 0:
        from scipy.special import ndtr

        def integrand(x):
            return ndtr(math.sqrt(r / (1 - r)) * x) ** 4 * math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)

        assert abs(found - quad(integrand, -12, 12, epsabs=1e-13, limit=200)[0]) < 1e-11
    genz = multivariate_normal(np.zeros(4), matrix).cdf(np.zeros(4), rng=np.random.default_rng(0))
    assert abs(found - genz) < 1e-4


def test_random_variables_and_all_orders():
    matrix = correlations(4, 3)
    found = joint_signs(matrix)
    genz = multivariate_normal(np.zeros(4), matrix).cdf(np.zeros(4), rng=np.random.default_rng(0))
    assert abs(found[0, 1, 2, 3] - genz) < 1e-4
    assert all(np.array_equal(found, np.transpose(found, order)) for order in permutations(range(4)))


def test_dependent_variables_on_a_circle():
    """Rank two: the probability is the angle common to four half planes, over 2 pi."""
    angles = np.array([0.1, 0.9, 1.4, 2.0])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    common = math.pi - (angles.max() - angles.min())
    assert abs(joint_signs(vectors @ vectors.T)[0, 1, 2, 3] - common / (2 * math.pi)) < 1e-8


def test_complements_add_up():
    """P(++++) + P(+++-) = P(+++): turning one variable round."""
    matrix = correlations(4, 8)
    turned = matrix * np.outer([1, 1, 1, -1], [1, 1, 1, -1])
    both = joint_signs(matrix)[0, 1, 2, 3] + joint_signs(turned)[0, 1, 2, 3]
    assert abs(both - joint_signs(matrix)[0, 1, 2, 2]) < 1e-12


def test_parallel_and_opposite_variables():
    matrix = correlations(3, 1)[[0, 1, 2, 0]][:, [0, 1, 2, 0]]
    found = joint_signs(matrix)
    assert found[0, 1, 2, 3] == found[0, 1, 2, 2]
    opposite = matrix * np.outer([1, 1, 1, -1], [1, 1, 1, -1])
    assert joint_signs(opposite)[0, 1, 2, 3] == 0.0


def test_independent_variables():
    assert joint_signs(np.eye(5))[0, 2, 3, 4] == 0.0625
