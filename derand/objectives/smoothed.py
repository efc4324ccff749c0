"""The smoothed objective f(W, b) = E[g(W x + b)] + lam ||W||_F^2, whose second-order stationary points have W = 0."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from derand._utils.reductions import norm
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_scalar
from derand.exceptions import MeaninglessCertificateWarning
from derand.objectives import diagnostics
from derand.objectives.bias_hessian import DEFAULT_CONFIDENCE, BiasHessian
from derand.objectives.diagnostics import STEIN_LIMIT, DerandomizationCheck, SteinResidual
from derand.objectives.finish import Solver, finish
from derand.objectives.nodes import NodeExpectation, NodeSet
from derand.objectives.protocol import GaussianExpectation
from derand.objectives.sampling import SAMPLES_PER_DIMENSION
from derand.objectives.smoothed_function import SmoothedFunction

__all__ = ["SmoothedObjective"]


class SmoothedObjective(SmoothedFunction):
    """E[g(W x + b)] + lam ||W||_F^2 over x ~ N(0, I_d), as a function of the flat vector (W, b, theta).

    At a second-order stationary point W = 0 and b is a second-order stationary point of g (Lemma 3.1): minimising f
    finds the randomness away.  The reason is Stein's identity, grad_W f = (H + 2 lam I) W with H = E[Hess g(W x + b)]
    the block of the Hessian that belongs to b.

    The expectation is the first of these that is possible, or the one asked for: the integrand's closed form; a
    Gauss-Hermite grid when min(k, d) <= 3; scrambled Sobol points; independent draws.  All but the first replace f by
    one fixed smooth function with exact gradient and Hessian products.  A certificate for that function is a theorem
    about it and not about f; ``stein_residual`` and ``derandomization_check`` tell whether it means anything for f.

    Parameters
    ----------
    integrand : Integrand
        g, of dimension k + p; its last p coordinates are parameters theta that aren't smoothed.
    k : int
        Rows of W, length of b; >= 1.
    d : int
        Number of Gaussians; >= 1.
    lam : float
        Weight of the penalty, > 0.
    expectation : {"auto", "exact", "quadrature", "qmc", "mc"}, default "auto"
        How the expectation is taken.
    n_samples : int, optional
        Points of "qmc" (a power of two) and "mc"; default the power of two above 40 for each dimension, at least 2048
        and 256.
    n_nodes : int, optional
        Nodes of "quadrature" for each dimension; default 128, 64 or 40 for one, two or three dimensions.
    reduce : bool, optional
        Whether to replace W by a factor with min(k, d) columns; by default where k < d and the expectation isn't a
        closed form.
    rng : None, int or Generator, optional
        Seed of the points.
    like : array, optional
        The points are kept in the library, data type and on the device of this array (for example a torch tensor on a
        GPU).

    Raises
    ------
    InputError
        If a number is out of range, a size doesn't fit or the expectation asked for isn't possible in this dimension.
    InputTypeError
        If ``integrand`` lacks a method or an argument has the wrong type.

    Notes
    -----
    **Reduction.**  W x + b has law N(b, W W').  With k < d, W = L Q for a k x k matrix L and orthonormal rows Q, and L
    y + b, y ~ N(0, I_k), has the same law.  So f doesn't change when d is replaced by k, every pair (L, Q) gives a
    point of the full problem with the same value, gradient norm, ||W||_F and H, and minimisers and stationary points
    correspond.  The variable is then L itself, shape (k, min(k, d)).  The alternative, a root of W W' inside the
    objective, isn't differentiable at W = 0, where everybody wants to end.  `pack` takes W of either width and `expand`
    goes back.

    Integrating over k dimensions instead of d is what makes sampled objectives usable: with many more columns than rows
    a batch has spurious stationary points far from W = 0.

    Deterministic for a given seed.  One evaluation costs one evaluation of g and its gradient at all points.

    References
    ----------
    Lemma 3.1 of arXiv 2510.19382; C. Stein (1981), Annals of Statistics 9, 1135-1151.

    Examples
    --------
    A quadratic g(z) = z^2 / 2 has f = (b^2 + ||W||^2)/2 + lam ||W||^2:

    >>> import numpy as np
    >>> from derand.objectives import Polynomial, SmoothedObjective
    >>> f = SmoothedObjective(Polynomial(1, {(0, 0): 0.5}), k=1, d=2, lam=0.5)
    >>> x = f.pack([[1.0, 2.0]], [3.0])
    >>> f.value_and_grad(x)
    (9.5, array([2., 4., 3.]))
    """

    def weight_bound(
        self, W: Any, b: Any, theta: Any = None, *, confidence: float = DEFAULT_CONFIDENCE, rng: RNGLike = 0
    ) -> float:
        """Return the a-posteriori bound on ||W||_F, (||grad_W f||_F + s) / (2 lam + min_eigenvalue(hess_bb)).

        s is the absolute Stein residual of the objective's own points: zero for an exact expectation.  No constant has
        to be known, and the bound holds at every point and for every kind of expectation.

        Parameters
        ----------
        W : array, shape (k, d) or (k, n_columns)
            Weights.
        b : array, shape (k,)
            Biases.
        theta : array, shape (n_parameters,), optional
            Parameters.
        confidence : float in (0, 1), default 1 - 1e-6
            For k > 1000, where the eigenvalue is bounded by Lanczos: probability, over ``rng``, that the bound holds.
            For smaller k it is certain.
        rng : None, int or Generator, default 0
            Source of Lanczos' start vector.

        Returns
        -------
        float
            The bound; infinite when the denominator isn't positive, never negative.
        """
        factor = self._variables.factor(W)
        with np.errstate(over="ignore", invalid="ignore"):
            parts = self._parts(factor, self._variables.point(b, theta))
            hessian = self._bias_hessian(parts, confidence=confidence, rng=rng)
            return diagnostics.weight_bound(parts, hessian, factor, self.lam)

    def lemma_bound(self, rho: float, hessian_lipschitz: float) -> float:
        """Return rho / (2 lam - sqrt(hessian_lipschitz rho)), a bound on ||W||_F at every rho-SOSP (Lemma 3.1)."""
        return diagnostics.lemma_bound(self.lam, rho, hessian_lipschitz)

    def stein_residual(self, W: Any, b: Any, theta: Any = None, *, rng: RNGLike = None) -> float:
        """Return ||G - H W||_F over the larger of ||G||_F and ||H W||_F, zero if the expectation is exact.

        G = E[grad g xi'] is the objective's own.  H = E[Hess g] is taken over a fresh batch of the same kind and size
        where the objective is sampled (the batch that was optimised over can't judge itself), with more nodes for a
        grid.

        Parameters
        ----------
        W, b, theta : array
            As in `weight_bound`.
        rng : None, int or Generator, optional
            Seed of the fresh batch; by default one that belongs to this objective, so that the answer repeats.

        Returns
        -------
        float
            The relative residual, >= 0.

        Warns
        -----
        MeaninglessCertificateWarning
            If the residual exceeds 0.1, or there are fewer than 40 points for each dimension that is sampled.
        """
        residual = self._stein(self._variables.factor(W), self._variables.point(b, theta), rng)
        problem = self._meaningless(residual)
        if problem:
            warnings.warn(
                f"certificates of this objective say little about the expectation: {problem}",
                MeaninglessCertificateWarning,
                stacklevel=2,
            )
        return residual.relative

    def derandomization_check(self, x: Any, *, tol: float = 1e-3, rng: RNGLike = None) -> DerandomizationCheck:
        """Return whether the point may be called derandomized, with the figures behind the verdict.

        It may when ||W||_F <= tol and the expectation is good enough: an exact one always is; a sampled one needs 40
        points for each dimension and a relative Stein residual of at most 0.1, or an absolute one too small to move W
        by ``tol``.

        Parameters
        ----------
        x : array, shape (n_variables,)
            A point, normally the solver's answer.
        tol : float, default 1e-3
            Largest ||W||_F that counts as zero, >= 0.
        rng : None, int or Generator, optional
            Seed of the fresh batch.

        Returns
        -------
        DerandomizationCheck
            True or false in a condition.
        """
        limit = check_scalar(tol, "tol", low=0.0)
        factor, point = self._variables.split(x)
        residual = self._stein(factor, point, rng)
        with np.errstate(over="ignore", invalid="ignore"):
            parts = self._parts(factor, point)
            bound, size = diagnostics.weight_bound(parts, self._bias_hessian(parts), factor, self.lam), norm(factor)
            slope = norm(parts.factor_gradient[: self.k] + 2.0 * self.lam * factor)
        denominator = 2.0 * self.lam + residual.min_eigenvalue
        harmless = denominator > 0.0 and (slope + residual.absolute) / denominator <= limit
        problem = self._meaningless(residual, harmless=harmless)
        if size > limit:
            problem = f"||W|| = {size:.3g} exceeds {limit:.3g}"
        reason = problem or f"||W|| = {size:.3g} and Stein's identity holds to {residual.relative:.2g}"
        return DerandomizationCheck(not problem, size, bound, residual.relative, self.n_samples, reason)

    def is_derandomized(self, x: Any, *, tol: float = 1e-3, rng: RNGLike = None) -> bool:
        """Return the verdict of `derandomization_check`."""
        return self.derandomization_check(x, tol=tol, rng=rng).is_derandomized

    def inner_value_and_grad(self, b: Any, theta: Any = None) -> tuple[float, FloatArray]:
        """Return g(b, theta) and its gradient with respect to b, the problem that is left when W = 0."""
        parts = self._inner(self._variables.point(b, theta))
        return parts.value, parts.gradient[: self.k]

    def derandomize(self, W: Any, b: Any, theta: Any = None, *, solver: Solver | None = None) -> FloatArray:
        """Return a b whose g(b) is at most f(W, b) + (l/2 - lam) ||W||_F^2, for every l with Hess g >= -l I.

        W is set to zero, which costs no more than `derandomization_loss` by Jensen's inequality for g + l/2 |.|^2, and
        g is minimised from there in k dimensions; the better of the two points is returned.

        Parameters
        ----------
        W, b, theta : array
            As in `weight_bound`; theta stays as it is.
        solver : callable, optional
            ``solver(fun, x0)``, with ``fun(b) -> (value, gradient)``, returns an object with the attribute ``x``; for
            example a `minimize_sosp` with its options filled in.  By default SciPy's L-BFGS-B, whose answer need not be
            a second-order point.

        Returns
        -------
        ndarray, shape (k,)
            The deterministic answer.
        """
        self._variables.factor(W)
        point = self._variables.point(b, theta)

        def fun(bias: FloatArray) -> tuple[float, FloatArray]:
            """Return value and gradient of the inner function."""
            return self.inner_value_and_grad(bias, theta)

        return finish(fun, point[: self.k], solver)

    def derandomization_loss(self, W: Any, curvature: float) -> float:
        """Return (curvature/2 - lam) ||W||_F^2, which bounds g(b) - f(W, b) when Hess g >= -curvature I everywhere."""
        bound = check_scalar(curvature, "curvature", low=0.0, high=math.inf, high_open=True)
        return (bound / 2.0 - self.lam) * norm(self._variables.factor(W)) ** 2

    def _inner(self, point: FloatArray) -> GaussianExpectation:
        """Return g itself at (b, theta), as an expectation over a single point."""
        nodes = NodeSet.equal(np.zeros((1, 1)), self._like)
        return NodeExpectation(self.integrand, nodes, point, np.zeros((point.size, 1)))

    def _stein(self, factor: FloatArray, point: FloatArray, rng: RNGLike) -> SteinResidual:
        """Return the residual of the objective's gradient against a Hessian from new points."""
        parts = self._parts(factor, point)
        judge = parts
        if self.expectation == "quadrature":
            judge = self._expect(factor, point, self._new_nodes(self._n_nodes + 7, 0))
        elif self.expectation != "exact":
            seed = self._fresh_seed if rng is None else int(check_rng(rng).integers(2**63))
            judge = self._expect(factor, point, self._new_nodes(self._n_nodes, seed))
        with np.errstate(over="ignore", invalid="ignore"):
            hessian = self._bias_hessian(judge)
            return diagnostics.stein_residual(parts.factor_gradient[: self.k], hessian, factor, self.lam)

    def _bias_hessian(
        self, parts: GaussianExpectation, *, confidence: float = DEFAULT_CONFIDENCE, rng: RNGLike = 0
    ) -> BiasHessian:
        """Return E[Hess g]; a hundredth of 2 lam is accuracy enough for its least eigenvalue."""
        return BiasHessian(parts, self.k, tol=0.02 * self.lam, confidence=confidence, rng=rng)

    def _meaningless(self, residual: SteinResidual, *, harmless: bool = False) -> str:
        """Say why certificates mean little here; empty when they do."""
        least = SAMPLES_PER_DIMENSION * self.n_columns
        if self.n_samples is not None and self.n_samples < least:
            return f"{self.n_samples} points in {self.n_columns} dimensions, fewer than {least}"
        if residual.relative > STEIN_LIMIT and not harmless:
            return f"the Stein residual {residual.relative:.3g} exceeds {STEIN_LIMIT}"
        return ""
