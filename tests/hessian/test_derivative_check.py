"""Tests of check_gradient and check_hessian: right derivatives pass, planted mistakes are named."""

import numpy as np
import pytest

from derand.exceptions import DerivativeError, InputError, InputTypeError
from derand.hessian.derivative_check import check_gradient, check_hessian


def net(n, seed=0, *, size=1.0, height=1.0):
    """Return a smooth coupled function of x / size times height, its Hessian product, and a point of the right size."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((n + 3, n)) / np.sqrt(n)
    c = rng.uniform(0.5, 2.0, n + 3)

    def fun(x):
        z = W @ (x / size)
        return height * float(c @ np.log(np.cosh(z))), height / size * (W.T @ (c * np.tanh(z)))

    def hessp(x, v):
        z = W @ (x / size)
        return height / size**2 * (W.T @ (c / np.cosh(z) ** 2 * (W @ v)))

    return fun, hessp, size * rng.standard_normal(n)


@pytest.mark.parametrize("size", [1e-10, 1.0, 1e10])
@pytest.mark.parametrize("height", [1e-10, 1.0, 1e10])
def test_right_derivatives_pass_at_any_scale(size, height):
    fun, hessp, x = net(5, size=size, height=height)
    gradient = check_gradient(fun, x)
    assert gradient.is_consistent
    assert gradient.undetermined == gradient.kinks == ()
    assert gradient.slope == pytest.approx(2.0, abs=0.2)
    gradient.raise_if_wrong()
    hessian = check_hessian(fun, hessp, x)
    assert hessian.is_consistent
    assert hessian.undetermined == hessian.kinks == ()
    hessian.raise_if_wrong()


@pytest.mark.parametrize("size", [1e-10, 1.0, 1e10])
@pytest.mark.parametrize("height", [1e-10, 1.0, 1e10])
@pytest.mark.parametrize("factor", [1.001, -1.0, 0.0])
def test_wrong_coordinate_is_named_at_any_scale(size, height, factor):
    fun, hessp, x = net(5, size=size, height=height)
    factors = np.array([1.0, 1.0, 1.0, factor, 1.0])
    found = check_gradient(lambda y: (fun(y)[0], factors * fun(y)[1]), x)
    assert found.wrong == (3,)
    assert found.wrong_block == (3, 4)
    assert found.slope == pytest.approx(1.0, abs=0.1)
    assert "in 1 place, coordinate 3:" in found.message
    with pytest.raises(DerivativeError, match="wrong") as caught:
        found.raise_if_wrong()
    assert caught.value.partial is found
    rows = check_hessian(fun, lambda y, v: factors * hessp(y, v), x)
    assert rows.wrong_rows == (3,)
    assert not rows.is_consistent


def test_variables_of_mixed_scales():
    sizes = 10.0 ** np.arange(-10, 11, 4.0)
    inner, _, z = net(6)

    def fun(x):
        value, gradient = inner(x / sizes)
        return value, gradient / sizes

    assert check_gradient(fun, sizes * z).is_consistent
    for i in range(6):
        bad = np.ones(6)
        bad[i] = 1.01
        assert check_gradient(lambda y, bad=bad: (fun(y)[0], bad * fun(y)[1]), sizes * z).wrong == (i,)


def _random_trials(n_trials, seed):
    """Return the numbers of false alarms and of missed mistakes over random functions, scales and places."""
    rng = np.random.default_rng(seed)
    alarms = misses = 0
    for _ in range(n_trials):
        size, height = 10.0 ** rng.uniform(-10, 10, 2)
        fun, _, x = net(3, int(rng.integers(10**9)), size=size, height=height)
        alarms += not check_gradient(fun, x).is_consistent
        i = int(rng.integers(3))
        bad = np.ones(3)
        bad[i] += rng.choice([-1, 1]) * 10.0 ** rng.uniform(-3.5, 1)
        misses += check_gradient(lambda y, fun=fun, bad=bad: (fun(y)[0], bad * fun(y)[1]), x).wrong != (i,)
    return alarms, misses


def test_random_functions():
    assert _random_trials(40, 0) == (0, 0)


@pytest.mark.slow
def test_random_functions_often():
    assert _random_trials(1000, 1) == (0, 0)


def test_point_at_the_origin():
    fun, hessp, _ = net(4)
    assert check_gradient(fun, np.zeros(4)).is_consistent
    assert check_hessian(fun, hessp, np.zeros(4)).is_consistent
    shifted = lambda y: (fun(y)[0] + y[2], fun(y)[1])  # noqa: E731
    assert check_gradient(shifted, np.zeros(4)).wrong == (2,)


def test_relu_kink_is_reported_and_any_subgradient_accepted():
    def fun(x, slope=0.0):
        return max(x[0], 0.0) + x[1] ** 2, np.array([1.0 if x[0] > 0 else slope if x[0] == 0 else 0.0, 2 * x[1]])

    found = check_gradient(fun, [0.0, 1.0])
    assert (found.is_consistent, found.kinks) == (True, (0,))
    assert "kink" in found.message
    assert check_gradient(lambda x: fun(x, 0.5), [0.0, 1.0]).is_consistent
    assert check_gradient(lambda x: fun(x, 1.5), [0.0, 1.0]).wrong == (0,)
    assert check_gradient(fun, [1.0, 1.0]).kinks == ()
    hessian = check_hessian(fun, lambda x, v: np.array([0.0, 2 * v[1]]), [0.0, 1.0])
    assert hessian.kinks == (0,)
    assert "jumps" in hessian.message


@pytest.mark.parametrize("planted", [(), (17,), (0, 499), (100, 101, 102)])
def test_bisection_in_many_variables(planted):
    fun, _, x = net(500)
    bad = np.ones(500)
    bad[list(planted)] = -2.0
    found = check_gradient(lambda y: (fun(y)[0], bad * fun(y)[1]), x)
    assert found.wrong == planted
    if planted:
        assert found.wrong_block == (planted[0], planted[-1] + 1)
    assert found.n_evaluations < 3000


def test_many_wrong_coordinates_stop_at_ten():
    fun, _, x = net(300)
    found = check_gradient(lambda y: (fun(y)[0], -fun(y)[1]), x)
    assert len(found.wrong) == 10
    assert "at least 10" in found.message


def test_float32():
    fun, _, x = net(4)
    single = lambda y: (np.float32(fun(y)[0]), fun(y)[1].astype(np.float32))  # noqa: E731
    assert check_gradient(single, x.astype(np.float32)).is_consistent
    bad = lambda y: (single(y)[0], single(y)[1] * np.array([1, 1, 2, 1], dtype=np.float32))  # noqa: E731
    assert check_gradient(bad, x.astype(np.float32)).wrong == (2,)


@pytest.mark.parametrize("x", [1.0, 1e-17, 0.0])
def test_noise_is_undetermined_and_not_wrong(x):
    """1 + 1e-14 sin: the derivative is below rounding at every useful step, so the check must say that it can't
    tell."""
    found = check_gradient(lambda y: (1.0 + 1e-14 * np.sin(y[0]), 1e-14 * np.cos(y)), [x])
    assert found.is_consistent
    assert found.undetermined == (0,)


@pytest.mark.parametrize("x", [1.0, 30.0, 1e-17])
def test_flat_tails_do_not_pass_for_a_zero_derivative(x):
    """1 / (1 + x^2) plus noise of 1e-9: far away all differences agree on zero."""
    rng = np.random.default_rng(0)
    fun = lambda y: (1 / (1 + y[0] ** 2) + 1e-9 * rng.uniform(-1, 1), -2 * y / (1 + y**2) ** 2)  # noqa: E731
    assert check_gradient(fun, [x]).is_consistent


def test_hessian_entries_and_block_are_named():
    fun, hessp, x = net(6)

    def wrong(y, v):
        out = hessp(y, v)
        out[1:3] += 0.1 * np.sum(v[4:6])
        return out

    found = check_hessian(fun, wrong, x)
    assert found.wrong == ((1, 4), (1, 5), (2, 4), (2, 5))
    assert (found.wrong_rows, found.wrong_columns) == ((1, 2), (4, 5))
    assert found.symmetry_error > 1e-3
    assert "isn't symmetric" in found.message


def test_hessian_in_many_variables_names_rows():
    fun, hessp, x = net(200)
    assert check_hessian(fun, hessp, x).is_consistent

    def wrong(y, v):
        out = hessp(y, v)
        out[[7, 150]] *= 1.1
        return out

    found = check_hessian(fun, wrong, x)
    assert found.wrong == ((7, -1), (150, -1))
    assert found.wrong_columns == ()


def test_gradient_that_is_not_a_gradient_shows_as_asymmetry():
    """A rotation field has the exact Jacobian J, J' = -J: differences agree with it, symmetry doesn't."""
    J = np.array([[0.0, 1.0], [-1.0, 0.0]])
    found = check_hessian(lambda x: (0.0, J @ x), lambda x, v: J @ v, [1.0, 2.0])
    assert found.wrong == ()
    assert not found.is_consistent


def test_same_seed_same_answer():
    fun, _, x = net(150)
    assert check_gradient(fun, x, rng=3) == check_gradient(fun, x, rng=3)


def test_bad_input():
    fun, hessp, x = net(3)
    with pytest.raises(InputError, match="x must"):
        check_gradient(fun, np.full(3, np.nan))
    with pytest.raises(InputError, match="x must not be empty"):
        check_gradient(fun, [])
    with pytest.raises(InputError, match="max_coordinates"):
        check_gradient(fun, x, max_coordinates=-1)
    with pytest.raises(InputTypeError, match="hessp"):
        check_hessian(fun, None if hessp is None else 3, x)
    with pytest.raises(InputError, match="rtol"):
        check_hessian(fun, hessp, x, rtol=1.0)
