import pickle
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.objectives import (
    Cosine,
    Exponential,
    FunctionIntegrand,
    LocalSum,
    Polynomial,
    ProbitSign,
    RidgeSum,
    SignPairSum,
    SmoothedObjective,
    double_well,
)
from tests.objectives.reference import gaussian_mean


def opaque(dim):
    """A cosine sum without closed form, so that all other expectations can be tried on it."""
    g = RidgeSum(Cosine(), dim, forms=np.linspace(-1.0, 1.0, 4 * dim).reshape(4, dim))
    return FunctionIntegrand(dim, g.value, g.gradient, g.hessian_product)


def make(kind, k, d, **kwargs):
    integrand = RidgeSum(Cosine(), k, forms=0.5 * np.ones((1, k))) if kind == "exact" else opaque(k)
    return SmoothedObjective(integrand, k, d, 0.3, expectation=kind, n_samples=16, n_nodes=6, rng=5, **kwargs)


def point(f, seed=0):
    rng = np.random.default_rng(seed)
    return f.pack(0.5 * rng.standard_normal((f.k, f.d)), rng.standard_normal(f.k), rng.standard_normal(f.n_parameters))


KINDS = ["exact", "quadrature", "qmc", "mc"]


@pytest.mark.parametrize("reduce", [None, True, False])
@pytest.mark.parametrize(("k", "d"), [(2, 3), (3, 2), (2, 2)])
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_and_products_belong_to_the_value(kind, k, d, reduce):
    f = make(kind, k, d, reduce=reduce)
    x = point(f)
    v = np.random.default_rng(1).standard_normal(x.size)
    h = 1e-5
    (up, gup), (down, gdown) = f.value_and_grad(x + h * v), f.value_and_grad(x - h * v)
    value, gradient = f.value_and_grad(x)
    assert gradient @ v == pytest.approx((up - down) / (2 * h), abs=1e-8)
    np.testing.assert_allclose(f.hessp(x, v), (gup - gdown) / (2 * h), atol=1e-8)
    assert np.isfinite(value)


@pytest.mark.parametrize("kind", KINDS)
def test_smooth_at_zero_weights(kind):
    # Where a root of W W' would have a kink: the Hessian of every objective is symmetric and bounded at W = 0.
    f = make(kind, 2, 5)
    x = f.pack(np.zeros((2, 5)), [0.3, -0.2])
    H = np.stack([f.hessp(x, e) for e in np.eye(x.size)])
    np.testing.assert_allclose(H, H.T, atol=1e-13)
    for v in np.random.default_rng(2).standard_normal((5, x.size)):
        h = 1e-5
        central = (f.value_and_grad(x + h * v)[1] - f.value_and_grad(x - h * v)[1]) / (2 * h)
        np.testing.assert_allclose(H @ v, central, atol=1e-8)


def test_value_is_expectation_plus_penalty():
    g = double_well(3, tilt=0.2)
    f = SmoothedObjective(g, 3, 2, 0.7)
    rng = np.random.default_rng(3)
    W, b = rng.standard_normal((3, 2)), rng.standard_normal(3)
    want = gaussian_mean(g.value, b, W, 8) + 0.7 * np.sum(W**2)
    assert f.value_and_grad(f.pack(W, b))[0] == pytest.approx(want, rel=1e-13)


def test_the_kinds_agree():
    # 6 nodes are few, 2^14 points have an error of about 1e-3, Monte Carlo one of 1/128.
    rng = np.random.default_rng(4)
    W, b = 0.5 * rng.standard_normal((3, 7)), rng.standard_normal(3)
    g = RidgeSum(ProbitSign(2.0), 3)
    exact = SmoothedObjective(g, 3, 7, 0.1)
    want = exact.value_and_grad(exact.pack(W, b))[0]
    for kind, tol in (("quadrature", 1e-9), ("qmc", 2e-3), ("mc", 3e-2)):
        f = SmoothedObjective(g, 3, 7, 0.1, expectation=kind, n_samples=2**14, rng=0)
        assert f.value_and_grad(f.pack(W, b))[0] == pytest.approx(want, abs=tol)


