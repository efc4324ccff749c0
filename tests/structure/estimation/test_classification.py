"""Directions of classes: linear and radial, invariances, degenerate input."""

import numpy as np
import pytest
from scipy.special import softmax

from derand.exceptions import InputError
from derand.structure.estimation.classification import ClassStep, _chosen, _Data, estimate_class_structure
from derand.structure.estimation.logistic import kernel_coordinates
from derand.structure.subspace import subspace_distance


def _radial(n=300):
    X = np.random.default_rng(0).standard_normal((n, 5))
    return X, (np.square(X[:, :2]).sum(axis=1) > 1.4).astype(int)


@pytest.mark.medium
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


def test_a_kernel_has_to_beat_the_linear_models_by_one_standard_error():
    steps = [ClassStep(1, "linear", 3.0, 0.5, 0.1), ClassStep(2, "fixed", 0.3, 0.4, 0.1)]
    # Gains of mean 0.1: surely positive, or with a standard error of 0.3 / sqrt(4).
    sure, unsure = np.full(4, 0.1), 0.1 + np.array([0.3, -0.3, 0.3, -0.3])
    assert _chosen(steps, [sure, np.zeros(4)]) is steps[1]
    assert _chosen(steps, [unsure, np.zeros(4)]) is steps[0]
    assert _chosen(steps[1:], [np.zeros(4)]) is steps[1]


@pytest.mark.medium
def test_kernels_on_the_directions_of_the_regression_bend_its_boundaries():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((600, 6))
    labels = (X[:, 1] > X[:, 0] ** 2 - 1.0).astype(int) + 2 * (X[:, 0] > 0.0)
    found = estimate_class_structure(X, labels, 2, max_iter=60)
    assert subspace_distance(found.components, np.eye(6)[:2]) < 0.3
    data = _Data(X, np.eye(4)[labels], np.ones(600), np.arange(600), 60)
    loss = {
        model: -np.mean(np.log(softmax(data.fit(2, model, 0.3).scores(X), axis=1)[np.arange(600), labels]))
        for model in ("linear", "fixed")
    }
    assert loss["fixed"] < 0.7 * loss["linear"]
    np.testing.assert_allclose(
        data.fit(2, "fixed", 0.3).B, kernel_coordinates(X, data.regression(1.0).B[:2]), rtol=1e-12
    )
