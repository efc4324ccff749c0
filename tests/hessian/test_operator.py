"""Tests of HessianOperator against closed-form Hessians."""

import numpy as np
import pytest
from scipy.sparse.linalg import eigsh

from derand.exceptions import InputError, InputTypeError
from derand.hessian.operator import HessianOperator


def quartic(n, seed=0):
    """Return f = sum_i c_i x_i^4 / 12 + x'Ax / 2 as (value and gradient, Hessian)."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, n))
    A, c = (B + B.T) / 2, rng.uniform(0.5, 1.5, n)

    def fun(x):
        return float(np.sum(c * x**4) / 12 + x @ A @ x / 2), c * x**3 / 3 + A @ x

    return fun, lambda x: np.diag(c * x**2) + A


def test_exact_products():
    _, hess = quartic(6)
    x = np.linspace(-1, 1, 6)
    H = HessianOperator(x, hessp=lambda y, v: hess(y) @ v)
    np.testing.assert_allclose(H.dense(), hess(x), rtol=1e-14)
    np.testing.assert_allclose(H @ np.eye(6)[:, :2], hess(x)[:, :2], rtol=1e-14)
    np.testing.assert_allclose(H.T @ np.ones(6), hess(x) @ np.ones(6), rtol=1e-13)
    assert (H.error_bound, H.error_bound_source, H.is_exact, H.step) == (0.0, "exact", True, 0.0)
    assert H.symmetry_error() < 1e-14
    assert H.n_products == 6 + 2 + 1 + 8
    assert H.n_gradients == 0


@pytest.mark.parametrize("source", ["fun", "gradient"])
def test_differences_are_within_the_estimated_error(source):
    fun, hess = quartic(6)
    x = np.linspace(-1, 1, 6)
    H = HessianOperator(x, **{source: fun if source == "fun" else (lambda y: fun(y)[1])})
    # H.error_bound is per unit vector, so the dense error is within sqrt(n) times it in Frobenius norm.
    assert np.linalg.norm(H.dense() - hess(x)) <= np.sqrt(6) * H.error_bound
    assert H.error_bound < 1e-5
    assert H.error_bound_source == "estimated"


def test_dense_costs_one_gradient_a_column_and_one_at_x():
    fun, _ = quartic(6)
    H = HessianOperator(np.ones(6), fun=fun)
    H.dense()
    assert H.n_gradients == 7
    H.block([1, 2]).dense()
    assert H.n_gradients == 9


def test_products_are_homogeneous_and_zero_costs_no_gradient():
    fun, _ = quartic(4)
    H = HessianOperator(np.ones(4), fun=fun)
    v = np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(H.matvec(1e200 * v), 1e200 * H.matvec(v), rtol=1e-12)
    before = H.n_gradients
    np.testing.assert_array_equal(H.matvec(np.zeros(4)), np.zeros(4))
    assert H.n_gradients == before


def _bound_trials(n_trials, seed):
    """Return how often the product with a unit vector is off by more than the bound from the Lipschitz constant."""
    failures = 0
    rng = np.random.default_rng(seed)
    for _ in range(n_trials):
        n = int(rng.integers(1, 12))
        frequency, offset = 10.0 ** rng.uniform(-2, 2), rng.uniform(0, 6, n)
        # f = sum cos(w x + o): Hessian -w^2 cos, Lipschitz constant w^3.
        x = rng.standard_normal(n) * 10.0 ** rng.uniform(-2, 2)
        H = HessianOperator(
            x, gradient=lambda y, w=frequency, o=offset: -w * np.sin(w * y + o), hessian_lipschitz=frequency**3
        )
        v = rng.standard_normal(n)
        v /= np.linalg.norm(v)
        exact = -(frequency**2) * np.cos(frequency * x + offset) * v
        failures += bool(np.linalg.norm(H.matvec(v) - exact) > H.error_bound)
        assert H.error_bound_source == "lipschitz"
    return failures


def test_error_bound_with_lipschitz_constant_holds():
    assert _bound_trials(100, 0) == 0


@pytest.mark.slow
def test_error_bound_with_lipschitz_constant_holds_often():
    assert _bound_trials(1000, 1) == 0


def test_the_bound_is_useful():
    """With h = 2 sqrt(eps/L) the bound is 2 sqrt(eps L); for a noise near 1e-16 and L = 1 that's a few 1e-8."""
    H = HessianOperator(np.ones(5), gradient=lambda y: -np.sin(y), hessian_lipschitz=1.0)
    assert H.error_bound < 3e-7


def test_given_noise_and_step_are_used():
    H = HessianOperator(np.ones(2), gradient=np.copy, hessian_lipschitz=4.0, gradient_noise=1e-10)
    assert H.step == pytest.approx(2 * np.sqrt(1e-10 / 4.0))
    assert H.error_bound == pytest.approx(2 * np.sqrt(4.0 * 1e-10))
    assert H.error_bound_source == "given"
    assert HessianOperator(np.ones(2), gradient=np.copy, step=0.5).step == 0.5


def test_quadratic_with_lipschitz_zero_takes_a_long_step():
    H = HessianOperator(np.zeros(3), gradient=lambda y: 2 * y, hessian_lipschitz=0.0)
    np.testing.assert_allclose(H.dense(), 2 * np.eye(3), atol=4 * np.finfo(float).eps)
    assert H.step >= 1.0


