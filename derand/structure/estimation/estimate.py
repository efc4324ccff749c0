"""The public fit: the directions that a response depends on, their number, error bars, and the link."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_option, check_scalar
from derand.exceptions import InputError
from derand.structure.estimation.cones import ConfidenceCone, confidence_cone
from derand.structure.estimation.distinct import distinct_samples
from derand.structure.estimation.holdout import choose_by_hold_out
from derand.structure.estimation.polish import Candidate, Problem
from derand.structure.estimation.rank import RankStep, fit_path
from derand.structure.estimation.whitening import Whitening, whiten

__all__ = ["StructureEstimate", "check_weight", "deadline_of", "estimate_structure"]


@dataclass(frozen=True, repr=False)
class StructureEstimate(ResultRepr):
    """Directions, link and error bars.

    Parameters
    ----------
    components : ndarray of shape (k, d)
        Orthonormal rows, principal gradient directions of the link, by falling singular value; the largest entry of
        each is positive.
    singular_values : ndarray of shape (k,)
        Root mean square of the link's gradient along each component, in units of the response.
    cone : ConfidenceCone
        Error bars; its noise variance is in units of standardised responses.
    path : tuple of RankStep
        The numbers of directions tried.
    candidate : Candidate
        Subspace and smoother in whitened coordinates.
    whitening : Whitening
        The coordinates.
    y_mean, y_scale : ndarray of shape (q,)
        The responses' location and scale.
    is_complete : bool, default True
        Whether the search ended by itself rather than at its time limit or by Ctrl-C.
    """

    components: FloatArray
    singular_values: FloatArray
    cone: ConfidenceCone
    path: tuple[RankStep, ...]
    candidate: Candidate
    whitening: Whitening
    y_mean: FloatArray
    y_scale: FloatArray
    is_complete: bool = True

    @property
    def n_iter(self) -> int:
        """Gauss-Newton rounds of the last polishing, at least 1."""
        return max(1, len(self.candidate.trace) - 1)

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the fitted responses, of shape (n, q)."""
        z = self.whitening.transform(X) @ self.candidate.B.T
        return np.asarray(self.y_mean + self.y_scale * self.candidate.fit.predict(z))


def check_weight(sample_weight: Any, n: int) -> FloatArray | None:
    """Return nonnegative weights, not all zero, or None."""
    if sample_weight is None:
        return None
    weight = check_array(sample_weight, "sample_weight", shape=(n,))
    if weight.min(initial=0.0) < 0.0 or weight.sum() <= 0.0:
        raise InputError("sample_weight must be nonnegative and not all zero")
    return weight


def deadline_of(time_limit: float | None) -> float:
    """Return the time of `time.monotonic` at which a time limit from now ends, inf without one."""
    if time_limit is None:
        return math.inf
    return time.monotonic() + check_scalar(time_limit, "time_limit", low=0.0)


