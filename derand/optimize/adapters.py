"""Value, gradient and Hessian products of functions written in JAX or torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from derand._utils.arrays import to_numpy
from derand._utils.validation import FloatArray
from derand.exceptions import InputTypeError, MissingDependencyError

__all__ = ["from_jax", "from_torch"]

Fun = Callable[[FloatArray], tuple[float, FloatArray]]
HessP = Callable[[FloatArray, FloatArray], FloatArray]


def from_jax(fun: Callable[[Any], Any]) -> tuple[Fun, HessP]:
    """Return (value and gradient, Hessian product) of a JAX function, for `minimize_sosp`.

    Products are forward mode over reverse mode: exact up to rounding, at a few times the cost of a gradient.

    Parameters
    ----------
    fun : callable
        ``fun(x)`` takes a JAX array of shape (n,) and returns a scalar; JAX has to be able to compile it.

    Returns
    -------
    fun : callable
        ``fun(x)`` takes a NumPy array of shape (n,) and returns (value, gradient).
    hessp : callable
        ``hessp(x, v)`` returns the product of the Hessian at x with v.

    Raises
    ------
    MissingDependencyError
        If jax isn't installed.

    Notes
    -----
    Everything is computed in double precision, whatever JAX is set to outside.  Where JAX can't differentiate twice,
    its own error passes through.

    Examples
    --------
    ::

        fun, hessp = from_jax(lambda x: jnp.sum((x**2 - 1.0) ** 2))
        result = minimize_sosp(fun, numpy.zeros(3), hessp=hessp, curv_tol=1e-3)
    """
    try:
        import jax
    except ImportError as error:
        raise MissingDependencyError("from_jax needs jax: pip install 'derand[autodiff]'") from error
    value_and_grad = jax.jit(jax.value_and_grad(fun))
    product = jax.jit(lambda x, v: jax.jvp(jax.grad(fun), (x,), (v,))[1])

    def numpy_fun(x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        with jax.enable_x64(True):
            value, gradient = value_and_grad(np.asarray(x, dtype=np.float64))
        return float(value), to_numpy(gradient)

    def numpy_hessp(x: FloatArray, v: FloatArray) -> FloatArray:
        """Return the Hessian product."""
        with jax.enable_x64(True):
            return to_numpy(product(np.asarray(x, dtype=np.float64), np.asarray(v, dtype=np.float64)))

    return numpy_fun, numpy_hessp


def from_torch(fun: Callable[[Any], Any], *, device: str = "cpu") -> tuple[Fun, HessP]:
    """Return (value and gradient, Hessian product) of a torch function, for `minimize_sosp`.

    Products differentiate the gradient once more (reverse mode twice): exact up to rounding, at a few times the cost of
    a gradient.

    Parameters
    ----------
    fun : callable
        ``fun(x)`` takes a float64 tensor of shape (n,) and returns a scalar tensor.  Its own tensors must be of float64
        as well, of which ``torch.set_default_dtype(torch.float64)`` makes new ones.
    device : str, default "cpu"
        Where the tensors live.

    Returns
    -------
    fun : callable
        ``fun(x)`` takes a NumPy array of shape (n,) and returns (value, gradient).
    hessp : callable
        ``hessp(x, v)`` returns the product of the Hessian at x with v.

    Raises
    ------
    MissingDependencyError
        If torch isn't installed.

    Notes
    -----
    A function whose gradient doesn't depend on x has Hessian 0, and one that doesn't depend on x has gradient 0; torch
    itself would refuse them.

    Examples
    --------
    ::

        fun, hessp = from_torch(lambda x: ((x**2 - 1.0) ** 2).sum())
        result = minimize_sosp(fun, numpy.zeros(3), hessp=hessp, curv_tol=1e-3)
    """
    try:
        import torch
    except ImportError as error:
        raise MissingDependencyError("from_torch needs torch: pip install 'derand[autodiff]'") from error

    def derivative(value: Any, x: Any, *, twice: bool) -> Any:
        """Return the derivative of a scalar tensor by x."""
        if not value.requires_grad:
            return torch.zeros_like(x)
        return torch.autograd.grad(value, x, create_graph=twice, materialize_grads=True)[0]

    def numpy_fun(x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        point = torch.tensor(x, dtype=torch.float64, device=device, requires_grad=True)
        value = _as_scalar(_evaluated(fun, point), torch.Tensor)
        return float(value.detach()), to_numpy(derivative(value, point, twice=False))

    def numpy_hessp(x: FloatArray, v: FloatArray) -> FloatArray:
        """Return the Hessian product."""
        point = torch.tensor(x, dtype=torch.float64, device=device, requires_grad=True)
        slope = derivative(_evaluated(fun, point), point, twice=True) @ torch.tensor(
            v, dtype=torch.float64, device=device
        )
        return to_numpy(derivative(slope, point, twice=False))

    return numpy_fun, numpy_hessp


def _evaluated(fun: Callable[[Any], Any], point: Any) -> Any:
    """Return the function's value; torch refuses to mix types in products, and says so without naming the cure."""
    try:
        return fun(point)
    except RuntimeError as error:
        if "dtype" not in str(error):
            raise
        raise InputTypeError(
            f"fun must not mix x, of float64, with tensors of another type: {error}; make them double, "
            "or call torch.set_default_dtype(torch.float64) before they are made"
        ) from error


def _as_scalar(value: Any, kind: type) -> Any:
    """Return the value of a torch function when it is a scalar tensor."""
    if not isinstance(value, kind) or value.ndim != 0:  # type: ignore[attr-defined]
        raise InputTypeError("fun must return a torch tensor of shape ()")
    return value
