"""Tests of the Lanczos process: its relation, breakdown, multiplicities and bad operators."""

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.hessian.lanczos import LanczosProcess
from tests.hessian.spectra import NAMES, designed, reflected


def run(operator, start, n_steps=10**6):
    process = LanczosProcess(operator.matvec, start)
    while process.n_steps < n_steps and process.step():
        pass
    return process


@pytest.mark.parametrize("name", NAMES)
def test_relation_and_orthogonality(name):
    """A Q' = Q' T + beta q e' and Q Q' = I to rounding, after 60 steps on n = 150."""
    w = designed(name, 150, np.random.default_rng(0))
    A = reflected(w, np.random.default_rng(1))
    process = run(A, np.random.default_rng(2).standard_normal(150), 60)
    Q, m = process.basis, process.n_steps
    T = np.diag(process.alpha) + np.diag(process.beta[:-1], 1) + np.diag(process.beta[:-1], -1)
    np.testing.assert_allclose(Q @ Q.T, np.eye(m), atol=1e-12)
    products = np.stack([A @ q for q in Q])
    residual = products - T @ Q
    scale = max(np.max(np.abs(w)), 1e-300)
    assert np.max(np.abs(residual[:-1]), initial=0.0) <= 1e-13 * scale
    assert np.linalg.norm(residual[-1]) == pytest.approx(process.beta[-1], abs=1e-12 * scale)


@pytest.mark.parametrize("name", ["semicircle", "half zeros", "two values", "multiplicity 20"])
def test_full_run_finds_all_distinct_eigenvalues_and_nothing_else(name):
    """In exact arithmetic each once; rounding may let a run go on for a few steps and find true further copies."""
    w = designed(name, 40, np.random.default_rng(0))
    process = run(reflected(w, np.random.default_rng(1)), np.random.default_rng(2).standard_normal(40))
    distinct, ritz = np.unique(w), process.ritz_values()
    assert process.is_exhausted
    assert len(distinct) <= process.n_steps <= len(distinct) + 4
    assert np.max(np.min(np.abs(ritz[:, None] - distinct), axis=1)) <= 1e-10
    assert np.max(np.min(np.abs(ritz[:, None] - distinct), axis=0)) <= 1e-10


def test_invariant_subspace_ends_the_process():
    w = np.arange(1.0, 11.0)
    start = np.zeros(10)
    start[[2, 5, 7]] = 1.0
    process = LanczosProcess(lambda v: w * v, start)
    assert [process.step() for _ in range(4)] == [True, True, False, False]
    assert process.n_steps == 3
    np.testing.assert_allclose(process.ritz_values(), [3.0, 6.0, 8.0], rtol=1e-13)


@pytest.mark.parametrize("factor", [0.0, 1.0, -1e-200, 1e200])
def test_multiples_of_the_identity_take_one_step(factor):
    process = run(reflected(np.full(30, factor), np.random.default_rng(0)), np.arange(30.0))
    assert process.n_steps == 1
    assert process.ritz_values()[0] == pytest.approx(factor, rel=1e-13)


def test_one_variable():
    process = run(reflected(np.array([-4.0]), np.random.default_rng(0)), np.array([2.0]))
    assert process.alpha == [-4.0]
    assert process.is_exhausted


@pytest.mark.parametrize("largest", [False, True])
def test_ritz_pairs_have_the_stated_residuals(largest):
    """The residual beta |s| is recomputed from products, and an eigenvalue lies within it."""
    w = designed("uniform", 200, np.random.default_rng(0))
    A = reflected(w, np.random.default_rng(1))
    process = run(A, np.random.default_rng(2).standard_normal(200), 30)
    values, vectors, residuals = process.ritz_pairs(4, largest=largest)
    everything = process.ritz_values()
    np.testing.assert_allclose(values, everything[-4:] if largest else everything[:4], rtol=1e-12)
    direct = [np.linalg.norm(A @ u - t * u) for u, t in zip(vectors, values, strict=True)]
    np.testing.assert_allclose(residuals, direct, atol=1e-12)
    assert np.all(np.min(np.abs(values[:, None] - w), axis=1) <= residuals + 1e-14)
    assert len(process.ritz_pairs(99)[0]) == 30


def test_scale_lies_between_the_ritz_values_and_a_small_multiple():
    w = designed("uniform", 100, np.random.default_rng(0))
    process = run(reflected(w, np.random.default_rng(1)), np.random.default_rng(2).standard_normal(100), 20)
    top = np.max(np.abs(process.ritz_values()))
    assert top <= process.scale <= 3 * top


def test_start_is_normalised_and_left_alone():
    start = np.array([3.0, 4.0])
    process = run(reflected(np.array([1.0, 2.0]), np.random.default_rng(0)), start, 1)
    np.testing.assert_allclose(process.basis[0], [0.6, 0.8])
    np.testing.assert_array_equal(start, [3.0, 4.0])


@pytest.mark.parametrize("start", [np.zeros(3), np.array([1.0, np.nan, 0.0]), np.array([np.inf, 0.0, 0.0])])
def test_bad_start(start):
    with pytest.raises(InputError, match="start"):
        LanczosProcess(lambda v: v, start)


@pytest.mark.parametrize("product", [lambda v: np.nan * v, lambda v: np.inf * v, lambda v: v[:2]])
def test_bad_product(product):
    process = LanczosProcess(product, np.ones(3))
    with pytest.raises(InputError, match="product"):
        process.step()