def estimate_structure(
    X: Any,
    y: Any,
    n_components: int | str = "auto",
    *,
    max_components: int = 6,
    sample_weight: Any = None,
    shrinkage: float | str = "auto",
    n_landmarks: int = 300,
    max_iter: int = 8,
    tol: float = 1e-5,
    time_limit: float | None = None,
    callback: Callable[[RankStep], object] | None = None,
    rng: RNGLike = 0,
) -> StructureEstimate:
    r"""Return the directions B for which y depends on x through :math:`f(Bx)`, with f and error bars.

    It whitens X, takes starts from inverse regressions and kernel gradients, and polishes them by profile Gauss-Newton:
    the subspace minimises the penalised residual sum of squares of the best smooth link on it, whose ridge and length
    scales are those of least GCV.  The number of directions is the one of least BIC.  For smooth links and inputs near
    Gaussian the error is close to `efficiency_bound`.  The minimum found is local; nothing is proved about others.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Samples, n >= 2.
    y : array_like of shape (n,) or (n, q)
        Responses; several share the directions and the length scales.
    n_components : int or "auto", default "auto"
        Number of directions.
    max_components : int, default 6
        The most for "auto".
    sample_weight : array_like of shape (n,), optional
        Nonnegative weights.
    shrinkage : float in [0, 1] or "auto", default "auto"
        See `whiten`.
    n_landmarks : int, default 300
        The most landmarks of the smoother.
    max_iter : int, default 8
        Rounds of the last polishing.
    tol : float, default 1e-5
        Relative improvement of GCV that ends it.
    time_limit : float, optional
        Seconds after which no further number of directions is tried nor anything polished; the starts take theirs.
    callback : callable, optional
        Called with a `RankStep` after each number of directions.
    rng : int, Generator or None, default 0
        Choice of landmarks and held-out samples.

    Returns
    -------
    StructureEstimate
        With fewer directions than asked for where X has fewer independent columns, or the samples are too few.

    Raises
    ------
    InputError
        If shapes don't fit, values aren't finite or a parameter is out of range.
    InputTypeError
        If an argument has the wrong type.
    KeyboardInterrupt
        On Ctrl-C; its ``partial`` is the estimate so far, and is missing before the first.

    Notes
    -----
    Above 800 samples starts are compared on a part, directions exchanged on 6,000; time O(n (d^2 + m^2 + (k d)^2))
    for a round, memory O(n (d + m)).  Deterministic for a seed, unless the time limit ends it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 5))
    >>> found = estimate_structure(X, (X[:, 0] + X[:, 1]) ** 2 + 0.1 * rng.standard_normal(400))
    >>> np.abs(found.components).round(1).tolist()
    [[0.7, 0.7, 0.0, 0.0, 0.0]]
    """
    deadline = deadline_of(time_limit)
    X, y = check_array(X, "X", ndim=2), check_array(y, "y")
    y = y[:, None] if y.ndim == 1 else y
    n, d = X.shape
    if n < 2 or d < 1 or y.ndim != 2 or y.shape[0] != n:
        raise InputError(f"X and y must have the same number of rows, at least 2, got {X.shape} and {y.shape}")
    if isinstance(n_components, str):
        check_option(n_components, "n_components", ("auto",))
        k = None
    else:
        k = check_int(n_components, "n_components", low=1, high=d)
    if isinstance(shrinkage, str):
        check_option(shrinkage, "shrinkage", ("auto",))
        intensity = None
    else:
        intensity = check_scalar(shrinkage, "shrinkage", low=0.0, high=1.0)
    check_int(max_components, "max_components", low=1)
    X, y, weight = distinct_samples(X, y, check_weight(sample_weight, n))
    n = X.shape[0]
    whitening = whiten(X, weight, intensity)
    w = np.full(n, 1.0 / n) if weight is None else weight / n
    y_mean = w @ y
    y_scale = np.sqrt(w @ np.square(y - y_mean))
    y_scale = np.where(y_scale > 1e-12 * np.maximum(np.abs(y_mean), 1e-300), y_scale, 1.0)
    problem = Problem(
        whitening.transform(X),
        (y - y_mean) / y_scale,
        weight,
        check_rng(rng).permutation(n),
        check_int(n_landmarks, "n_landmarks", low=1),
        check_int(max_iter, "max_iter", low=1),
        check_scalar(tol, "tol", low=0.0),
        deadline=deadline,
    )
    if whitening.matrix.shape[1] == 0:
        raise InputError("X must have a column that isn't constant")
    return _searched(problem, (max_components, k), callback, (whitening, (y_mean, y_scale)))


def _searched(
    problem: Problem,
    numbers: tuple[int, int | None],
    callback: Callable[[RankStep], object] | None,
    coordinates: tuple[Whitening, tuple[FloatArray, FloatArray]],
) -> StructureEstimate:
    """Return the estimate of the number of directions of least BIC; an interrupt takes along the one so far."""
    candidates: list[Candidate] = []
    path: list[RankStep] = []
    try:
        candidates, path = fit_path(problem, *numbers, callback=callback)
        best = candidates[int(np.argmin([step.bic for step in path]))]
        if best.fit.kernel == "matern" and not problem.is_late:
            best = choose_by_hold_out(problem, best)
        return _finished(problem, best, tuple(path), *coordinates)
    except KeyboardInterrupt as interrupt:
        candidates, path = getattr(interrupt, "partial", (candidates, path))
        if path:
            best = candidates[int(np.argmin([step.bic for step in path]))]
            found = replace(_finished(problem, best, tuple(path), *coordinates), is_complete=False)
            interrupt.partial = found  # type: ignore[attr-defined]
        raise


def _finished(
    problem: Problem,
    best: Candidate,
    path: tuple[RankStep, ...],
    whitening: Whitening,
    location: tuple[FloatArray, FloatArray],
) -> StructureEstimate:
    """Return the estimate with its components along the principal gradients."""
    cone = confidence_cone(problem, best, whitening.matrix)
    T = best.B @ whitening.matrix.T @ cone.components.T
    _, gradient = best.fit.value_and_gradient(problem.X @ best.B.T)
    scaled = gradient * location[1][:, None, None]
    w = np.ones(problem.X.shape[0]) if problem.weight is None else problem.weight
    M = T.T @ np.einsum("n,onk,onl->kl", w / w.size, scaled, scaled, optimize=True) @ T
    values, axes = np.linalg.eigh(0.5 * (M + M.T))
    axes = axes[:, ::-1].T
    rows = axes @ cone.components
    axes = axes * np.sign(rows[np.arange(len(rows)), np.argmax(np.abs(rows), axis=1)])[:, None]
    cone = cone.rotated(axes)
    singular = np.sqrt(np.maximum(values[::-1], 0.0))
    return StructureEstimate(cone.components, singular, cone, path, best, whitening, *location, not problem.is_late)
