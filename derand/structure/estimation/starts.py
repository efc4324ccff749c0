"""The portfolio of cheap starts: inverse regressions, and gradients of a smoother on all coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from derand._utils.validation import FloatArray
from derand.structure.estimation.polish import Candidate, Problem
from derand.structure.estimation.slicing import slice_labels, sliced_matrix
from derand.structure.estimation.smoother import KernelRidge

__all__ = ["gradient_matrix", "next_directions", "portfolio", "pursued", "subproblem"]

_SLICED_OUTPUTS = 6
_AGOP_SAMPLES, _AGOP_CENTRES = 800, 140
#: Random starts of a pursuit, the fewest and the most, and the samples' entries times starts to spend in between.
_PURSUIT_STARTS, _PURSUIT_ENTRIES = (36, 96), 2_400_000
#: Rounds with all starts and with the best third of them.
_PURSUIT_ROUNDS = (4, 6)
#: Numbers in an array below which it comes from memory in use, not from fresh pages, which cost more than the sums.
_SMALL = 16_000
#: Coefficients of the normalised Hermite polynomials of degrees 1 to 5, by monomials of degrees 0 to 5.
_HERMITE = np.array(
    [
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [-1.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, -3.0, 0.0, 1.0, 0.0, 0.0],
        [3.0, 0.0, -6.0, 0.0, 1.0, 0.0],
        [0.0, 15.0, 0.0, -10.0, 0.0, 1.0],
    ]
) / np.sqrt([[1.0], [2.0], [6.0], [24.0], [120.0]])
#: Share of the last iterate that is added to the next one (Kolda, Mayo, SIAM J. Matrix Anal. Appl. 32, 2011).
_SHIFT = 0.5


def subproblem(problem: Problem, n: int) -> Problem:
    """Return the problem on at most n samples, taken in its random order."""
    if problem.X.shape[0] <= n:
        return problem
    rows = np.sort(problem.order[:n])
    weight = None if problem.weight is None else problem.weight[rows] / max(float(problem.weight[rows].mean()), 1e-300)
    order = np.searchsorted(rows, problem.order[:n])
    return replace(problem, X=problem.X[rows], y=problem.y[rows], weight=weight, order=order)


def gradient_matrix(
    problem: Problem, rounds: int = 3, samples: int = _AGOP_SAMPLES, centres: int = _AGOP_CENTRES
) -> FloatArray:
    r"""Return the mean outer product of the gradients of a kernel smoother on all coordinates, refitted in its metric.

    Parameters
    ----------
    problem : Problem
        Samples.
    rounds : int, default 3
        Fits; each after the first uses the metric that the one before has found.
    samples, centres : int
        The most samples and landmarks used.

    Returns
    -------
    ndarray of shape (r, r)
        Average gradient outer product in whitened coordinates.

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin, Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models, Science 383 (2024).
    """
    small = subproblem(problem, samples)
    r = small.X.shape[1]
    rows = small.order[: min(centres, small.X.shape[0])]
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
    takes the gradients of a smoother of the residual on all coordinates; "pursuit" and "pursuit2" are the best two of
    `pursued` on the residual and its products with the coordinates.

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
    matrices["gradients"] = gradient_matrix(replace(problem, y=residual), 2, 500, 80)
    bases = {name: _extended(candidate.B, M) for name, M in matrices.items()}
    return bases | dict(zip(("pursuit", "pursuit2"), pursuits(problem, candidate, 2), strict=False))


def pursuits(problem: Problem, candidate: Candidate, most: int) -> list[FloatArray]:
    """Return bases with one direction more than a candidate's: the best few of `pursued` on its residuals."""
    z = problem.X @ candidate.B.T
    residual = problem.y - candidate.fit.predict(z)
    weighted = residual if problem.weight is None else residual * problem.weight[:, None]
    leading = weighted @ np.linalg.eigh(weighted.T @ weighted)[1][:, -1]
    signals = np.column_stack([leading, leading[:, None] * z])
    return [np.vstack([candidate.B, v]) for v in pursued(problem.X, signals, candidate.B)[:most]]