def test_reduction_changes_neither_value_nor_gradient_norm():
    g = RidgeSum(Cosine(), 3, forms=np.arange(12.0).reshape(4, 3) / 6)
    full, small = (SmoothedObjective(g, 3, 8, 0.2, reduce=reduce) for reduce in (False, True))
    rng = np.random.default_rng(5)
    W, b = rng.standard_normal((3, 8)), rng.standard_normal(3)
    (v1, g1), (v2, g2) = full.value_and_grad(full.pack(W, b)), small.value_and_grad(small.pack(W, b))
    assert (full.n_variables, small.n_variables) == (27, 12)
    assert v1 == pytest.approx(v2, rel=1e-13)
    assert np.linalg.norm(g1) == pytest.approx(np.linalg.norm(g2), rel=1e-12)
    np.testing.assert_allclose(full.hess_bb(W, b), small.hess_bb(W, b), atol=1e-13)
    L, _ = small.unpack(small.pack(W, b))
    np.testing.assert_allclose(small.expand(L) @ small.expand(L).T, W @ W.T, atol=1e-12)


def test_parameters_are_not_smoothed():
    # g(z, theta) = (z theta - 1)^2 has E = (b theta - 1)^2 + theta^2 |W|^2.
    g = Polynomial(2, {(0, 0, 1, 1): 1.0, (0, 1): -2.0, (): 1.0})
    f = SmoothedObjective(g, 1, 2, 0.5)
    assert (f.n_parameters, f.n_variables) == (1, 4)
    x = f.pack([[1.0, 2.0]], [3.0], [0.5])
    assert f.value_and_grad(x)[0] == pytest.approx(0.25 + 0.25 * 5 + 2.5)
    W, b, theta = f.unpack(x)
    assert (W.tolist(), b.tolist(), theta.tolist()) == ([[1.0, 2.0]], [3.0], [0.5])
    np.testing.assert_allclose(f.hess_bb(W, b, theta), [[0.5]])
    v = np.array([0.3, -1.0, 0.2, 0.7])
    h = 1e-5
    central = (f.value_and_grad(x + h * v)[1] - f.value_and_grad(x - h * v)[1]) / (2 * h)
    np.testing.assert_allclose(f.hessp(x, v), central, atol=1e-7)
    sampled = SmoothedObjective(g, 1, 2, 0.5, expectation="quadrature")
    assert sampled.value_and_grad(sampled.pack(W, b, theta))[0] == pytest.approx(f.value_and_grad(x)[0], rel=1e-12)
    with pytest.raises(InputError, match="theta"):
        f.pack(W, b)


@pytest.mark.parametrize("kind", ["qmc", "mc"])
def test_seeds_and_refinement(kind):
    f, again, other = (
        SmoothedObjective(opaque(4), 4, 9, 0.1, expectation=kind, n_samples=64, rng=s) for s in (1, 1, 2)
    )
    x = point(f)
    assert f.value_and_grad(x)[0] == again.value_and_grad(x)[0] != other.value_and_grad(x)[0]
    finer = f.refined()
    assert (finer.n_samples, finer.n_columns, finer.expectation) == (128, 4, kind)
    assert finer.value_and_grad(x)[0] == f.refined().value_and_grad(x)[0] != f.refined(rng=3).value_and_grad(x)[0]


def test_refinement_of_the_rest():
    exact = make("exact", 2, 3)
    assert exact.refined() is exact
    assert make("quadrature", 2, 3).refined()._n_nodes == 12


