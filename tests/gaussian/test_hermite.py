import math

import array_api_strict
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erf, eval_hermitenorm, ndtr

from derand.exceptions import InputError, InputTypeError, NonConvergenceError
from derand.gaussian.hermite import hermite_coefficients, hermite_expansion, hermite_polynomials
from derand.gaussian.quadrature import gauss_hermite


def exact_polynomial(degree, z):
    before, current = mp.mpf(0), mp.mpf(1)
    for j in range(degree):
        before, current = current, (z * current - mp.sqrt(j) * before) / mp.sqrt(j + 1)
    return current


def exact_coefficient(f, degree):
    with mp.workdps(25):
        ends = [-14, -8, -4, -2, -1, 0, 1, 2, 4, 8, 14]
        return float(mp.quad(lambda z: f(z) * exact_polynomial(degree, z) * mp.npdf(z), ends))


FUNCTIONS = {
    "relu": (lambda z: np.maximum(z, 0.0), lambda z: max(z, mp.mpf(0)), (0.0,)),
    "abs": (np.abs, abs, (0.0,)),
    "tanh": (np.tanh, mp.tanh, ()),
    "erf": (erf, mp.erf, ()),
    "gelu": (lambda z: z * ndtr(z), lambda z: z * mp.ncdf(z), ()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 8, *(pytest.param(n, marks=pytest.mark.medium) for n in (13, 30))])
def test_activations_against_mpmath(name, degree):
    f, exact, kinks = FUNCTIONS[name]
    assert abs(hermite_coefficients(f, degree, kinks=kinks)[degree] - exact_coefficient(exact, degree)) <= 1e-13


def test_absolute_value_in_closed_form():
    """c_{2m} = sqrt(2/pi) (-1)^(m+1) (2m-3)!! / sqrt((2m)!), with logarithms for the large degrees."""
    expansion = hermite_expansion(np.abs, 1000, kinks=[0.0])
    m = np.arange(2, 501)
    log_odd = np.array([math.lgamma(2 * j - 1) - (j - 1) * math.log(2) - math.lgamma(j) for j in m])  # (2j - 3)!!
    log_root = 0.5 * np.array([math.lgamma(2 * j + 1) for j in m])
    exact = math.sqrt(2 / math.pi) * np.where(m % 2, 1.0, -1.0) * np.exp(log_odd - log_root)
    # lgamma at 1000 is 6000, so that the closed form itself has relative error 1e-12; the coefficients are below 0.25
    assert np.max(np.abs(expansion.coefficients[4::2] - exact)) <= 1e-13
    assert np.max(np.abs(expansion.coefficients[1::2])) <= 1e-13
    assert abs(expansion.norm**2 - 1.0) <= 1e-14


@given(st.floats(-3.0, 3.0))
def test_exponential(a):
    """E[exp(a z) h_k] = exp(a^2/2) a^k / sqrt(k!)."""
    expansion = hermite_expansion(lambda z: np.exp(a * z), 12)
    k = np.arange(13)
    exact = math.exp(a * a / 2) * a**k / np.sqrt([math.factorial(j) for j in k])
    assert np.all(np.abs(expansion.coefficients - exact) <= 2e-14 * math.exp(a * a))
    assert math.isclose(expansion.norm**2, math.exp(2 * a * a), rel_tol=1e-13)


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=30))
def test_expansion_of_an_expansion_is_itself(coefficients):
    chosen = np.array(coefficients)
    f = lambda z: np.tensordot(chosen, hermite_polynomials(z, chosen.size - 1), 1)  # noqa: E731
    expansion = hermite_expansion(f, chosen.size + 2, tol=1e-11)
    assert np.max(np.abs(expansion.coefficients - np.r_[chosen, 0, 0, 0])) <= 1e-12 * max(1.0, np.linalg.norm(chosen))
    assert expansion.tail <= 1e-6 * max(1.0, np.linalg.norm(chosen))  # root of a cancellation at rounding level
    points = np.linspace(-2, 2, 7)
    assert np.allclose(expansion(points), f(points), rtol=0, atol=1e-10 * max(1.0, np.linalg.norm(chosen)))


def test_functions_below_the_smallest_normal_number_are_expanded():
    expansion = hermite_expansion(lambda z: np.full(z.shape, 2.2250738585e-313), 3, tol=1e-11)
    assert abs(expansion.coefficients[0] - 2.2250738585e-313) <= expansion.error[0] < 1e-317


def test_error_estimates_cover_the_errors():
    for slope in (1.0, 5.0, 20.0):
        coarse = hermite_expansion(lambda z, s=slope: np.tanh(s * z), 9, n_nodes=1200, tol=1.0)
        fine = hermite_expansion(lambda z, s=slope: np.tanh(s * z), 9)
        assert np.all(np.abs(coarse.coefficients - fine.coefficients) <= coarse.error + fine.error)


def test_steep_functions_are_refined():
    plain, steep = (hermite_expansion(lambda z, s=s: np.tanh(s * z), 3) for s in (1.0, 100.0))
    assert steep.n_nodes > plain.n_nodes
    assert np.all(steep.error <= 1e-12)