def test_noise_estimate_sees_planted_noise():
    """Uniform noise of amplitude 1e-7 on each of 50 components has norm 1e-7 sqrt(50/3); the estimate is thrice it."""
    rng = np.random.default_rng(3)
    H = HessianOperator(np.ones(50), gradient=lambda y: y + rng.uniform(-1e-7, 1e-7, 50))
    true = 1e-7 * np.sqrt(50 / 3)
    assert true < H.gradient_noise < 6 * true


def test_float32_function():
    """float32 gradients carry 1e-7: the step must grow, and the error is near sqrt(1e-7)."""
    A = np.array([[2.0, 1.0], [1.0, -3.0]], dtype=np.float32)
    seen = []

    def gradient(y):
        seen.append(y.dtype)
        return A @ y + y**3

    x = np.array([0.3, -0.2], dtype=np.float32)
    H = HessianOperator(x, gradient=gradient)
    exact = A + np.diag(3 * x.astype(float) ** 2)
    assert np.linalg.norm(H.dense() - exact) < 1e-2
    assert np.linalg.norm(H.dense() - exact) <= np.sqrt(2) * H.error_bound
    assert set(seen) == {np.dtype(np.float32)}
    wide = HessianOperator(x.astype(np.float64), gradient=lambda y: gradient(y.astype(np.float32)))
    assert np.linalg.norm(wide.dense() - exact) < 1e-2


@pytest.mark.parametrize("indices", [slice(1, 4), [4, 0, 2], np.array([True, False, True, False, False, True]), 3, -1])
def test_block(indices):
    _, hess = quartic(6)
    x = np.linspace(-1, 1, 6)
    H = HessianOperator(x, hessp=lambda y, v: hess(y) @ v)
    chosen = np.atleast_1d(np.arange(6)[indices])
    block = H.block(indices)
    np.testing.assert_allclose(block.dense(), hess(x)[np.ix_(chosen, chosen)], rtol=1e-14)
    assert H.n_products == len(chosen)
    assert block.error_bound == 0.0
    np.testing.assert_allclose(block.T @ np.ones(len(chosen)), block @ np.ones(len(chosen)))


@pytest.mark.parametrize("indices", [[], slice(2, 2), [0, 0], [6], [1, -5], np.zeros(6, dtype=bool)])
def test_bad_block(indices):
    H = HessianOperator(np.zeros(6), hessp=lambda y, v: v)
    with pytest.raises(InputError, match="indices"):
        H.block(indices)


def test_block_of_text_is_a_type_error():
    with pytest.raises(InputTypeError, match="indices"):
        HessianOperator(np.zeros(6), hessp=lambda y, v: v).block(["a"])


def test_symmetry_error_measures_the_frobenius_asymmetry():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((40, 40))
    H = HessianOperator(np.zeros(40), hessp=lambda y, v: B @ v)
    true = np.linalg.norm(B - B.T) / np.linalg.norm(B)
    # 200 squares of near-Gaussians: relative standard error of the root about 0.05
    assert H.symmetry_error(n_pairs=200) == pytest.approx(true, rel=0.25)
    assert HessianOperator(np.zeros(3), hessp=lambda y, v: 0 * v).symmetry_error() == 0.0


def test_works_with_scipy():
    _, hess = quartic(30)
    H = HessianOperator(np.ones(30), hessp=lambda y, v: hess(y) @ v)
    value = eigsh(H, k=1, which="SA", return_eigenvectors=False, v0=np.ones(30))[0]
    assert value == pytest.approx(np.linalg.eigvalsh(hess(np.ones(30)))[0], rel=1e-8)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, InputError, "exactly one"),
        ({"hessp": 1}, InputTypeError, "hessp must be callable"),
        ({"fun": np.copy, "gradient": np.copy}, InputError, "exactly one"),
        ({"gradient": np.copy, "step": 0.0}, InputError, "step"),
        ({"gradient": np.copy, "step": np.inf}, InputError, "step"),
        ({"gradient": np.copy, "hessian_lipschitz": -1.0}, InputError, "hessian_lipschitz"),
        ({"gradient": np.copy, "gradient_noise": np.nan}, InputError, "gradient_noise"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        HessianOperator(np.ones(2), **arguments)


@pytest.mark.parametrize("x", [np.ones((2, 2)), [], [1.0, np.nan], 3.0])
def test_bad_point(x):
    with pytest.raises(InputError, match="x must"):
        HessianOperator(x, gradient=np.copy)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"hessp": lambda x, v: v[:1]}, InputError),
        ({"hessp": lambda x, v: np.nan * v}, InputError),
        ({"gradient": lambda x: np.inf * np.ones(2)}, InputError),
        ({"fun": lambda x: x}, InputTypeError),
        ({"fun": lambda x: (1.0, np.ones(3))}, InputError),
    ],
)
def test_bad_products_are_named(arguments, error):
    H = HessianOperator(np.ones(2), **arguments)
    with pytest.raises(error, match=next(iter(arguments))):
        H.matvec(np.ones(2))


def test_one_variable():
    H = HessianOperator([2.0], gradient=lambda y: y**3)
    assert H.dense()[0, 0] == pytest.approx(12.0, abs=H.error_bound)
