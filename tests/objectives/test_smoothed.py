import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from derand.exceptions import InputError, MeaninglessCertificateWarning
from derand.objectives import (
    Cosine,
    Exponential,
    Polynomial,
    ProbitSign,
    ReLU,
    RidgeSum,
    SmoothedObjective,
    double_well,
)


def cosines(k, seed=0):
    rng = np.random.default_rng(seed)
    return RidgeSum(Cosine(), k, forms=rng.standard_normal((2 * k, k)) / np.sqrt(k), offsets=rng.uniform(0, 6, 2 * k))


def draw(k, d, seed=1, scale=0.4):
    rng = np.random.default_rng(seed)
    return scale * rng.standard_normal((k, d)), rng.standard_normal(k)


@pytest.mark.parametrize("kind", ["exact", "quadrature", "qmc", "mc"])
def test_weight_bound_holds_for_every_kind(kind):
    f = SmoothedObjective(cosines(3), 3, 5, 1.0, expectation=kind, n_samples=16, n_nodes=5, rng=0)
    finite = 0
    for seed in range(30):
        W, b = draw(3, 5, seed, scale=10.0 ** (seed % 5 - 3))
        bound = f.weight_bound(W, b)
        assert bound >= np.linalg.norm(W)
        finite += math.isfinite(bound)
    assert finite >= 10


def test_weight_bound_is_infinite_and_not_negative():
    f = SmoothedObjective(Polynomial(1, {(0, 0): -1.0}), 1, 1, 0.5)
    assert f.weight_bound([[1.0]], [0.0]) == math.inf


def test_lemma_bound_uses_the_penalty():
    f = SmoothedObjective(cosines(1), 1, 1, 0.5)
    assert f.lemma_bound(0.01, 25.0) == 0.02


@pytest.mark.parametrize("kind", ["exact", "quadrature"])
def test_stein_residual_of_exact_expectations(kind):
    f = SmoothedObjective(cosines(2), 2, 4, 0.1, expectation=kind)
    W, b = draw(2, 4)
    assert f.stein_residual(W, b) <= 1e-12
    # At W = 0 both sides are zero but for rounding, 1e-16, which is measured against weights of 1.5e-8.
    assert f.stein_residual(np.zeros((2, 4)), b) <= 1e-7


def test_stein_residual_shrinks_with_the_sample():
    W, b = draw(4, 6)
    coarse, fine = (
        SmoothedObjective(cosines(4), 4, 6, 0.1, expectation="mc", n_samples=n, rng=0) for n in (2**9, 2**15)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MeaninglessCertificateWarning)
        before = coarse.stein_residual(W, b)
    # Sixty-four times the points: an eighth of the error on average; half is asked for.
    assert fine.stein_residual(W, b) < before / 2
    assert fine.stein_residual(W, b) == fine.stein_residual(W, b) != fine.stein_residual(W, b, rng=7)


def test_too_few_points_are_called_meaningless():
    f = SmoothedObjective(cosines(4), 4, 6, 0.1, expectation="mc", n_samples=128, rng=0)
    W, b = draw(4, 6)
    with pytest.warns(MeaninglessCertificateWarning, match="128 points in 4 dimensions, fewer than 160"):
        f.stein_residual(W, b)


def test_unresolved_rules_are_called_meaningless():
    # Four nodes under N(0.1, 1) can't resolve a step of width 0.1.
    f = SmoothedObjective(RidgeSum(ProbitSign(0.1), 1), 1, 1, 0.1, expectation="quadrature", n_nodes=4)
    with pytest.warns(MeaninglessCertificateWarning, match="Stein residual"):
        f.stein_residual([[1.0]], [0.1])


def test_kinks_are_called_meaningless():
    # The sampled Hessian of a ReLU sum is zero while its smoothed slope isn't.
    f = SmoothedObjective(RidgeSum(ReLU(), 4), 4, 4, 0.1, expectation="qmc", rng=0)
    W, b = draw(4, 4)
    with pytest.warns(MeaninglessCertificateWarning, match="Stein residual 1 exceeds"):
        assert f.stein_residual(W, b) == pytest.approx(1.0)