def test_undeclared_jump_is_refused_with_the_best_so_far():
    with pytest.raises(NonConvergenceError, match="kinks") as caught:
        hermite_coefficients(lambda z: np.sign(z - 0.3), 4)
    partial = caught.value.partial
    declared = hermite_expansion(lambda z: np.sign(z - 0.3), 4, kinks=[0.3])
    assert np.all(np.abs(partial.coefficients - declared.coefficients) <= 10 * partial.error)
    assert abs(declared.coefficients[0] - (1 - 2 * ndtr(0.3))) <= 1e-14


@pytest.mark.parametrize("rate", [0.25, 0.3, 0.49, 0.5, 2.0])
def test_infinite_second_moment_is_refused(rate):
    with pytest.raises(InputError, match="grow"):
        hermite_coefficients(lambda z: np.exp(rate * np.minimum(z * z, 1400.0) if rate == 2.0 else rate * z * z), 3)


def test_fast_but_square_integrable_growth_is_accepted():
    """E[exp(r z^2)] = (1 - 2 r)^(-1/2)."""
    expansion = hermite_expansion(lambda z: np.exp(0.2 * z * z), 2)
    assert math.isclose(expansion.coefficients[0], 0.6**-0.5, rel_tol=1e-13)
    assert math.isclose(expansion.norm**2, 0.2**-0.5, rel_tol=1e-13)


@pytest.mark.parametrize(
    ("f", "options", "exception", "name"),
    [
        (np.tanh, {"kinks": [np.nan]}, InputError, "kinks"),
        (np.tanh, {"kinks": [[0.0]]}, InputError, "kinks"),
        (np.tanh, {"n_nodes": 1}, InputError, "n_nodes"),
        (np.tanh, {"tol": -1.0}, InputError, "tol"),
        (lambda z: 1.0, {}, InputError, "f must return shape"),
        (lambda z: np.where(z > 0, np.nan, 0.0), {}, InputError, "f must be finite"),
    ],
)
def test_bad_input(f, options, exception, name):
    with pytest.raises(exception, match=name):
        hermite_coefficients(f, 3, **options)


@pytest.mark.parametrize(("degree", "exception"), [(-1, InputError), (2001, InputError), (1.5, InputTypeError)])
def test_bad_degree(degree, exception):
    with pytest.raises(exception, match="degree"):
        hermite_coefficients(np.tanh, degree)
    with pytest.raises(exception, match="degree"):
        hermite_polynomials(0.0, degree)


def test_the_zero_function_has_zero_coefficients():
    expansion = hermite_expansion(np.zeros_like, 5)
    assert np.all(expansion.coefficients == 0.0)


@pytest.mark.parametrize("z", [0.0, 0.3, -2.5, 11.0, 40.0])
def test_polynomials_against_mpmath(z):
    values = hermite_polynomials(np.array([z]), 1000)[:, 0]
    with mp.workdps(40):
        before, current = mp.mpf(0), mp.mpf(1)
        scale = 1.0  # the local amplitude: near a zero only the error relative to it is small
        for k in range(1001):
            if k in {0, 1, 2, 10, 100, 999, 1000}:
                scale = max(float(abs(current)), float(abs(before)))
                assert abs(mp.mpf(float(values[k])) - current) <= 2e-15 * (k + 1) * scale
            before, current = current, (z * current - mp.sqrt(k) * before) / mp.sqrt(k + 1)


def test_polynomials_are_orthonormal():
    nodes, weights = gauss_hermite(1001)
    used = weights > 0.0  # nodes beyond 37.6, where the polynomials of degree 300 have long since decayed
    values = hermite_polynomials(nodes[used], 300) * np.sqrt(weights[used])
    assert np.max(np.abs(values @ values.T - np.eye(301))) <= 1e-12


def test_polynomials_agree_with_scipy():
    x = np.linspace(-5, 5, 11)
    values = hermite_polynomials(x, 20)
    for k in range(21):
        assert np.allclose(values[k], eval_hermitenorm(k, x) / math.sqrt(math.factorial(k)), rtol=1e-11, atol=1e-12)


def test_polynomials_of_another_array_library():
    x = np.linspace(-4, 4, 12).reshape(3, 4)
    values = hermite_polynomials(array_api_strict.asarray(x), 50)
    assert isinstance(values, type(array_api_strict.asarray(x)))
    assert np.array_equal(np.asarray(values), hermite_polynomials(x, 50))


@pytest.mark.parametrize("x", [np.nan, np.inf, [0.0, 1e200]])
def test_polynomials_refuse_bad_points(x):
    with pytest.raises(InputError, match="x "):
        hermite_polynomials(x, 1000)
    with pytest.raises(InputError, match="x"):
        hermite_polynomials(array_api_strict.asarray(x), 1000)


def test_overflow_is_refused():
    with pytest.raises(InputError, match="overflows"):
        hermite_polynomials(200.0, 1000)
