import array_api_strict
import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.objectives import FunctionIntegrand, IntegrandSum, LocalSum, Polynomial
from derand.objectives.function import check_answer, has_exact_hessian


def cubic(**kwargs):
    return FunctionIntegrand(
        2,
        lambda z: z[:, 0] ** 3 + z[:, 0] * z[:, 1],
        lambda z: np.stack([3 * z[:, 0] ** 2 + z[:, 1], z[:, 0]], axis=1),
        **kwargs,
    )


def test_difference_products():
    z, v = np.array([[2.0, -1.0], [0.0, 1e3]]), np.array([[1.0, 2.0], [1e-8, 0.0]])
    want = np.stack([6 * z[:, 0] * v[:, 0] + v[:, 1], v[:, 0]], axis=1)
    # A central difference of a quadratic gradient has no truncation: rounding over a step of 6e-6 (1 + |z|) is left.
    np.testing.assert_allclose(cubic().hessian_product(z, v), want, rtol=1e-8, atol=1e-15)
    np.testing.assert_array_equal(cubic().hessian_product(z, 0 * v), 0 * v)
    assert not cubic().has_exact_hessian


def test_given_products_are_used():
    g = cubic(hessian_product=lambda z, v: 0.0 * v + 7.0)
    assert g.hessian_product(np.ones((1, 2)), np.ones((1, 2))).tolist() == [[7.0, 7.0]]
    assert g.has_exact_hessian


def test_exactness_is_passed_on():
    exact = Polynomial(2, {(0, 1): 1.0})
    assert has_exact_hessian(IntegrandSum([exact, exact]))
    assert not has_exact_hessian(IntegrandSum([exact, cubic()]))
    assert not has_exact_hessian(LocalSum(cubic(), 3, [[0, 1]]))
    assert has_exact_hessian(exact)


def test_array_api():
    xp = array_api_strict
    g = FunctionIntegrand(2, lambda z: xp.sum(z**4, axis=1), lambda z: 4 * z**3)
    z = np.array([[1.0, -2.0]])
    got = g.hessian_product(xp.asarray(z), xp.asarray(np.ones((1, 2))))
    np.testing.assert_allclose(np.asarray(got), 12 * z**2, rtol=1e-8)


FUNCTIONS = {"value": lambda z: np.ones(len(z)), "gradient": np.ones_like, "hessian_product": lambda z, v: v}


@pytest.mark.parametrize("wrong", [np.ones((3, 5)), 1.0, None])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_wrong_shapes_are_named(name, wrong):
    z = np.ones((3, 2))
    g = FunctionIntegrand(2, **{**FUNCTIONS, name: lambda *_: wrong})
    with pytest.raises(InputError, match=f"integrand's {name} must return shape"):
        getattr(g, name)(*((z, z) if name == "hessian_product" else (z,)))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_nan_is_named_and_infinity_passes(name):
    z = np.ones((3, 2))
    args = (z, z) if name == "hessian_product" else (z,)
    shape = (3,) if name == "value" else (3, 2)
    for bad in (np.nan, np.inf):
        g = FunctionIntegrand(2, **{**FUNCTIONS, name: lambda *_, bad=bad: np.full(shape, bad)})
        if np.isinf(bad):
            assert np.isinf(check_answer(g, name, *args)).all()
        else:
            with pytest.raises(InputError, match=f"integrand's {name} returned NaN"):
                check_answer(g, name, *args)


def test_nan_in_derivatives_is_excused_where_the_value_overflows():
    z = np.ones((2, 2))
    mixed = np.array([[np.nan, 1.0], [1.0, 1.0]])
    for values, excused in (([np.inf, 1.0], True), ([1.0, np.inf], False)):
        g = FunctionIntegrand(2, lambda z, values=values: np.array(values), lambda z: mixed)
        if excused:
            np.testing.assert_array_equal(check_answer(g, "gradient", z), mixed)
        else:
            with pytest.raises(InputError, match="gradient returned NaN"):
                check_answer(g, "gradient", z)


@pytest.mark.parametrize("name", ["value", "gradient", "hessian_product"])
def test_functions_must_be_callable(name):
    functions = {"value": np.sum, "gradient": np.ones_like, "hessian_product": None}
    with pytest.raises(InputTypeError, match=name):
        FunctionIntegrand(2, **{**functions, name: 3.0})
    with pytest.raises(InputError, match="dim"):
        FunctionIntegrand(0, np.sum, np.sum)
