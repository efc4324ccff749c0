"""Adapters against hand-made derivatives of the Rosenbrock chain, and inside minimize_sosp."""

import sys

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der, rosen_hess_prod

from derand.exceptions import InputTypeError, MissingDependencyError
from derand.optimize import minimize_sosp
from derand.optimize.adapters import from_jax, from_torch

ADAPTERS = {"jax": from_jax, "torch": from_torch}


@pytest.fixture(params=ADAPTERS)
def adapter(request):
    """Return an adapter whose library is installed."""
    pytest.importorskip(request.param)
    return ADAPTERS[request.param]


def _rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def test_derivatives_of_rosenbrock(adapter):
    fun, hessp = adapter(_rosenbrock)
    rng = np.random.default_rng(0)
    for n in (2, 7):
        x, v = rng.standard_normal(n), rng.standard_normal(n)
        value, gradient = fun(x)
        # In double precision: single precision would miss by 1e-7.
        assert isinstance(value, float)
        assert value == pytest.approx(rosen(x), rel=1e-13)
        assert gradient.dtype == np.float64
        np.testing.assert_allclose(gradient, rosen_der(x), rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(hessp(x, v), rosen_hess_prod(x, v), rtol=1e-12, atol=1e-11)


def test_minimisation_from_a_saddle(adapter):
    fun, hessp = adapter(lambda x: ((x**2 - 1.0) ** 2).sum())
    result = minimize_sosp(fun, np.zeros(3), hessp=hessp, gtol=1e-9, curv_tol=1e-3)
    assert result.success
    # The gradient 4 x (x^2 - 1) of size 1e-9 with slope 8 at |x| = 1 leaves |x| within 2e-10.
    np.testing.assert_allclose(np.abs(result.x), 1.0, atol=2e-10)
    assert result.certificate.hvp_error_source == "exact"
    assert result.certificate.min_eigenvalue == pytest.approx(8.0, abs=1e-8)


@pytest.mark.parametrize(("function", "slope"), [(lambda x: 3.0 * x.sum(), 3.0), (lambda x: 0.0 * x.sum(), 0.0)])
def test_linear_functions_have_hessian_zero(adapter, function, slope):
    fun, hessp = adapter(function)
    assert fun(np.ones(2))[1].tolist() == [slope, slope]
    assert hessp(np.ones(2), np.ones(2)).tolist() == [0.0, 0.0]


def test_input_is_left_alone(adapter):
    fun, hessp = adapter(_rosenbrock)
    x, v = np.array([1.0, 2.0]), np.array([0.5, 1.0])
    x.flags.writeable = v.flags.writeable = False
    fun(x)
    hessp(x, v)
    assert x.tolist() == [1.0, 2.0]


def test_jax_keeps_its_own_precision_outside():
    jax = pytest.importorskip("jax")
    fun, _ = from_jax(_rosenbrock)
    fun(np.ones(3))
    assert jax.numpy.ones(1).dtype == jax.numpy.float32


def test_torch_constants_and_wrong_shapes():
    torch = pytest.importorskip("torch")
    fun, hessp = from_torch(lambda _: torch.tensor(2.0))
    assert fun(np.ones(2))[0] == 2.0
    assert fun(np.ones(2))[1].tolist() == [0.0, 0.0]
    assert hessp(np.ones(2), np.ones(2)).tolist() == [0.0, 0.0]
    for wrong in (lambda x: x, lambda x: 1.0):
        with pytest.raises(InputTypeError, match="shape"):
            from_torch(wrong)[0](np.ones(2))


def test_torch_tensors_of_another_type_are_named():
    torch = pytest.importorskip("torch")
    A = torch.eye(2, dtype=torch.float32)
    fun, hessp = from_torch(lambda x: torch.sum((A @ x) ** 2))
    for call in (lambda: fun(np.ones(2)), lambda: hessp(np.ones(2), np.ones(2))):
        with pytest.raises(InputTypeError, match="set_default_dtype"):
            call()
    with pytest.raises(RuntimeError, match="size"):
        from_torch(lambda x: x @ torch.ones(3, dtype=torch.float64))[0](np.ones(2))


@pytest.mark.parametrize("library", ADAPTERS)
def test_missing_library_is_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingDependencyError, match=rf"needs {library}: pip install"):
        ADAPTERS[library](_rosenbrock)
