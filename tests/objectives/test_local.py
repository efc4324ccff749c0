import array_api_strict
import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.objectives import Cosine, FunctionIntegrand, LocalSum, Polynomial, RidgeSum, SmoothedObjective
from tests.objectives.reference import (
    assert_expectation,
    assert_expectation_derivative,
    assert_pointwise_derivatives,
    assert_same_numbers,
)


def tanh_pair():
    """A coupling of two coordinates without closed form: tanh(z_0/2) tanh(z_1/2)."""

    def both(z):
        t = np.tanh(z / 2)
        return t, (1 - t**2) / 2

    def product(z, v):
        t, s = both(z)
        second = -t * s
        return np.stack(
            [
                second[:, 0] * t[:, 1] * v[:, 0] + s[:, 0] * s[:, 1] * v[:, 1],
                s[:, 0] * s[:, 1] * v[:, 0] + t[:, 0] * second[:, 1] * v[:, 1],
            ],
            axis=1,
        )

    return FunctionIntegrand(
        2, lambda z: np.prod(both(z)[0], axis=1), lambda z: both(z)[1] * both(z)[0][:, ::-1], product
    )


def cases():
    cosine = RidgeSum(Cosine(), 3, forms=np.array([[0.5, -0.3, 0.8]]))
    return {
        "pairs": LocalSum(tanh_pair(), 4, [[0, 1], [2, 1], [3, 3]], weights=[1.0, -0.5, 2.0]),
        "single": LocalSum(RidgeSum(Cosine(), 1), 3, [[0], [2], [0]]),
        "triple": LocalSum(cosine, 4, [[0, 1, 2], [3, 1, 0]]),
        "polynomial": LocalSum(Polynomial(2, {(0, 1): 1.0, (0, 0, 1, 1): 0.2}), 3, [[0, 1], [1, 2]], n_nodes=8),
    }


@pytest.mark.parametrize("r", [1, 2])
@pytest.mark.parametrize("name", sorted(cases()))
def test_structured_expectation_against_the_full_integral(name, r):
    rng = np.random.default_rng(0)
    g = cases()[name]
    mean, factor = rng.standard_normal(g.dim), 0.35 * rng.standard_normal((g.dim, r))
    # tanh(z/2) has poles at i pi: 60 nodes reach rounding for deviations of about 0.5.
    assert_expectation(g, mean, factor, n=60, tol=1e-12)


@pytest.mark.parametrize("r", [1, 2, 3, 6])
@pytest.mark.parametrize("name", sorted(cases()))
def test_derivatives(name, r):
    rng = np.random.default_rng(1)
    g = cases()[name]
    assert_expectation_derivative(g, rng.standard_normal(g.dim), 0.3 * rng.standard_normal((g.dim, r)), rng)
    assert_pointwise_derivatives(g, rng.standard_normal((4, g.dim)), rng)


@pytest.mark.parametrize("r", [1, 5])
def test_derivatives_where_the_covariance_is_singular(r):
    # A root of the covariance isn't differentiable here; the factor is.
    rng = np.random.default_rng(2)
    g = cases()["pairs"]
    for factor in (np.zeros((4, r)), np.outer(rng.standard_normal(4), 0.3 * rng.standard_normal(r))):
        assert_expectation_derivative(g, rng.standard_normal(4), factor, rng)


def test_many_coordinates_need_no_sampling():
    k = 50
    g = LocalSum(tanh_pair(), k, np.column_stack([np.arange(k - 1), np.arange(1, k)]))
    f = SmoothedObjective(g, k, 3, 0.1)
    assert f.expectation == "exact"
    rng = np.random.default_rng(3)
    W, b = 0.2 * rng.standard_normal((k, 3)), rng.standard_normal(k)
    assert f.stein_residual(W, b) < 1e-12


def test_array_api():
    rng = np.random.default_rng(4)
    z, v = rng.standard_normal((5, 4)), rng.standard_normal((5, 4))
    assert_same_numbers(cases()["triple"], z, v, array_api_strict)


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "name"),
    [
        ((Polynomial(4, {(0,): 1.0}), 5, [[0, 1, 2, 3]]), {}, InputError, "inner"),
        ((Polynomial(2, {(0,): 1.0}), 3, [[0.0, 1.0]]), {}, InputTypeError, "indices"),
        ((Polynomial(2, {(0,): 1.0}), 3, [[0, 1, 2]]), {}, InputError, "indices"),
        ((Polynomial(2, {(0,): 1.0}), 3, [[0, 3]]), {}, InputError, "indices"),
        ((Polynomial(2, {(0,): 1.0}), 3, [[0, 1]]), {"weights": [1.0, 2.0]}, InputError, "weights"),
        ((Polynomial(2, {(0,): 1.0}), 3, [[0, 1]]), {"n_nodes": 1}, InputError, "n_nodes"),
    ],
)
def test_bad_input_is_named(args, kwargs, error, name):
    with pytest.raises(error, match=name):
        LocalSum(*args, **kwargs)
