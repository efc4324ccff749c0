import array_api_strict
import numpy as np
import pytest

from derand.exceptions import InputError
from derand.objectives import Cosine, Exponential, ProbitSign, ReLU, RidgeSum, ScalarPolynomial, Softplus
from derand.objectives.ridge import LinearForms
from tests.objectives.reference import (
    assert_expectation,
    assert_expectation_derivative,
    assert_pointwise_derivatives,
    assert_same_numbers,
)

ACTIVATIONS = {
    "exp": Exponential(),
    "cos": Cosine(),
    "probit": ProbitSign(1.5),
    "softplus": Softplus(0.8),
    "poly": ScalarPolynomial([1.0, -1.0, 0.5, 0.3]),
}


def make(activation, rng, *, with_forms=True):
    if not with_forms:
        return RidgeSum(activation, 3)
    forms, offsets = 0.4 * rng.standard_normal((4, 3)), rng.standard_normal(4)
    return RidgeSum(activation, 3, forms=forms, offsets=offsets, coefficients=rng.standard_normal(4))


@pytest.mark.parametrize("with_forms", [True, False])
@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_closed_form_against_quadrature(name, with_forms):
    rng = np.random.default_rng(1)
    ridge = make(ACTIVATIONS[name], rng, with_forms=with_forms)
    mean, factor = 0.5 * rng.standard_normal(3), 0.4 * rng.standard_normal((3, 2))
    # 80 nodes a dimension integrate functions this smooth to rounding; 1e-12 leaves room for 6400 roundings.
    assert_expectation(ridge, mean, factor, n=80)
    assert_expectation_derivative(ridge, mean, factor, rng)
    assert_pointwise_derivatives(ridge, rng.standard_normal((6, 3)), rng)


def test_relu_closed_form_derivatives():
    rng = np.random.default_rng(2)
    ridge = make(ReLU(), rng)
    mean, factor = rng.standard_normal(3), rng.standard_normal((3, 3))
    assert_expectation_derivative(ridge, mean, factor, rng)


@pytest.mark.parametrize("name", [*sorted(ACTIVATIONS), "relu"])
def test_array_api(name):
    rng = np.random.default_rng(3)
    ridge = make(ACTIVATIONS.get(name, ReLU()), rng)
    assert_same_numbers(ridge, rng.standard_normal((5, 3)), rng.standard_normal((5, 3)), array_api_strict)


def test_torch_gives_the_same_numbers():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    for activation in (*ACTIVATIONS.values(), ReLU()):
        assert_same_numbers(make(activation, rng), rng.standard_normal((5, 3)), rng.standard_normal((5, 3)), torch)


def test_linear_forms_without_matrix_are_the_coordinates():
    forms = LinearForms(2, None, [1.0, -1.0])
    np.testing.assert_array_equal(forms.values(np.array([[0.5, 0.5]])), [[1.5, -0.5]])
    np.testing.assert_array_equal(forms.block(1), [[1.0], [0.0]])


@pytest.mark.parametrize(
    ("kwargs", "name"),
    [
        ({"forms": np.ones((2, 4))}, "forms"),
        ({"forms": np.ones((0, 3))}, "forms"),
        ({"offsets": np.ones(2)}, "offsets"),
        ({"coefficients": [1.0, np.inf, 0.0]}, "coefficients"),
    ],
)
def test_bad_input_is_named(kwargs, name):
    with pytest.raises(InputError, match=name):
        RidgeSum(Cosine(), 3, **kwargs)
    with pytest.raises(InputError, match="dim"):
        RidgeSum(Cosine(), 0)
