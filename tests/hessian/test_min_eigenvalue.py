"""Tests of min_eigenvalue: values, lower bounds, thresholds and degenerate matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from derand.exceptions import InputError, InputTypeError
from derand.hessian.min_eigenvalue import min_eigenvalue
from derand.hessian.operator import HessianOperator
from tests.hessian.spectra import NAMES, designed, reflected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_designed_spectra(name, seed):
    """Value from above, bound from below, and both within the default 1e-6 of the norm (unless the space ran out)."""
    w = designed(name, 300, np.random.default_rng(seed))
    A = reflected(w, np.random.default_rng(seed + 10))
    scale = np.max(np.abs(w))
    found = min_eigenvalue(A, rng=seed)
    assert found.lower <= w[0] <= found.value + 1e-13 * scale
    assert found.value - found.lower <= 3e-6 * scale
    assert found.method == "lanczos"
    assert found.vector @ (A @ found.vector) == pytest.approx(found.value, abs=1e-12 * scale)
    assert np.linalg.norm(found.vector) == pytest.approx(1.0)


def _bound_failures(n_trials, seed):
    """Count lower bounds above the smallest eigenvalue at confidence 1 - 1e-6, over spectra, scales and budgets."""
    rng = np.random.default_rng(seed)
    failures = 0
    for _ in range(n_trials):
        n = int(rng.integers(1, 120))
        w = np.sort(
            rng.choice([rng.standard_normal(n), np.round(2 * rng.standard_normal(n)), rng.uniform(0, 1, n) ** 9])
        )
        w = w * 10 ** rng.uniform(-6, 6)
        A = reflected(w, rng)
        found = min_eigenvalue(A, rng=rng, max_products=int(rng.integers(1, n + 1)))
        rounding = 1e-14 * np.max(np.abs(w))  # of the products with the reflected matrix
        failures += bool(found.lower > w[0] + rounding or found.value < w[0] - rounding)
    return failures


def test_bounds_hold_for_any_budget():
    assert _bound_failures(200, 0) == 0


@pytest.mark.slow
def test_bounds_hold_in_2000_random_trials():
    assert _bound_failures(2000, 1) == 0


@pytest.mark.parametrize("gap", [1e-3, 1e-1])
def test_threshold_is_decided_both_ways(gap):
    w = designed("uniform", 400, np.random.default_rng(0))
    A = reflected(w, np.random.default_rng(1))
    above = min_eigenvalue(A, threshold=w[0] - gap, rng=2)
    assert w[0] >= above.lower >= w[0] - gap
    below = min_eigenvalue(A, threshold=w[0] + gap, rng=2)
    assert w[0] - 1e-13 <= below.value < w[0] + gap
    assert max(above.n_products, below.n_products) < 400


def test_threshold_needs_fewer_products_when_it_is_easier():
    w = designed("semicircle", 400, np.random.default_rng(0))
    A = reflected(w, np.random.default_rng(1))
    counts = [min_eigenvalue(A, threshold=w[0] - gap, rng=2).n_products for gap in (1.0, 0.1, 0.01)]
    assert counts == sorted(counts)
    assert counts[0] < counts[2]


def test_threshold_at_an_exact_zero():
    """A zero eigenvalue is not below zero; a tolerance of 1e-6 below it can be certified."""
    w = designed("half zeros", 400, np.random.default_rng(0))
    found = min_eigenvalue(reflected(w, np.random.default_rng(1)), threshold=-1e-6, rng=2)
    assert -1e-6 <= found.lower <= 0.0


@pytest.mark.parametrize("n", [1, 2, 30])
@pytest.mark.parametrize("factor", [0.0, 1.0, -3.0])
def test_multiples_of_the_identity(n, factor):
    found = min_eigenvalue(reflected(np.full(n, factor), np.random.default_rng(0)), rng=0)
    assert found.n_products == 1
    assert found.value == pytest.approx(factor, rel=1e-13)
    assert found.lower <= factor
    assert found.lower == pytest.approx(factor, rel=1e-12)


def test_explicit_matrices_are_exact():
    for wrap in (np.asarray, sp.csr_array, np.ndarray.tolist):
        found = min_eigenvalue(wrap(np.diag([2.0, -1.0, 5.0])))
        assert found.value == pytest.approx(-1.0)
        assert (found.method, found.confidence) == ("dense", 1.0)
        assert -1.0 - 1e-13 <= found.lower <= -1.0


def test_start_in_an_invariant_subspace_has_probability_zero_but_multiplicity_does_not_hurt():
    w = designed("multiplicity 20", 300, np.random.default_rng(0))
    found = min_eigenvalue(reflected(w, np.random.default_rng(1)), rng=0)
    assert found.value == pytest.approx(-1.0, abs=1e-6)
    assert found.lower <= -1.0


def test_product_error_is_subtracted():
    w = designed("uniform", 200, np.random.default_rng(0))
    A = reflected(w, np.random.default_rng(1))
    plain = min_eigenvalue(A, rng=0, max_products=60)
    loose = min_eigenvalue(A, rng=0, max_products=60, product_error=1e-3)
    assert loose.lower <= plain.lower - 1e-3


def test_error_bound_of_an_operator_is_used():
    """A zero Hessian by differences: the bound must not come out positive."""
    H = HessianOperator(np.ones(20), gradient=lambda x: np.full(20, 1e6) + 0 * x, hessian_lipschitz=0.0)
    found = min_eigenvalue(H, rng=0)
    assert found.lower <= -H.error_bound <= 0.0


def test_same_seed_same_bits():
    A = reflected(designed("uniform", 200, np.random.default_rng(0)), np.random.default_rng(1))
    a, b = (min_eigenvalue(A, rng=4) for _ in range(2))
    assert (a.value, a.lower) == (b.value, b.lower)
    np.testing.assert_array_equal(a.vector, b.vector)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scale(scale):
    w = np.linspace(-1, 1, 150) * scale
    found = min_eigenvalue(reflected(w, np.random.default_rng(0)), rng=0)
    assert found.value == pytest.approx(-scale, rel=1e-5)
    assert found.lower <= -scale


def test_bad_input():
    A = reflected(np.ones(5), np.random.default_rng(0))
    for arguments in (
        {"confidence": 0.0},
        {"confidence": 1.0},
        {"tol": -1.0},
        {"threshold": np.nan},
        {"max_products": 0},
        {"product_error": -1.0},
    ):
        with pytest.raises(InputError, match=next(iter(arguments))):
            min_eigenvalue(A, **arguments)
    with pytest.raises(InputTypeError, match="rng"):
        min_eigenvalue(A, rng="seed")
    for bad in (np.ones((2, 3)), np.zeros((0, 0)), np.array([[np.nan]])):
        with pytest.raises(InputError, match="A must"):
            min_eigenvalue(bad)
    nan = LinearOperator((4, 4), matvec=lambda v: np.full(4, np.nan), dtype=np.float64)
    with pytest.raises(InputError, match="finite"):
        min_eigenvalue(nan, rng=0)
