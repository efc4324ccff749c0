"""Tiles cover each pair once; the outcome depends neither on the order of work nor on threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from derand._utils.threads import blas_threads
from derand.embedding.points import PointSet
from derand.embedding.scan import pair_ratios, scan_pairs, tiles
from tests.embedding.data import brute_ratios, gaussian


@pytest.mark.parametrize("n", [1, 2, 5, 10, 11])
def test_tiles_cover_all_pairs_once(n):
    count = np.zeros((n, n), dtype=int)
    for tile in tiles(n, side=5):
        count[tile.first : tile.last, tile.left : tile.right] += 1
    upper = np.triu(np.ones((n, n), dtype=bool))
    assert (count[upper] == 1).all()


def test_tiles_of_two_sets():
    count = np.zeros((7, 19), dtype=int)
    for tile in tiles(7, 12, side=5):
        count[tile.first : tile.last, tile.left : tile.right] += 1
    assert (count[:, 7:] == 1).all()
    assert (count[:, :7] == 0).all()


def test_worst_pairs_of_many_tiles():
    """1,700 points make six tiles and two thresholds; the worst 50 pairs are those of brute force."""
    X, M = gaussian(1700, 3), gaussian(2, 3, 1)
    scan = scan_pairs(PointSet(X), M, keep=50)
    deviation = np.sort(np.abs(brute_ratios(X, M) - 1))[::-1]
    np.testing.assert_allclose(np.abs(scan.ratios - 1), deviation[:50], rtol=1e-9)
    assert scan.unchecked == pytest.approx(deviation[50], rel=1e-6)
    assert scan.total == pytest.approx(deviation.sum(), rel=1e-9)


def test_more_tiles_than_a_group():
    """Pairs pruned by the threshold of an earlier group are still bounded by ``unchecked``."""
    X, M = gaussian(4700, 3), gaussian(2, 3, 1)
    scan = scan_pairs(PointSet(X), M, keep=5)
    worst = np.abs(scan.ratios - 1)
    more = np.abs(scan_pairs(PointSet(X), M, keep=400).ratios - 1)
    np.testing.assert_allclose(worst, more[:5], rtol=1e-12)
    assert worst[-1] >= more[5]
    assert scan.unchecked >= more[5]


def test_same_bits_in_parallel():
    X, M = gaussian(2000, 6), gaussian(3, 6, 1)
    serial = scan_pairs(PointSet(X), M, keep=99)
    with ThreadPoolExecutor(2) as pool, blas_threads(2):
        parallel = scan_pairs(PointSet(X), M, keep=99, block_map=pool.map)
    for name in ("first", "second", "ratios"):
        np.testing.assert_array_equal(getattr(serial, name), getattr(parallel, name))
    assert (serial.total, serial.low, serial.high) == (parallel.total, parallel.low, parallel.high)


def test_pairs_of_two_sets():
    A, B, M = gaussian(30, 4), gaussian(20, 4, 5), gaussian(2, 4, 1)
    scan = scan_pairs(PointSet(np.concatenate([A, B])), M, cover=tiles(30, 20))
    Z = (A[:, None] - B[None]).reshape(-1, 4)
    ratios = np.square(Z @ M.T).sum(axis=1) / np.square(Z).sum(axis=1)
    assert scan.n_pairs == 600
    assert np.abs(scan.ratios[0] - 1) == pytest.approx(np.abs(ratios - 1).max(), rel=1e-12)
    assert scan.high[0] == pytest.approx(ratios.max(), rel=1e-12)


def test_ratios_of_equal_points_are_nan():
    points = PointSet([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]])
    ratios = pair_ratios(points, np.eye(2), np.array([0, 0]), np.array([1, 2]))
    assert np.isnan(ratios[0])
    assert ratios[1] == 1.0
