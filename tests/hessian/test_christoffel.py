"""The Christoffel function against orthonormal polynomials built by Gram-Schmidt, and the coverage of the bound."""

import math

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator
from scipy.special import betainc

from derand.hessian.christoffel import (
    ChristoffelSum,
    christoffel_lower_bound,
    log_christoffel,
    spectrum_slack,
    start_component_target,
)
from derand.hessian.lanczos import LanczosProcess
from derand.hessian.min_eigenvalue import min_eigenvalue


def _process(spectrum, start, n_steps):
    process = LanczosProcess(lambda v: spectrum * v, start)
    for _ in range(n_steps):
        process.step()
    return process


@pytest.mark.parametrize("t", [-3.0, -1.2, -1.05])
def test_sum_equals_gram_schmidt_polynomials(t):
    """The orthonormal polynomials of the start's spectral measure, from a weighted QR of the monomials."""
    spectrum = np.array([-1.0, -0.4, 0.3, 0.9, 1.7, 2.0])
    start = np.array([0.3, 0.5, 0.2, 0.6, 0.1, 0.5])
    start /= np.linalg.norm(start)
    degree = 4
    r = np.linalg.qr(start[:, None] * np.vander(spectrum, degree + 1, increasing=True))[1]
    polynomials = np.linalg.solve(r.T, t ** np.arange(degree + 1))
    process = _process(spectrum, start, degree)
    assert log_christoffel(process, t) == pytest.approx(math.log(np.sum(polynomials**2)), rel=1e-9)


def test_sum_survives_where_squares_overflow():
    process = _process(np.linspace(0.0, 1.0, 400), np.ones(400), 300)
    t = -1e3
    p, previous, logs = 1.0, 0.0, [0.0]
    alpha, beta = process.alpha, process.beta
    scale = 0.0
    for j in range(300):
        p, previous = ((t - alpha[j]) * p - (beta[j - 1] if j else 0.0) * previous) / beta[j], p
        logs.append(math.log(abs(p)) + scale)
        p, previous, scale = p / abs(p), previous / abs(p), scale + math.log(abs(p))
    assert log_christoffel(process, t) == pytest.approx(np.logaddexp.reduce(2.0 * np.array(logs)), rel=1e-12)


def test_sturm_sequence_sees_ritz_values_below():
    process = _process(np.linspace(-1.0, 1.0, 50), np.ones(50), 10)
    smallest = process.ritz_values()[0]
    for t, below in ((smallest - 1e-9, True), (smallest + 1e-9, False)):
        total = ChristoffelSum(t)
        for a, b in zip(process.alpha, process.beta, strict=True):
            total.update(a, b)
        assert bool(total.is_below) is below


def test_lower_bound_solves_its_equation():
    process = _process(np.linspace(0.0, 1.0, 200), np.random.default_rng(0).standard_normal(200), 40)
    target = start_component_target(200, 1e-6)
    lower = christoffel_lower_bound(process, target)
    assert log_christoffel(process, lower) >= target
    assert log_christoffel(process, lower + 1e-9) < target


@pytest.mark.parametrize("n", [2, 3, 100, 10_000])
@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-12])
def test_target_is_the_quantile_of_one_coordinate(n, delta):
    tau = math.exp(-start_component_target(n, delta))
    assert betainc(0.5, 0.5 * (n - 1), tau) == pytest.approx(delta, rel=1e-8)


def test_slack_grows_with_the_products():
    process = _process(np.linspace(0.0, 1.0, 50), np.ones(50), 9)
    assert spectrum_slack(process, 1e-3) == pytest.approx(3e-3, rel=1e-6)


SPECTRA = {
    "uniform": np.linspace(0.0, 1.0, 400),
    "semicircle": 1.0 + np.cos(np.pi * (np.arange(400) + 0.5) / 400),
    "half zeros": np.r_[np.zeros(200), np.linspace(0.1, 1.0, 200)],
    "geometric": np.geomspace(1e-6, 1.0, 400),
}


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.3, 0.05])
@pytest.mark.parametrize("name", SPECTRA)
def test_coverage_with_a_planted_eigenvalue(name, delta):
    """Planted at -1.01 tol, a bound above -tol is false: at most delta of the time, and not much less."""
    spectrum, tol, n_runs = SPECTRA[name].copy(), 1e-3, 400
    spectrum[0] = -1.01 * tol
    operator = LinearOperator((400, 400), matvec=lambda v: spectrum * v, dtype=np.float64)
    false = sum(
        min_eigenvalue(operator, threshold=-tol, confidence=1.0 - delta, rng=seed).lower >= -tol
        for seed in range(n_runs)
    )
    error = math.sqrt(delta * (1.0 - delta) / n_runs)
    assert delta / 2.0 <= false / n_runs <= delta + 2.0 * error
