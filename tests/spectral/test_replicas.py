import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.spectral.replicas import ReplicaRoots, replica_mean


def _normal(size, seed, scale=1.0, bias=0.0):
    """Return a number with mean 2 + bias / size and standard deviation scale / sqrt(size)."""
    return 2.0 + bias / size + scale * np.random.default_rng([size, seed]).standard_normal() / math.sqrt(size)


def test_a_fixed_number_of_replicas():
    """Against the mean and standard error written out; Student's quantile of three degrees of freedom is 1.197."""
    found = replica_mean(_normal, iter(range(4)).__next__, (64, 16), 4)
    values = np.array([_normal(64, seed) for seed in range(4)])
    smaller = np.array([_normal(16, seed) for seed in range(4)])
    assert found.value == pytest.approx(values.mean())
    assert found.spread == pytest.approx(1.1969 * values.std(ddof=1) / 2, rel=1e-3)
    assert found.bias == pytest.approx((values.mean() - smaller.mean()) / 3)
    assert found.error == pytest.approx(math.hypot(found.spread, found.bias))


def test_replicas_are_added_until_the_error_is_small():
    found = replica_mean(_normal, iter(range(10_000)).__next__, (64, 16), 4, rtol=0.005)
    assert found.error <= 0.01
    assert len(found.values) > 50
    assert found.n_samples == 64


def test_the_error_bar_covers_as_often_as_it_says():
    """Of 300 adaptive runs; one standard error covers 68 % of normal means, and the bias term can only widen it."""
    errors = []
    for start in range(300):
        found = replica_mean(_normal, iter(range(1000 * start, 1000 * start + 1000)).__next__, (64, 16), 8, rtol=0.01)
        errors.append((found.value - 2.0) / found.error)
    errors = np.abs(errors)
    assert np.mean(errors < 1.0) > 0.68 - 3.0 * math.sqrt(0.68 * 0.32 / 300)
    assert np.mean(errors < 2.0) > 0.92


def test_the_sample_grows_where_the_bias_is_in_the_way():
    def root(size, seed):
        return _normal(size, seed, 0.1, bias=20.0)

    found = replica_mean(root, iter(range(10_000)).__next__, (256, 64), 4, rtol=0.005, max_samples=1 << 20)
    assert found.n_samples > 1024
    assert abs(found.value - 2.0) < 3.0 * found.error
    assert found.error <= 0.0101


def test_the_budget_ends_the_search():
    found = replica_mean(_normal, iter(range(10_000)).__next__, (64, 16), 4, rtol=1e-9, max_samples=800)
    assert len(found.values) == 10
    assert found.error > 1e-9 * found.value


def _line(x, size, seed):
    """Return a decreasing function with its root at exp(-size) + seed / 100."""
    shift = math.exp(-size) + seed / 100
    return math.exp(shift - x) - 1.0


def test_roots():
    roots = ReplicaRoots(_line, -1.0, 1.0, (9, 0))
    for seed in (1, 2, 5, 20, 3):
        assert abs(roots.root(5, seed) - math.exp(-5) - seed / 100) < 2e-5


def test_roots_far_from_the_pilot_are_bracketed():
    """A step beyond what a secant may take: the bracket is widened instead, and gives up six times further on."""
    roots = ReplicaRoots(_line, -1.0, 1.0, (9, 0))
    assert abs(roots.root(9, 80) - 0.8) < 2e-4
    roots = ReplicaRoots(_line, -1.0, 1.0, (9, 0))
    with pytest.raises(InputError, match="outside the range"):
        roots.root(9, 900)


def test_callback_ends_and_an_interrupt_takes_the_mean_along():
    def root(size, seed):
        return 1.0 + seed / size

    def run(callback):
        return replica_mean(root, iter(range(9)).__next__, (8, 4), 5, callback=callback)

    seen = []
    assert run(lambda mean: seen.append(len(mean.values))).values.size == 5
    assert seen == [2, 3, 4, 5]
    assert run(lambda mean: len(mean.values) == 3).values.tolist() == [1.0, 1.125, 1.25]

    def stop(mean):
        if len(mean.values) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        run(stop)
    assert caught.value.partial.values.size == 4
