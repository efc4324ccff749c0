"""Exact populations against closed forms, teachers and streams against their laws."""

import numpy as np
import pytest

from derand.exceptions import BudgetExceededError, InputError
from derand.structure import MultiIndexTeacher, Sample, gaussian_population, stream_batches
from derand.structure.samples import check_sample


def test_population_has_the_moments_of_a_gaussian():
    """Products of degree below 2 n_nodes are exact, in rotated coordinates too."""
    rng = np.random.default_rng(0)
    teacher = MultiIndexTeacher(rng.standard_normal((2, 4)), lambda s: s[:, 0] * s[:, 1])
    population = gaussian_population(teacher, n_nodes=4, n_perp_nodes=3)
    X, weights = population.X, population.weights
    assert population.n == 4**2 * 3**2
    assert population.is_exact
    np.testing.assert_allclose((weights[:, None] * X).T @ X, np.eye(4), atol=1e-13)
    np.testing.assert_allclose(weights @ X**4, 3.0, rtol=1e-12)
    assert weights @ population.y[:, 0] ** 2 == pytest.approx(1.0, rel=1e-12)


def test_noise_nodes():
    teacher = MultiIndexTeacher([1.0, 0.0], lambda s: s[:, 0], noise=0.5)
    population = gaussian_population(teacher, n_nodes=5, n_noise_nodes=3)
    assert population.n == 75
    residual = population.y[:, 0] - population.X[:, 0]
    assert population.weights @ residual**2 == pytest.approx(0.25, rel=1e-12)


def test_directions_need_not_be_orthonormal():
    teacher = MultiIndexTeacher([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0]], lambda s: s)
    np.testing.assert_allclose(teacher.directions @ teacher.directions.T, np.eye(2), atol=1e-14)
    assert teacher.mean(np.eye(3)).shape == (3, 2)


def test_label_laws():
    """Frequencies of 20,000 labels are within five standard errors of the probabilities, 5 * 0.5 / sqrt(20,000)."""
    binary = MultiIndexTeacher([1.0, 0.0], lambda s: np.full(len(s), 0.3), kind="binary")
    classes = MultiIndexTeacher([1.0, 0.0], lambda s: np.tile([0.2, 0.3, 0.5], (len(s), 1)), kind="classes")
    n = 20_000
    assert np.mean(binary.sample(n, 0).y) == pytest.approx(0.3, abs=0.018)
    np.testing.assert_allclose(np.mean(classes.sample(n, 0).y, axis=0), [0.2, 0.3, 0.5], atol=0.018)
    noisy = MultiIndexTeacher([1.0, 0.0], lambda s: 0.0 * s[:, 0], noise=2.0).sample(n, 0)
    assert np.std(noisy.y) == pytest.approx(2.0, rel=0.025)


def test_stream_is_fresh_and_reproducible():
    teacher = MultiIndexTeacher([1.0, 0.0], lambda s: s[:, 0])
    stream, again = stream_batches(teacher, 3, 5), stream_batches(teacher, 3, 5)
    first, second = next(stream), next(stream)
    assert not np.array_equal(first.X, second.X)
    np.testing.assert_array_equal(next(again).X, first.X)
    np.testing.assert_array_equal(first.y[:, 0], first.X[:, 0])


def test_sample_in_single_precision():
    like = Sample(np.ones((2, 2)), np.ones(2), np.full(2, 0.5)).like(np.zeros(1, dtype=np.float32))
    assert like.X.dtype == like.weights.dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda: MultiIndexTeacher(np.ones((2, 3)), len), InputError, "directions"),
        (lambda: MultiIndexTeacher([1.0], len, noise=-1.0), InputError, "noise"),
        (lambda: MultiIndexTeacher([1.0], len, kind="counts"), InputError, "kind"),
        (lambda: MultiIndexTeacher([1.0], lambda s: 0.0).mean([[1.0]]), InputError, "link"),
        (lambda: MultiIndexTeacher([1.0], lambda s: 2 + 0 * s, kind="binary").sample(3), InputError, "probabilities"),
        (lambda: MultiIndexTeacher([1.0], lambda s: 0 * s, kind="classes").sample(3), InputError, "add up"),
        (lambda: gaussian_population(MultiIndexTeacher(np.eye(9)[0], len)), BudgetExceededError, "40"),
        (lambda: next(stream_batches(MultiIndexTeacher([1.0], len), 0)), InputError, "batch_size"),
    ],
)
def test_bad_input_is_named(call, error, word):
    with pytest.raises(error, match=word):
        call()


def test_checked_samples_have_columns_and_weights():
    found = check_sample(Sample(np.zeros((4, 2)), np.ones(4)), 2, 1)
    assert found.y.shape == (4, 1)
    np.testing.assert_array_equal(found.weights, 0.25)
    with pytest.raises(InputError, match="weights must have shape"):
        check_sample(Sample(np.zeros((4, 2)), np.ones(4), np.ones(3)), 2, 1)
