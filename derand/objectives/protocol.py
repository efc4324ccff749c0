"""What an objective, an integrand and a Gaussian expectation have to offer."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from derand._utils.validation import FloatArray

__all__ = ["GaussianExpectation", "HasExpectation", "Integrand", "Objective"]


class Objective(Protocol):
    """A smooth function of a flat vector with exact derivatives, as the solvers of `derand.optimize` take it."""

    @property
    def n_variables(self) -> int:
        """Length of the flat vector."""

    def value_and_grad(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the value and the gradient, shape (n_variables,), at ``x``."""

    def hessp(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """Return the Hessian at ``x`` times ``v``."""


class Integrand(Protocol):
    """The inner function g: R^dim -> R of a smoothed objective, evaluated at many points at once.

    The three methods take arrays of one library (NumPy, torch, anything that follows the array API standard) with one
    point per row and return arrays of the same library.  Trainable parameters theta of a family g_theta are the last
    coordinates of the point: an integrand of dimension k + p in an objective with k smoothed coordinates has p
    parameters.
    """

    @property
    def dim(self) -> int:
        """Number of coordinates of a point."""

    def value(self, z: Any) -> Any:
        """Return g at the points ``z`` (n, dim), shape (n,)."""

    def gradient(self, z: Any) -> Any:
        """Return the gradients at ``z`` (n, dim), shape (n, dim)."""

    def hessian_product(self, z: Any, v: Any) -> Any:
        """Return Hess g(z_i) v_i for each row of ``z`` and ``v`` (n, dim), shape (n, dim)."""


class GaussianExpectation(Protocol):
    """The derivatives of E[g(z)], z = mean + factor xi with xi ~ N(0, I_r), at one mean (dim,) and one factor (dim, r).

    Everything is expressed through the factor F and never through the covariance F F', whose square root isn't
    differentiable where it is singular; so F = 0 is a point like any other.
    """

    @property
    def value(self) -> float:
        """E[g(z)]."""

    @property
    def gradient(self) -> FloatArray:
        """E[grad g(z)], the derivative with respect to the mean, shape (dim,)."""

    @property
    def factor_gradient(self) -> FloatArray:
        """E[grad g(z) xi'], the derivative with respect to the factor, shape (dim, r); E[Hess g] F by Stein."""

    def hessian(self, size: int) -> FloatArray:
        """Return the leading (size, size) block of E[Hess g(z)]."""

    def derivative(self, dmean: FloatArray, dfactor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of ``gradient`` and ``factor_gradient`` in the direction (dmean, dfactor)."""


@runtime_checkable
class HasExpectation(Protocol):
    """An integrand whose Gaussian expectation is known in closed form, or term by term to rounding error."""

    def expectation(self, mean: FloatArray, factor: FloatArray) -> GaussianExpectation:
        """Return the expectation under N(mean, factor factor')."""
