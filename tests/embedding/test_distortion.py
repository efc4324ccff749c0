"""Reports against brute force over explicit differences, near-duplicates, huge and tiny scales, sparse input."""

import fractions

import numpy as np
import pytest
import scipy.sparse as sp

from derand.embedding import distortion_report
from derand.exceptions import InputError, InputTypeError
from tests.embedding.data import brute_distortion, brute_ratios, gaussian


@pytest.mark.parametrize(("n", "d", "k"), [(2, 1, 1), (40, 7, 3), (900, 12, 4), (60, 200, 9)])
def test_brute_force(n, d, k):
    X, M = gaussian(n, d), gaussian(k, d, 1) / np.sqrt(k)
    report = distortion_report(X, M)
    ratios = brute_ratios(X, M)
    # Both sides round differences of numbers near 1: relative errors of about d times 2^-53.
    assert report.distortion == pytest.approx(np.abs(ratios - 1).max(), rel=1e-12)
    assert report.mean_distortion == pytest.approx(np.abs(ratios - 1).mean(), rel=1e-9)
    assert report.ratio_range == pytest.approx((ratios.min(), ratios.max()), rel=1e-12)
    assert report.n_pairs == n * (n - 1) // 2
    assert report.n_zero_pairs == 0
    i, j = report.worst_pair
    row = np.flatnonzero((np.triu_indices(n, 1)[0] == i) & (np.triu_indices(n, 1)[1] == j))[0]
    assert row == np.argmax(np.abs(ratios - 1))
    worst = np.sort(np.abs(ratios - 1))[::-1][: len(report.worst_ratios)]
    np.testing.assert_allclose(np.abs(report.worst_ratios - 1), worst, rtol=1e-10)
    assert report.error_bound == 0.0


def test_near_duplicates_are_measured_by_differences():
    """A gap of 1e-9 at norm 1e3 has no correct digit in inner products; the answer is rational arithmetic's."""
    X = np.array([[1e3, 0.0], [1e3 + 1e-9, 1e-9], [0.0, 5.0]])
    M = np.array([[0.5, 0.5]])
    z = [fractions.Fraction(X[1, c]) - fractions.Fraction(X[0, c]) for c in range(2)]
    exact = float(((z[0] + z[1]) / 2) ** 2 / (z[0] ** 2 + z[1] ** 2))
    report = distortion_report(X, M)
    pair = report.worst_pairs.tolist().index([0, 1])
    assert report.worst_ratios[pair] == pytest.approx(exact, rel=1e-14)


def test_two_far_clusters():
    X = gaussian(200, 5)
    X[:100] += 1e7
    M = gaussian(2, 5, 3)
    assert distortion_report(X, M).distortion == pytest.approx(brute_distortion(X, M), rel=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1e20, 1e200, 1e307])
def test_scale_does_not_matter(scale):
    X, M = gaussian(30, 4), gaussian(2, 4, 1)
    assert distortion_report(X * scale, M).distortion == pytest.approx(brute_distortion(X, M), rel=1e-12)


def test_float32_at_1e20():
    X = (gaussian(30, 4) * 1e20).astype(np.float32)
    M = gaussian(2, 4, 1).astype(np.float32)
    assert distortion_report(X, M).distortion == pytest.approx(brute_distortion(X / 1e20, M), rel=1e-6)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_sparse(make):
    X = gaussian(150, 40) * (gaussian(150, 40, 7) > 1.0)
    M = gaussian(5, 40, 1) / 2
    sparse, dense = distortion_report(make(X), M), distortion_report(X, M)
    assert sparse.distortion == pytest.approx(dense.distortion, rel=1e-12)
    assert sparse.worst_pair == dense.worst_pair
    assert sparse.n_pairs == dense.n_pairs


def test_equal_points_are_counted_and_left_out():
    X = np.repeat(gaussian(5, 3), 3, axis=0)
    report = distortion_report(X, gaussian(2, 3, 1))
    assert report.n_zero_pairs == 15
    assert report.n_pairs == 15 * 14 // 2 - 15
    assert report.distortion == pytest.approx(brute_distortion(X, gaussian(2, 3, 1)), rel=1e-12)


def test_constant_data():
    report = distortion_report(np.ones((4, 2)), np.eye(2))
    assert (report.distortion, report.n_pairs, report.n_zero_pairs, report.worst_pair) == (0.0, 0, 6, None)
    assert report.ratio_range == (1.0, 1.0)


def test_isometry_has_an_honest_error_bound():
    report = distortion_report(gaussian(100, 6), np.eye(6))
    assert report.distortion <= 1e-15
    assert 0.0 <= report.error_bound < 1e-7


def test_more_worst_pairs_than_pairs():
    report = distortion_report(gaussian(3, 2), np.eye(2), n_worst=50)
    assert len(report.worst_pairs) == 3
    assert "worst pair" in repr(report)


@pytest.mark.parametrize(
    ("X", "M", "error", "words"),
    [
        ([[1.0, np.nan], [0.0, 1.0]], np.eye(2), InputError, "X must be finite"),
        (np.eye(3), np.full((1, 3), np.inf), InputError, "M must be finite"),
        (np.eye(3), np.eye(2), InputError, "M must have shape"),
        (np.eye(3), np.empty((0, 3)), InputError, "M must have at least one row"),
        (np.eye(1), np.eye(1), InputError, "at least 2 rows"),
        (np.empty((3, 0)), np.empty((1, 0)), InputError, "at least one column"),
        (np.ones(3), np.eye(3), InputError, "X must be an array with 2"),
        (np.eye(2) * 1j, np.eye(2), InputTypeError, "real"),
        (sp.csr_array(np.eye(2) * 1j), np.eye(2), InputTypeError, "real"),
        (sp.csr_array([[np.nan, 1.0], [0.0, 1.0]]), np.eye(2), InputError, "X must be finite"),
    ],
)
def test_bad_input(X, M, error, words):
    with pytest.raises(error, match=words):
        distortion_report(X, M)