def pursued(X: FloatArray, signals: FloatArray, B: FloatArray) -> FloatArray:
    r"""Return directions along which polynomials explain one of some signals, distinct ones, best first.

    From random starts it iterates :math:`v \leftarrow g / |g| + v / 2` with
    :math:`g = \nabla \sum_{j \le 5} E[s\, h_j(v^\top x)]^2`, normalised and across B, with the normalised Hermite
    polynomials :math:`h_j`: a shifted power iteration on all tensors of moments up to the fifth at once, which sees
    waves that the first two moments miss.  The best iterate of each start counts.

    Parameters
    ----------
    X : ndarray of shape (n, r)
        Whitened samples.
    signals : ndarray of shape (n, s)
        Residuals, or their products with functions of known coordinates.
    B : ndarray of shape (k, r)
        Directions to stay across, k < r.

    Returns
    -------
    ndarray of shape (m, r)
        Unit rows, m at least 1.

    Notes
    -----
    O(n r) for each start and round; deterministic.

    References
    ----------
    Friedman, Tukey, A projection pursuit algorithm for exploratory data analysis, IEEE Trans. Computers 23 (1974).
    """
    rng = np.random.default_rng(0)
    starts = int(np.clip(_PURSUIT_ENTRIES // max(X.size, 1), *_PURSUIT_STARTS))
    found: list[tuple[float, FloatArray]] = []
    for s in (signals / np.maximum(np.sqrt(np.square(signals).mean(axis=0)), 1e-300)).T:
        V = _across(rng.standard_normal((starts, X.shape[1])), B)
        V[0] = _across((s @ X)[None], B)[0]
        best, most = V, np.full(starts, -1.0)
        for at in range(sum(_PURSUIT_ROUNDS) + 1):
            power, gradient = _moments_along(V, X, s)
            better = power > most
            best, most = np.where(better[:, None], V, best), np.where(better, power, most)
            V = _across(_across(gradient, B) + _SHIFT * V, B)
            if at == _PURSUIT_ROUNDS[0]:
                kept = np.argsort(-most, kind="stable")[: starts // 3]
                V, best, most = V[kept], best[kept], most[kept]
        found += zip(most.tolist(), best, strict=True)
    found.sort(key=lambda pair: -pair[0])
    rows: list[FloatArray] = []
    for _, v in found:
        if all(abs(float(v @ u)) < 0.8 for u in rows):
            rows.append(v)
    return np.array(rows)


def _across(V: FloatArray, B: FloatArray) -> FloatArray:
    """Return the rows across B, normalised."""
    V = V - (V @ B.T) @ B
    return np.asarray(V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1e-300))


def _moments_along(V: FloatArray, X: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the summed squared Hermite moments of the signal along each row of V, and their gradients by the rows."""
    power, gradient = np.empty(V.shape[0]), np.empty_like(V)
    size = max(1, _SMALL // X.shape[0])
    for first in range(0, V.shape[0], size):
        rows = slice(first, first + size)
        Z = V[rows] @ X.T
        np.clip(Z, -3.5, 3.5, out=Z)  # the moments of heavy tails are noise
        sums = np.empty((_HERMITE.shape[1], Z.shape[0]))
        sums[0] = s.sum()
        monomial = Z.copy()
        for degree in range(1, len(sums)):
            sums[degree] = monomial @ s
            monomial *= Z
        moments = _HERMITE @ sums / s.size
        by_degree = (_HERMITE.T @ moments)[:, :, None]
        slope = np.multiply(Z, (len(sums) - 1) * by_degree[-1], out=monomial)
        for degree in range(len(sums) - 2, 0, -1):  # Horner's rule
            slope += degree * by_degree[degree]
            if degree > 1:
                slope *= Z
        slope *= s
        power[rows], gradient[rows] = np.square(moments).sum(axis=0), slope @ X
    return power, gradient


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
