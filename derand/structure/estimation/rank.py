"""The fit for a given number of directions, and the path over numbers with the BIC rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from derand._utils.validation import FloatArray
from derand.structure.estimation.kinks import fit_jump, is_crowded
from derand.structure.estimation.polish import Candidate, Problem, polish, principal, start, tune
from derand.structure.estimation.smoother import Trial
from derand.structure.estimation.starts import next_directions, portfolio, pursuits, subproblem

__all__ = ["RankStep", "bic", "fit_path", "fit_rank"]

_SCREEN = 800
#: From so many samples on directions are exchanged on them only; of fewer, a part finds others, and costs little.
_MANY = 2 * _SCREEN
_ROUGH_CENTRES = {1: 24, 2: 40, 3: 60}
_MIDDLE = 6000
#: A kernel with kinks has to beat the smooth one by this factor of GCV.
_MATERN_GAIN = 0.98
#: From so many directions on one rise of BIC ends the path; below, an interaction may hide behind a rise.
_SURE = 3
#: Pursued directions that are tried in place of the weakest.
_PURSUED = 3
#: Cosine above which a direction counts as one that was there before.
_SAME = 0.8
#: So much better than a fit another one is taken before either is polished.
_CLEAR = 0.9
#: Length scale with which pursued directions are compared.
_ONE_SCALE = (1.5,)
#: A new basin worse than the best by this factor is given up.
_NEAR = 1.1
#: So much worse than the best a start may be to be polished.
_PROMISING = 1.2
#: A direction more that gains less than this factor of GCV in the search isn't worth exchanges, nor much polishing.
_IDLE = 0.97
#: Share of the price of a direction by which BIC may exceed the least for a fit to be refined.
_CLOSE = 0.25


@dataclass(frozen=True)
class RankStep:
    """One number of directions.

    Parameters
    ----------
    k : int
        Directions.
    bic : float
        See `bic`.
    rss : float
        Residual sum of squares, as a share of that of the mean.
    df : float
        Degrees of freedom of the link.
    start : str
        Which start was polished.
    """

    k: int
    bic: float
    rss: float
    df: float
    start: str


def bic(rss: float, df: float, n: int, k: int, r: int, q: int = 1) -> float:
    r"""Return :math:`\log \mathrm{RSS} + \log(n)\,(q\,\mathrm{df} + k(r-k))/(n q)`.

    Parameters
    ----------
    rss, df : float
        Residual sum of squares, and degrees of freedom of the link of each output.
    n, k, r, q : int
        Samples, directions, dimensions, outputs.

    Returns
    -------
    float
        Smaller is better.

    Examples
    --------
    >>> bic(1.0, 2.0, 100, 1, 9)
    0.4605
    """
    return math.log(max(rss, 1e-300)) + math.log(n) * (q * df + k * (r - k)) / (n * q)


def _rough(problem: Problem, k: int) -> Problem:
    """Return the problem of the search: few samples and few landmarks, whose fits take a tenth of the time."""
    small = subproblem(problem, _SCREEN)
    return replace(small, cap=min(small.cap, _ROUGH_CENTRES.get(k, 70)))


def _screened(problem: Problem, starts: dict[str, FloatArray], keep: int, rounds: int) -> list[Candidate]:
    """Return the most promising starts, each polished a little."""
    candidates = sorted((start(problem, B, name) for name, B in starts.items()), key=lambda c: c.score)
    return sorted((polish(problem, c, rounds, 1e-3) for c in candidates[:keep]), key=lambda c: c.score)


def _swapped(problem: Problem, candidate: Candidate, tries: int = 3) -> Candidate:
    """Return the candidate, or a better one with its weakest direction replaced by one that the residuals ask for."""
    for attempt in range(tries):
        if problem.is_late:
            break
        plain = start(problem, _by_slope(problem, candidate)[:-1], candidate.name)
        better = _asked(problem, candidate, plain)
        if better is None and attempt == 0:
            # Polishing bends the rest towards the direction that it lacks, which may hide it or reveal it.
            better = _asked(problem, candidate, polish(problem, plain, 3, 1e-3))
        if better is None:
            break
        candidate = better
    return candidate


def _by_slope(problem: Problem, candidate: Candidate) -> FloatArray:
    """Return the candidate's directions turned to the principal axes of its gradients, the steepest first."""
    gradient = candidate.fit.value_and_gradient(problem.X @ candidate.B.T)[1]
    axes = np.linalg.eigh(np.einsum("onk,onl->kl", gradient, gradient))[1][:, ::-1].T
    return np.asarray(axes @ candidate.B)


