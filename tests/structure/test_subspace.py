"""Distances and splits against projectors, principal angles of scipy, and figures found by hand."""

import math

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from derand.exceptions import InputError, InputTypeError
from derand.structure import energy_share, orthonormal_rows, split_weights, subspace_distance


def projector(A):
    """Return the orthogonal projector on the row space, from the pseudo-inverse."""
    return np.linalg.pinv(A) @ A


@pytest.mark.parametrize(("k", "d"), [(1, 2), (2, 5), (3, 3), (4, 20)])
def test_distance_equals_sines_of_scipy(k, d):
    rng = np.random.default_rng(k + 10 * d)
    A, B = rng.standard_normal((2, k, d))
    expected = np.linalg.norm(np.sin(subspace_angles(A.T, B.T)))
    assert subspace_distance(A, B) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("k", "other"), [(1, 3), (4, 2)])
def test_different_dimensions_against_projectors(k, other):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((k, 6)), rng.standard_normal((other, 6))
    expected = np.linalg.norm(projector(A) - projector(B)) / math.sqrt(2.0)
    assert subspace_distance(A, B) == pytest.approx(expected, rel=1e-12)
    assert subspace_distance(A, B) >= math.sqrt(abs(k - other) / 2.0) - 1e-12


def test_tiny_angles_keep_their_digits():
    for angle in (1e-3, 1e-8, 1e-12):
        distance = subspace_distance([1.0, 0.0], [math.cos(angle), math.sin(angle)])
        assert distance == pytest.approx(angle, rel=1e-6)


def test_basis_does_not_matter_and_triangle_inequality_holds():
    rng = np.random.default_rng(1)
    A, B, C = rng.standard_normal((3, 2, 5))
    assert subspace_distance(rng.standard_normal((2, 2)) @ A, B) == pytest.approx(subspace_distance(A, B), rel=1e-10)
    assert subspace_distance(A, C) <= subspace_distance(A, B) + subspace_distance(B, C)
    assert subspace_distance(A, A) < 1e-14


def test_orthonormal_rows():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((3, 7))
    basis = orthonormal_rows(A)
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(projector(A), basis.T @ basis, atol=1e-13)
    assert orthonormal_rows(np.eye(3)[:2]) is not None
    np.testing.assert_array_equal(orthonormal_rows(basis), basis)


def test_split_adds_up_and_is_orthogonal():
    rng = np.random.default_rng(3)
    W, U = rng.standard_normal((10, 6)), rng.standard_normal((2, 6))
    parallel, perpendicular = split_weights(W, U)
    np.testing.assert_allclose(parallel + perpendicular, W, atol=1e-14)
    np.testing.assert_allclose(perpendicular @ U.T, 0.0, atol=1e-14)
    np.testing.assert_allclose(parallel, W @ projector(U), atol=1e-13)
    share = np.sum(parallel**2) / np.sum(W**2)
    assert energy_share(W, U) == pytest.approx(share, rel=1e-12)


def test_share_of_nothing_is_nan():
    assert math.isnan(energy_share(np.zeros((3, 2)), [1.0, 0.0]))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: subspace_distance([1.0, 0.0], [1.0, 0.0, 0.0]), "columns"),
        (lambda: subspace_distance(np.ones((2, 3)), np.eye(3)), "independent"),
        (lambda: subspace_distance(np.ones((3, 2)), np.eye(2)), "shape"),
        (lambda: subspace_distance([np.nan, 0.0], [1.0, 0.0]), "finite"),
        (lambda: split_weights(np.ones((2, 3)), [1.0, 0.0]), "directions"),
        (lambda: orthonormal_rows(np.zeros((0, 3)), "basis"), "basis"),
    ],
)
def test_bad_input_is_named(call, word):
    with pytest.raises(InputError, match=word):
        call()


def test_wrong_types():
    with pytest.raises(InputTypeError, match="A must"):
        subspace_distance("x", [1.0])
