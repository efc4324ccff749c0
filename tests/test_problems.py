"""The problems hold what they promise: derivatives, saddles and minima against independent computations.

Complex steps have no cancellation, so the analytic derivatives must agree to a few hundred roundings of the sums;
central differences with step 1e-5 lose 1e-10 to truncation and 1e-11 to rounding, both relative to third derivatives
and values of order 1e0 to 1e3.
"""

import numpy as np
import pytest
from scipy import integrate, optimize

from tests.problems import PROBLEM_NAMES, make_problem
from tests.problems_base import Objective, polish
from tests.problems_wells import Octopus, cosine_well, quartic_well

_STEP = 1e-40
_PROBLEMS = {name: make_problem(name) for name in PROBLEM_NAMES}


def _points(problem):
    """Return a random start, a point between it and the saddle, and a far point."""
    saddle, random = problem.starts["saddle"], problem.starts["random"]
    return random, 0.6 * saddle + 0.4 * random, 2.0 * random - saddle


@pytest.mark.parametrize("name", PROBLEM_NAMES)
def test_gradient_is_complex_step_of_value(name):
    problem = _PROBLEMS[name]
    directions = np.random.default_rng(0).standard_normal((3, problem.n))
    for x, v in zip(_points(problem), directions, strict=True):
        value, gradient = problem.fun(x)
        slope = np.imag(problem.fun(x + 1j * _STEP * v)[0]) / _STEP
        assert gradient.shape == (problem.n,)
        assert np.isrealobj(gradient)
        scale = np.abs(gradient) @ np.abs(v) + abs(value)
        assert abs(slope - gradient @ v) <= 1e-13 * scale


@pytest.mark.parametrize("name", PROBLEM_NAMES)
def test_product_is_complex_step_of_gradient(name):
    problem = _PROBLEMS[name]
    directions = np.random.default_rng(1).standard_normal((3, problem.n))
    for x, v in zip(_points(problem), directions, strict=True):
        product = problem.hessp(x, v)
        change = np.imag(problem.fun(x + 1j * _STEP * v)[1]) / _STEP
        assert product.shape == (problem.n,)
        np.testing.assert_allclose(product, change, rtol=0.0, atol=1e-13 * np.linalg.norm(product) + 1e-13)


@pytest.mark.parametrize("name", PROBLEM_NAMES)
def test_real_differences_agree(name):
    """Guards against a complex branch that differs from the real one."""
    problem = _PROBLEMS[name]
    x = problem.starts["random"]
    v = np.random.default_rng(2).standard_normal(problem.n)
    v /= np.linalg.norm(v)
    (up, gradient_up), (down, gradient_down) = problem.fun(x + 1e-5 * v), problem.fun(x - 1e-5 * v)
    value, gradient = problem.fun(x)
    assert (up - down) / 2e-5 == pytest.approx(gradient @ v, abs=1e-8 * (1.0 + abs(value)))
    product = problem.hessp(x, v)
    error = np.linalg.norm((gradient_up - gradient_down) / 2e-5 - product)
    assert error <= 1e-8 * (1.0 + np.linalg.norm(gradient) + np.linalg.norm(product))


@pytest.mark.parametrize("name", PROBLEM_NAMES)
def test_dense_hessian_is_symmetric_and_complete(name):
    """The raw products already form a symmetric matrix; symmetrising must not hide a wrong one."""
    problem = _PROBLEMS[name]
    x = problem.starts["near_saddle"]
    hessian = problem.hess(x)
    columns = np.random.default_rng(3).choice(problem.n, size=min(problem.n, 8), replace=False)
    scale = np.abs(hessian).max() + 1e-3
    for j in columns:
        e = np.eye(1, problem.n, j).ravel()
        np.testing.assert_allclose(
            hessian[:, j], np.imag(problem.fun(x + 1j * _STEP * e)[1]) / _STEP, rtol=0.0, atol=1e-12 * scale
        )


@pytest.mark.parametrize("name", PROBLEM_NAMES)
def test_saddle_is_stationary_and_strict(name):
    problem = _PROBLEMS[name]
    saddle = problem.starts["saddle"]
    lowest = np.linalg.eigvalsh(problem.hess(saddle))[0]
    assert np.linalg.norm(problem.fun(saddle)[1]) <= 1e-12
    assert lowest < -10.0 * problem.curv_tol if problem.strict else lowest >= -1e-14
    assert np.linalg.norm(problem.starts["near_saddle"] - saddle) < 2e-3 * np.sqrt(problem.n) + 1e-3


