"""Lemma 3.1 of arXiv 2510.19382, one test for each statement, as pairs (computed, predicted).

f(W, b) = E[g(Wx + b)] + lam ||W||_F^2, x ~ N(0, I_d), H = E[Hess g(Wx + b)].

1. Stein's identity: grad_W f = (H + 2 lam I) W.
2. A-posteriori bound: ||W||_F <= ||grad_W f||_F / (2 lam + min_eigenvalue(H)) where the denominator is positive.
3. Lemma: at a rho-SOSP with 2 lam > sqrt(K rho), ||W||_F <= rho / (2 lam - sqrt(K rho)); K: Hess f is K-Lipschitz.
4. Exact second-order stationary points are exactly W = 0 with b one of g.
5. Derandomization: g(b) <= f(W, b) + (l/2 - lam) ||W||_F^2 where Hess g >= -l I.
6. None of this holds for a small sample, and the library says so.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from derand.exceptions import MeaninglessCertificateWarning
from derand.objectives import (
    Cosine,
    Exponential,
    FunctionIntegrand,
    IntegrandSum,
    LocalSum,
    Polynomial,
    ProbitSign,
    ReLU,
    RidgeSum,
    SignPairSum,
    SmoothedObjective,
    Softplus,
    SquaredProbitNet,
    double_well,
    solve_by_doubling,
)
from derand.optimize import minimize_sosp
from tests.objectives.reference import gaussian_slope

LAM = 0.3


def forms(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k)) / np.sqrt(k)


def integrands(k):
    """Every built-in integrand with a closed form, smooth on the scale of the weights used below."""
    rng = np.random.default_rng(1)
    a, c = forms(2 * k, k), rng.standard_normal(2 * k)
    pairs = np.array([(i, j) for i in range(k) for j in range(i, k)])
    return {
        "exponential": RidgeSum(Exponential(), k, forms=a, coefficients=c),
        "cosine": RidgeSum(Cosine(), k, forms=a, coefficients=c),
        "probit": RidgeSum(ProbitSign(2.0), k, forms=a, coefficients=c),
        "softplus": RidgeSum(Softplus(0.5), k, forms=a, coefficients=c),
        "double well": double_well(k, tilt=0.1),
        "polynomial": Polynomial(k, {(0,) * 4: 0.2, (0, 0, k - 1, k - 1): 0.5, (0, k - 1): -1.0, (k - 1,): 0.3}),
        "sign pairs": SignPairSum(k, pairs, weights=rng.standard_normal(len(pairs)), width=2.0),
        "squared net": SquaredProbitNet(k, c, 0.5, width=2.0, forms=a),
        "local": LocalSum(RidgeSum(Cosine(), 2, forms=0.7 * np.ones((1, 2))), k, pairs),
        "sum": IntegrandSum([RidgeSum(Cosine(), k), Polynomial(k, {(0, 0): 1.0})], weights=[1.0, 0.5]),
    }


def parts(f, x):
    """grad_W f and (H + 2 lam I) W."""
    W, b = f.unpack(x)
    _, gradient = f.value_and_grad(x)
    return gradient[: W.size].reshape(W.shape), (f.hess_bb(W, b) + 2 * f.lam * np.eye(f.k)) @ W


def relative(got, want):
    return np.linalg.norm(got - want) / np.linalg.norm(want)


@pytest.mark.parametrize("name", sorted(integrands(3)))
def test_1_identity_for_closed_forms(name):
    """grad_W f, computed as E[grad g x'] by numpy's Gauss-Hermite rule, against (H + 2 lam I) W from the closed form.

    The left side comes from the integrand's pointwise gradients alone.  80^2 nodes resolve all of these functions to
    rounding (they vary on scales of several standard deviations), hence 1e-12.
    """
    rng = np.random.default_rng(2)
    g = integrands(3)[name]
    f = SmoothedObjective(g, 3, 2, LAM)
    assert f.expectation == "exact"
    for _ in range(3):
        W, b = 0.4 * rng.standard_normal((3, 2)), 0.5 * rng.standard_normal(3)
        gradient, predicted = parts(f, f.pack(W, b))
        independent = gaussian_slope(g, b, W, 80) + 2 * LAM * W
        assert relative(independent, predicted) <= 1e-12
        assert relative(gradient, predicted) <= 1e-12


def test_1_identity_for_relu():
    """The ReLU's slope by hand: E[1(u > 0) x] = phi(m/s) a/s for u = m + a.x, s = |a|."""
    g = RidgeSum(ReLU(), 1)
    f = SmoothedObjective(g, 1, 3, LAM)
    W, b = np.array([[0.6, -0.2, 0.9]]), np.array([0.4])
    s = np.linalg.norm(W)
    independent = np.exp(-((b[0] / s) ** 2) / 2) / math.sqrt(2 * math.pi) * W / s + 2 * LAM * W
    gradient, predicted = parts(f, f.pack(W, b))
    assert relative(independent, predicted) <= 1e-12
    assert relative(gradient, predicted) <= 1e-12


@pytest.mark.parametrize("d", [1, 2, 3, 7])
@pytest.mark.parametrize("name", sorted(integrands(3)))
def test_1_identity_for_quadrature(name, d):
    """On the Gauss-Hermite grid the two sides, E[grad g x'] and E[Hess g] W, are separate sums."""
    rng = np.random.default_rng(3)
    f = SmoothedObjective(integrands(3)[name], 3, d, LAM, expectation="quadrature", n_nodes=48)
    W, b = 0.8 * rng.standard_normal((3, d)) / np.sqrt(d), 0.5 * rng.standard_normal(3)
    gradient, predicted = parts(f, f.pack(W, b))
    assert relative(gradient, predicted) <= 1e-12


@pytest.mark.parametrize("part", range(4))
def test_2_weight_bound_at_2000_random_points(part):
    """Four times 500 of 500, rounding included."""
    rng = np.random.default_rng((4, part))
    held = finite = 0
    tightest = 0.0
    choices = {k: list(integrands(k).values()) for k in (2, 3, 5)}
    for i in range(500):
        k = int(rng.choice([2, 3, 5]))
        d, lam = int(rng.integers(1, 6)), float(10.0 ** rng.uniform(-2, 1))
        f = SmoothedObjective(choices[k][i % len(choices[k])], k, d, lam)
        W, b = 10.0 ** rng.uniform(-6, 0) * rng.standard_normal((k, d)), rng.standard_normal(k)
        bound, size = f.weight_bound(W, b), float(np.linalg.norm(W))
        held += bound >= size
        if math.isfinite(bound):
            finite += 1
            tightest = max(tightest, size / bound)
    assert held == 500
    # The bound says something at about half of the points, and is attained at some.
    assert finite >= 200
    assert tightest > 0.999


def lipschitz_constant(g, d):
    """A Lipschitz constant of Hess f for f without the penalty, g = sum_t c_t cos(a_t z + beta_t).

    |D^3 f[V, v]^3| <= sum |c_t| |a_t|^3 E|Vx + v|^3 and |Vx + v| <= ||(V, v)|| sqrt(1 + |x|^2); the moment by Jensen
    from the fourth one, E(1 + |x|^2)^2 = 1 + 2d + d(d + 2).
    """
    third = np.abs(g.coefficients) @ np.linalg.norm(g.forms.matrix, axis=1) ** 3
    return float(third) * (1 + 2 * d + d * (d + 2)) ** 0.75


def test_3_lemma_at_rho_sosps():
    """Each point is a rho-SOSP for the least rho with |grad f| <= rho and min_eigenvalue >= -sqrt(K rho)."""
    rng = np.random.default_rng(5)
    k, d, lam = 3, 2, 1.0
    g = RidgeSum(Cosine(), k, forms=forms(6, k), offsets=rng.uniform(0, 6, 6), coefficients=0.2 * np.ones(6))
    f = SmoothedObjective(g, k, d, lam)
    K = lipschitz_constant(g, d)
    finite, tightest = 0, 0.0
    for _ in range(60):
        start = f.pack(0.1 * rng.standard_normal((k, d)), rng.standard_normal(k))
        end = minimize_sosp(f.value_and_grad, start, hessp=f.hessp, gtol=1e-6, curv_tol=1e-3).x
        x = end + 10.0 ** rng.uniform(-6, -2) * rng.standard_normal(end.size)
        _, gradient = f.value_and_grad(x)
        hessian = np.stack([f.hessp(x, e) for e in np.eye(x.size)])
        lowest = min(float(np.linalg.eigvalsh((hessian + hessian.T) / 2)[0]), 0.0)
        rho = max(float(np.linalg.norm(gradient)), lowest**2 / K)
        bound, size = f.lemma_bound(rho, K), float(np.linalg.norm(f.unpack(x)[0]))
        assert size <= bound
        if math.isfinite(bound):
            finite += 1
            tightest = max(tightest, size / bound)
    assert finite >= 30
    assert tightest > 0.2


@pytest.mark.parametrize("name", sorted(integrands(3)))
def test_4_hessian_at_zero_weights(name):
    """At (0, b) the Hessian of f is (Hess g + 2 lam I) x I_d on W, Hess g on b, and zero between them."""
    g = integrands(3)[name]
    f = SmoothedObjective(g, 3, 4, LAM)
    b = np.array([0.3, -0.4, 0.2])
    x = f.pack(np.zeros((3, 4)), b)
    computed = np.stack([f.hessp(x, e) for e in np.eye(x.size)])
    inner = np.stack([g.hessian_product(b[None, :], e[None, :])[0] for e in np.eye(3)])
    predicted = np.zeros((15, 15))
    predicted[:12, :12] = np.kron(inner + 2 * LAM * np.eye(3), np.eye(4))
    predicted[12:, 12:] = inner
    assert np.max(np.abs(computed - predicted)) <= 1e-12 * (1 + np.max(np.abs(predicted)))
    assert np.max(np.abs(f.value_and_grad(x)[1][:12])) <= 1e-13


@pytest.mark.parametrize("name", ["cosine", "double well", "sign pairs", "squared net", "sum"])
def test_4_stationary_points_of_second_order_have_no_weights(name):
    """From random starts every certified point has W = 0 within the a-posteriori bound, and b is one of g."""
    rng = np.random.default_rng(6)
    f = SmoothedObjective(integrands(3)[name], 3, 4, LAM)
    for _ in range(5):
        start = f.pack(rng.standard_normal((3, 4)), rng.standard_normal(3))
        result = minimize_sosp(f.value_and_grad, start, hessp=f.hessp, gtol=1e-7, curv_tol=1e-4)
        assert result.success
        W, b = f.unpack(result.x)
        # The bound with |grad_W f| <= 1e-7 and min_eigenvalue(H) >= -1e-4.
        assert np.linalg.norm(W) <= 1e-7 / (2 * LAM - 1e-4)
        assert f.is_derandomized(result.x)
        # g's own gradient and curvature differ from f's by O(|W|).
        assert np.linalg.norm(f.inner_value_and_grad(b)[1]) <= 1e-6
        assert np.linalg.eigvalsh(f.hess_bb(np.zeros((3, 4)), b))[0] >= -2e-4


def test_5_derandomization_loses_no_more_than_stated():
    """g(b) - f(W, b) against (l/2 - lam) ||W||^2 for cosines: l = max_eigenvalue(sum |c_t| a_t a_t')."""
    rng = np.random.default_rng(7)
    k, d = 4, 3
    a, c = forms(8, k), rng.standard_normal(8)
    curvature = float(np.linalg.eigvalsh((a.T * np.abs(c)) @ a)[-1])
    for _ in range(300):
        f = SmoothedObjective(RidgeSum(Cosine(), k, forms=a, coefficients=c), k, d, float(10.0 ** rng.uniform(-3, 1)))
        W, b = 10.0 ** rng.uniform(-3, 0.5) * rng.standard_normal((k, d)), 3.0 * rng.standard_normal(k)
        lost = f.inner_value_and_grad(b)[0] - f.value_and_grad(f.pack(W, b))[0]
        assert lost <= f.derandomization_loss(W, curvature) + 1e-13
    # Attained by g(z) = -(l/2) |z|^2.
    f = SmoothedObjective(Polynomial(2, {(0, 0): -1.5, (1, 1): -1.5}), 2, 3, 0.1)
    W, b = rng.standard_normal((2, 3)), rng.standard_normal(2)
    lost = f.inner_value_and_grad(b)[0] - f.value_and_grad(f.pack(W, b))[0]
    assert lost == pytest.approx(f.derandomization_loss(W, 3.0), rel=1e-13)


def sampled_problems(k=6):
    """Three integrands with wells, without their closed forms; k = 6, lam = 0.02 and d = 30 below."""
    rng = np.random.default_rng(0)
    return {
        "cosine": RidgeSum(Cosine(), k, forms=forms(12, k), offsets=rng.uniform(0, 6, 12)),
        "double well": double_well(k, height=0.25, tilt=0.05),
        "squared net": SquaredProbitNet(k, rng.standard_normal(8), 1.0, forms=forms(8, k)),
    }


def solve(f, x):
    return minimize_sosp(f.value_and_grad, x, hessp=f.hessp, gtol=1e-7, curv_tol=1e-4)


def starts(f, n):
    for seed in range(n):
        rng = np.random.default_rng(100 + seed)
        yield seed, (rng.standard_normal((f.k, f.d)) / np.sqrt(f.k), rng.standard_normal(f.k))


@pytest.mark.parametrize("reduce", [None, False])
@pytest.mark.parametrize("name", sorted(sampled_problems()))
def test_6_sixteen_points_are_refused(name, reduce):
    """A certified point of a 16-sample objective at k = 6, d = 30 is never called derandomized, wherever W is."""
    g = sampled_problems()[name]
    for seed, (W, b) in starts(SmoothedObjective(g, 6, 30, 0.02), 3):
        f = SmoothedObjective(g, 6, 30, 0.02, expectation="mc", n_samples=16, reduce=reduce, rng=seed)
        result = solve(f, f.pack(W, b))
        assert result.success
        check = f.derandomization_check(result.x)
        assert not check
        weights, bias = f.unpack(result.x)
        with pytest.warns(MeaninglessCertificateWarning):
            assert f.stein_residual(weights, bias) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(sampled_problems()))
