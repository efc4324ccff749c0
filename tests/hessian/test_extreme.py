"""Tests of extreme_eigenpairs against designed spectra and dense solvers."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from derand.exceptions import BudgetExceededError, InputError, InputTypeError, NonConvergenceWarning
from derand.hessian.extreme import extreme_eigenpairs
from derand.hessian.operator import HessianOperator
from tests.hessian.spectra import NAMES, designed, reflected


def chosen(w, k, which):
    """Return the k eigenvalues that ``which`` asks for, from all in ascending order."""
    if which == "LM":
        return np.sort(w[np.argsort(-np.abs(w), kind="stable")[:k]])
    low = {"SA": k, "LA": 0, "BE": k // 2}[which]
    return np.concatenate([w[:low], w[len(w) - (k - low) :]])


def check(found, A, w, k, which, tol=1e-8):
    """Check values, vectors, residuals and intervals of one answer."""
    scale = max(np.max(np.abs(w)), 1e-300)
    true = chosen(w, k, which)
    assert found.is_converged
    np.testing.assert_allclose(np.sort(np.abs(found.values)), np.sort(np.abs(true)), atol=2 * tol * scale)
    if which != "LM":
        assert np.all(found.lower <= true)
        assert np.all(true <= found.upper)
    V = found.vectors
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-10)
    AV = np.stack([A @ v for v in V.T], axis=1)
    assert np.all(np.linalg.norm(AV - V * found.values, axis=0) <= found.residuals)
    assert np.all(found.residuals <= 3 * tol * scale)
    assert np.all(found.upper - found.lower <= 6 * tol * scale)


@pytest.mark.parametrize("which", ["SA", "LA", "LM", "BE"])
@pytest.mark.parametrize("name", NAMES)
def test_designed_spectra(name, which):
    n = 200
    w = designed(name, n, np.random.default_rng(0))
    A = reflected(w, np.random.default_rng(1))
    check(extreme_eigenpairs(A, 5, which, rng=0, method="lanczos"), A, w, 5, which)
    dense = extreme_eigenpairs(A, 5, which, rng=0, method="dense")
    check(dense, A, w, 5, which)
    assert dense.confidence == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("which", ["SA", "LA", "LM", "BE"])
@pytest.mark.parametrize("name", NAMES)
def test_designed_spectra_of_order_2000(name, which):
    if name == "geometric" and which in ("SA", "BE"):
        pytest.skip("1e-8 relative to the norm needs most of the space: minutes")
    w = designed(name, 2000, np.random.default_rng(0))
    A = reflected(w, np.random.default_rng(1))
    check(extreme_eigenpairs(A, 5, which, rng=0), A, w, 5, which)


def test_smallest_of_multiplicity_20():
    """The request of five among twenty equal ones: all five must be that eigenvalue."""
    w = designed("multiplicity 20", 400, np.random.default_rng(0))
    A = reflected(w, np.random.default_rng(1))
    for seed in range(5):
        found = extreme_eigenpairs(A, 5, rng=seed, method="lanczos")
        np.testing.assert_allclose(found.values, -1.0, rtol=1e-12)
        assert found.n_products < 200
    found = extreme_eigenpairs(A, 21, rng=0, method="lanczos")
    np.testing.assert_allclose(found.values, w[:21], atol=1e-10)


def _interval_failures(n_trials, seed):
    """Count answers of which some interval misses its eigenvalue, over random spectra, sizes, ends and budgets."""
    rng = np.random.default_rng(seed)
    failures = 0
    for _ in range(n_trials):
        n = int(rng.integers(1, 60))
        w = np.sort(
            rng.choice([rng.standard_normal(n), np.round(2 * rng.standard_normal(n)), rng.uniform(0, 1, n) ** 9])
        )
        A = reflected(w * 10 ** rng.uniform(-6, 6), rng)
        w = np.linalg.eigvalsh(np.stack([A @ e for e in np.eye(n)]))
        k = int(rng.integers(1, min(n, 6) + 1))
        which = str(rng.choice(["SA", "LA", "BE"]))
        budget = int(rng.integers(3 * k, 3 * k + 3 * n))
        try:
            found = extreme_eigenpairs(A, k, which, method="lanczos", rng=rng, tol=1e-6, max_products=budget)
        except BudgetExceededError:
            continue
        true = chosen(w, k, which)
        rounding = 1e-13 * np.max(np.abs(w))  # of the reference
        failures += bool(np.any(found.lower > true + rounding) or np.any(found.upper < true - rounding))
        nearest = np.min(np.abs(found.values[:, None] - w), axis=1)
        failures += bool(np.any(nearest > found.residuals + rounding))
    return failures


@pytest.mark.filterwarnings("ignore::derand.exceptions.NonConvergenceWarning")
def test_intervals_hold_also_when_the_budget_runs_out():
    assert _interval_failures(100, 0) == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::derand.exceptions.NonConvergenceWarning")
def test_intervals_hold_in_1000_random_trials():
    assert _interval_failures(1000, 1) == 0


@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_confidence_is_about_hidden_eigenvalues(confidence):
    """With delta large the search may stop early, but wrong intervals stay rarer than delta (two standard errors)."""
    n, n_trials, failures = 200, 100, 0
    w = np.concatenate([[-1.05, -1.0], np.linspace(-0.9, 1, n - 2)])
    A = reflected(w, np.random.default_rng(3))
    for seed in range(n_trials):
        found = extreme_eigenpairs(A, 1, tol=1e-2, confidence=confidence, rng=seed)
        failures += bool(found.lower[0] > -1.05)
    delta = 1 - confidence
    assert failures / n_trials <= delta + 2 * np.sqrt(delta * confidence / n_trials)


def test_one_variable_and_full_request():
    found = extreme_eigenpairs(np.array([[3.0]]), 1)
    assert (found.values[0], found.vectors[0, 0] ** 2) == (3.0, 1.0)
    A = reflected(np.array([-2.0]), np.random.default_rng(0))
    for method in ("dense", "lanczos"):
        assert extreme_eigenpairs(A, 1, method=method, rng=0).values[0] == pytest.approx(-2.0, rel=1e-14)
    w = np.array([0.0, 0.0, 1.0, 4.0])
    found = extreme_eigenpairs(reflected(w, np.random.default_rng(0)), 4, method="lanczos", rng=0)
    np.testing.assert_allclose(found.values, w, atol=1e-14)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_explicit_matrices_are_decomposed(wrap):
    A = np.diag([5.0, 1.0, 3.0])
    found = extreme_eigenpairs(wrap(A), 2, "LA")
    np.testing.assert_allclose(found.values, [3.0, 5.0])
    assert (found.method, found.n_products, found.confidence) == ("dense", 0, 1.0)


def test_budget():
    A = reflected(np.linspace(0, 1, 500), np.random.default_rng(0))
    with pytest.warns(NonConvergenceWarning, match="ran out"):
        found = extreme_eigenpairs(A, 3, max_products=40, rng=0)
    assert not found.is_converged
    assert found.n_products <= 40
    assert np.all(found.lower <= [0.0, 1 / 499, 2 / 499])
    assert np.all(found.upper >= [0.0, 1 / 499, 2 / 499])
    with pytest.raises(BudgetExceededError, match="of 3 eigenpairs"):
        extreme_eigenpairs(A, 3, max_products=2, rng=0)


def test_error_of_differences_widens_the_intervals():
    w = np.linspace(1, 2, 300)
    exact = HessianOperator(np.zeros(300), hessp=lambda x, v: w * v)
    differences = HessianOperator(np.zeros(300), gradient=lambda x: w * x, hessian_lipschitz=1.0)
    narrow = extreme_eigenpairs(exact, 2, tol=1e-5, rng=0)
    wide = extreme_eigenpairs(differences, 2, tol=1e-5, rng=0)
    assert np.all(wide.upper - wide.lower >= narrow.upper - narrow.lower)
    assert np.all(wide.residuals >= differences.error_bound)
    for found in (narrow, wide):
        assert np.all(found.lower <= w[:2])
        assert np.all(w[:2] <= found.upper)


def test_same_seed_same_bits():
    A = reflected(np.linspace(0, 1, 200), np.random.default_rng(0))
    a, b = (extreme_eigenpairs(A, 3, rng=5, method="lanczos") for _ in range(2))
    np.testing.assert_array_equal(a.vectors, b.vectors)
    np.testing.assert_array_equal(a.lower, b.lower)


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1e12, 1e150])
def test_scale(scale):
    w = np.linspace(-1, 1, 200)
    A = reflected(w * scale, np.random.default_rng(0))
    found = extreme_eigenpairs(A, 2, "BE", rng=0, method="lanczos")
    np.testing.assert_allclose(found.values, [-scale, scale], rtol=1e-10)
    assert found.is_converged


def test_bad_input():
    A = np.eye(3)
    for arguments in ({"k": 0}, {"k": 4}, {"which": "SM"}, {"tol": 0.0}, {"confidence": 1.0}, {"method": "arpack"}):
        with pytest.raises(InputError, match=next(iter(arguments))):
            extreme_eigenpairs(A, **{"k": 1, **arguments})
    with pytest.raises(InputTypeError, match="rng"):
        extreme_eigenpairs(A, 1, rng="seed")
    with pytest.raises(InputError, match="max_products"):
        extreme_eigenpairs(A, 1, max_products=0)
    bad = LinearOperator((200, 200), matvec=lambda v: np.full(200, np.nan), dtype=np.float64)
    for method in ("lanczos", "dense"):
        with pytest.raises(InputError, match="finite"):
            extreme_eigenpairs(bad, 1, method=method, rng=0)
