"""The portfolio of cheap starts: inverse regressions, and gradients of a smoother on all coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from derand._utils.validation import FloatArray
from derand.structure.estimation.polish import Candidate, Problem
from derand.structure.estimation.slicing import slice_labels, sliced_matrix
from derand.structure.estimation.smoother import KernelRidge

__all__ = ["gradient_matrix", "next_directions", "portfolio", "subproblem"]

_SLICED_OUTPUTS = 6
_AGOP_SAMPLES, _AGOP_CENTRES = 1000, 220


def subproblem(problem: Problem, n: int) -> Problem:
    """Return the problem on at most n samples, taken in its random order."""
    if problem.X.shape[0] <= n:
        return problem
    rows = np.sort(problem.order[:n])
    weight = None if problem.weight is None else problem.weight[rows] / max(float(problem.weight[rows].mean()), 1e-300)
    order = np.searchsorted(rows, problem.order[:n])
    return replace(problem, X=problem.X[rows], y=problem.y[rows], weight=weight, order=order)


def gradient_matrix(problem: Problem, rounds: int = 3) -> FloatArray:
    r"""Return the mean outer product of the gradients of a kernel smoother on all coordinates, refitted in its metric.

    Parameters
    ----------
    problem : Problem
        Samples.
    rounds : int, default 3
        Fits; each after the first uses the metric that the one before has found.

    Returns
    -------
    ndarray of shape (r, r)
        Average gradient outer product in whitened coordinates.

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin, Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models, Science 383 (2024).
    """
    small = subproblem(problem, _AGOP_SAMPLES)
    r = small.X.shape[1]
    rows = small.order[: min(_AGOP_CENTRES, small.X.shape[0])]
    root = np.eye(r)
    M = np.eye(r)
    for _ in range(rounds):
        z = small.X @ root
        smoother = KernelRidge(z, small.y, rows, small.weight)
        fit = smoother.fit(np.full(r, np.sqrt(float(r))))
        gradient = fit.value_and_gradient(z)[1] @ root
        M = np.einsum("oni,onj->ij", gradient, gradient, optimize=True)
        values, axes = np.linalg.eigh(M)
        values = np.maximum(values, 0.0)
        root = (axes * np.sqrt(values / max(float(values.mean()), 1e-300))) @ axes.T
    return M


def portfolio(problem: Problem, labels: NDArray[np.int64] | None = None) -> dict[str, FloatArray]:
    """Return the matrices whose leading eigenvectors are starts, by name.

    Parameters
    ----------
    problem : Problem
        Samples.
    labels : ndarray of int, shape (n,), optional
        Classes; by default the responses are sliced.

    Returns
    -------
    dict
        Symmetric positive semidefinite matrices of shape (r, r).
    """
    n, r = problem.X.shape
    n_slices = int(np.clip(n // max(2 * r, 20), 4, 12))
    matrices: dict[str, FloatArray] = {}
    for method in ("dr", "sir", "save"):
        total = np.zeros((r, r))
        for o in range(min(problem.y.shape[1], _SLICED_OUTPUTS) if labels is None else 1):
            slices = labels if labels is not None else slice_labels(problem.y[:, o], n_slices, problem.weight)
            total += sliced_matrix(problem.X, slices, method, weight=problem.weight)
        matrices[method] = total
    matrices["phd"] = sliced_matrix(problem.X, np.zeros(n, dtype=np.int64), "phd", problem.y, problem.weight)
    matrices["agop"] = gradient_matrix(problem)
    return matrices


def next_directions(problem: Problem, candidate: Candidate) -> dict[str, FloatArray]:
    r"""Return bases with one direction more than a candidate's: those that its residuals depend on most.

    "moments" maximises the sum over low-degree functions :math:`\phi` of the coordinates of the squared moments
    :math:`E[r\,\phi(z)\, v^\top x]` and :math:`E[r\,\phi(z)\, ((v^\top x)^2 - 1)]`, r the residual; "gradients"
    takes the gradients of a smoother of the residual on all coordinates.

    Parameters
    ----------
    problem : Problem
        Samples.
    candidate : Candidate
        A fit with k directions, k < r.

    Returns
    -------
    dict
        Orthonormal rows, of shape (k + 1, r), by name.
    """
    z = problem.X @ candidate.B.T
    residual = problem.y - candidate.fit.predict(z)
    matrices = {"moments": _moments(problem, candidate.B, residual)}
    matrices["gradients"] = gradient_matrix(replace(problem, y=residual), 2)
    return {name: _extended(candidate.B, M) for name, M in matrices.items()}


def _moments(problem: Problem, B: FloatArray, residual: FloatArray) -> FloatArray:
    """Return the matrix of the moments of the residual with functions of the coordinates and the rest of x."""
    z = problem.X @ B.T
    if problem.weight is not None:
        residual = residual * problem.weight[:, None]
    across = problem.X - z @ B
    functions = np.column_stack([np.ones(z.shape[0]), z, z**2 - 1.0])
    functions /= np.maximum(np.sqrt(np.square(functions).mean(axis=0)), 1e-300)
    M = np.zeros((B.shape[1], B.shape[1]))
    n = z.shape[0]
    for o in range(residual.shape[1]):
        for phi in functions.T:
            weighted = residual[:, o] * phi
            first = weighted @ across / n
            second = (across * weighted[:, None]).T @ across / n
            M += np.outer(first, first) + 0.5 * second @ second
    return M


def _extended(B: FloatArray, M: FloatArray) -> FloatArray:
    """Return B with the direction across it that M prefers."""
    across = np.eye(B.shape[1]) - B.T @ B
    v = np.linalg.eigh(across @ M @ across)[1][:, -1]
    v = across @ (across @ v)
    if np.linalg.norm(v) < 1e-8:  # M has nothing across B: any direction will do
        v = across[:, np.argmax(np.diag(across))]
    return np.vstack([B, v / np.linalg.norm(v)])