def test_6_reduced_sobol_points_find_no_weights_from_twenty_starts(name):
    """With the LQ reduction and 1,024 Sobol points W -> 0 from 20 of 20 starts; 16 unreduced draws beside it."""
    g = sampled_problems()[name]
    vanished = believed = stuck = 0
    for seed, (W, b) in starts(SmoothedObjective(g, 6, 30, 0.02), 20):
        f = SmoothedObjective(g, 6, 30, 0.02, expectation="qmc", n_samples=1024, rng=seed)
        result = solve(f, f.pack(W, b))
        assert result.success
        check = f.derandomization_check(result.x)
        vanished += check.weight_norm <= 1e-4
        believed += check.is_derandomized
        small = SmoothedObjective(g, 6, 30, 0.02, expectation="mc", n_samples=16, reduce=False, rng=seed)
        stuck += np.linalg.norm(small.unpack(solve(small, small.pack(W, b)).x)[0]) > 1e-3
    print(f"{name}: 1024 Sobol points: W -> 0 {vanished}/20, derandomized {believed}/20; 16 draws: W != 0 {stuck}/20")
    assert (vanished, believed) == (20, 20)


@pytest.mark.slow
def test_6_where_1024_points_are_too_few_they_are_refused_and_doubled():
    """Steeper cosines, with periods below |W|, fool 1,024 points now and then: all refused, and mended by doubling."""
    k, rng = 6, np.random.default_rng(0)
    steep = RidgeSum(Cosine(), k, forms=2.0 * rng.normal(size=(12, k)) / np.sqrt(k), offsets=rng.uniform(0, 6, 12))
    fooled = 0
    for seed, (W, b) in starts(SmoothedObjective(steep, k, 30, 0.02), 25):
        f = SmoothedObjective(steep, k, 30, 0.02, expectation="qmc", n_samples=1024, rng=seed)
        result = solve(f, f.pack(W, b))
        vanished = np.linalg.norm(f.unpack(result.x)[0]) <= 1e-4
        assert f.is_derandomized(result.x) == vanished
        fooled += not vanished
        assert solve_by_doubling(f, f.pack(W, b), solve).check.weight_norm <= 1e-4
    print(f"steep cosines, 1024 Sobol points: W away from 0 {fooled}/25, all refused, all mended by doubling")
    assert fooled <= 4


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(sampled_problems()))
def test_6_fresh_doubling_batches_find_no_weights_from_twenty_starts(name):
    """Plain Monte Carlo from 256 points, judged on fresh batches and doubled until believed: 20 of 20, too."""
    g = sampled_problems()[name]
    for seed, (W, b) in starts(SmoothedObjective(g, 6, 30, 0.02), 20):
        f = SmoothedObjective(g, 6, 30, 0.02, expectation="mc", n_samples=256, rng=seed)
        done = solve_by_doubling(f, f.pack(W, b), solve)
        assert done.check.weight_norm <= 1e-3


def test_6_functions_without_closed_form_are_judged_alike():
    """The same verdicts without any closed form in sight: a user's function, four coordinates, Sobol points."""
    g = double_well(4, height=0.25, tilt=0.05)
    f = SmoothedObjective(FunctionIntegrand(4, g.value, g.gradient, g.hessian_product), 4, 9, 0.05, rng=0)
    assert f.expectation == "qmc"
    rng = np.random.default_rng(8)
    result = solve(f, f.pack(rng.standard_normal((4, 9)) / 2, rng.standard_normal(4)))
    assert result.success
    with warnings.catch_warnings():
        warnings.simplefilter("error", MeaninglessCertificateWarning)
        assert f.is_derandomized(result.x)