@pytest.mark.parametrize("name", [n for n in PROBLEM_NAMES if _PROBLEMS[n].minimizer is not None])
def test_minimizer_attains_the_minimum(name):
    problem = _PROBLEMS[name]
    value, gradient = problem.fun(problem.minimizer)
    eigenvalues = np.linalg.eigvalsh(problem.hess(problem.minimizer))
    assert value == pytest.approx(problem.minimum, abs=1e-12 * (1.0 + abs(problem.minimum)))
    assert np.linalg.norm(gradient) <= 1e-11
    assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]


@pytest.mark.parametrize("name", [n for n in PROBLEM_NAMES if _PROBLEMS[n].minimum is not None])
def test_descent_never_passes_the_minimum(name):
    """Brute force: no descent from a handful of starts gets below the value that is called the minimum."""
    problem = _PROBLEMS[name]
    rng = np.random.default_rng(4)
    starts = [problem.starts["random"], problem.starts["near_saddle"], *rng.standard_normal((3, problem.n))]
    values = [
        optimize.minimize(problem.fun, x, jac=True, method="L-BFGS-B", options={"maxiter": 300}).fun for x in starts
    ]
    assert min(values) >= problem.minimum - 1e-10 * (1.0 + abs(problem.minimum))


@pytest.mark.parametrize("name", [n for n in PROBLEM_NAMES if _PROBLEMS[n].benign])
def test_benign_problems_descend_to_the_minimum(name):
    problem = _PROBLEMS[name]
    result = optimize.minimize(problem.fun, problem.starts["random"], jac=True, method="BFGS", options={"gtol": 1e-7})
    assert result.fun == pytest.approx(problem.minimum, abs=1e-6)


@pytest.mark.parametrize("name", [n for n in PROBLEM_NAMES if _PROBLEMS[n].hess_lip is not None])
def test_lipschitz_constants_hold(name):
    """On random pairs, near and far."""
    problem = _PROBLEMS[name]
    rng = np.random.default_rng(5)
    for scale in (1e-2, 0.3, 3.0):
        for centre in (problem.starts["saddle"], problem.starts["random"]):
            x = centre + scale * rng.standard_normal(problem.n)
            y = centre + scale * rng.standard_normal(problem.n)
            first, second = problem.hess(x), problem.hess(y)
            assert np.linalg.norm(first - second, 2) <= problem.hess_lip * np.linalg.norm(x - y)
            if problem.grad_lip is not None:
                assert np.linalg.norm(first, 2) <= problem.grad_lip * (1.0 + 1e-12)


def test_halves_are_spread_over_sizes():
    problems = list(_PROBLEMS.values())
    for half, count in ((True, 16), (False, 15)):
        sizes = [p.n for p in problems if p.tuned is half]
        assert len(sizes) == count
        assert min(sizes) == 2
        assert 40 <= np.median(sizes) <= 100
        assert max(sizes) >= 600
    assert len(set(PROBLEM_NAMES)) == len(problems) == 31


def test_plateau_of_teacher_and_student_has_its_spectrum():
    """8 ways down of curvature -1/2, and the positive and zero counts of the closed form for N = 15."""
    problem = _PROBLEMS["teacher_student_plateau"]
    values = np.linalg.eigvalsh(problem.hess(problem.starts["saddle"]))
    np.testing.assert_allclose(values[:8], -0.5, rtol=1e-12)
    assert (np.sum(values > 1e-12), np.sum(np.abs(values) <= 1e-12)) == (10, 42)


@pytest.mark.parametrize("name", PROBLEM_NAMES)
def test_same_name_same_numbers(name):
    first, second = _PROBLEMS[name], make_problem(name)
    for start, x in first.starts.items():
        np.testing.assert_array_equal(x, second.starts[start])
        assert first.fun(x)[0] == second.fun(x)[0]


