"""Tests of inertia against designed spectra and Sylvester's law."""

import numpy as np
import pytest
import scipy.sparse as sp

from derand.exceptions import InputError
from derand.hessian.inertia import estimate_inertia, inertia
from derand.hessian.operator import HessianOperator
from tests.hessian.spectra import designed, reflected


def rotated(w, rng):
    Q = np.linalg.qr(rng.standard_normal((len(w), len(w))))[0]
    A = (Q * w) @ Q.T
    return (A + A.T) / 2


@pytest.mark.parametrize(
    "counts", [(0, 5, 0), (3, 0, 4), (1, 20, 2), (7, 0, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (30, 40, 50)]
)
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_counts_with_heavy_multiplicity_and_exact_zeros(counts, scale):
    w = scale * np.repeat([-2.0, 0.0, 3.0], counts)
    rng = np.random.default_rng(0)
    for A in (rotated(w, rng), reflected(w, rng), sp.csr_array(np.diag(w))):
        found = inertia(A)
        assert (found.negative, found.zero, found.positive) == counts
        assert found.is_proven


def _sylvester_failures(n_trials, seed):
    """Count changes of the proven inertia under random congruences X' A X of moderate condition."""
    rng = np.random.default_rng(seed)
    failures = 0
    for _ in range(n_trials):
        n = int(rng.integers(1, 25))
        signs = rng.integers(-1, 2, n)
        A = rotated(signs * rng.uniform(0.5, 2, n), rng)
        X = rotated(rng.uniform(0.5, 2, n), rng) @ np.diag(rng.choice([-1.0, 1.0], n))
        found = inertia(X.T @ A @ X)
        failures += (found.negative, found.zero, found.positive) != tuple(np.sum(signs == s) for s in (-1, 0, 1))
        failures += not found.is_proven
    return failures


def test_sylvester():
    assert _sylvester_failures(100, 0) == 0


@pytest.mark.slow
def test_sylvester_1000():
    assert _sylvester_failures(1000, 1) == 0


def test_tolerance_moves_the_borders():
    w = np.array([-1.0, -1e-3, 0.0, 1e-6, 1e-3, 2.0])
    A = rotated(w, np.random.default_rng(0))
    for tol, counts in ((1e-9, (2, 1, 3)), (1e-5, (2, 2, 2)), (1e-2, (1, 4, 1)), (5.0, (0, 6, 0))):
        found = inertia(A, tol=tol)
        assert (found.negative, found.zero, found.positive) == counts
        assert found.is_proven


def test_border_cases_are_undecided():
    """A zero eigenvalue with tol = 0, and an eigenvalue on tol itself."""
    A = rotated(np.array([-1.0, 0.0, 0.0, 1.0]), np.random.default_rng(0))
    found = inertia(A, tol=0.0)
    assert found.undecided == 2
    assert not found.is_proven
    assert inertia(A, tol=1.0).undecided == 2
    assert inertia(np.zeros((3, 3)), tol=0.0).is_proven


def laplacian(m):
    """Return the sparse Laplacian of an m x m grid and its eigenvalues 4 sin^2 + 4 sin^2 (Neumann)."""
    path = sp.diags_array([-np.ones(m - 1), np.r_[1, 2 * np.ones(m - 2), 1], -np.ones(m - 1)], offsets=[-1, 0, 1])
    A = sp.csr_array(sp.kron(path, sp.eye_array(m)) + sp.kron(sp.eye_array(m), path))
    line = 4 * np.sin(np.pi * np.arange(m) / (2 * m)) ** 2
    return A, np.sort(np.add.outer(line, line).ravel())


@pytest.mark.parametrize("shift", [0.0, 0.3, 1.2345, 3.9])
def test_sparse_factorisation_counts_a_grid_laplacian(shift):
    A, w = laplacian(36)
    found = inertia(A - shift * sp.eye_array(36 * 36), tol=1e-6)
    assert found.method == "factorisation"
    assert found.is_proven
    expected = (int(np.sum(w - shift < -1e-6)), int(np.sum(np.abs(w - shift) <= 1e-6)), int(np.sum(w - shift > 1e-6)))
    assert (found.negative, found.zero, found.positive) == expected


def test_sparse_zero_eigenvalue_with_the_default_tolerance():
    found = inertia(laplacian(36)[0])
    assert (found.negative, found.zero, found.positive) == (0, 1, 36 * 36 - 1)


def test_factorisation_agrees_with_eigenvalues_or_declines():
    """Random sparse indefinite matrices without pivoting: proven counts must be right, others may fall back."""
    rng = np.random.default_rng(0)
    n_proven = 0
    for trial in range(40):
        n = int(rng.integers(5, 60))
        B = sp.random_array((n, n), density=0.1, rng=rng)
        A = sp.csr_array(B + B.T + sp.diags_array(rng.standard_normal(n) * (trial % 4)))
        w = np.linalg.eigvalsh(A.toarray())
        true = (int(np.sum(w < -1e-3)), int(np.sum(np.abs(w) <= 1e-3)), int(np.sum(w > 1e-3)))
        try:
            found = inertia(A, tol=1e-3, method="factorisation")
        except InputError:
            continue
        if found.is_proven:
            n_proven += 1
            assert (found.negative, found.zero, found.positive) == true
        dense = inertia(A, tol=1e-3, method="dense")
        assert (dense.negative, dense.zero, dense.positive) == true
    assert n_proven >= 20


def test_sparse_without_stable_pivots_falls_back():
    """[[0, 1], [1, 0]] blocks with tol = 0 have zero pivots whatever the order."""
    A = sp.csr_array(sp.kron(sp.eye_array(600), np.array([[0.0, 1.0], [1.0, 0.0]])))
    found = inertia(A, tol=0.0)
    assert (found.negative, found.zero, found.positive) == (600, 0, 600)
    assert found.is_proven


def test_operator():
    w = np.repeat([-1.0, 0.0, 2.0], [3, 4, 5])
    H = HessianOperator(np.zeros(12), hessp=lambda x, v: w * v)
    found = inertia(H)
    assert (found.negative, found.zero, found.positive, found.n_products) == (3, 4, 5, 12)
    differences = HessianOperator(np.ones(12), gradient=lambda x: w * x, hessian_lipschitz=1e-3)
    found = inertia(differences)
    assert (found.negative, found.zero, found.positive) == (3, 4, 5)
    assert found.tol > differences.error_bound
    # Zeros can't be told from 1e-30 when the products have errors.
    assert not inertia(differences, tol=1e-30).is_proven


def test_large_operator_is_referred_to_the_estimate():
    A = reflected(np.ones(500), np.random.default_rng(0))
    with pytest.raises(InputError, match="estimate_inertia"):
        inertia(A, max_order=100)
    assert inertia(A, max_order=500).positive == 500


@pytest.mark.parametrize("name", ["half zeros", "two values", "multiplicity 20", "zero", "identity"])
def test_estimate(name):
    w = designed(name, 1000, np.random.default_rng(0))
    found = estimate_inertia(reflected(w, np.random.default_rng(1)), tol=1e-6, rng=2)
    true = (np.sum(w < -1e-6), np.sum(np.abs(w) <= 1e-6), np.sum(w > 1e-6))
    for estimate, count in zip((found.negative, found.zero, found.positive), true, strict=True):
        # t with nine degrees of freedom at 1e-4, and the part of the quadrature
        assert abs(estimate.value - count) <= 6.6 * estimate.standard_error + found.quadrature_error + 1e-6
    assert found.negative.value + found.zero.value + found.positive.value == pytest.approx(1000)
    if name == "two values":
        assert found.quadrature_error < 1e-6


def test_estimate_of_a_small_matrix_is_exact():
    found = estimate_inertia(np.diag([-1.0, 0.0, 1.0]), tol=0.0)
    assert [part.value for part in (found.negative, found.zero, found.positive)] == pytest.approx([1.0, 1.0, 1.0])
    assert found.zero.standard_error == found.quadrature_error == 0.0


def test_bad_input():
    with pytest.raises(InputError, match="tol"):
        inertia(np.eye(2), tol=-1.0)
    with pytest.raises(InputError, match="method"):
        inertia(np.eye(2), method="ldl")
    with pytest.raises(InputError, match="sparse"):
        inertia(np.eye(2), method="factorisation")
    with pytest.raises(InputError, match="max_order"):
        inertia(np.eye(2), max_order=0)
    with pytest.raises(InputError, match="finite"):
        inertia(np.full((2, 2), np.nan))
    with pytest.raises(InputError, match="tol"):
        estimate_inertia(np.eye(2), tol=np.inf)
