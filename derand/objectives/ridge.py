"""Sums of functions of linear forms, g(z) = sum_t c_t phi(a_t . z + beta_t), with closed-form Gaussian means."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from derand._utils.arrays import as_like
from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import InputError
from derand.objectives.activations import Activation

__all__ = ["LinearForms", "RidgeExpectation", "RidgeSum"]


class LinearForms:
    """The linear forms u = A z + offsets; without a matrix they are the coordinates, moved by the offsets.

    Parameters
    ----------
    dim : int
        Number of coordinates of z.
    matrix : array, shape (n_forms, dim), optional
        A; the identity when left out.
    offsets : array, shape (n_forms,), optional
        Zero when left out.
    """

    def __init__(self, dim: int, matrix: Any = None, offsets: Any = None) -> None:
        self.dim = check_int(dim, "dim", low=1)
        self.matrix = None if matrix is None else check_array(matrix, "forms", shape=(None, self.dim))
        self.n_forms = self.dim if self.matrix is None else self.matrix.shape[0]
        if self.n_forms == 0:
            raise InputError("forms must hold at least one linear form, got none")
        self.offsets = (
            np.zeros(self.n_forms) if offsets is None else check_array(offsets, "offsets", shape=(self.n_forms,))
        )

    def apply(self, z: Any) -> Any:
        """Return the forms without their offsets at the rows of ``z`` (n, dim), shape (n, n_forms)."""
        return z if self.matrix is None else z @ as_like(self.matrix, z).T

    def values(self, z: Any) -> Any:
        """Return the forms at the rows of ``z`` (n, dim), shape (n, n_forms)."""
        return self.apply(z) + as_like(self.offsets, z)

    def transpose(self, u: Any) -> Any:
        """Return u A for rows ``u`` (n, n_forms), shape (n, dim)."""
        return u if self.matrix is None else u @ as_like(self.matrix, u)

    def block(self, size: int) -> FloatArray:
        """Return the first ``size`` columns of A."""
        return np.eye(self.dim)[:, :size] if self.matrix is None else self.matrix[:, :size]


class RidgeSum:
    """g(z) = sum_t coefficients[t] phi(forms[t] . z + offsets[t]).

    Parameters
    ----------
    activation : Activation
        phi: `Exponential`, `Cosine`, `ProbitSign`, `ReLU`, `Softplus`, `ScalarPolynomial`, or an object with their
        methods.
    dim : int
        Number of coordinates of z, >= 1.
    forms : array, shape (n_forms, dim), optional
        The linear forms; the coordinates themselves when left out.
    offsets : array, shape (n_forms,), optional
        Zero when left out.
    coefficients : array, shape (n_forms,), optional
        One when left out.

    Raises
    ------
    InputError
        If a shape doesn't fit or a number isn't finite.

    Notes
    -----
    Under z ~ N(m, F F') the form u_t is a Gaussian of mean a_t.m + beta_t and variance ``|F' a_t|^2``, so E[g] and all
    its derivatives are sums over t of the activation's closed forms.  An expectation costs O(n_forms dim r),
    deterministic.

    Examples
    --------
    E[exp(z)] under the standard normal distribution is exp(1/2):

    >>> import numpy as np
    >>> from derand.objectives import Exponential, RidgeSum
    >>> mean = RidgeSum(Exponential(), 1).expectation(np.zeros(1), np.ones((1, 1)))
    >>> round(mean.value, 6)
    1.648721
    """

    def __init__(
        self, activation: Activation, dim: int, *, forms: Any = None, offsets: Any = None, coefficients: Any = None
    ) -> None:
        self.activation = activation
        self.forms = LinearForms(dim, forms, offsets)
        shape = (self.forms.n_forms,)
        self.coefficients = (
            np.ones(shape) if coefficients is None else check_array(coefficients, "coefficients", shape=shape)
        )

    @property
    def dim(self) -> int:
        """Number of coordinates of z."""
        return self.forms.dim

    def value(self, z: Any) -> Any:
        """Return g at the rows of ``z``."""
        u = self.activation.value(self.forms.values(z))
        return u @ as_like(self.coefficients, u)

    def gradient(self, z: Any) -> Any:
        """Return the gradient of g at each row of ``z``."""
        u = self.activation.first(self.forms.values(z))
        return self.forms.transpose(u * as_like(self.coefficients, u))

    def hessian_product(self, z: Any, v: Any) -> Any:
        """Return the Hessian at each row of ``z`` times the same row of ``v``."""
        u = self.activation.second(self.forms.values(z))
        return self.forms.transpose(u * as_like(self.coefficients, u) * self.forms.apply(v))

    def expectation(self, mean: FloatArray, factor: FloatArray) -> RidgeExpectation:
        """Return E[g] and its derivatives under N(mean, factor factor'), in closed form."""
        return RidgeExpectation(self, mean, factor)


class RidgeExpectation:
    """The closed form of E[g(z)] for a `RidgeSum`; see `GaussianExpectation` for the meaning of its members."""

    def __init__(self, ridge: RidgeSum, mean: FloatArray, factor: FloatArray) -> None:
        self._ridge = ridge
        self._forms = ridge.forms
        self._mean = self._forms.values(mean[None, :])[0]
        self._factor = self._forms.apply(factor.T).T
        self._variance = np.sum(self._factor**2, axis=1)

    def _weighted(self, order: int) -> FloatArray:
        """Return the activation's derivatives up to ``order``, times the coefficients."""
        rows = self._ridge.activation.gaussian_derivatives(self._mean, self._variance, order)
        return np.asarray(rows * self._ridge.coefficients)

    @cached_property
    def _low(self) -> FloatArray:
        return self._weighted(1)

    @cached_property
    def _second(self) -> FloatArray:
        return np.asarray(self._weighted(2)[2])

    @cached_property
    def _all(self) -> FloatArray:
        return self._weighted(4)

    @property
    def value(self) -> float:
        """E[g(z)]."""
        return float(np.add.reduce(self._low[0]))

    @property
    def gradient(self) -> FloatArray:
        """E[grad g(z)]."""
        return np.asarray(self._forms.transpose(self._low[1][None, :])[0])

    @property
    def factor_gradient(self) -> FloatArray:
        """E[grad g(z) xi']."""
        return np.asarray(self._forms.transpose((self._second[:, None] * self._factor).T).T)

    def hessian(self, size: int) -> FloatArray:
        """Return the leading block of E[Hess g]."""
        block = self._forms.block(size)
        return np.asarray((block.T * self._second) @ block)

    def derivative(self, dmean: FloatArray, dfactor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the directional derivatives of both gradients."""
        second, third, fourth = self._all[2:]
        du = self._forms.apply(dmean[None, :])[0]
        du_factor = self._forms.apply(dfactor.T).T
        half_dvariance = np.sum(self._factor * du_factor, axis=1)
        dfirst = second * du + third * half_dvariance
        dsecond = third * du + fourth * half_dvariance
        dfactor_gradient = dsecond[:, None] * self._factor + second[:, None] * du_factor
        return np.asarray(self._forms.transpose(dfirst[None, :])[0]), np.asarray(
            self._forms.transpose(dfactor_gradient.T).T
        )
