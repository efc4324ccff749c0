"""What an objective's answer proves: bounds on the weights, Stein residuals, the verdict "derandomized"."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.reductions import norm
from derand._utils.validation import FloatArray, check_scalar
from derand.objectives.bias_hessian import BiasHessian
from derand.objectives.protocol import GaussianExpectation

__all__ = ["DerandomizationCheck", "SteinResidual", "lemma_bound", "stein_residual", "weight_bound"]

_EPS = float(np.finfo(np.float64).eps)
# Relative Stein residual beyond which a sampled objective says little about the expectation.
STEIN_LIMIT = 0.1


@dataclass(frozen=True)
class SteinResidual:
    """How far E[grad g(z) xi'] and E[Hess g(z)] W are apart, which Stein's identity makes equal.

    Attributes
    ----------
    absolute : float
        Frobenius norm of the difference.
    relative : float
        The same over the larger of the two norms.
    min_eigenvalue : float
        Lower bound of the smallest eigenvalue of the E[Hess g(z)] used, which is taken over new points where the
        expectation is sampled.
    """

    absolute: float
    relative: float
    min_eigenvalue: float


@dataclass(frozen=True)
class DerandomizationCheck(ResultRepr):
    """Whether a point may be called derandomized, and why.

    Attributes
    ----------
    is_derandomized : bool
        True when the weights are negligible and the expectation is good enough for this to mean something.
    weight_norm : float
        Frobenius norm of W.
    weight_bound : float
        The a-posteriori bound on it.
    stein_residual : float
        Relative Stein residual.
    n_samples : int or None
        Number of points of a sampled expectation.
    reason : str
        One sentence.
    """

    is_derandomized: bool
    weight_norm: float
    weight_bound: float
    stein_residual: float
    n_samples: int | None
    reason: str

    def __bool__(self) -> bool:
        """Return the verdict."""
        return self.is_derandomized


def lemma_bound(lam: float, rho: float, hessian_lipschitz: float) -> float:
    """Return rho / (2 lam - sqrt(hessian_lipschitz rho)), which bounds ||W||_F at every rho-SOSP of the objective.

    Parameters
    ----------
    lam : float
        Weight of the penalty, > 0.
    rho : float
        Accuracy: gradient norm at most rho, smallest eigenvalue of the Hessian at least -sqrt(hessian_lipschitz rho),
        >= 0.
    hessian_lipschitz : float
        Lipschitz constant of the Hessian of the objective on the sublevel set, >= 0.

    Returns
    -------
    float
        The bound; infinite where 2 lam <= sqrt(hessian_lipschitz rho), when the lemma says nothing.

    Raises
    ------
    InputError
        If a number is negative, infinite or NaN.

    References
    ----------
    Lemma 3.1 of arXiv 2510.19382.

    Examples
    --------
    >>> from derand.objectives import lemma_bound
    >>> lemma_bound(0.5, 0.01, 25.0), lemma_bound(0.5, 0.01, 100.0)
    (0.02, inf)
    """
    weight = check_scalar(lam, "lam", low=0.0, low_open=True, high=math.inf, high_open=True)
    accuracy = check_scalar(rho, "rho", low=0.0, high=math.inf, high_open=True)
    lipschitz = check_scalar(hessian_lipschitz, "hessian_lipschitz", low=0.0, high=math.inf, high_open=True)
    # Two roots: the product of a small rho and a large constant must not overflow or underflow on the way.
    denominator = 2.0 * weight - math.sqrt(lipschitz) * math.sqrt(accuracy)
    return accuracy / denominator if denominator > 0.0 else math.inf


def weight_bound(parts: GaussianExpectation, hessian: BiasHessian, factor: FloatArray, lam: float) -> float:
    """Return the a-posteriori bound (||grad_W f|| + ||G - H W||) / (2 lam + min_eigenvalue(H)) on ||W||_F.

    With G = E[grad g xi'] the gradient is grad_W f = G + 2 lam W, hence (H + 2 lam I) W = grad_W f - (G - H W) for
    every symmetric H: the bound is algebra and holds whatever nodes stand for the expectation.  The second term
    vanishes by Stein's identity for an exact one, and is what a sampled one has to pay.

    Parameters
    ----------
    parts : GaussianExpectation
        The expectation at the point.
    hessian : BiasHessian
        H.
    factor : array, shape (k, r)
        W.
    lam : float
        Weight of the penalty.

    Returns
    -------
    float
        The bound, rounding errors included; infinite when the denominator isn't positive.
    """
    k, r = factor.shape
    slope = parts.factor_gradient[:k]
    if not (math.isfinite(hessian.lower) and np.isfinite(slope).all()):
        return math.inf
    # Rounding of products with k terms, with a factor of safety of about 4; that of the eigenvalue is in ``lower``.
    rounding = 8.0 * (k + r) * _EPS * (hessian.size + 2.0 * lam)
    denominator = 2.0 * lam + hessian.lower - rounding
    if denominator <= 0.0:
        return math.inf
    residual = norm(slope - hessian.times(factor))
    return float((norm(slope + 2.0 * lam * factor) + residual + rounding * norm(factor)) / denominator)


def stein_residual(slope: FloatArray, hessian: BiasHessian, factor: FloatArray, lam: float) -> SteinResidual:
    """Return the residual of E[grad g xi'] = E[Hess g] W.

    Parameters
    ----------
    slope : array, shape (k, r)
        E[grad g xi'] of the objective.
    hessian : BiasHessian
        E[Hess g], over new points where the objective is sampled.
    factor : array, shape (k, r)
        W.
    lam : float
        Weight of the penalty.

    Returns
    -------
    SteinResidual
        The residual.  The relative one is taken over at least 1.5e-8 (||E[Hess g]|| + 2 lam): smaller weights are zero
        for all purposes, and a ratio of two roundings says nothing.
    """
    if not (math.isfinite(hessian.lower) and np.isfinite(slope).all()):
        return SteinResidual(math.inf, math.inf, -math.inf)
    product = hessian.times(factor)
    absolute = norm(slope - product)
    floor = math.sqrt(_EPS) * (hessian.size + 2.0 * lam)
    return SteinResidual(absolute, absolute / max(norm(slope), norm(product), floor), hessian.lower)
