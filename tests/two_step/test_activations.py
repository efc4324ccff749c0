import math
import pickle

import numpy as np
import pytest
from scipy.special import erf

from derand.exceptions import InputError, InputTypeError, NonConvergenceError
from derand.objectives.activations import ReLU, ScalarPolynomial
from derand.two_step import TwoStepActivation, as_activation, hermite_coefficients
from tests.two_step.reference import worst_hermite_error

_POINTS = np.array([-2.3, -0.4, 0.1, 0.7, 1.9])


def test_closed_forms():
    """abs: c_2k = sqrt(2/pi) (-1)^(k-1)/(2^k k! (2k-1)); erf: c_1 = 2/sqrt(3 pi)."""
    found = hermite_coefficients("abs", 8)
    exact = [math.sqrt(2 / math.pi) * (-1) ** (k + 1) / (2**k * math.factorial(k) * (2 * k - 1)) for k in range(5)]
    np.testing.assert_allclose(found[::2], exact, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found[1::2], 0.0, atol=1e-14)
    assert hermite_coefficients("erf", 1)[1] == pytest.approx(2 / math.sqrt(3 * math.pi), abs=1e-14)
    relu = hermite_coefficients("relu", 3)
    np.testing.assert_allclose(relu, [1 / math.sqrt(2 * math.pi), 0.5, 0.5 / math.sqrt(2 * math.pi), 0.0], atol=1e-14)


@pytest.mark.medium
def test_against_twenty_digits():
    assert worst_hermite_error(3, 20, ["tanh"]) <= 1e-13


@pytest.mark.slow
def test_against_forty_digits():
    assert worst_hermite_error(6) <= 1e-13


def test_undeclared_kink_at_zero_is_found_and_another_is_not():
    np.testing.assert_allclose(hermite_coefficients(np.abs, 4), hermite_coefficients("abs", 4), atol=1e-14)
    with pytest.raises(NonConvergenceError, match="kinks"):
        hermite_coefficients(lambda z: np.abs(z - 0.33), 4)
    shifted = hermite_coefficients(lambda z: np.abs(z - 0.33), 1, kinks=[0.33])
    assert shifted[1] == pytest.approx(-math.erf(0.33 / math.sqrt(2)), abs=1e-13)  # E of the derivative


@pytest.mark.parametrize("name", ["tanh", "erf", "gelu", (0.0, 1.0, 0.5, -0.3, 0.1)])
def test_derivatives_against_differences(name):
    activation = as_activation(name)
    h = 1e-5
    for order in range(5):
        slope = (activation.derivative(_POINTS + h, order) - activation.derivative(_POINTS - h, order)) / (2 * h)
        np.testing.assert_allclose(activation.derivative(_POINTS, order + 1), slope, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", ["tanh", "erf", "gelu"])
def test_means_of_derivatives_are_coefficients(name):
    """E[sigma^(k)] = k! c_k."""
    from derand.two_step.rule import normal_rule

    activation = as_activation(name)
    z, weights = normal_rule()
    for k, c in enumerate(activation.coefficients(6)):
        assert weights @ activation.derivative(z, k) == pytest.approx(math.factorial(k) * c, abs=1e-12)


def test_polynomials():
    activation = as_activation([0.0, 1.0, 0.5, 0.0])
    assert activation.degree == 2
    np.testing.assert_array_equal(activation.coefficients(4), [0.0, 1.0, 0.5, 0.0, 0.0])
    np.testing.assert_allclose(activation(_POINTS), _POINTS + 0.5 * (_POINTS**2 - 1))
    assert np.all(activation.derivative(_POINTS, 3) == 0.0)
    assert activation(np.float32(2.0)).dtype == np.float32
    assert as_activation([0.0]).degree == 0


def test_other_sources():
    assert as_activation(activation := as_activation("tanh")) is activation
    relu = as_activation(ReLU())
    np.testing.assert_array_equal(relu(_POINTS), np.maximum(_POINTS, 0))
    assert (relu.kinks, relu.max_order) == ((0.0,), 1)
    cubic = as_activation(ScalarPolynomial([0.0, 0.0, 0.0, 1.0]))
    np.testing.assert_allclose(cubic.coefficients(3), [0.0, 3.0, 0.0, 1.0], atol=1e-13)
    pair = as_activation((np.sin, np.cos))
    np.testing.assert_allclose(pair.derivative(_POINTS), np.cos(_POINTS))
    assert isinstance(pair, TwoStepActivation)
    for name, exact in (("relu", np.maximum(_POINTS, 0)), ("abs", np.abs(_POINTS)), ("erf", erf(_POINTS))):
        np.testing.assert_allclose(as_activation(name)(_POINTS), exact)


def test_relu_slope_at_the_kink():
    assert as_activation("relu").derivative(np.array([-1.0, 0.0, 1.0])).tolist() == [0.0, 0.5, 1.0]
    assert as_activation("abs").derivative(np.array([-1.0, 0.0, 1.0])).tolist() == [-1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ("softsign", InputError, "one of"),
        (np.tanh, InputTypeError, "derivative"),
        (3.0, InputTypeError, "derivative"),
        ([], InputError, "at least one"),
        ([math.inf], InputError, "finite"),
    ],
)
def test_bad_activations(given, error, match):
    with pytest.raises(error, match=match):
        as_activation(given)


def test_missing_derivative():
    with pytest.raises(InputError, match="no derivative of order 2"):
        as_activation("relu").derivative(_POINTS, 2)
    with pytest.raises(InputError, match="degree"):
        hermite_coefficients("relu", -1)


@pytest.mark.parametrize("source", [(0.0, 1.0, 0.5), "gelu", ReLU(), ScalarPolynomial([0.0, 1.0]), (np.sin, np.cos)])
def test_activations_can_be_sent_to_other_processes(source):
    activation = as_activation(source)
    again = pickle.loads(pickle.dumps(activation))
    np.testing.assert_array_equal(again.derivative(_POINTS), activation.derivative(_POINTS))
    np.testing.assert_array_equal(again.coefficients(3), activation.coefficients(3))


def test_high_degrees_do_not_overflow():
    series = as_activation("tanh").coefficients(500)
    assert np.all(np.isfinite(series))
    assert series[499] == pytest.approx(0.0, abs=1e-300)
