"""Directions of classes: linear and radial, invariances, degenerate input."""

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.structure.estimation.classification import estimate_class_structure
from derand.structure.subspace import subspace_distance


def _radial(n=300):
    X = np.random.default_rng(0).standard_normal((n, 5))
    return X, (np.square(X[:, :2]).sum(axis=1) > 1.4).astype(int)


def test_ring_needs_two_directions():
    X, labels = _radial()
    found = estimate_class_structure(X, labels, max_components=3, max_iter=50)
    assert len(found.components) == 2
    assert subspace_distance(found.components, np.eye(5)[:2]) < 0.35
    assert np.mean(found.log_proba(X).argmax(axis=1) == labels) > 0.93
    np.testing.assert_allclose(np.exp(found.log_proba(X)).sum(axis=1), 1.0)
    assert (found.stderr >= 0).all()


def test_linear_classes_need_one():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 4)) * [1.0, 10.0, 1.0, 1.0]
    labels = (X[:, 0] + 0.1 * X[:, 1] + 0.3 * rng.standard_normal(400) > 0).astype(int)
    found = estimate_class_structure(X, labels, 1)
    assert subspace_distance(found.components, [1.0, 0.1, 0.0, 0.0]) < 0.15
    singular = found.singular_values
    assert singular.shape == (1,)
    assert singular[0] > 0


def test_order_of_samples_doesnt_matter():
    X, labels = _radial(120)
    a = estimate_class_structure(X, labels, 2, max_iter=20)
    b = estimate_class_structure(X[::-1], labels[::-1], 2, max_iter=20)
    np.testing.assert_array_equal(a.components, b.components)


def test_constant_columns_and_few_samples():
    X = np.column_stack([np.arange(8.0), np.ones(8)])
    found = estimate_class_structure(X, np.arange(8) // 4)
    np.testing.assert_allclose(np.abs(found.components[0]), [1.0, 0.0], atol=1e-9)


def test_bad_arguments():
    with pytest.raises(InputError, match="two classes"):
        estimate_class_structure(np.eye(3), np.zeros(3))
    with pytest.raises(InputError, match="rows"):
        estimate_class_structure(np.eye(3), np.zeros(2))
    with pytest.raises(InputError, match="n_components"):
        estimate_class_structure(np.eye(3), np.array([0, 1, 1]), 7)


def test_an_interrupt_takes_along_the_best_model_so_far():
    X = np.random.default_rng(9).standard_normal((120, 3))
    steps = []

    def stop(step):
        steps.append(step)
        if len(steps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as interrupt:
        estimate_class_structure(X, (X[:, 0] > 0.0).astype(int), callback=stop)
    found = interrupt.value.partial
    assert not found.is_complete
    assert found.path == tuple(steps)
    assert abs(found.components[0][0]) > 0.95