def _exchanged(problem: Problem, candidate: Candidate, tries: int = 3) -> Candidate:
    """Return the candidate, or a better one with its weakest direction replaced by one pursued on all samples."""
    # The search sees a part of the samples only, in which a direction without a low moment may drown.
    for _ in range(tries):
        if problem.is_late:
            break
        B = _by_slope(problem, candidate)
        plain = start(problem, B[:-1], candidate.name)
        bases = [A for A in pursuits(problem, plain, _PURSUED) if abs(float(A[-1] @ B[-1])) < _SAME]
        new = min((start(problem, A, candidate.name, _ONE_SCALE) for A in bases), key=lambda c: c.score, default=None)
        if new is None or new.score > _PROMISING * candidate.score:
            break
        new = start(problem, new.B, candidate.name)
        if new.score > _CLEAR * candidate.score:
            new, candidate = (polish(problem, c, 3, 1e-4) for c in (new, candidate))
            if new.score > candidate.score * (1.0 - 1e-3):
                break
        candidate = new
    return candidate


def _widened(problem: Problem, candidate: Candidate) -> Candidate:
    """Return the candidate, or a better one polished with one direction more, whose weakest is dropped again."""
    # A direction halfway between a true one and what another one lacks is a local minimum, but not with one more.
    if candidate.B.shape[0] == candidate.B.shape[1] or problem.is_late:
        return candidate
    starts = [start(problem, A, candidate.name) for A in pursuits(problem, candidate, 2)]
    wide = min(starts, key=lambda c: c.score)
    if wide.score > _IDLE * candidate.score:
        return candidate
    wide = polish(problem, wide, 3, 1e-4)
    back = polish(problem, start(problem, _by_slope(problem, wide)[:-1], candidate.name), 3, 1e-4)
    return back if back.score < candidate.score * (1.0 - 1e-3) else candidate


def _asked(problem: Problem, candidate: Candidate, rest: Candidate) -> Candidate | None:
    """Return a better candidate with the rest's directions and one that its residuals ask for, if there is one."""
    starts = [start(problem, B, candidate.name) for B in next_directions(problem, rest).values()]
    promising = [c for c in starts if c.score < _PROMISING * min(other.score for other in starts)]
    # One that turns back to the candidate's own subspace would only polish to it again.
    news = [c for c in promising if np.linalg.svd(c.B @ candidate.B.T, compute_uv=False)[-1] < _SAME]
    best = candidate
    for new in sorted(news, key=lambda c: c.score)[:2]:
        trial = polish(problem, new, 2, 1e-3)
        if trial.score < _NEAR * best.score:
            trial = polish(problem, trial, 3, 1e-3)
        best = min((best, trial), key=lambda c: c.score)
    return best if best.score < candidate.score * (1.0 - 1e-3) else None


def _on(problem: Problem, candidate: Candidate) -> Candidate:
    """Return the candidate refitted to other samples, with its length scales."""
    fit = problem.smoother(candidate.B).fit(candidate.fit.scales, candidate.fit.kernel)
    return Candidate(candidate.B, fit, candidate.name)


def _searched(
    problem: Problem, k: int, matrices: dict[str, FloatArray], previous: Candidate | None, keep: int
) -> Candidate:
    """Return the best basin that the starts and exchanges of directions lead to, on a part of the samples."""
    rough = _rough(problem, k)
    starts = {name: np.linalg.eigh(M)[1][:, ::-1][:, :k].T for name, M in matrices.items()}
    if previous is not None:
        starts |= next_directions(rough, _on(rough, previous))
    best = _screened(rough, starts, keep, 3)[0]
    if k > 1 and problem.X.shape[0] < _MANY and _is_useful(rough, best, previous and _on(rough, previous)):
        best = _swapped(rough, best)
    return polish(rough, tune(principal(best, rough), rough), 3, 1e-3)


def _is_useful(problem: Problem, candidate: Candidate, previous: Candidate | None) -> bool:
    """Return whether the last direction explains something, or may do so where nothing is known without it."""
    # GCV doesn't count the direction's own parameters, with which a useless one gains too.
    (n, r), k = problem.X.shape, candidate.B.shape[0]
    return previous is None or candidate.score < _IDLE * (1.0 - min((r - k) / n, 0.5)) ** 2 * previous.score


def _settled(problem: Problem, best: Candidate, previous: Candidate | None = None) -> Candidate:
    """Return the result of a search after a few rounds on all samples, where they're many on a part before."""
    for at, samples in enumerate([n for n in (_MIDDLE,) if n < problem.X.shape[0]] + [problem.X.shape[0]]):
        part = subproblem(problem, samples)
        best = polish(part, principal(_on(part, best), part), 3, 1e-4)
        if at == 0 and best.B.shape[0] > 1 and _is_useful(part, best, previous):
            best = _exchanged(part, best)
    if previous is None and problem.X.shape[0] < _MANY:
        best = _widened(problem, best)
    return best


def _refined(problem: Problem, best: Candidate) -> Candidate:
    """Return a settled fit with its length scales and directions at the minimum."""
    best = tune(principal(best, problem), problem, 1.3)
    best = polish(problem, best, problem.max_iter, problem.tol)
    return _kinked(problem, best)


