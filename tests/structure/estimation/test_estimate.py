"""The public fit: invariances, degenerate input, several responses, predictions."""

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.structure.estimation.estimate import check_weight, estimate_structure
from derand.structure.subspace import subspace_distance
from tests.structure.estimation.models import draw


def test_affine_invariance():
    """y(x) with x = A u + c has directions A^T B: the same fit in other coordinates."""
    X, y, _ = draw("prod2", "gaussian", 300, 5, 0)
    A = np.random.default_rng(5).standard_normal((5, 5)) + 2 * np.eye(5)
    first, second = estimate_structure(X, y, 2), estimate_structure(X @ A + 3.0, 10 * y - 4, 2)
    assert subspace_distance(first.components @ np.linalg.inv(A).T, second.components) < 0.05
    np.testing.assert_allclose(second.predict(X @ A + 3.0), 10 * first.predict(X) - 4, atol=1.5)


def test_components_are_orthonormal_principal_gradients():
    X, y, _ = draw("li1", "gaussian", 400, 5, 0)
    found = estimate_structure(X, y, 2)
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(2), atol=1e-12)
    h = 1e-4
    slopes = [(found.predict(X + h * b) - found.predict(X - h * b))[:, 0] / (2 * h) for b in found.components]
    M = np.array(slopes) @ np.array(slopes).T / 400
    np.testing.assert_allclose(np.sqrt(np.diag(M)), found.singular_values, rtol=1e-3)
    assert abs(M[0, 1]) < 1e-3 * M[0, 0]
    assert found.n_iter >= 1


def test_two_responses_share_directions():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    Y = np.column_stack([X[:, 0], X[:, 1] ** 2]) + 0.1 * rng.standard_normal((400, 2))
    found = estimate_structure(X, Y, max_components=3)
    assert subspace_distance(found.components, np.eye(6)[:2]) < 0.08
    assert np.mean(np.square(found.predict(X) - Y)) < 0.02


def test_fewer_samples_than_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 60))
    found = estimate_structure(X, X[:, 0], 1)
    assert found.components.shape == (1, 60)
    assert np.isnan(found.cone.stderr).all()
    assert found.cone.angle(0.95) == 1.0


def test_constant_response_and_determinism():
    X = np.random.default_rng(0).standard_normal((50, 3))
    constant = estimate_structure(X, np.full(50, 2.0), 1)
    np.testing.assert_allclose(constant.predict(X), 2.0)
    assert constant.cone.angle(0.95) == 1.0
    a, b = estimate_structure(X, X[:, 0] ** 2, 1), estimate_structure(X[::-1], X[::-1, 0] ** 2, 1)
    np.testing.assert_array_equal(a.components, b.components)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"y": np.zeros(3)}, "rows"),
        ({"n_components": 5}, "n_components"),
        ({"n_components": "bic"}, "n_components"),
        ({"shrinkage": 2.0}, "shrinkage"),
        ({"max_components": 0}, "max_components"),
        ({"X": np.ones((20, 2))}, "constant"),
        ({"sample_weight": -np.ones(20)}, "sample_weight"),
    ],
)
def test_bad_arguments(change, match):
    X = np.random.default_rng(0).standard_normal((20, 2))
    arguments = {"X": X, "y": X[:, 0], **change}
    with pytest.raises(InputError, match=match):
        estimate_structure(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_weights():
    assert check_weight(None, 3) is None
    with pytest.raises(InputTypeError, match="sample_weight"):
        check_weight("ab", 2)


@pytest.mark.parametrize("where", ["callback", "_refined", "choose_by_hold_out"])
def test_an_interrupt_takes_along_the_estimate_so_far(where, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    X = np.random.default_rng(9).standard_normal((120, 3))
    y = np.sign(X[:, 0] + X[:, 1])  # the kernel for jumps, which is compared on held-out samples
    if where != "callback":
        module = "rank" if where == "_refined" else "estimate"
        monkeypatch.setattr(f"derand.structure.estimation.{module}.{where}", stop)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        estimate_structure(X, y, 1, callback=stop if where == "callback" else None)
    found = interrupt.value.partial
    assert not found.is_complete
    assert [step.k for step in found.path] == [1]
    np.testing.assert_allclose(np.abs(found.components), [[0.7, 0.7, 0.0]], atol=0.15)


def test_an_interrupt_before_the_first_fit_takes_nothing_along(monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("derand.structure.estimation.rank.portfolio", stop)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        estimate_structure(np.eye(30)[:, :3], np.arange(30.0))
    assert not hasattr(interrupt.value, "partial")
