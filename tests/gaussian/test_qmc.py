import warnings

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kstest

from derand.exceptions import BudgetExceededError, InputError, InputTypeError, PrecisionWarning
from derand.gaussian.qmc import monte_carlo_normal, sobol_normal

SAMPLERS = [sobol_normal, monte_carlo_normal]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("options", [{}, {"antithetic": True}, {"whiten": True}, {"antithetic": True, "whiten": True}])
def test_same_seed_same_bits(sampler, options):
    first, second = sampler(64, 5, 3, **options), sampler(64, 5, np.random.default_rng(3), **options)
    assert first.shape == (64, 5)
    assert np.array_equal(first, second)
    assert not np.array_equal(first, sampler(64, 5, 4, **options))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_global_state_is_left_alone(sampler):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    sampler(16, 2, 0)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_antithetic_pairs_cancel_odd_moments(sampler):
    z = sampler(256, 4, 1, antithetic=True)
    assert np.array_equal(z[:128], -z[128:])
    assert np.max(np.abs(np.mean(z**3, axis=0))) <= 1e-15


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("antithetic", [False, True])
@pytest.mark.parametrize(("n", "dim"), [(8, 2), (64, 6), (64, 31), (1024, 20)])
def test_whitened_moments(sampler, antithetic, n, dim):
    z = sampler(n, dim, 2, antithetic=antithetic, whiten=True)
    assert np.max(np.abs(np.mean(z, axis=0))) <= 1e-13
    assert np.max(np.abs(z.T @ z / n - np.eye(dim))) <= 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_points_are_finite_and_normal(seed):
    z = sobol_normal(1024, 3, seed)
    assert np.all(np.abs(z) < 8.3)
    for column in z.T:
        # one point in each of 1,024 equal cells: the distribution function is right to one cell
        assert np.array_equal(np.unique(np.floor(1024 * ndtr(column))), np.arange(1024))
        assert kstest(column, "norm").statistic <= 1 / 1024 + 1e-12


@pytest.mark.slow
def test_first_points_and_high_dimensions_are_finite():
    z = sobol_normal(1, 21_201, 0)
    assert z.shape == (1, 21_201)
    assert np.all(np.isfinite(z))


def test_scrambled_averages_are_unbiased_and_beat_plain_sampling():
    f = lambda z: np.exp(0.3 * np.sum(z, axis=1))  # noqa: E731
    exact = np.exp(0.045 * 4)
    sobol, plain = (np.array([f(s(256, 4, seed)).mean() - exact for seed in range(60)]) for s in SAMPLERS)
    for errors in (sobol, plain):
        assert abs(errors.mean()) <= 4.5 * errors.std() / np.sqrt(errors.size)
    assert sobol.std() <= 0.25 * plain.std()


def test_no_power_of_two_is_advised_against():
    with pytest.warns(PrecisionWarning, match="take 128"):
        z = sobol_normal(100, 2, 0)
    assert z.shape == (100, 2)
    assert np.array_equal(z, sobol_normal(128, 2, 0)[:100])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sobol_normal(1 << 8, 2, 0)
        sobol_normal(1 << 8, 2, 0, antithetic=True)
        monte_carlo_normal(100, 2, 0)
    with pytest.warns(PrecisionWarning, match="50 Sobol points"):
        sobol_normal(100, 2, 0, antithetic=True)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    ("n", "dim", "options", "exception", "name"),
    [
        (0, 2, {}, InputError, "n must"),
        (4, 0, {}, InputError, "dim"),
        (4.0, 2, {}, InputTypeError, "n must"),
        (4, True, {}, InputTypeError, "dim"),
        (1 << 40, 2, {}, BudgetExceededError, "n="),
        (7, 2, {"antithetic": True}, InputError, "even"),
        (4, 4, {"whiten": True}, InputError, "whiten"),
        (4, 3, {"whiten": True, "antithetic": True}, InputError, "whiten"),
    ],
)
def test_bad_input(sampler, n, dim, options, exception, name):
    with pytest.raises(exception, match=name):
        sampler(n, dim, 0, **options)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_bad_seed(sampler):
    with pytest.raises(InputTypeError, match="rng"):
        sampler(4, 2, np.random.RandomState(0))
    with pytest.raises(InputTypeError, match="rng"):
        sampler(4, 2, "seed")


def test_too_many_dimensions_for_sobol():
    with pytest.raises(InputError, match="21201"):
        sobol_normal(2, 21_202, 0)
    assert monte_carlo_normal(2, 21_202, 0).shape == (2, 21_202)
