"""The proof that first-layer weights across the teacher's directions are small."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.reductions import norm
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_scalar
from derand.exceptions import InputError
from derand.hessian import min_eigenvalue
from derand.objectives import lemma_bound
from derand.optimize import SOSPCertificate
from derand.optimize.certificate import Tolerances, certify
from derand.optimize.derivative_samples import estimate_curvature_scales
from derand.optimize.oracle import Oracle
from derand.structure.inputs import InputCheck, check_inputs
from derand.structure.objective import NetworkObjective
from derand.structure.subspace import orthonormal_rows, split_weights

__all__ = ["StructureCertificate", "structure_certificate"]

_EPS = float(np.finfo(np.float64).eps)
# Relative Stein residual of an exact expectation beyond which its quadrature is too coarse.
_STEIN_LIMIT = 0.1
# Stein residual of a sample in standard errors; it is about 1 for Gaussian inputs, with a spread of a few tenths.
_SCORE_LIMIT = 3.0
_NO_BOUND = "the biases' Hessian has an eigenvalue below -2 lam: no second-order point in the biases, and no bound"


@dataclass(frozen=True)
class StructureCertificate(ResultRepr):
    r"""What is proved about W_perp, the first-layer weights across given directions, at one point.

    Attributes
    ----------
    perpendicular_norm : float
        Frobenius norm of W_perp.
    bound : float
        (||grad_perp|| + ||R||) / (2 lam + min eigenvalue of H_b), rounding included, R = G_perp - H_b W_perp.  It is
        algebra: valid for any inputs, labels and directions.  Infinite where the denominator isn't positive.
    gaussian_bound : float
        The same without R, which vanishes for Gaussian inputs and a teacher of these directions.
    lemma_bound : float
        rho / (2 lam - sqrt(K rho)) of the paper, for the certified rho; infinite where it says nothing, nan without a
        second-order certificate.
    hessian_lipschitz : float
        K of it; nan where none was needed.
    is_lipschitz_given : bool
        Whether K was given; an estimate is one from below, and makes `lemma_bound` no theorem.
    perpendicular_gradient : float
        Norm of the gradient across the directions.
    min_bias_eigenvalue : float
        Proved lower bound on the smallest eigenvalue of H_b.
    stein_residual : float
        ||R||.
    relative_stein_residual : float
        ||R|| over the larger of ||G_perp|| and ||H_b W_perp||, or over a floor of 1.5e-8 (||H_b|| + 2 lam).  On a
        sample it is about 1 at every stationary point, whatever the inputs: W_perp is the sampling error there.
    stein_score : float
        ||R|| over the standard error of G_perp: about 1 on samples of Gaussian inputs with labels that depend on these
        directions only, and growing like sqrt(n) where they depend on others.
    relative_bound : float
        `bound` over the norm of the whole first layer.
    share : float
        Share of the energy of the first layer along the directions.
    lam : float
        The decay.
    inputs : InputCheck
        How Gaussian the inputs look.
    is_meaningful : bool
        Whether the theorem has a say.  For an exact expectation: the identity holds within a tenth and the bound is
        finite.  For a sample: the inputs pass for Gaussian, the identity fails by no more than sampling explains (three
        standard errors), and the bound is below the norm of the whole layer.
    reason : str
        One sentence.
    sosp : SOSPCertificate or None
        The certificate of second order in all trained parameters.
    """

    perpendicular_norm: float
    bound: float
    gaussian_bound: float
    lemma_bound: float
    hessian_lipschitz: float
    is_lipschitz_given: bool
    perpendicular_gradient: float
    min_bias_eigenvalue: float
    stein_residual: float
    relative_stein_residual: float
    stein_score: float
    relative_bound: float
    share: float
    lam: float
    inputs: InputCheck
    is_meaningful: bool
    reason: str
    sosp: SOSPCertificate | None

    @property
    def is_valid(self) -> bool:
        """Whether the weights are within the bound, as they must be."""
        return self.perpendicular_norm <= self.bound


def structure_certificate(
    objective: NetworkObjective,
    x: Any,
    *,
    directions: Any = None,
    gtol: float | None = None,
    curv_tol: float | None = None,
    hessian_lipschitz: float | None = None,
    sosp: SOSPCertificate | None = None,
    rng: RNGLike = 0,
) -> StructureCertificate:
    r"""Return a bound on the first-layer weights across the teacher's directions, and whether it means anything.

    With G the gradient of the risk by the first weights, without decay, and H_b the Hessian block of the first biases,

    .. math:: (H_b + 2 \lambda I) W_\perp = \nabla_{W_\perp} F - R, \qquad R = G_\perp - H_b W_\perp ,

    and R = 0 by Stein's identity for inputs that are Gaussian across the directions, given the part along them and the
    label.  Hence :math:`\|W_\perp\| \le (\|\nabla_{W_\perp} F\| + \|R\|) / (2\lambda + \lambda_{\min}(H_b))`, at any
    point, with no Lipschitz constant.  The paper's bound is the worst case of it over all rho-SOSPs.

    At a second-order stationary point with trained first biases :math:`\lambda_{\min}(H_b) \ge -\sqrt{K\rho}`.  With
    frozen biases H_b isn't bounded by stationarity, and the bound is infinite where its smallest eigenvalue is below
    -2 lam: nothing is proved then, as has to be.

    Parameters
    ----------
    objective : NetworkObjective
        The training problem.
    x : ndarray of shape (n_variables,)
        The point.
    directions : array_like of shape (k, d), optional
        Directions U; default those of the sample's teacher.  With an estimate, the residual R also contains how much
        the labels depend on other directions; an estimate from the same sample makes it look smaller than it is.
    gtol, curv_tol : float, optional
        With both, the point's second-order certificate is computed anew; otherwise `sosp` is reported.
    hessian_lipschitz : float, optional
        Lipschitz constant K of the Hessian, for the paper's bound; estimated from below where it isn't given and a
        second-order certificate is there.
    sosp : SOSPCertificate, optional
        A certificate that `minimize_sosp` gave for this point.
    rng : int, Generator or None
        Random stream of Lanczos.

    Returns
    -------
    StructureCertificate
        The bounds and what they rest on.

    Raises
    ------
    InputError
        If there are no directions, or shapes don't fit.
    InputTypeError
        If an argument isn't an array of real numbers.

    Notes
    -----
    One gradient and H_b: two matrix products for two layers, else m Hessian products; then one eigenvalue problem of
    order m.  Deterministic for a given rng.

    References
    ----------
    arXiv:2510.19382, lemma 3.1 and theorem 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from derand.structure import MultiIndexTeacher, Network, NetworkObjective, gaussian_population
    >>> teacher = MultiIndexTeacher([1.0, 0.0], lambda s: np.tanh(s[:, 0]))
    >>> network = Network(2, 4)
    >>> objective = NetworkObjective(network, gaussian_population(teacher), lam=0.5)
    >>> found = structure_certificate(objective, network.random_parameters(rng=0))
    >>> found.is_valid, found.is_meaningful, bool(found.stein_residual < 1e-9)
    (True, True, True)
    """
    point = check_array(x, "x", shape=(objective.n_variables,))
    basis = objective.sample.directions if directions is None else directions
    if basis is None:
        raise InputError("directions must be given for a sample without a known teacher")
    W, gradient, hessian = objective.first_layer(point)
    parallel, perpendicular = split_weights(W, orthonormal_rows(basis, "directions"))
    slope = split_weights(gradient, basis)[1]
    rest = slope - 2.0 * objective.lam * perpendicular - hessian @ perpendicular
    lower = min_eigenvalue(hessian, rng=rng).lower
    size = norm(hessian)
    bounds = [_bound(norm(slope) + extra, lower, objective, perpendicular, size) for extra in (norm(rest), 0.0)]
    floor = math.sqrt(_EPS) * (size + 2.0 * objective.lam)
    largest = max(norm(slope - 2.0 * objective.lam * perpendicular), norm(hessian @ perpendicular), floor)
    inputs = check_inputs(objective.sample.X, objective.sample.weights)
    error, is_exact = objective.slope_error(point, basis), objective.sample.is_exact
    score = norm(rest) / error if error > 0.0 else 0.0
    relative = bounds[0] / norm(W) if norm(W) > 0.0 else math.inf
    residual = norm(rest) / largest
    is_meaningful, reason = (
        _exact_verdict(residual, bounds[0]) if is_exact else _verdict(inputs, W.shape[1], score, relative)
    )
    if gtol is not None and curv_tol is not None:
        sosp = _second_order(objective, point, gtol, curv_tol, rng)
    constant, lemma = _lemma(objective, point, sosp, hessian_lipschitz)
    energy = norm(parallel) ** 2 + norm(perpendicular) ** 2
    return StructureCertificate(
        perpendicular_norm=norm(perpendicular),
        bound=bounds[0],
        gaussian_bound=bounds[1],
        lemma_bound=lemma,
        hessian_lipschitz=constant,
        is_lipschitz_given=hessian_lipschitz is not None,
        perpendicular_gradient=norm(slope),
        min_bias_eigenvalue=lower,
        stein_residual=norm(rest),
        relative_stein_residual=residual,
        stein_score=score,
        relative_bound=relative,
        share=norm(parallel) ** 2 / energy if energy > 0.0 else math.nan,
        lam=objective.lam,
        inputs=inputs,
        is_meaningful=is_meaningful,
        reason=reason,
        sosp=sosp,
    )


def _bound(
    numerator: float, lower: float, objective: NetworkObjective, perpendicular: FloatArray, size: float
) -> float:
    """Return the a-posteriori bound with an allowance for rounding, infinite where it says nothing."""
    m, d = perpendicular.shape
    rounding = 8.0 * (m + d) * _EPS * (size + 2.0 * objective.lam)
    denominator = 2.0 * objective.lam + lower - rounding
    return (numerator + rounding * norm(perpendicular)) / denominator if denominator > 0.0 else math.inf


def _exact_verdict(residual: float, bound: float) -> tuple[bool, str]:
    """Return whether the theorem has a say for an exact expectation, and the sentence that says why."""
    if not math.isfinite(bound):
        return False, _NO_BOUND
    if residual > _STEIN_LIMIT:
        return False, f"Stein's identity fails by {residual:.2g} relatively: the quadrature needs more nodes"
    return True, f"Stein's identity holds within {residual:.2g} relatively; the bound is {bound:.3g}"


def _verdict(inputs: InputCheck, n_columns: int, score: float, relative: float) -> tuple[bool, str]:
    """Return whether the theorem has a say on a sample, and the sentence that says why."""
    if not inputs.is_gaussian:
        if inputs.n_effective <= n_columns:
            return False, f"{inputs.n_effective:.3g} points say nothing about {n_columns} columns"
        return False, f"the inputs aren't standard Gaussian: a moment is {inputs.worst_score:.1f} standard errors off"
    if score > _SCORE_LIMIT:
        return False, f"Stein's identity fails by {score:.1f} standard errors: the labels depend on other directions"
    if not math.isfinite(relative):
        return False, _NO_BOUND
    if relative >= 1.0:
        return False, f"the sampling error allows weights across of {relative:.2g} times the whole first layer"
    return True, f"Stein's identity holds within sampling error; the bound is {relative:.2g} of the first layer's norm"


def _second_order(
    objective: NetworkObjective, x: FloatArray, gtol: float, curv_tol: float, rng: RNGLike
) -> SOSPCertificate:
    """Return the certificate of second order of a point."""
    oracle = Oracle(objective.value_and_grad, objective.hessp)
    tolerances = Tolerances(
        check_scalar(gtol, "gtol", low=0.0, low_open=True),
        check_scalar(curv_tol, "curv_tol", low=0.0, low_open=True),
        1.0 - 1e-6,
    )
    return certify(oracle, oracle.evaluate(x), tolerances, rng=rng)[0]


def _lemma(
    objective: NetworkObjective, x: FloatArray, sosp: SOSPCertificate | None, given: float | None
) -> tuple[float, float]:
    """Return the Lipschitz constant and the paper's bound for the rho that is certified."""
    if sosp is None or objective.lam == 0.0:
        return (math.nan if given is None else given), math.nan
    if given is None:
        oracle = Oracle(objective.value_and_grad)
        given = estimate_curvature_scales(oracle, oracle.evaluate(x), check_rng(0))[0]
    constant = check_scalar(given, "hessian_lipschitz", low=0.0, high=math.inf, high_open=True)
    if sosp.min_eigenvalue_lower == -math.inf:
        return constant, math.inf
    curvature = min(sosp.min_eigenvalue_lower, 0.0) ** 2
    if curvature > 0.0 and constant == 0.0:
        return constant, math.inf
    rho = max(sosp.gradient_norm, curvature / constant if curvature else 0.0)
    return constant, lemma_bound(objective.lam, rho, constant)