def fit_rank(
    problem: Problem, k: int, matrices: dict[str, FloatArray], previous: Candidate | None = None, keep: int = 3
) -> Candidate:
    """Return the polished fit with k directions.

    Parameters
    ----------
    problem : Problem
        Samples.
    k : int
        Directions, at most the dimension.
    matrices : dict
        From `portfolio`.
    previous : Candidate, optional
        A fit with k - 1 directions, extended as a further start.
    keep : int, default 3
        Starts that are polished a little before the choice.

    Returns
    -------
    Candidate
        The fit.
    """
    return _refined(problem, _settled(problem, _searched(problem, k, matrices, previous, keep), previous))


def _kinked(problem: Problem, best: Candidate) -> Candidate:
    """Return the fit with the kernel for kinks and jumps where that is clearly better."""
    if problem.is_late:
        return best
    smoother = problem.smoother(best.B)
    trial = min((smoother.trial(best.fit.scales * f, "matern") for f in (1.0, 2.5)), key=lambda t: t.gcv)
    if trial.gcv < _MATERN_GAIN * best.score:
        rough = Candidate(best.B, trial.finish(), best.name, best.trace)
        best = polish(problem, tune(rough, problem, 1.5), 6)
    if is_crowded(best):
        best = min(best, fit_jump(problem, best), key=lambda c: c.score)
    return best


def _priced(problem: Problem, found: Candidate) -> Trial:
    """Return the smoother on a candidate's subspace whose scales and ridge have the least BIC: GCV spends too much."""
    smoother, n = problem.smoother(found.B), problem.X.shape[0]
    scales = found.fit.scales
    fits = [smoother.trial(scales * factor, found.fit.kernel, criterion="bic") for factor in (1.0, 1.7, 3.0)]
    return min(fits, key=lambda f: math.log(max(f.rss, 1e-300)) + math.log(n) * f.df / n)


def fit_path(
    problem: Problem,
    max_components: int,
    n_components: int | None = None,
    labels: NDArray[np.int64] | None = None,
    callback: Callable[[RankStep], object] | None = None,
) -> tuple[list[Candidate], list[RankStep]]:
    """Return the fits for one given number of directions, or for 1, 2, ... until BIC rises.

    One rise ends the path from three directions on, two before.

    Parameters
    ----------
    problem : Problem
        Samples.
    max_components : int
        The most directions tried.
    n_components : int, optional
        The only number fitted.
    labels : ndarray of int, optional
        Classes for the inverse regressions.
    callback : callable, optional
        Called with the scores of each number of directions.

    Returns
    -------
    candidates : list of Candidate
        The fits, by rising number of directions; with several numbers only those of about the least BIC are refined.
    path : list of RankStep
        Their scores.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; its ``partial`` is the fits and scores so far, and is missing if there are none.
    """
    candidates: list[Candidate] = []
    path: list[RankStep] = []
    try:
        _walk(problem, (max_components, n_components), portfolio(problem, labels), (candidates, path), callback)
    except KeyboardInterrupt as interrupt:
        if path:
            interrupt.partial = candidates[: len(path)], path  # type: ignore[attr-defined]
        raise
    return candidates, path


def _walk(
    problem: Problem,
    numbers: tuple[int, int | None],
    matrices: dict[str, FloatArray],
    found: tuple[list[Candidate], list[RankStep]],
    callback: Callable[[RankStep], object] | None,
) -> None:
    """Append the fits and their scores, one number of directions after the other, and refine the best."""
    (candidates, path), (most, only), r = found, numbers, problem.X.shape[1]
    best, rises = math.inf, 0
    for k in range(1, min(most, r) + 1) if only is None else (min(only, r),):
        previous = candidates[-1] if candidates else None
        keep = 2 if only is None else 3
        candidates.append(_settled(problem, _searched(problem, k, matrices, previous, keep), previous))
        path.append(_step(problem, candidates[-1]))
        if callback is not None:
            callback(path[-1])
        rises = 0 if path[-1].bic < best else rises + 1
        best = min(best, path[-1].bic)
        if rises == 2 or (rises and k >= _SURE) or problem.is_late:
            break
    _refine_best(problem, candidates, path)


def _step(problem: Problem, found: Candidate) -> RankStep:
    """Return the scores of a fit."""
    (n, q), r, k = problem.y.shape, problem.X.shape[1], found.B.shape[0]
    squares = np.square(problem.y).sum(axis=1)
    total = float(squares.sum() if problem.weight is None else problem.weight @ squares)
    fit = _priced(problem, found)
    share = fit.rss / max(total, 1e-300)
    return RankStep(k, bic(share, fit.df, n, k, r, q), share, fit.df, found.name)


def _refine_best(problem: Problem, candidates: list[Candidate], path: list[RankStep]) -> None:
    """Refine the fit of least BIC and those that refinement may bring below it, in place."""
    (n, q), r = problem.y.shape, problem.X.shape[1]
    least = min(step.bic for step in path)
    for at, step in enumerate(path):
        if problem.is_late:
            return
        # A settled fit lacks less than what a useless direction gains, about a quarter of its price or below.
        if step.bic <= least + _CLOSE * math.log(n) * max(r - step.k, 1) / (n * q):
            refined = _refined(problem, candidates[at])
            candidates[at], path[at] = refined, _step(problem, refined)
