"""Positions of a graph's vertices in the plane, the same on every run."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, shortest_path

from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray
from derand.maxcut.problem import MaxCutProblem

__all__ = ["stress_layout"]

_SWEEPS = 200
_ENOUGH = 1e-4


def stress_layout(problem: MaxCutProblem) -> FloatArray:
    """Return positions whose distances follow the numbers of edges between the vertices.

    Minimises the stress sum over pairs of (|x_i - x_j| - d_ij)^2/d_ij^2 by majorization, from classical scaling of the
    hop counts d.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph; weights don't matter.

    Returns
    -------
    ndarray, shape (n, 2)
        Positions centred at 0.

    Notes
    -----
    Components are two hops apart.  Deterministic; time O(n^3), memory O(n^2), so for some hundred vertices.

    References
    ----------
    Gansner, Koren, North, Graph drawing by stress majorization (2004), section 2.

    Examples
    --------
    >>> path = MaxCutProblem.from_edges([0, 1], [1, 2])
    >>> x = stress_layout(path)
    >>> round(float(np.linalg.norm(x[0] - x[2])), 3)
    2.0
    """
    if problem.n < 2:
        return np.zeros((problem.n, 2))
    with blas_threads(1):
        distances = _hops(problem)
        weights = 1.0 / (distances + np.eye(problem.n)) ** 2
        np.fill_diagonal(weights, 0.0)
        laplacian = np.diag(weights.sum(axis=1)) - weights
        # The Laplacian annihilates translations; adding the constants makes it invertible and keeps the centre at 0.
        inverse: FloatArray = np.linalg.inv(laplacian + 1.0 / problem.n).astype(np.float64)
        return _majorize(_classical_scaling(distances), distances, weights, inverse)


def _hops(problem: MaxCutProblem) -> FloatArray:
    """Return the numbers of edges between all vertices; those of different components as if two hops joined them."""
    pattern = sp.csr_array((np.ones(problem.n_edges), (problem.heads, problem.tails)), shape=(problem.n, problem.n))
    hops = np.asarray(shortest_path(pattern, method="D", directed=False, unweighted=True))
    label = connected_components(pattern, directed=False)[1]
    radius = np.where(np.isfinite(hops), hops, 0.0).max(axis=1)
    size = np.array([radius[label == part].max() for part in range(int(label.max()) + 1)]) / 2.0
    apart = size[label][:, None] + size[label][None, :] + 2.0
    return np.where(np.isfinite(hops), hops, apart)


def _classical_scaling(distances: FloatArray) -> FloatArray:
    """Return the two principal coordinates of the double-centred squared distances."""
    squared = distances**2
    centred = -(squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()) / 2.0
    values, vectors = np.linalg.eigh(centred)
    coordinates = vectors[:, [-1, -2]] if values.size > 1 else np.column_stack([vectors, np.zeros_like(vectors)])
    # An eigenvector's sign is arbitrary: its largest entry is made positive.
    largest = coordinates[np.abs(coordinates).argmax(axis=0), [0, 1]]
    scaled = coordinates * np.sign(largest) * np.sqrt(np.maximum(values[[-1, -2]], 0.0))
    # Vertices with equal neighbours would coincide for good; a fixed spiral tells them apart.
    angle = np.arange(distances.shape[0]) * (np.pi * (3.0 - np.sqrt(5.0)))
    spread: FloatArray = scaled + 0.01 * np.column_stack([np.cos(angle), np.sin(angle)])
    return spread


def _majorize(x: FloatArray, distances: FloatArray, weights: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return positions after majorization steps until the stress hardly falls."""
    stress = np.inf
    for _ in range(_SWEEPS):
        lengths = np.sqrt(((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=2))
        before, stress = stress, float((weights * (lengths - distances) ** 2).sum())
        if before - stress <= _ENOUGH * stress:
            break
        ratio = weights * distances / np.where(lengths > 0.0, lengths, 1.0)
        ratio[lengths == 0.0] = 0.0
        x = inverse @ (ratio.sum(axis=1)[:, None] * x - ratio @ x)
    centred: FloatArray = x - x.mean(axis=0)
    return centred
