"""The fit for a given number of directions, and the path over numbers with the BIC rule."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from derand._utils.validation import FloatArray
from derand.structure.estimation.polish import Candidate, Problem, polish, principal, start, tune
from derand.structure.estimation.smoother import SmoothFit
from derand.structure.estimation.starts import next_directions, portfolio, subproblem

__all__ = ["RankStep", "bic", "fit_path", "fit_rank"]

_SCREEN = 1000
_MIDDLE = 6000
#: A kernel with kinks has to beat the smooth one by this factor of GCV.
_MATERN_GAIN = 0.98
#: From so many directions on one rise of BIC ends the path; below, an interaction may hide behind a rise.
_SURE = 3


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


def _screened(problem: Problem, k: int, starts: dict[str, FloatArray], keep: int) -> list[Candidate]:
    """Return the most promising starts, each polished a little on a part of the samples."""
    small = subproblem(problem, _SCREEN)
    candidates = sorted((start(small, B, name) for name, B in starts.items()), key=lambda c: c.score)
    return sorted((polish(small, c, 3) for c in candidates[:keep]), key=lambda c: c.score)


def _swapped(problem: Problem, candidate: Candidate, tries: int = 2) -> Candidate:
    """Return the candidate, or a better one with its weakest direction replaced by one that the residuals ask for."""
    for _ in range(tries):
        z = problem.X @ candidate.B.T
        gradient = candidate.fit.value_and_gradient(z)[1]
        axes = np.linalg.eigh(np.einsum("onk,onl->kl", gradient, gradient))[1][:, ::-1].T
        plain = start(problem, (axes @ candidate.B)[:-1], candidate.name)
        # Polishing bends the rest towards the direction that it lacks, which may hide it or reveal it.
        bases = [B for rest in (plain, polish(problem, plain, 3)) for B in next_directions(problem, rest).values()]
        trials = sorted((start(problem, B, candidate.name) for B in bases), key=lambda c: c.score)
        trial = min((polish(problem, c, 4) for c in trials[:2]), key=lambda c: c.score)
        if trial.score >= candidate.score * (1.0 - 1e-4):
            break
        candidate = trial
    return candidate


def _on(problem: Problem, candidate: Candidate) -> Candidate:
    """Return the candidate refitted to other samples, with its length scales."""
    fit = problem.smoother(candidate.B).fit(candidate.fit.scales, candidate.fit.kernel)
    return Candidate(candidate.B, fit, candidate.name)


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
    starts = {name: np.linalg.eigh(M)[1][:, ::-1][:, :k].T for name, M in matrices.items()}
    if previous is not None:
        starts |= next_directions(problem, previous)
    best = _screened(problem, k, starts, keep)[0]
    if k > 1:
        best = _swapped(subproblem(problem, _SCREEN), best)
    stages = [n for n in (_SCREEN, _MIDDLE) if n < problem.X.shape[0]]
    for samples in [*stages, problem.X.shape[0]]:
        part = subproblem(problem, samples)
        best = tune(principal(_on(part, best), part), part)
        best = polish(part, best, 4)
    best = tune(principal(best, problem), problem, 1.25, 2)
    best = polish(problem, best, problem.max_iter, problem.tol)
    return _kinked(problem, best)


def _kinked(problem: Problem, best: Candidate) -> Candidate:
    """Return the fit with the kernel for kinks and jumps where that is clearly better."""
    smoother = problem.smoother(best.B)
    fits = [smoother.fit(best.fit.scales * factor, "matern") for factor in (1.0, 2.5)]
    rough = Candidate(best.B, min(fits, key=lambda f: f.gcv), best.name, best.trace)
    if rough.score < _MATERN_GAIN * best.score:
        return polish(problem, tune(rough, problem, 1.5), 6)
    return best


def _priced(problem: Problem, found: Candidate) -> SmoothFit:
    """Return the smoother on a candidate's subspace whose scales and ridge have the least BIC: GCV spends too much."""
    smoother, n = problem.smoother(found.B), problem.X.shape[0]
    scales = found.fit.scales
    fits = [smoother.fit(scales * factor, found.fit.kernel, criterion="bic") for factor in (1.0, 1.7, 3.0)]
    return min(fits, key=lambda f: math.log(max(f.rss, 1e-300)) + math.log(n) * f.df / n)


def fit_path(
    problem: Problem, max_components: int, n_components: int | None = None, labels: NDArray[np.int64] | None = None
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

    Returns
    -------
    candidates : list of Candidate
        The fits, by rising number of directions.
    path : list of RankStep
        Their scores.
    """
    matrices = portfolio(problem, labels)
    n, r = problem.X.shape
    candidates: list[Candidate] = []
    path: list[RankStep] = []
    total = float(
        np.square(problem.y).sum() if problem.weight is None else problem.weight @ np.square(problem.y).sum(1)
    )
    ranks = range(1, min(max_components, r) + 1) if n_components is None else [min(n_components, r)]
    best, rises = math.inf, 0
    for k in ranks:
        previous = candidates[-1] if candidates else None
        found = fit_rank(problem, k, matrices, previous, keep=3 if n_components else 2)
        fit = _priced(problem, found)
        share = fit.rss / max(total, 1e-300)
        score = bic(share, fit.df, n, k, r, problem.y.shape[1])
        candidates.append(found)
        path.append(RankStep(k, score, share, fit.df, found.name))
        rises = 0 if score < best else rises + 1
        best = min(best, score)
        if rises == 2 or (rises and k >= _SURE):
            break
    return candidates, path
