"""Scaling loses no digit; the row space keeps all distances, dense and sparse, wide and tall."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from derand.embedding import points as module
from derand.embedding.points import PointSet, RowSpace, check_points
from derand.exceptions import InputError
from tests.embedding.data import gaussian


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_unit_is_a_power_of_two(scale):
    X = gaussian(5, 3) * scale
    points = PointSet(X)
    assert np.frexp(points.unit)[0] == 0.5
    np.testing.assert_array_equal(points.raw * points.unit, X)
    assert 1.0 <= np.abs(points.raw).max() < 2.0


@pytest.mark.parametrize(("n", "d"), [(50, 8), (12, 300)])
@pytest.mark.parametrize("kind", ["dense", "sparse", "large sparse"])
def test_row_space_keeps_distances(n, d, kind, monkeypatch):
    X = gaussian(n, d) * (gaussian(n, d, 1) > 0.5) + 3.0 * (kind == "dense")
    if kind == "large sparse":
        monkeypatch.setattr(module, "_DENSE_LIMIT", 0)
    points = PointSet(X if kind == "dense" else sp.csr_array(X))
    space = RowSpace.of(points)
    assert space.rank == np.linalg.matrix_rank(X - X.mean(axis=0))
    # Directions of the Gram route are good to the square root of the precision at worst.
    np.testing.assert_allclose(pdist(space.coords) * points.unit, pdist(X), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(space.basis @ space.basis.T, np.eye(space.rank), atol=1e-7)
    variances = np.square(space.coords).sum(axis=0)
    assert (np.diff(variances) <= 1e-9 * variances[0]).all()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_equal_points_have_equal_coordinates(kind):
    """Rounding would set them some 1e-16 apart, and the direction of that difference would count as a pair's."""
    X = gaussian(300, 20)
    X[7], X[150:153] = X[200], X[3]
    coords = RowSpace.of(PointSet(kind(X))).coords
    np.testing.assert_array_equal(coords[7], coords[200])
    assert (coords[150:153] == coords[3]).all()
    assert np.unique(coords, axis=0).shape[0] == 296


def test_rank():
    X = gaussian(30, 2) @ gaussian(2, 10, 1)
    assert RowSpace.of(PointSet(X)).rank == 2
    assert RowSpace.of(PointSet(np.full((4, 3), 0.1))).rank == 0


def test_centred_image_of_sparse_points():
    X, M = gaussian(9, 4), gaussian(2, 4, 1)
    dense, sparse = PointSet(X), PointSet(sp.csr_array(X))
    np.testing.assert_allclose(dense.image(M), sparse.image(M), rtol=1e-12)


def test_the_layout_of_memory_changes_no_bit():
    X = gaussian(200, 7)
    plain = RowSpace.of(PointSet(X))
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X[::-1][::-1]):
        np.testing.assert_array_equal(RowSpace.of(PointSet(other)).coords, plain.coords)


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "csc_array"])
def test_a_sparse_matrix_of_the_caller_stays_as_it_is(kind):
    """Columns out of order and entries in parts, which are sorted and summed in a copy."""
    parts = sp.csr_array(([1.0, 2.0, 0.5, 4.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    given = parts.T if kind == "csc_array" else getattr(sp, kind)(parts)
    before = [array.copy() for array in (given.data, given.indices, given.indptr)]
    points = PointSet(given)
    for was, now in zip(before, (given.data, given.indices, given.indptr), strict=True):
        np.testing.assert_array_equal(was, now)
    assert points.raw.has_canonical_format
    np.testing.assert_array_equal(points.raw.toarray() * points.unit, given.toarray())


def test_chunks_cover(monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 10)
    assert [list(range(7))[part] for part in PointSet(gaussian(3, 4)).chunks(7)] == [[0, 1], [2, 3], [4, 5], [6]]


def test_messages_name_the_argument():
    with pytest.raises(InputError, match="data must have at least 3 rows"):
        check_points(np.eye(2), "data", min_points=3)
