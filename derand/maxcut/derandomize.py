"""From unit vectors of the relaxation to one cut that is not below their expected hyperplane cut."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import erf

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike
from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray, check_int, check_option, check_scalar
from derand.maxcut.conditioning import best_hyperplane, condition_coordinates, round_means
from derand.maxcut.mixing import row_dots
from derand.maxcut.objective import SmoothedCutObjective
from derand.maxcut.problem import MaxCutProblem, SideArray
from derand.maxcut.relaxation import expected_cut, relaxation_value
from derand.maxcut.settling import SettlingWatch, joined_runs
from derand.optimize.minimize import minimize_sosp
from derand.optimize.result import SOSPResult
from derand.optimize.status import SOSPStatus

__all__ = ["GOEMANS_WILLIAMSON", "METHODS", "Derandomization", "derandomize"]

METHODS = ("sosp", "perturbed_gradient", "conditional", "hyperplane")

# min over angles of (angle/pi)/((1 - cos angle)/2), rounded down.
GOEMANS_WILLIAMSON = 0.8785672057848516
_GTOL = 1e-6
_MAX_RANK = 8
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Derandomization(ResultRepr):
    """A cut with the chain of inequalities that it satisfies.

    Attributes
    ----------
    side : ndarray of int8, shape (n,)
        The cut.
    value : int or float
        Its value.
    method : str
        The method that produced the cut; "conditional" where the method asked for fell short of the expected cut.
    fell_back : bool
        Whether that happened.
    expected_cut : float
        Expected hyperplane cut of the given unit vectors, in closed form.
    sdp_value : float
        Objective of the relaxation at these vectors.
    negative_weight : float
        Sum of the negative weights, by which the last inequality is shifted.
    weight_norm : float or None
        ||W||_F where the solver ended.
    weight_bound : float or None
        Bound on it from the gradient and the proven curvature; None without a certificate.
    sosp : SOSPResult or None
        The run of `minimize_sosp` with its certificate.
    """

    side: SideArray
    value: float | int
    method: str
    fell_back: bool
    expected_cut: float
    sdp_value: float
    negative_weight: float
    weight_norm: float | None = None
    weight_bound: float | None = None
    sosp: SOSPResult | None = None

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the run of `minimize_sosp`, which then returns where it is."""
        return self.sosp is not None and self.sosp.status is SOSPStatus.INTERRUPTED

    @property
    def is_above_expectation(self) -> bool:
        """Whether value >= expected_cut, up to the rounding of the expectation; always true but for "hyperplane"."""
        return self.value >= self.expected_cut - _ROUNDING * max(1.0, abs(self.expected_cut))

    @property
    def is_guaranteed(self) -> bool:
        """Whether value - N >= 0.87856 (sdp_value - N) holds as well, N the sum of the negative weights."""
        shifted = GOEMANS_WILLIAMSON * (self.sdp_value - self.negative_weight)
        return self.is_above_expectation and (
            self.value - self.negative_weight >= shifted - _ROUNDING * max(1.0, abs(shifted))
        )


def derandomize(
    problem: MaxCutProblem,
    vectors: FloatArray,
    *,
    method: str = "sosp",
    direction: int = 0,
    lam: float = 1e-3,
    sigma: float = 0.1,
    kick: float = 0.3,
    max_evals: int = 2000,
    time_limit: float | None = None,
    should_stop: Callable[[], bool] | None = None,
    rng: RNGLike = 0,
) -> Derandomization:
    """Return one cut from unit vectors, checked against their expected hyperplane cut.

    "sosp" minimises the smoothed objective from W = the vectors (their eight principal directions), b = kick * W e_k,
    which lies off the saddle b = 0, to a second-order stationary point, where W = 0, and rounds vertex by vertex
    without loss.  Where the signs have settled for long, one long step of descent leads to the cut that they mean
    (``settling.py``).  "perturbed_gradient" does the same by perturbed gradient descent with the constants of its
    theorem, which is the published algorithm to the letter and needs far more evaluations.  "conditional" fixes the
    Gaussian coordinates one by one and never loses.  "hyperplane" is Goemans and Williamson's random rounding, best of
    1000, for comparison.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    vectors : ndarray, shape (n, k)
        Unit rows, columns by descending importance, as `solve_relaxation` returns them.
    method : {"sosp", "perturbed_gradient", "conditional", "hyperplane"}
        How to round.
    direction : int, default 0
        Column k that the kick follows; different ones give different cuts.
    lam, sigma : float
        Parameters of `SmoothedCutObjective`.
    kick : float, default 0.3
        Length of the first bias relative to the column; 0 starts at the saddle, which the solver then leaves along
        negative curvature.
    max_evals : int, default 2000
        Limit on evaluations and Hessian products.
    time_limit : float, optional
        Seconds; results then depend on the machine.
    should_stop : callable, optional
        Asked after every iteration; a true answer rounds what there is.
    rng : int, Generator, SeedSequence or None, default 0
        Source of the certificate's start vector, the perturbations and the hyperplanes.

    Returns
    -------
    Derandomization
        The cut and the chain value >= expected_cut >= 0.87856 sdp_value (both sides shifted by the sum of the negative
        weights), checked.  Where another method falls short of the first inequality, "conditional" replaces it.

    Raises
    ------
    InputError
        If an argument is out of range or a row of ``vectors`` isn't a unit vector.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    Deterministic for a given ``rng``, whatever the number of BLAS threads.  "sosp" takes 50 to 250 evaluations of
    O(m) closed-form terms.

    References
    ----------
    arXiv:2510.19382, lemma 3.1 and the section on MAXCUT; Goemans and Williamson (1995), theorem 3.3 and section 3.2.1.

    Examples
    --------
    >>> from derand.maxcut.relaxation import solve_relaxation
    >>> pentagon = MaxCutProblem.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    >>> result = derandomize(pentagon, solve_relaxation(pentagon).vectors)
    >>> result.value, result.is_guaranteed, result.sosp.success
    (4, True, True)
    """
    check_option(method, "method", METHODS)
    expected, relaxed = expected_cut(problem, vectors), relaxation_value(problem, vectors)
    negative = math.fsum(problem.weights[problem.weights < 0.0].tolist())
    chain = (expected, relaxed, negative)
    if problem.n_edges == 0 or vectors.shape[1] == 0:
        side = np.ones(problem.n, dtype=np.int8)
        return Derandomization(side, problem.cut_value(side), method, False, *chain)
    with blas_threads(1):
        if method == "hyperplane":
            side = best_hyperplane(problem, vectors, rng=rng)[0]
            return Derandomization(side, problem.cut_value(side), method, False, *chain)
        if method == "conditional":
            side = condition_coordinates(problem, vectors, np.zeros(problem.n), should_stop=should_stop)[0]
            return Derandomization(side, problem.cut_value(side), method, False, *chain)
        objective = SmoothedCutObjective(problem, min(_MAX_RANK, vectors.shape[1]), lam=lam, sigma=sigma)
        start = _start(objective, vectors, direction, kick)
        run = _minimize(objective, start, method, (max_evals, time_limit, should_stop, rng))
        found = _round(problem, objective, run, (method, *chain))
        if found.is_above_expectation:
            return found
        side = condition_coordinates(problem, vectors, np.zeros(problem.n))[0]
    return Derandomization(
        side, problem.cut_value(side), "conditional", True, *chain, found.weight_norm, found.weight_bound, run
    )


