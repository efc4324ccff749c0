"""Certificates compared with dense spectra, and recomputed."""

import math
from dataclasses import replace

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.optimize import minimize_sosp
from derand.optimize.certificate import SOSPCertificate, Tolerances, certify
from derand.optimize.oracle import Oracle, StopRun
from derand.optimize.status import SOSPStatus
from tests.optimize import hostile


def _rotated(eigenvalues, seed=0):
    """Return a quadratic with these eigenvalues, its products and its matrix."""
    n = len(eigenvalues)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    A = (Q * np.asarray(eigenvalues)) @ Q.T
    A = (A + A.T) / 2.0
    return (lambda x: (0.5 * float(x @ A @ x), A @ x)), (lambda _, v: A @ v), A


def _certify(fun, hessp, x, tolerances, **options):
    oracle = Oracle(fun, hessp)
    return certify(oracle, oracle.evaluate(x), tolerances, **options)[0]


@pytest.mark.parametrize("n", [1, 2, 10, 11, 80])
@pytest.mark.parametrize("products", [True, False])
def test_bound_estimate_and_direction_agree_with_a_dense_spectrum(n, products):
    rng = np.random.default_rng(n)
    for seed in range(20):
        eigenvalues = np.sort(rng.uniform(-0.05, 2.0, n))
        fun, hessp, A = _rotated(eigenvalues, seed)
        proof = _certify(
            fun, hessp if products else None, np.zeros(n), Tolerances(1e-6, 1e-2, 1 - 1e-6, dense_limit=10)
        )
        true = np.linalg.eigvalsh(A)[0]
        assert proof.min_eigenvalue_lower <= true + 1e-14
        assert proof.min_eigenvalue >= true - 1e-7
        assert np.linalg.norm(proof.direction) == pytest.approx(1.0, rel=1e-12)
        assert proof.direction @ A @ proof.direction == pytest.approx(proof.min_eigenvalue, abs=1e-6)
        assert proof.is_certified == (proof.min_eigenvalue_lower >= -1e-2)
        if true < -1e-2:
            assert not proof.is_certified
        assert (proof.method, proof.confidence) == (("dense", 1.0) if n <= 10 else ("lanczos", 1 - 1e-6))
        assert proof.hvp_error_source == ("exact" if products else "estimated")
        assert proof.n_products <= n


def test_error_of_differences_is_in_the_bound():
    # For a zero Hessian of a curved function the differences show anything of the size of their error.
    proof = _certify(hostile.monkey, None, np.zeros(2), Tolerances(1e-6, 1e-3, 0.9, 12.0, "given", 10))
    assert proof.hvp_error_source == "lipschitz"
    assert proof.min_eigenvalue_lower <= 0.0
    assert proof.is_certified


def test_both_inequalities_are_needed():
    fun, hessp, _ = _rotated(np.linspace(0.1, 1.0, 30))
    tolerances = Tolerances(1e-3, 1e-2, 0.99)
    at_minimum = _certify(fun, hessp, np.zeros(30), tolerances)
    assert at_minimum.is_certified
    assert not _certify(fun, hessp, np.full(30, 1e-3), tolerances).is_certified
    assert not replace(at_minimum, min_eigenvalue_lower=-math.inf, curv_tol=math.inf).is_certified
    assert not replace(at_minimum, min_eigenvalue_lower=math.nan).is_certified
    assert not replace(at_minimum, gradient_norm=math.nan).is_certified
    assert "not certified" in repr(replace(at_minimum, gradient_norm=1.0))
    assert repr(at_minimum).startswith("<SOSPCertificate certified")
    assert "confidence 1 - 1e-06" in repr(replace(at_minimum, confidence=1.0 - 1e-6))
    assert "confidence 1," in repr(replace(at_minimum, confidence=1.0))


def test_rho_is_the_smallest_one_that_is_proved():
    fun, hessp, _ = _rotated(np.linspace(0.1, 1.0, 30))
    proof = _certify(fun, hessp, np.full(30, 1e-4), Tolerances(1e-3, 1e-2, 0.99, 2.0, "given"))
    for gradient_norm, lower in [(0.5, 0.3), (0.1, -1.0), (0.7, -1.0)]:
        some = replace(proof, gradient_norm=gradient_norm, min_eigenvalue_lower=lower)
        rho = some.rho
        assert gradient_norm <= rho
        assert lower >= -math.sqrt(2.0 * rho) - 1e-15
        below = 0.999 * rho
        assert gradient_norm > below or lower < -math.sqrt(2.0 * below)
    assert replace(proof, hess_lip=None).rho == math.inf


@pytest.mark.parametrize("n", [3, 30])
@pytest.mark.parametrize("products", [True, False])
def test_check_recomputes(n, products):
    hessp = hostile.coupled_hessp if products else None
    result = minimize_sosp(hostile.coupled, np.zeros(n), hessp=hessp, curv_tol=1e-3)
    for rng in (1, 2):
        again = result.certificate.check(hostile.coupled, result.x, hessp=hessp, rng=rng)
        assert isinstance(again, SOSPCertificate)
        assert again.is_certified
        assert again.gradient_norm == result.certificate.gradient_norm
        assert again.curv_tol == result.certificate.curv_tol
        true = np.linalg.eigvalsh(hostile.dense(hostile.coupled_hessp, result.x))[0]
        assert again.min_eigenvalue_lower <= true
    assert not result.certificate.check(hostile.coupled, np.zeros(n), hessp=hessp, rng=0).is_certified
    assert not result.certificate.check(hostile.coupled, result.x + 0.1, hessp=hessp, rng=0).is_certified


def test_check_of_a_point_that_is_none():
    result = minimize_sosp(hostile.coupled, np.zeros(3), curv_tol=1e-3)
    with pytest.raises(InputError, match="x must"):
        result.certificate.check(hostile.coupled, [np.nan, 0.0, 0.0])
    with pytest.raises(InputError, match="finite"):
        result.certificate.check(lambda x: (np.inf, x), np.zeros(3))


def test_counts_are_what_the_functions_saw():
    calls = []

    def fun(x):
        calls.append(1)
        return hostile.coupled(x)

    oracle = Oracle(fun)
    point = oracle.evaluate(np.ones(40))
    calls.clear()
    proof, _ = certify(oracle, point, Tolerances(1e-6, 1e-3, 1 - 1e-6), rng=0)
    assert proof.n_calls == len(calls)
    assert 0 < proof.n_products <= len(calls)


def test_the_share_is_taken_from_the_error_probability():
    fun, hessp, _ = _rotated(np.linspace(0.0, 1.0, 200))
    tolerances = Tolerances(1e-6, 1e-3, 1 - 1e-6)
    whole = _certify(fun, hessp, np.zeros(200), tolerances, rng=0)
    small = _certify(fun, hessp, np.zeros(200), tolerances, share=1e-6, rng=0)
    assert small.n_products > whole.n_products
    with pytest.raises(StopRun) as stop:
        _certify(fun, hessp, np.zeros(200), tolerances, share=1e-12, rng=0)
    assert stop.value.status is SOSPStatus.INCONCLUSIVE
