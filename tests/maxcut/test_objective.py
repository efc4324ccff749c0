"""The smoothed objective against brute-force quadrature, finite differences and Stein's identity."""

import math

import numpy as np
import pytest
import scipy.special

from derand.exceptions import InputError
from derand.gaussian.quadrature import tensor_gauss_hermite
from derand.maxcut.objective import SmoothedCutObjective
from derand.maxcut.problem import MaxCutProblem


def random_problem(rng, n=9, density=0.5):
    heads, tails = np.triu_indices(n, 1)
    keep = rng.random(heads.size) < density
    return MaxCutProblem.from_edges(heads[keep], tails[keep], rng.integers(-4, 6, keep.sum()), n=n)


def random_point(rng, objective, bias=1.0):
    W = rng.normal(size=(objective.n, objective.d))
    return objective.pack(W, bias * rng.normal(size=objective.n))


def test_value_is_the_gaussian_mean_of_the_products_of_probit_signs():
    rng = np.random.default_rng(0)
    problem = random_problem(rng)
    objective = SmoothedCutObjective(problem, 2, lam=0.05, sigma=1.5)
    x = random_point(rng, objective)
    W, b = objective.unpack(x)
    # sigma = 1.5 makes the integrand smooth enough for 60 nodes in each direction to reach 1e-10
    nodes, weights = tensor_gauss_hermite(60, 2)
    signs = scipy.special.erf((nodes @ W.T + b) / (1.5 * math.sqrt(2.0)))
    products = signs[:, problem.heads] * signs[:, problem.tails]
    expected = weights @ products @ problem.weights / objective.unit + 0.05 * np.sum(W**2)
    assert objective.value_and_grad(x)[0] == pytest.approx(expected, abs=1e-9)
    cut = weights @ (1.0 - products) @ problem.weights / 2.0
    assert objective.expected_cut(x) == pytest.approx(cut, abs=1e-9)


@pytest.mark.parametrize("bias", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("sigma", [0.1, 0.5])
def test_gradient_and_hessian_products_match_finite_differences(bias, sigma):
    rng = np.random.default_rng(1)
    objective = SmoothedCutObjective(random_problem(rng), 3, sigma=sigma)
    x, v = random_point(rng, objective, bias), rng.normal(size=objective.n_variables)
    step = 1e-5
    up, down = objective.value_and_grad(x + step * v), objective.value_and_grad(x - step * v)
    gradient = objective.value_and_grad(x)[1]
    # central differences: truncation step^2 |f'''| |v|^3 ~ 1e-7, rounding 1e-16/step ~ 1e-11
    assert (up[0] - down[0]) / (2 * step) == pytest.approx(gradient @ v, rel=1e-5, abs=1e-7)
    product = objective.hessp(x, v)
    np.testing.assert_allclose((up[1] - down[1]) / (2 * step), product, atol=2e-6 * (1 + np.abs(product).max()))


def test_hessian_product_is_symmetric_and_its_bias_block_is_the_sparse_matrix():
    rng = np.random.default_rng(2)
    objective = SmoothedCutObjective(random_problem(rng), 2)
    x = random_point(rng, objective)
    u, v = rng.normal(size=(2, objective.n_variables))
    assert u @ objective.hessp(x, v) == pytest.approx(v @ objective.hessp(x, u), rel=1e-10, abs=1e-10)
    W, b = objective.unpack(x)
    c = rng.normal(size=objective.n)
    product = objective.hessp(x, objective.pack(np.zeros_like(W), c))
    np.testing.assert_allclose(objective.unpack(product)[1], objective.hess_bb(W, b) @ c, atol=1e-12)


@pytest.mark.parametrize("bias", [0.0, 1.0, 5.0])
def test_stein_identity_holds_to_rounding(bias):
    rng = np.random.default_rng(3)
    objective = SmoothedCutObjective(random_problem(rng, n=30), 4)
    W, b = objective.unpack(random_point(rng, objective, bias))
    assert objective.stein_residual(W, b) < 1e-12
    gradient = objective.unpack(objective.value_and_grad(objective.pack(W, b))[1])[0]
    stein = objective.hess_bb(W, b) @ W + 2 * objective.lam * W
    np.testing.assert_allclose(gradient, stein, atol=1e-12)


def test_at_zero_weights_and_large_biases_the_value_is_the_cut():
    rng = np.random.default_rng(4)
    problem = random_problem(rng)
    objective = SmoothedCutObjective(problem, 2)
    b = rng.choice([-1.0, 1.0], problem.n) * rng.uniform(1.0, 5.0, problem.n)
    x = objective.pack(np.zeros((problem.n, 2)), b)
    assert objective.expected_cut(x) == pytest.approx(problem.cut_value(objective.signs(b)), abs=1e-12)
    assert not np.any(objective.value_and_grad(x)[1])


def test_lipschitz_constants_bound_what_is_seen():
    rng = np.random.default_rng(5)
    objective = SmoothedCutObjective(random_problem(rng, n=6), 1, sigma=0.5)
    gradient_lipschitz, hessian_lipschitz = objective.lipschitz_constants()
    for _ in range(20):
        x, v = random_point(rng, objective, 0.3) * 0.3, rng.normal(size=objective.n_variables)
        v /= np.linalg.norm(v)
        assert np.linalg.norm(objective.hessp(x, v)) <= gradient_lipschitz
        change = objective.hessp(x + 1e-4 * v, v) - objective.hessp(x, v)
        assert np.linalg.norm(change) / 1e-4 <= hessian_lipschitz


def test_weight_bound_bounds_the_weights():
    rng = np.random.default_rng(6)
    objective = SmoothedCutObjective(random_problem(rng), 2, lam=0.5)
    W, b = objective.unpack(random_point(rng, objective, 4.0) * 0.3)
    smallest = np.linalg.eigvalsh(objective.hess_bb(W, b).toarray())[0]
    if smallest + 1.0 > 0.0:
        assert np.linalg.norm(W) <= objective.weight_bound(W, b, smallest) * (1 + 1e-12)
    assert objective.weight_bound(W, b, -1.0) == math.inf


def test_bad_points_are_refused():
    objective = SmoothedCutObjective(MaxCutProblem.from_edges([0], [1]), 1)
    with pytest.raises(InputError, match="x must"):
        objective.value_and_grad(np.zeros(3))
    with pytest.raises(InputError, match="finite"):
        objective.value_and_grad(np.array([0.0, np.nan, 0.0, 0.0]))
    with pytest.raises(InputError, match="sigma"):
        SmoothedCutObjective(MaxCutProblem.from_edges([0], [1]), 1, sigma=0.0)
