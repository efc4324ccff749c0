import array_api_strict
import mpmath
import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.objectives import SignPairSum, SquaredProbitNet
from tests.objectives.reference import (
    assert_expectation,
    assert_expectation_derivative,
    assert_pointwise_derivatives,
    assert_same_numbers,
)

EDGES = [[0, 1], [1, 2], [2, 2], [0, 2], [1, 0]]
WEIGHTS = [1.0, -0.5, 2.0, 0.3, 0.7]


def make(rng, *, with_forms=False):
    forms = 0.7 * rng.standard_normal((3, 3)) if with_forms else None
    return SignPairSum(3, EDGES, weights=WEIGHTS, width=1.5, forms=forms, offsets=[0.1, 0.0, -0.4])


@pytest.mark.parametrize("with_forms", [False, True])
def test_closed_form_against_quadrature(with_forms):
    rng = np.random.default_rng(0)
    g = make(rng, with_forms=with_forms)
    mean, factor = rng.standard_normal(3), 0.4 * rng.standard_normal((3, 2))
    # Signs of width 1.5 under deviations of about 0.5: 80 nodes a dimension integrate them to rounding.
    assert_expectation(g, mean, factor, n=80)
    assert_pointwise_derivatives(g, rng.standard_normal((6, 3)), rng)


@pytest.mark.parametrize("scale", [1e-8, 0.5, 5.0])
def test_derivatives_of_the_closed_form(scale):
    rng = np.random.default_rng(1)
    g = make(rng)
    assert_expectation_derivative(g, rng.standard_normal(3), scale * rng.standard_normal((3, 4)), rng)


def test_hard_signs_are_the_limit_of_narrow_ones():
    # E[sgn sgn] = (2/pi) asin(rho) for mean zero; a width w changes the correlation by O(w^2).
    rho = 0.3
    factor = np.array([[1.0, 0.0], [rho, np.sqrt(1 - rho**2)]])
    got = SignPairSum(2, [[0, 1]], width=1e-7).expectation(np.zeros(2), factor).value
    assert got == pytest.approx(2 / np.pi * np.arcsin(rho), abs=1e-13)


def test_narrow_signs_of_nearly_equal_forms_against_mpmath():
    # u_0 and u_1 with correlation 1 - 5e-9 once smoothed: q^2 = 1 - rho^2 is where digits could be lost.
    width, s = 1e-4, 1.0
    got = SignPairSum(2, [[0, 1]], width=width).expectation(np.array([0.3, 0.3]), np.ones((2, 1)) * s)
    with mpmath.workdps(30):

        def sign(u):
            return mpmath.erf(u / (mpmath.sqrt(2) * mpmath.mpf(width)))

        ends = [-12, -0.31, -0.3005, -0.3, -0.2995, -0.29, 12]
        want = mpmath.quad(lambda x: sign(0.3 + x) ** 2 * mpmath.npdf(x), ends)
        slope = mpmath.quad(lambda x: sign(0.3 + x) * 2 * mpmath.npdf((0.3 + x) / width) / width * mpmath.npdf(x), ends)
    assert got.value == pytest.approx(float(want), abs=1e-12)
    np.testing.assert_allclose(got.gradient, float(slope), atol=1e-10)


def test_widths_below_rounding_stay_finite():
    g = SignPairSum(2, [[0, 0], [0, 1]], width=1e-12)
    parts = g.expectation(np.array([0.1, 0.1]), np.ones((2, 1)))
    assert parts.value == pytest.approx(2.0)
    for array in (
        parts.gradient,
        parts.factor_gradient,
        parts.hessian(2),
        *parts.derivative(np.ones(2), np.ones((2, 1))),
    ):
        assert np.isfinite(array).all()


def test_no_dense_matrix_for_large_graphs():
    n = 20_000
    ring = SignPairSum(n, np.column_stack([np.arange(n), (np.arange(n) + 1) % n]))
    parts = ring.expectation(np.zeros(n), np.ones((n, 1)))
    # Equal coordinates: each edge has correlation 1/2 and F = (2/pi) asin(1/2) = 1/3.
    assert parts.value == pytest.approx(n / 3, rel=1e-13)
    assert parts.factor_gradient.shape == (n, 1)
    assert ring.gradient(np.ones((2, n))).shape == (2, n)


@pytest.mark.parametrize("with_forms", [False, True])
def test_array_api(with_forms):
    rng = np.random.default_rng(3)
    z, v = rng.standard_normal((5, 3)), rng.standard_normal((5, 3))
    assert_same_numbers(make(rng, with_forms=with_forms), z, v, array_api_strict)
    assert_same_numbers(SquaredProbitNet(3, [1.0, -2.0, 0.5], 0.3), z, v, array_api_strict)


def test_torch_gives_the_same_numbers():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    z, v = rng.standard_normal((5, 3)), rng.standard_normal((5, 3))
    assert_same_numbers(make(rng), z, v, torch)


def test_squared_net():
    rng = np.random.default_rng(4)
    c = rng.standard_normal(4)
    net = SquaredProbitNet(
        3, c, 0.4, width=1.5, forms=0.5 * rng.standard_normal((4, 3)), offsets=rng.standard_normal(4)
    )
    mean, factor = rng.standard_normal(3), 0.4 * rng.standard_normal((3, 2))
    assert_expectation(net, mean, factor, n=80)
    assert_expectation_derivative(net, mean, factor, rng)
    assert_pointwise_derivatives(net, rng.standard_normal((6, 3)), rng)


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "name"),
    [
        ((2, [[0.0, 1.0]]), {}, InputTypeError, "pairs"),
        ((2, [0, 1]), {}, InputError, "pairs"),
        ((2, np.zeros((0, 2), dtype=int)), {}, InputError, "pairs"),
        ((2, [[0, 2]]), {}, InputError, "pairs"),
        ((2, [[-1, 0]]), {}, InputError, "pairs"),
        ((2, [[0, 1]]), {"weights": [1.0, 2.0]}, InputError, "weights"),
        ((2, [[0, 1]]), {"width": -1.0}, InputError, "width"),
        ((2, [[0, 1]]), {"forms": np.full((2, 2), np.nan)}, InputError, "forms"),
    ],
)
def test_bad_input_is_named(args, kwargs, error, name):
    with pytest.raises(error, match=name):
        SignPairSum(*args, **kwargs)
    with pytest.raises(InputError, match="target"):
        SquaredProbitNet(2, [1.0, 1.0], np.inf)