@pytest.mark.parametrize(
    ("well", "function"), [(quartic_well, lambda z: (z * z - 1.0) ** 2 / 4.0), (cosine_well, lambda z: -np.cos(z))]
)
def test_smoothed_wells_are_gaussian_expectations(well, function):
    for b, s in ((0.3, 0.5), (-1.2, 2.0)):
        weighted = lambda z, b=b, s=s: function(z) * np.exp(-0.5 * (z - b) ** 2 / s) / np.sqrt(2.0 * np.pi * s)  # noqa: E731
        expected = integrate.quad(weighted, b - 14.0 * s**0.5, b + 14.0 * s**0.5, epsabs=1e-12, limit=200)[0]
        assert well(np.array([b]), np.array([s]))[0][0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("L", "gamma", "tau"), [(1.0, 1.0, 1.0), (1.5, 0.5, 0.7)])
def test_octopus_follows_the_paper_on_its_path(L, gamma, tau):
    """f_{i,1}, f_{i,2} and f_{d+1} of Du et al. for d = 4, with the joint g_1 written in an independent way."""
    octopus = Octopus(4, L, gamma, tau)
    slope = _hermite_cubic(tau, (-2 * gamma * tau, -2 * gamma), (-4 * L * tau, 2 * L))

    def g1(x):
        return -gamma * tau**2 + integrate.quad(slope, tau, x, epsabs=1e-13)[0]

    nu = 4.0 * L * tau**2 - g1(2.0 * tau)
    well = lambda x: L * (x - 4.0 * tau) ** 2  # noqa: E731
    assert octopus.nu == pytest.approx(nu, rel=1e-12)
    x = np.array([3.1, 0.4, 0.8, 0.1]) * tau
    assert octopus.value_and_grad(x)[0] == pytest.approx(
        well(x[0]) - gamma * x[1] ** 2 + L * (x[2] ** 2 + x[3] ** 2) - nu, rel=1e-12
    )
    x = np.array([5.0, 1.3, 0.6, 0.2]) * tau
    step = 0.3**3 * (10.0 - 15.0 * 0.3 + 6.0 * 0.3**2)
    g2 = L - (L + gamma) * step
    assert octopus.value_and_grad(x)[0] == pytest.approx(
        well(x[0]) + g1(x[1]) + g2 * x[2] ** 2 + L * x[3] ** 2 - nu, rel=1e-11
    )
    x = np.array([5.0, 2.3, 3.0, 4.4]) * tau
    assert octopus.value_and_grad(x)[0] == pytest.approx(sum(well(t) for t in x) - 4.0 * nu, rel=1e-12)


def _hermite_cubic(tau, left, right):
    """Return the cubic on [tau, 2 tau] with the given (value, slope) at both ends, by solving for its coefficients."""
    rows = [f(x) for x in (tau, 2 * tau) for f in (lambda x: [1, x, x**2, x**3], lambda x: [0, 1, 2 * x, 3 * x**2])]
    coefficients = np.linalg.solve(np.array(rows), np.array([*left, *right]))
    return lambda x: float(np.polynomial.polynomial.polyval(x, coefficients))


@pytest.mark.parametrize("edge", [0.0, 1.0, 2.0])
def test_octopus_is_twice_continuously_differentiable(edge):
    """The Hessian jumps by no more than third derivative times step across the seams and the mirror."""
    octopus = Octopus(3, 1.0, 1.0, 1.0)
    for j in range(3):
        x = np.array([1.4, 1.7, 0.9])
        left, right = x.copy(), x.copy()
        left[j], right[j] = edge - 1e-7, edge + 1e-7
        assert np.abs(octopus.hess(right) - octopus.hess(left)).max() <= 1e-4
        assert np.abs(octopus.value_and_grad(right)[1] - octopus.value_and_grad(left)[1]).max() <= 1e-4


def test_polish_finds_the_saddle_of_the_asked_index():
    class Pass(Objective):
        """(x^2 - 1)^2 + y^2: minima at +-1, a pass of index one at 0."""

        n = 2

        def value_and_grad(self, x):
            return (x[0] ** 2 - 1) ** 2 + x[1] ** 2, np.array([4 * x[0] * (x[0] ** 2 - 1), 2 * x[1]])

        def hessp(self, x, v):
            return np.array([(12 * x[0] ** 2 - 4) * v[0], 2 * v[1]])

    np.testing.assert_allclose(polish(Pass(), np.array([0.4, 0.7]), index=1), [0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(polish(Pass(), np.array([0.9, 0.7])), [1.0, 0.0], atol=1e-12)
