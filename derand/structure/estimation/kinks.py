"""Links with jumps: a short length scale across the jump only, and the other directions from inverse regression."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from derand._utils.validation import FloatArray
from derand.structure.estimation.polish import Candidate, Problem, polish, tune
from derand.structure.estimation.slicing import slice_labels, sliced_matrix

__all__ = ["beside_the_sharpest", "fit_jump", "is_crowded"]

#: Share of all its degrees of freedom from which a smoother wants more than its landmarks can give.
_CROWDED = 0.75
_SHORT, _LONG = 0.3, 8.0
_ROUNDS = 8
_SLICES = 10


def is_crowded(candidate: Candidate) -> bool:
    """Return whether a fit of two directions or more spends most of the degrees of freedom that its landmarks have."""
    fit = candidate.fit
    return bool(candidate.B.shape[0] > 1 and fit.df > _CROWDED * (fit.centres.shape[0] + fit.polynomial.shape[0]))


def beside_the_sharpest(problem: Problem, candidate: Candidate, method: str) -> FloatArray:
    """Return the axis of the shortest length scale and, across it, the leading directions of an inverse regression.

    Parameters
    ----------
    problem : Problem
        Samples.
    candidate : Candidate
        A fit of k directions.
    method : {"sir", "dr", "save"}
        The inverse regression.

    Returns
    -------
    ndarray of shape (k, r)
        Orthonormal rows, the sharp axis first.
    """
    v = candidate.B[int(np.argmin(candidate.fit.scales))]
    labels = slice_labels(problem.y[:, 0], _SLICES, problem.weight)
    across = np.eye(v.size) - np.outer(v, v)
    M = across @ sliced_matrix(problem.X, labels, method, weight=problem.weight) @ across
    rest = np.linalg.eigh(M)[1][:, ::-1][:, : candidate.B.shape[0] - 1].T
    return np.vstack([v, rest])


def jump_scales(k: int) -> FloatArray:
    """Return length scales that are short along the first of k axes only."""
    scales = np.full(k, _LONG)
    scales[0] = _SHORT
    return scales


def fit_jump(problem: Problem, candidate: Candidate) -> Candidate:
    """Return the best fit, by GCV, with the kernel for kinks and a length scale that is short along one axis only.

    A jump leaves residuals as large as itself next to it, whatever the smoother: noise that a link with short length
    scales along all axes chases with directions of its own.  Inverse regression is blind to it, and finds the jump's
    own axis badly; so its directions across that axis are the starts, besides the candidate's.

    Parameters
    ----------
    problem : Problem
        Samples.
    candidate : Candidate
        A fit for which `is_crowded` holds.

    Returns
    -------
    Candidate
        With the sharp axis first.
    """
    sharp = int(np.argmin(candidate.fit.scales))
    order = [sharp, *(axis for axis in range(candidate.B.shape[0]) if axis != sharp)]
    dense = replace(problem, density=2)
    scales = jump_scales(len(order))
    found = []
    for B in (candidate.B[order], *(beside_the_sharpest(problem, candidate, method) for method in ("sir", "dr"))):
        fit = Candidate(B, dense.smoother(B).fit(scales, "matern"), candidate.name, candidate.trace)
        for factor in (1.6, 1.3):
            fit = polish(dense, tune(fit, dense, factor), _ROUNDS, 1e-4)
        found.append(fit)
    return min(found, key=lambda fit: fit.score)