def test_check_tells_why():
    exact = SmoothedObjective(double_well(2), 2, 3, 0.1)
    there = exact.pack(np.zeros((2, 3)), [1.0, -1.0])
    check = exact.derandomization_check(there)
    assert check
    assert exact.is_derandomized(there)
    assert (check.weight_norm, check.stein_residual, check.n_samples) == (0.0, 0.0, None)
    assert check.weight_bound <= 1e-12
    away = exact.pack(np.full((2, 3), 0.1), [1.0, -1.0])
    check = exact.derandomization_check(away)
    assert not check
    assert "exceeds" in check.reason
    assert not exact.is_derandomized(away)
    assert exact.is_derandomized(away, tol=1.0)


@pytest.mark.parametrize("reduce", [None, False])
def test_sixteen_points_are_refused_even_at_zero(reduce):
    f = SmoothedObjective(double_well(6), 6, 30, 0.02, expectation="mc", n_samples=16, reduce=reduce, rng=0)
    check = f.derandomization_check(f.pack(np.zeros((6, 30)), np.ones(6)))
    assert not check
    assert "16 points" in check.reason


def test_enough_points_are_believed():
    f = SmoothedObjective(double_well(6), 6, 30, 0.02, expectation="qmc", rng=0)
    for scale in (0.0, 1e-9, 1e-5):
        W, _ = draw(6, 30, scale=scale)
        assert f.is_derandomized(f.pack(W, np.ones(6)))


def test_gradient_noise_at_zero_weights_is_not_hidden():
    # Away from the stationary points of g the sampled slope at W = 0 is noise that pushes W off: not derandomized.
    f = SmoothedObjective(double_well(6), 6, 30, 0.02, expectation="mc", n_samples=256, rng=0)
    check = f.derandomization_check(f.pack(np.zeros((6, 30)), 2.0 * np.ones(6)))
    assert not check
    assert "Stein" in check.reason


def test_derandomize_never_loses_more_than_stated():
    # Hess of the well (z^2 - 1)^2 is 12 z^2 - 4 >= -4.
    f = SmoothedObjective(double_well(3, tilt=0.1), 3, 4, 0.1)
    for seed in range(20):
        W, b = draw(3, 4, seed, scale=0.6)
        value = f.value_and_grad(f.pack(W, b))[0]
        start = f.inner_value_and_grad(b)[0]
        assert start <= value + f.derandomization_loss(W, 4.0) + 1e-12
        end = f.derandomize(W, b)
        assert f.inner_value_and_grad(end)[0] <= start
        np.testing.assert_allclose(f.inner_value_and_grad(end)[1], 0.0, atol=1e-5)


def test_derandomize_with_a_solver_and_parameters():
    g = Polynomial(3, {(0, 0): 1.0, (1, 1): 1.0, (0, 2): -2.0})
    f = SmoothedObjective(g, 2, 2, 0.5)
    np.testing.assert_allclose(f.derandomize(np.eye(2), [3.0, 4.0], [0.5]), [0.5, 0.0], atol=1e-8)

    def newton(fun, x0):
        return SimpleNamespace(x=x0 - fun(x0)[1] / 2)

    np.testing.assert_allclose(f.derandomize(np.eye(2), [3.0, 4.0], [0.5], solver=newton), [0.5, 0.0], atol=1e-15)


@pytest.mark.parametrize("kind", ["exact", "quadrature", "qmc"])
def test_overflow_proves_nothing_and_is_silent(kind):
    f = SmoothedObjective(RidgeSum(Exponential(), 2), 2, 2, 0.1, expectation=kind, rng=0)
    W, b = np.eye(2), np.array([1e4, 0.0])
    assert f.weight_bound(W, b) == math.inf
    with pytest.warns(MeaninglessCertificateWarning):
        assert f.stein_residual(W, b) == math.inf
    assert not f.is_derandomized(f.pack(W, b), tol=10.0)
    assert np.isinf(f.hess_bb(W, b)).any()


def test_bad_input_is_named():
    f = SmoothedObjective(double_well(2), 2, 3, 0.1)
    with pytest.raises(InputError, match=r"^W must"):
        f.weight_bound(np.zeros((3, 2)), np.zeros(2))
    with pytest.raises(InputError, match=r"^b must"):
        f.stein_residual(np.zeros((2, 3)), np.zeros(3))
    with pytest.raises(InputError, match=r"^W must"):
        f.derandomize(np.full((2, 3), np.nan), np.zeros(2))
    with pytest.raises(InputError, match="tol"):
        f.is_derandomized(np.zeros(8), tol=-1.0)
    with pytest.raises(InputError, match="curvature"):
        f.derandomization_loss(np.zeros((2, 3)), -1.0)
