import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.two_step import (
    AssumptionWarning,
    learned_directions,
    random_problem,
    reuse_exponent,
    theory_alignment,
    two_step_update,
)
from tests.two_step.reference import exact_he23_cosine, he23, ie3, plain_directions


@pytest.mark.parametrize("gamma", [Fraction(1), Fraction(1, 2), Fraction(1, 10)])
def test_against_rational_moments(gamma):
    found = theory_alignment(lambda z: z**2 - 1 + z**3 - 3 * z, float(gamma), kmax=1).cosine[1, 0]
    assert found == pytest.approx(exact_he23_cosine(gamma), abs=1e-12)


def test_linear_label_by_hand():
    """y = z, fresh, gamma = 1: b_0 has overlap 1 and norm^2 1 + 1; s = z + g: m_2 = E z^2 s^2 = 4, A_2 = 2 E y s = 2,
    norm^2 = 16 + 4 + E[z^2 s^4] = 16 + 4 + 36."""
    found = theory_alignment(lambda z: z, 1.0, batch="fresh")
    assert found.cosine[0, 0] == pytest.approx(1 / math.sqrt(2), abs=1e-13)
    assert found.overlap[2, 0] == pytest.approx(4.0, rel=1e-13)
    assert found.gram[2, 2] == pytest.approx(56.0, rel=1e-13)


@pytest.mark.parametrize("batch", ["reuse", "fresh"])
@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_against_simulation(batch, gamma):
    """Bounded links in 800 dimensions, 16 seeds, orders up to 3: within 4 standard errors and a bias of order 1/d.

    Sixteen figures in each of four cases: the largest of 64 draws of t with 15 degrees of freedom is around 2.9.
    """
    d, seeds = 800, 16
    n = round(d / gamma) * (2 if batch == "fresh" else 1)
    draws = []
    for seed in range(seeds):
        X = np.random.default_rng(seed).standard_normal((n, d))
        rows = plain_directions(X, ie3(X[:, 0]) + np.tanh(X[:, 1]), 3, batch)
        draws.append(np.concatenate([rows[:, 0], rows[:, 1], np.diag(rows @ rows.T), [rows[1] @ rows[3]]]))
    found = theory_alignment([ie3, np.tanh], gamma, kmax=3, batch=batch)
    limit = np.concatenate([found.overlap.T.ravel(), np.diag(found.gram), [found.gram[1, 3]]])
    error = np.std(draws, axis=0, ddof=1) / math.sqrt(seeds)
    assert np.all(np.abs(np.mean(draws, axis=0) - limit) <= 4 * error + 4.0 / d * np.abs(limit))


@pytest.mark.parametrize("batch", ["reuse", "fresh"])
def test_memory_against_the_directions_of_samples(batch):
    """D_k of the module itself from samples, in 1000 dimensions: the same limits with the memory."""
    series, d = [0.0, 1.0, 0.5, 0.3], 1000
    draws = []
    for seed in range(8):
        problem = random_problem(2, d, d * (2 if batch == "fresh" else 1), [ie3, np.tanh], rng=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)
            run = two_step_update(*problem[:4], 1.0, 1.0, activation=series, batch=batch)
        rows = learned_directions(run)
        draws.append(np.concatenate([rows[:, 0], rows[:, 1], np.diag(rows @ rows.T)]))
    found = theory_alignment([ie3, np.tanh], 1.0, kmax=2, batch=batch, memory=True, coefficients=series)
    limit = np.concatenate([found.overlap.T.ravel(), np.diag(found.gram)])
    error = np.std(draws, axis=0, ddof=1) / math.sqrt(8)
    assert np.all(np.abs(np.mean(draws, axis=0) - limit) <= 4.5 * error + 4.0 / d * np.abs(limit))


