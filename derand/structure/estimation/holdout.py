"""The honest choice between polished and unpolished starts, on samples that took no part in either."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from derand._utils.validation import FloatArray
from derand.structure.estimation.kinks import beside_the_sharpest, is_crowded, jump_scales
from derand.structure.estimation.polish import Candidate, Problem, start, tune
from derand.structure.estimation.rank import fit_rank
from derand.structure.estimation.smoother import SmoothFit
from derand.structure.estimation.starts import portfolio, subproblem

__all__ = ["choose_by_hold_out", "unpolished"]

_SHARE = 0.3
_MIN_SAMPLES = 60
_SAMPLES = 3000
_METHODS = ("sir", "save", "dr")
_BESIDE = ("sir", "dr")


def unpolished(problem: Problem, k: int, matrix: FloatArray, name: str) -> Candidate:
    """Return the k leading eigenvectors of a portfolio matrix with the better of a smooth and a kinked smoother."""
    candidate = start(problem, np.linalg.eigh(matrix)[1][:, ::-1][:, :k].T, name)
    smoother = problem.smoother(candidate.B)
    rough = replace(candidate, fit=smoother.fit(candidate.fit.scales * 1.5, "matern"))
    return min((tune(candidate, problem), tune(rough, problem)), key=lambda c: c.score)


def choose_by_hold_out(problem: Problem, candidate: Candidate, labels: NDArray[np.int64] | None = None) -> Candidate:
    """Return the polished candidate, or the inverse regression that predicts held-out samples better.

    Parameters
    ----------
    problem : Problem
        Samples.
    candidate : Candidate
        The polished fit to all samples.
    labels : ndarray of int, optional
        Classes for the inverse regressions.

    Returns
    -------
    Candidate
        Fitted to all samples.  Where the polished fit is crowded, inverse regressions beside its sharpest axis compete
        as well.  An unpolished one is taken only where its squared error on the 30 per cent held out is
        smaller by more than one standard error of the difference.

    Notes
    -----
    GCV can't make this choice: polishing minimises it, inverse regression never sees it.  The cost is one more fit on
    70 per cent of at most 3,000 samples.
    """
    part = subproblem(problem, _SAMPLES)
    n, k = part.X.shape[0], candidate.B.shape[0]
    if n < _MIN_SAMPLES or k >= part.X.shape[1]:
        return candidate
    held = np.zeros(n, dtype=bool)
    held[part.order[: int(_SHARE * n)]] = True
    train = _rows(part, ~held)
    rows = None if labels is None else labels[np.sort(problem.order[:n])][~held]
    matrices = portfolio(train, rows)
    polished = fit_rank(train, k, matrices)
    losses = {"polished": _losses(part, held, polished)}
    for name in _METHODS:
        losses[name] = _losses(part, held, unpolished(train, k, matrices[name], name))
    if is_crowded(candidate):
        for name in _BESIDE:
            losses[f"beside {name}"] = _losses(part, held, _beside(train, polished, name))
    best = min(losses, key=lambda name: float(losses[name].mean()))
    gain = losses["polished"] - losses[best]
    if best == "polished" or gain.mean() <= gain.std() / np.sqrt(gain.size):
        return candidate
    if best.startswith("beside"):
        return _beside(problem, candidate, best.split()[1])
    return unpolished(problem, k, portfolio(problem, labels)[best], best)


def _beside(problem: Problem, candidate: Candidate, method: str) -> Candidate:
    """Return the sharp axis of a fit with an inverse regression's directions across it, unpolished."""
    B = beside_the_sharpest(problem, candidate, method)
    dense = replace(problem, density=2)
    return tune(Candidate(B, dense.smoother(B).fit(jump_scales(B.shape[0]), "matern"), method), dense)


def _rows(problem: Problem, kept: NDArray[np.bool_]) -> Problem:
    """Return the problem on some of its samples."""
    order = problem.order[kept[problem.order]]
    position = np.cumsum(kept) - 1
    weight = None if problem.weight is None else problem.weight[kept] / max(float(problem.weight[kept].mean()), 1e-300)
    return replace(problem, X=problem.X[kept], y=problem.y[kept], weight=weight, order=position[order])


def _losses(problem: Problem, held: NDArray[np.bool_], candidate: Candidate) -> FloatArray:
    """Return the squared errors on the held-out samples."""
    fit: SmoothFit = candidate.fit
    error = np.square(problem.y[held] - fit.predict(problem.X[held] @ candidate.B.T)).sum(axis=1)
    return np.asarray(error if problem.weight is None else error * problem.weight[held])