def _start(objective: SmoothedCutObjective, vectors: FloatArray, direction: int, kick: float) -> FloatArray:
    """Return the flat start: principal directions renormalised, biases along one of them."""
    W = np.ascontiguousarray(vectors[:, : objective.d])
    lengths = np.sqrt(row_dots(W, W))
    W = np.where(lengths[:, None] > 1e-8, W / np.maximum(lengths, 1e-8)[:, None], 1.0 / math.sqrt(objective.d))
    column = check_int(direction, "direction", low=0) % objective.d
    return objective.pack(W, check_scalar(kick, "kick") * W[:, column])


def _minimize(
    objective: SmoothedCutObjective,
    start: FloatArray,
    method: str,
    limits: tuple[int, float | None, Callable[[], bool] | None, RNGLike],
) -> SOSPResult:
    """Return the run of minimize_sosp."""
    max_evals, time_limit, should_stop, rng = limits

    def stop(_state: SOSPResult) -> bool:
        """Return whether the caller wants an end."""
        return should_stop is not None and should_stop()

    if method == "perturbed_gradient":
        gradient_lipschitz, hessian_lipschitz = objective.lipschitz_constants()
        value = objective.value_and_grad(start)[0]
        lowest = -float(np.abs(objective.problem.weights).sum()) / objective.unit
        # curv_tol below 2 lam is what makes the lemma's bound on ||W|| finite.
        gtol = objective.lam**2 / hessian_lipschitz
        return minimize_sosp(
            objective.value_and_grad,
            start,
            hessp=objective.hessp,
            gtol=gtol,
            method="perturbed_gradient",
            grad_lip=gradient_lipschitz,
            hess_lip=hessian_lipschitz,
            delta_f=max(value - lowest, 1e-12),
            max_evals=max_evals,
            time_limit=time_limit,
            callback=stop,
            rng=rng,
        )
    watch = SettlingWatch(objective)
    run = _settle(objective, start, lambda state: stop(state) or watch(state), limits)
    if watch.target is None or run.status is SOSPStatus.INTERRUPTED:
        return run
    left = max(1, max_evals - run.nfev - run.nhev)
    return joined_runs(run, _settle(objective, watch.target, stop, (left, *limits[1:])))


def _settle(
    objective: SmoothedCutObjective,
    start: FloatArray,
    callback: Callable[[SOSPResult], bool],
    limits: tuple[int, float | None, Callable[[], bool] | None, RNGLike],
) -> SOSPResult:
    """Return the run of the practical solver."""
    max_evals, time_limit, _, rng = limits
    return minimize_sosp(
        objective.value_and_grad,
        start,
        hessp=objective.hessp,
        gtol=_GTOL,
        curv_tol=objective.lam,
        max_evals=max_evals,
        time_limit=time_limit,
        memory=10,
        callback=callback,
        rng=rng,
    )


def _round(
    problem: MaxCutProblem,
    objective: SmoothedCutObjective,
    run: SOSPResult,
    labels: tuple[str, float, float, float],
) -> Derandomization:
    """Return the cut of the point that the solver reached, with what is known about W there."""
    W, b = objective.unpack(run.x)
    side = round_means(problem, erf(b / (objective.sigma * math.sqrt(2.0))))
    bound = None
    if run.success and run.certificate is not None:
        bound = objective.weight_bound(W, b, run.certificate.min_eigenvalue_lower)
    method, expected, relaxed, negative = labels
    norm = math.sqrt(float(np.sum(W * W)))
    return Derandomization(side, problem.cut_value(side), method, False, expected, relaxed, negative, norm, bound, run)