def test_choice_and_defaults():
    f = SmoothedObjective(opaque(5), 5, 30, 0.1)
    assert (f.expectation, f.n_samples, f.n_columns, f.n_variables) == ("qmc", 2048, 5, 30)
    assert SmoothedObjective(opaque(3), 3, 30, 0.1).expectation == "quadrature"
    assert SmoothedObjective(opaque(5), 5, 2, 0.1).expectation == "quadrature"
    assert SmoothedObjective(opaque(3), 3, 30, 0.1, reduce=False).expectation == "qmc"
    local = LocalSum(opaque(2), 30, [[0, 1]])
    assert SmoothedObjective(local, 30, 30, 0.1).expectation == "exact"


def test_exactness_of_products_is_reported():
    assert make("mc", 2, 2).has_exact_hessian
    rough = FunctionIntegrand(1, lambda z: z[:, 0] ** 2, lambda z: 2 * z)
    assert not SmoothedObjective(rough, 1, 1, 0.1).has_exact_hessian


def test_pickled_objective_gives_the_same_bits():
    f = SmoothedObjective(double_well(4), 4, 4, 0.1, expectation="qmc", n_samples=64, rng=3)
    x = point(f)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f)).value_and_grad(x)[1], f.value_and_grad(x)[1])


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_points_in_another_library(library):
    xp = pytest.importorskip(library) if library == "torch" else array_api_strict
    g = RidgeSum(ProbitSign(), 4)
    here = SmoothedObjective(g, 4, 6, 0.1, expectation="qmc", n_samples=64, rng=3)
    there = SmoothedObjective(g, 4, 6, 0.1, expectation="qmc", n_samples=64, rng=3, like=xp.asarray(np.zeros(1)))
    x = point(here)
    v = np.ones_like(x)
    assert here.value_and_grad(x)[0] == pytest.approx(there.value_and_grad(x)[0], rel=1e-13)
    np.testing.assert_allclose(there.value_and_grad(x)[1], here.value_and_grad(x)[1], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(there.hessp(x, v), here.hessp(x, v), rtol=1e-12, atol=1e-14)


def test_overflow_is_infinite():
    f = SmoothedObjective(RidgeSum(Exponential(), 1), 1, 1, 0.1)
    assert f.value_and_grad(np.array([0.0, 1e4]))[0] == np.inf


@pytest.mark.parametrize(
    ("kwargs", "error", "name"),
    [
        ({"lam": 0.0}, InputError, "lam"),
        ({"lam": -1.0}, InputError, "lam"),
        ({"lam": np.inf}, InputError, "lam"),
        ({"lam": np.nan}, InputError, "lam"),
        ({"lam": "1"}, InputTypeError, "lam"),
        ({"k": 0}, InputError, "k"),
        ({"k": 3}, InputError, "k"),
        ({"d": 0}, InputError, "d"),
        ({"d": 2.0}, InputTypeError, "d"),
        ({"d": 10**12, "reduce": False}, InputError, "k and d"),
        ({"integrand": object()}, InputTypeError, "integrand"),
        ({"integrand": Cosine()}, InputTypeError, "integrand must have a method gradient"),
        ({"integrand": SimpleNamespace(value=abs, gradient=abs, hessian_product=abs)}, InputTypeError, "attribute dim"),
        ({"n_samples": 0}, InputError, "n_samples"),
        ({"n_nodes": 10**6}, InputError, "n_nodes"),
        ({"reduce": "yes"}, InputTypeError, "reduce"),
        ({"expectation": "best"}, InputError, "expectation"),
        ({"rng": -1}, InputError, "rng"),
    ],
)
def test_bad_input_is_named(kwargs, error, name):
    arguments = {"integrand": RidgeSum(Cosine(), 2), "k": 2, "d": 2, "lam": 0.1, **kwargs}
    with pytest.raises(error, match=name):
        SmoothedObjective(**arguments)


@pytest.mark.parametrize("x", [np.zeros(5), np.zeros((2, 3)), np.full(6, np.nan)])
def test_bad_points_are_named(x):
    f = SmoothedObjective(RidgeSum(Cosine(), 2), 2, 2, 0.1)
    with pytest.raises(InputError, match=r"^x must"):
        f.value_and_grad(x)
    with pytest.raises(InputError, match=r"^v must"):
        f.hessp(np.zeros(6), x)


def test_wrong_answers_of_a_function_are_named():
    for name, functions in {
        "value": (lambda z: z, np.ones_like, None),
        "gradient": (lambda z: z[:, 0], lambda z: z[:, 0], None),
        "hessian_product": (lambda z: z[:, 0], np.ones_like, lambda z, v: np.nan * v),
    }.items():
        f = SmoothedObjective(FunctionIntegrand(2, *functions), 2, 2, 0.1)

        def both(f=f):
            return f.value_and_grad(np.zeros(6)), f.hessp(np.zeros(6), np.ones(6))

        with pytest.raises(InputError, match=f"integrand's {name}"):
            both()


def test_wrong_shapes_of_a_closed_form_are_named():
    class Wrong(RidgeSum):
        def expectation(self, mean, factor):
            return super().expectation(mean, factor[:, :1])

    f = SmoothedObjective(Wrong(Cosine(), 2), 2, 3, 0.1)
    with pytest.raises(InputError, match="expectation must have a factor_gradient of shape"):
        f.value_and_grad(np.zeros(8))


INTEGRANDS = {
    "ridge": RidgeSum(ProbitSign(), 3, forms=np.arange(12.0).reshape(4, 3) / 6 - 1),
    "polynomial": Polynomial(3, {(0, 0, 1): 1.0, (1, 2, 2, 2): 0.3}),
    "well": double_well(3, tilt=0.2),
    "signs": SignPairSum(3, [[0, 1], [1, 2], [2, 2]], weights=[1.0, -2.0, 0.5]),
    "local": LocalSum(RidgeSum(Cosine(), 2, forms=np.array([[0.6, -0.4]])), 3, [[0, 1], [2, 0]]),
}


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("name", sorted(INTEGRANDS))
def test_only_the_law_of_the_argument_counts(name, d):
    # f(W Q, b) = f(W, b) for orthogonal Q, and the gradient turns along.
    rng = np.random.default_rng(7)
    f = SmoothedObjective(INTEGRANDS[name], 3, d, 0.2)
    assert f.expectation == "exact"
    W, b = 0.5 * rng.standard_normal((3, d)), rng.standard_normal(3)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    (v1, g1), (v2, g2) = f.value_and_grad(f.pack(W, b)), f.value_and_grad(f.pack(W @ Q, b))
    assert v1 == pytest.approx(v2, rel=1e-13)
    np.testing.assert_allclose(g1[: 3 * d].reshape(3, d) @ Q, g2[: 3 * d].reshape(3, d), atol=1e-12)
    np.testing.assert_allclose(g1[3 * d :], g2[3 * d :], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted(INTEGRANDS))
def test_products_are_symmetric(name, kind):
    rng = np.random.default_rng(8)
    f = SmoothedObjective(INTEGRANDS[name], 3, 4, 0.2, expectation=kind, n_samples=32, n_nodes=8, rng=0)
    x = f.pack(0.5 * rng.standard_normal((3, 4)), rng.standard_normal(3))
    u, v = rng.standard_normal((2, x.size))
    assert u @ f.hessp(x, v) == pytest.approx(v @ f.hessp(x, u), rel=1e-11, abs=1e-11)


def test_an_irrelevant_column_changes_nothing():
    f3, f4 = (SmoothedObjective(INTEGRANDS["signs"], 3, d, 0.2) for d in (3, 4))
    W, b = np.random.default_rng(9).standard_normal((3, 3)), np.array([0.1, 0.2, -0.3])
    wide = np.hstack([W, np.zeros((3, 1))])
    assert f3.value_and_grad(f3.pack(W, b))[0] == pytest.approx(f4.value_and_grad(f4.pack(wide, b))[0], rel=1e-14)
