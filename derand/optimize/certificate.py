"""The proof that a point is an approximate second-order stationary point."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from derand._utils.html import ResultRepr
from derand._utils.reductions import norm
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array
from derand.exceptions import InputError
from derand.optimize.oracle import Oracle, Point, StopRun
from derand.optimize.status import SOSPStatus

if TYPE_CHECKING:
    from derand.hessian.min_eigenvalue import MinEigenvalue

__all__ = ["SOSPCertificate", "Tolerances", "certify"]


@dataclass(frozen=True)
class Tolerances:
    """What a point has to satisfy, and how sure the proof has to be.

    Parameters
    ----------
    gtol : float
        Largest gradient norm.
    curv_tol : float
        Largest negative curvature, as a positive number.
    confidence : float
        Probability that a run makes no false certificate.
    hess_lip : float or None
        Lipschitz constant of the Hessian.
    hess_lip_source : str or None
        ``"given"``, ``"estimated"`` or None.
    dense_limit : int
        Number of variables up to which the whole Hessian is computed.
    """

    gtol: float
    curv_tol: float
    confidence: float
    hess_lip: float | None = None
    hess_lip_source: str | None = None
    dense_limit: int = 0


@dataclass(frozen=True)
class SOSPCertificate(ResultRepr):
    r"""What was computed about one point: gradient norm and a proven lower bound of the smallest Hessian eigenvalue.

    The point is a second-order stationary point to the stated tolerances when :math:`\|\nabla f\| \le` `gtol` and
    :math:`\lambda_{\min}(\nabla^2 f) \ge -` `curv_tol`; with ``curv_tol = sqrt(hess_lip * gtol)`` that is a rho-SOSP
    with rho = gtol.

    Parameters
    ----------
    gradient_norm : float
        Euclidean norm of the gradient.
    gtol : float
        Tolerance on it.
    min_eigenvalue : float
        Rayleigh quotient of `direction`, an upper estimate of the smallest eigenvalue.
    min_eigenvalue_lower : float
        Proven lower bound of the smallest eigenvalue; it holds with probability `confidence` over the random start.
    direction : ndarray of shape (n,)
        Unit vector with curvature `min_eigenvalue`.
    curv_tol : float
        Tolerance on the curvature.
    confidence : float
        Probability with which the run that made this certificate makes no false one; 1.0 when dense.
    method : str
        ``"lanczos"`` or ``"dense"``.
    hvp_error : float
        Bound on the error of a Hessian product with a unit vector; already subtracted from the lower bound.  nan where
        the curvature is negative, and nothing had to be proved.
    hvp_error_source : str
        ``"exact"`` for a user's hessp, ``"lipschitz"`` or ``"estimated"`` for differences of gradients, with a given or
        an estimated Lipschitz constant.
    hess_lip : float or None
        Lipschitz constant of the Hessian that `curv_tol` was derived from.
    hess_lip_source : str or None
        ``"given"``, ``"estimated"`` (then `curv_tol` is a convention, not a theorem's constant), or None when
        `curv_tol` was given.
    n_products : int
        Hessian products spent on this certificate.
    n_calls : int
        All evaluations and products spent on it: with the estimate of `hvp_error` and the check of the derivatives.
    """

    gradient_norm: float
    gtol: float
    min_eigenvalue: float
    min_eigenvalue_lower: float
    direction: FloatArray
    curv_tol: float
    confidence: float
    method: str
    hvp_error: float
    hvp_error_source: str
    hess_lip: float | None
    hess_lip_source: str | None
    n_products: int
    n_calls: int

    @property
    def is_certified(self) -> bool:
        """Whether both tolerances are met."""
        return self.gradient_norm <= self.gtol and -math.inf < self.min_eigenvalue_lower >= -self.curv_tol

    @property
    def rho(self) -> float:
        """Smallest rho for which the point is proved a rho-SOSP: needs a Lipschitz constant, else inf."""
        if not self.hess_lip:
            return math.inf
        return max(self.gradient_norm, min(self.min_eigenvalue_lower, 0.0) ** 2 / self.hess_lip)

    def check(
        self,
        fun: Callable[[FloatArray], tuple[float, FloatArray]],
        x: Any,
        *,
        hessp: Callable[[FloatArray, FloatArray], FloatArray] | None = None,
        rng: RNGLike = None,
    ) -> SOSPCertificate:
        """Return the certificate of x computed anew, from a fresh random start.

        Parameters
        ----------
        fun : callable
            ``fun(x)`` returns (value, gradient).
        x : array of shape (n,)
            The point.
        hessp : callable, optional
            ``hessp(x, v)`` returns the Hessian product.
        rng : int, Generator or None
            Source of the random start.

        Returns
        -------
        SOSPCertificate
            With the tolerances of this one; ask its `is_certified`.

        Raises
        ------
        InputError
            If x or a product isn't finite.

        Notes
        -----
        Costs one gradient and as many products as the first certificate did, give or take.
        """
        x = check_array(x, "x", ndim=1)
        oracle = Oracle(fun, hessp)
        point = oracle.evaluate(x)
        if not math.isfinite(point.fun):
            raise InputError("x must be a point where fun is finite")
        dense_limit = x.size if self.method == "dense" else 0
        tolerances = Tolerances(
            self.gtol, self.curv_tol, self.confidence, self.hess_lip, self.hess_lip_source, dense_limit
        )
        return certify(oracle, point, tolerances, rng=rng)[0]

    def __repr__(self) -> str:
        """Return the two inequalities, with a tick or a cross."""
        verdict = "certified" if self.is_certified else "not certified"
        error = 1.0 - self.confidence
        confidence = f"confidence 1 - {error:.1g}" if error else "confidence 1"
        return (
            f"<SOSPCertificate {verdict}: |grad| = {self.gradient_norm:.3g} (tolerance {self.gtol:.3g}), "
            f"lambda_min >= {self.min_eigenvalue_lower:.3g} (tolerance {-self.curv_tol:.3g}), {self.method}, "
            f"{confidence}, {self.n_products} products>"
        )


def certify(
    oracle: Oracle, point: Point, tolerances: Tolerances, *, share: float = 1.0, rng: RNGLike = None
) -> tuple[SOSPCertificate, MinEigenvalue]:
    """Return the certificate of an evaluated point, and the eigenvalue computation behind it.

    Parameters
    ----------
    oracle : Oracle
        The function.
    point : Point
        The evaluated point.
    tolerances : Tolerances
        What is to be proved.
    share : float in (0, 1], default 1.0
        Share of the error probability ``1 - confidence`` that this certificate may spend.
    rng : int, Generator or None
        Source of the random start.

    Returns
    -------
    certificate : SOSPCertificate
        Ask its `is_certified`.
    found : MinEigenvalue
        The direction of negative curvature in it is the way out of a saddle.

    Raises
    ------
    StopRun
        If floats can't express a confidence that leaves so small a share.
    """
    from derand.hessian.min_eigenvalue import min_eigenvalue  # not at load: scipy is slow to import

    before = oracle.n_calls
    operator = oracle.hessian(point, tolerances.hess_lip if tolerances.hess_lip_source == "given" else None)
    if point.x.size <= tolerances.dense_limit:
        matrix, unit = operator.dense(), check_rng(rng).standard_normal(point.x.size)
        unit /= norm(unit)
        # The eigenvector is no random direction, as the check of the derivatives needs.
        found = replace(min_eigenvalue(matrix), start=unit, start_product=matrix @ unit)
        lower = found.lower - math.sqrt(point.x.size) * operator.error_bound
    else:
        confidence = 1.0 - share * (1.0 - tolerances.confidence)
        if confidence == 1.0:
            raise StopRun(SOSPStatus.INCONCLUSIVE, "so many certificates have used up the error probability")
        found = min_eigenvalue(operator, threshold=-tolerances.curv_tol, confidence=confidence, rng=rng)
        lower = found.lower
    certificate = SOSPCertificate(
        gradient_norm=point.gradient_norm,
        gtol=tolerances.gtol,
        min_eigenvalue=found.value,
        min_eigenvalue_lower=lower,
        direction=found.vector,
        curv_tol=tolerances.curv_tol,
        confidence=1.0 if found.method == "dense" else tolerances.confidence,
        method=found.method,
        hvp_error=operator.error_bound if found.method == "dense" else found.product_error,
        hvp_error_source=operator.error_bound_source,
        hess_lip=tolerances.hess_lip,
        hess_lip_source=tolerances.hess_lip_source,
        n_products=found.n_products,
        n_calls=oracle.n_calls - before,
    )
    return certificate, found
