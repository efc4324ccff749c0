"""The function f(W, b) = E[g(W x + b)] + lam ||W||_F^2 of a flat vector, with exact derivatives."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from derand._utils.reductions import norm
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int, check_scalar
from derand.exceptions import InputError, InputTypeError
from derand.objectives.function import has_exact_hessian
from derand.objectives.nodes import NodeExpectation, NodeSet
from derand.objectives.protocol import GaussianExpectation, HasExpectation, Integrand
from derand.objectives.sampling import build_nodes, choose_expectation, default_size
from derand.objectives.variables import Variables

__all__ = ["SmoothedFunction"]

_MAX_VARIABLES = 2**31
_MAX_NODES = 1000


class SmoothedFunction:
    """E[g(W x + b)] + lam ||W||_F^2 and its derivatives; `SmoothedObjective` adds what they prove.

    Parameters
    ----------
    integrand, k, d, lam, expectation, n_samples, n_nodes, reduce, rng, like
        As in `SmoothedObjective`.

    Raises
    ------
    InputError
        If a number is out of range, a size doesn't fit or the expectation asked for isn't possible in this dimension.
    InputTypeError
        If ``integrand`` lacks a method or an argument has the wrong type.
    """

    def __init__(
        self,
        integrand: Integrand,
        k: int,
        d: int,
        lam: float,
        *,
        expectation: str = "auto",
        n_samples: int | None = None,
        n_nodes: int | None = None,
        reduce: bool | None = None,
        rng: RNGLike = None,
        like: Any = None,
    ) -> None:
        self.integrand = _check_integrand(integrand)
        self.k = check_int(k, "k", low=1)
        self.d = check_int(d, "d", low=1)
        self.lam = check_scalar(lam, "lam", low=0.0, low_open=True, high=math.inf, high_open=True)
        self.n_parameters = check_int(integrand.dim, "integrand.dim", low=1) - self.k
        if self.n_parameters < 0:
            raise InputError(f"k must be at most the dimension {integrand.dim} of the integrand, got {self.k}")
        if reduce is not None and not isinstance(reduce, bool):
            raise InputTypeError(f"reduce must be None, True or False, got {type(reduce).__name__}")
        rank = self.d if reduce is False else min(self.k, self.d)
        self.expectation = choose_expectation(integrand, rank, expectation)
        self.n_columns = self.d if reduce is None and self.expectation == "exact" else rank
        if self.k * self.n_columns + integrand.dim > _MAX_VARIABLES:
            raise InputError(f"k and d make {self.k * self.n_columns} variables, more than {_MAX_VARIABLES}")
        self._variables = Variables(self.k, self.d, self.n_columns, self.n_parameters)
        self._like = like
        self._seed, self._fresh_seed = (int(s) for s in check_rng(rng).integers(2**63, size=2))
        self._n_nodes = self._node_count(n_samples, n_nodes)
        self._nodes = self._new_nodes(self._n_nodes, self._seed)
        self._memo: tuple[bytes, GaussianExpectation] | None = None

    def _node_count(self, n_samples: int | None, n_nodes: int | None) -> int:
        """Return the user's number of points, checked whether it is used or not, or the default."""
        samples = None if n_samples is None else check_int(n_samples, "n_samples", low=1)
        nodes = None if n_nodes is None else check_int(n_nodes, "n_nodes", low=1, high=_MAX_NODES)
        wish = nodes if self.expectation == "quadrature" else samples
        return default_size(self.expectation, self.n_columns) if wish is None else wish

    @property
    def n_variables(self) -> int:
        """Length of the flat vector: k n_columns + k + n_parameters."""
        return self._variables.size

    @property
    def n_samples(self) -> int | None:
        """Number of points of a sampled expectation, else None."""
        return self._n_nodes if self.expectation in {"qmc", "mc"} else None

    @property
    def has_exact_hessian(self) -> bool:
        """Whether ``hessp`` is exact rather than made of differences of the integrand's gradient."""
        return has_exact_hessian(self.integrand)

    def pack(self, W: Any, b: Any, theta: Any = None) -> FloatArray:
        """Return the flat vector of W (k, d) or (k, n_columns), b (k,) and theta (n_parameters,)."""
        return self._variables.pack(W, b, theta)

    def unpack(self, x: Any) -> tuple[FloatArray, ...]:
        """Return W (k, n_columns) and b (k,); and theta where there are parameters."""
        factor, point = self._variables.split(x)
        return (factor, point[: self.k], point[self.k :]) if self.n_parameters else (factor, point)

    def expand(self, W: Any) -> FloatArray:
        """Return a W of d columns with the same law of W x + b as the given one of n_columns."""
        return self._variables.expand(self._variables.factor(W))

    def value_and_grad(self, x: Any) -> tuple[float, FloatArray]:
        """Return f and its gradient.

        Parameters
        ----------
        x : array, shape (n_variables,)
            W, b and theta, flattened one after the other.

        Returns
        -------
        value : float
            f(x); infinite where the integrand overflows.
        gradient : ndarray, shape (n_variables,)
            The exact gradient of the same function.

        Raises
        ------
        InputError
            If ``x`` has the wrong length or isn't finite, or the integrand answers with wrong shapes or NaN.
        """
        factor, point = self._variables.split(x)
        with np.errstate(over="ignore", invalid="ignore"):
            parts = self._parts(factor, point)
            gradient, slope = parts.gradient, parts.factor_gradient
            _check_shape("gradient", gradient, point.shape)
            _check_shape("factor_gradient", slope, (point.size, self.n_columns))
            value = parts.value + self.lam * norm(factor) ** 2
            return value, np.concatenate([(slope[: self.k] + 2.0 * self.lam * factor).ravel(), gradient])

    def hessp(self, x: Any, v: Any) -> FloatArray:
        """Return the Hessian of f at ``x`` times ``v``, both of shape (n_variables,)."""
        factor, point = self._variables.split(x)
        dfactor, dpoint = self._variables.split(v, "v")
        with np.errstate(over="ignore", invalid="ignore"):
            dgradient, dslope = self._parts(factor, point).derivative(dpoint, self._variables.pad(dfactor))
            return np.concatenate([(dslope[: self.k] + 2.0 * self.lam * dfactor).ravel(), dgradient])

    def hess_bb(self, W: Any, b: Any, theta: Any = None) -> FloatArray:
        """Return E[Hess g(W x + b)] in the smoothed coordinates, shape (k, k): the block of b in the Hessian of f."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._parts(self._variables.factor(W), self._variables.point(b, theta)).hessian(self.k)

    def refined(self, rng: RNGLike = None) -> Self:
        """Return the same objective on twice the points, freshly drawn; a grid gets twice the nodes for each dimension.

        Solving, checking with `derandomization_check` and refining until it holds ends a sampled optimisation with an
        answer that a batch of its own can't have produced.

        Parameters
        ----------
        rng : None, int or Generator, optional
            Seed of the new points; by default one that belongs to this objective, so that refinements repeat.

        Returns
        -------
        SmoothedObjective
            The finer objective; this one itself where the expectation is exact.
        """
        if self.expectation == "exact":
            return self
        seed = self._fresh_seed + 1 if rng is None else rng
        is_grid = self.expectation == "quadrature"
        return type(self)(
            self.integrand,
            self.k,
            self.d,
            self.lam,
            expectation=self.expectation,
            n_samples=None if is_grid else 2 * self._n_nodes,
            n_nodes=2 * self._n_nodes if is_grid else None,
            reduce=self.n_columns < self.d,
            rng=seed,
            like=self._like,
        )

    def _new_nodes(self, size: int, seed: int) -> NodeSet | None:
        """Return nodes of the objective's kind; None for a closed form."""
        return (
            None
            if self.expectation == "exact"
            else build_nodes(self.expectation, size, self.n_columns, seed, self._like)
        )

    def _expect(self, factor: FloatArray, point: FloatArray, nodes: NodeSet | None) -> GaussianExpectation:
        padded = self._variables.pad(factor)
        if nodes is not None:
            return NodeExpectation(self.integrand, nodes, point, padded)
        assert isinstance(self.integrand, HasExpectation)
        return self.integrand.expectation(point, padded)

    def _parts(self, factor: FloatArray, point: FloatArray) -> GaussianExpectation:
        """Return the expectation at a point; the last one is kept, since Hessian products come many at a point."""
        key = factor.tobytes() + point.tobytes()
        memo = self._memo
        if memo is None or memo[0] != key:
            memo = (key, self._expect(factor, point, self._nodes))
            self._memo = memo
        return memo[1]


def _check_integrand(integrand: Any) -> Integrand:
    """Return the integrand when it has all that an integrand needs."""
    for name in ("value", "gradient", "hessian_product"):
        if not callable(getattr(integrand, name, None)):
            raise InputTypeError(f"integrand must have a method {name}, and {type(integrand).__name__} has none")
    if not hasattr(integrand, "dim"):
        raise InputTypeError(f"integrand must have an attribute dim, and {type(integrand).__name__} has none")
    return integrand  # type: ignore[no-any-return]


def _check_shape(name: str, array: FloatArray, shape: tuple[int, ...]) -> None:
    """Raise an error that names the member of a closed form with the wrong shape."""
    if np.shape(array) != shape:
        raise InputError(f"the integrand's expectation must have a {name} of shape {shape}, got {np.shape(array)}")