def test_known_values():
    """Cosines and span that were measured independently for He_2 + He_3 and He_3."""
    assert theory_alignment(he23, 0.5, kmax=1).cosine[1, 0] == pytest.approx(0.271, abs=5e-4)
    assert theory_alignment(he23, 0.5, kmax=1).span[0] == pytest.approx(0.342, abs=5e-4)
    he3 = lambda z: (z**3 - 3 * z) / 6**0.5  # noqa: E731
    assert theory_alignment(he3, 0.013).cosine[2, 0] == pytest.approx(0.405, abs=5e-4)
    assert theory_alignment(he23, 1e-6, kmax=1).cosine[1, 0] == pytest.approx(math.sqrt(3) / 2, abs=1e-3)


def test_reuse_learns_what_fresh_batches_do_not():
    fresh = theory_alignment([ie3, np.tanh], 0.5, kmax=4, batch="fresh")
    assert np.max(np.abs(fresh.cosine[:, 0])) < 1e-12 < 0.1 < np.max(np.abs(fresh.cosine[:, 1]))
    assert np.max(np.abs(theory_alignment([ie3, np.tanh], 0.5, kmax=4).cosine[:, 0])) > 0.04


def test_memory_vanishes_with_many_samples():
    """gamma -> 0: with memory and plain become the same, and reuse learns no more than fresh batches."""
    series = [0.0, 1.0, 0.5, 0.3]
    with_memory, plain = (
        theory_alignment([np.tanh, ie3], 1e-7, memory=memory, coefficients=series).overlap for memory in (True, False)
    )
    np.testing.assert_allclose(with_memory, plain, atol=1e-5)


def test_degree_two_needs_no_memory():
    there, back = (
        theory_alignment(he23, 0.5, kmax=1, memory=memory, coefficients=[0.0, 1.0, 0.7]) for memory in (True, False)
    )
    np.testing.assert_allclose(there.gram, back.gram, rtol=1e-10, atol=1e-12)


def test_scale_of_labels_and_span():
    small, large = (theory_alignment(lambda z, c=c: c * ie3(z), 0.5) for c in (1.0, 1e3))
    np.testing.assert_allclose(small.cosine, large.cosine, atol=1e-10)
    both = theory_alignment([np.tanh, ie3], 0.5, kmax=3)
    assert np.all(both.span + 1e-12 >= np.max(np.abs(both.cosine), axis=0))
    assert np.all(both.span <= 1.0)


def test_exponents_of_reuse():
    he2, he3, he4 = (lambda z: z**2 - 1), (lambda z: z**3 - 3 * z), (lambda z: z**4 - 6 * z**2 + 3)
    assert reuse_exponent(he3) == (2,)
    assert reuse_exponent(he2) == reuse_exponent(he4) == (math.inf,)
    assert reuse_exponent(lambda z: he2(z) + he3(z)) == (1,)
    assert reuse_exponent([np.tanh, ie3], 0.3) == (0, 2)
    # E[y^2 z_2] != 0 needs an even part along z_2 as well: odd links together stay at order 2
    assert reuse_exponent([lambda z: he2(z) + 0.5 * z, he3], 2.0, noise=0.3) == (0, 2)
    assert reuse_exponent(lambda z: np.abs(z) - math.sqrt(2 / math.pi)) == (math.inf,)


def test_assumptions_are_named():
    with pytest.warns(AssumptionWarning, match=r"E\[y\] = 0"):
        theory_alignment(np.abs, 1.0)
    with pytest.warns(AssumptionWarning, match="c_2"):
        found = theory_alignment(np.tanh, 1.0, coefficients="tanh")
    assert np.all(found.cosine[1] == 0.0)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"memory": True}, "coefficients"),
        ({"coefficients": [0, 0, 1.0]}, "c_1"),
        ({"gamma": 0.0}, "gamma"),
        ({"gamma2": -1.0}, "gamma2"),
        ({"batch": "old"}, "batch"),
        ({"kmax": 13}, "kmax"),
        ({"memory": True, "coefficients": "relu"}, "derivative"),
    ],
)
def test_bad_input(change, match):
    with pytest.raises(InputError, match=match):
        theory_alignment(**{"links": np.tanh, "gamma": 1.0, **change})
