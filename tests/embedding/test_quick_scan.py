"""The quick scan finds the pairs of the full one, also where points are near each other; jobs don't change it."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from derand.embedding import quick_scan
from derand.embedding.points import PointSet
from derand.embedding.quick_scan import QuickScan
from derand.embedding.scan import scan_pairs
from tests.embedding.data import gaussian


def _codes(n, found):
    return set((found.first * n + found.second).tolist())


def _points(n=1300, d=6):
    """Return points with near pairs, equal pairs and two that are hardly different."""
    X = gaussian(n, d) + 100.0
    X[10:40] = X[50:80] + 1e-3 * gaussian(30, d, 1)
    X[100], X[200] = X[300], X[400] + 1e-12
    return PointSet(X)


def test_worst_pairs_are_those_of_the_full_scan():
    points, M = _points(), gaussian(2, 6, 1)
    quick = QuickScan(points)
    found = quick.worst(M, 500)
    full = scan_pairs(points, M, keep=500)
    # Single precision moves ratios across the threshold; not many of 500 lie within 1e-6 of it.
    assert len(_codes(points.n, found) & _codes(points.n, full)) >= 498
    np.testing.assert_allclose(found.ratios[:100], full.ratios[:100], rtol=1e-12)
    assert (np.diff(np.abs(found.ratios - 1.0)) <= 0.0).all()
    assert quick.is_apt


def test_a_threshold_changes_nothing():
    points, M = _points(), gaussian(2, 6, 1)
    quick = QuickScan(points)
    plain = quick.worst(M, 300)
    again = quick.worst(M, 300, abs(float(plain.ratios[-1]) - 1.0))
    assert len(_codes(points.n, plain) & _codes(points.n, again)) >= 299
    np.testing.assert_array_equal(plain.ratios[:290], again.ratios[:290])


def test_near_pairs_are_found():
    """Two clusters far apart: all pairs that a map distorts are within them, and near for their distance from 0."""
    X = gaussian(200, 5) * np.array([1.0, 1.0, 1.0, 1.0, 1e-4])
    X[:100, 4] += 1e6
    points, M = PointSet(X), np.eye(5)[1:]
    quick = QuickScan(points)
    found, full = quick.worst(M, 50), scan_pairs(points, M, keep=50)
    assert _codes(200, found) == _codes(200, full)
    np.testing.assert_allclose(found.ratios, full.ratios, rtol=1e-12)
    assert not quick.is_apt


@pytest.mark.parametrize("kept", [0, 1 << 28])
def test_jobs_and_kept_distances_change_no_bit(kept, monkeypatch):
    points, M = _points(), gaussian(2, 6, 1)
    expected = QuickScan(points).worst(M, 200)
    monkeypatch.setattr(quick_scan, "_KEPT", kept)
    quick = QuickScan(points)
    with ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            for was, now in zip(expected, quick.worst(M, 200, block_map=pool.map), strict=True):
                np.testing.assert_array_equal(was, now)
    sent = pickle.loads(pickle.dumps(quick))
    for was, now in zip(expected, sent.worst(M, 200), strict=True):
        np.testing.assert_array_equal(was, now)


def test_fewer_pairs_than_asked_for():
    points = PointSet(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    found = QuickScan(points).worst(np.array([[1.0, 0.0]]), 100)
    assert found.first.size == 5  # six pairs, one of equal points
    np.testing.assert_allclose(np.sort(found.ratios), [0.0, 0.0, 0.5, 0.5, 1.0], atol=1e-15)
