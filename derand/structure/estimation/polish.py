"""Profile Gauss-Newton: the subspace that minimises the penalised residual of the best smooth link on it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from derand._utils.validation import FloatArray
from derand.structure.estimation.smoother import KernelRidge, SmoothFit, Trial, n_centres

__all__ = ["Candidate", "Information", "Problem", "information", "polish"]

_BLOCK = 2048
#: Samples that the mean curvature of the link is taken over.
_CURVED = 600
#: Isotropic length scales tried where a candidate is first fitted; whitened coordinates have variance 1.
_COARSE = (0.7, 1.5, 3.5)
#: Price of a degree of freedom in GCV (Kim, Gu, JRSS B 66, 2004, section 3.2).  Plain GCV overfits a few samples in a
#: hundred badly, and the directions bend with the link.
_PRICE = 1.4


@dataclass(frozen=True)
class Problem:
    """Whitened samples with responses.

    Parameters
    ----------
    X : ndarray of shape (n, r)
        Whitened samples.
    y : ndarray of shape (n, q)
        Responses of mean 0.
    weight : ndarray of shape (n,) or None
        Sample weights of mean 1.
    order : ndarray of int, shape (n,)
        A random order of the samples; its first entries are the landmarks.
    cap : int, default 300
        The most landmarks.
    max_iter : int, default 8
        Rounds of the last polishing.
    tol : float, default 1e-5
        Relative improvement of GCV that ends it.
    density : int, default 1
        Factor on the landmarks.
    deadline : float, default inf
        Time of `time.monotonic` at which searches and polishing end with what they have.
    """

    X: FloatArray
    y: FloatArray
    weight: FloatArray | None
    order: NDArray[np.int64]
    cap: int = 300
    max_iter: int = 8
    tol: float = 1e-5
    density: int = 1
    deadline: float = math.inf

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() > self.deadline

    def smoother(self, B: FloatArray) -> KernelRidge:
        """Return the smoother on the coordinates ``X @ B.T``."""
        rows = self.order[: min(self.density * n_centres(B.shape[0], self.X.shape[0], self.cap), self.cap)]
        return KernelRidge(self.X @ B.T, self.y, rows, self.weight, _PRICE)


@dataclass(frozen=True)
class Candidate:
    """A subspace with its smoother.

    Parameters
    ----------
    B : ndarray of shape (k, r)
        Orthonormal rows in whitened coordinates.
    fit : SmoothFit
        The smoother.
    name : str
        Where it came from.
    trace : tuple of float
        GCV score after every round.
    """

    B: FloatArray
    fit: SmoothFit
    name: str
    trace: tuple[float, ...] = field(default=())

    @property
    def score(self) -> float:
        """GCV score, without the price of the subspace."""
        return self.fit.gcv


@dataclass(frozen=True)
class Information:
    """Normal equations of the out-of-span update D, of shape (k, r - k): B becomes orth(B + D C).

    Parameters
    ----------
    H : ndarray of shape (p, p)
        J^T (I - S) J, J the Jacobian of the fitted values by D (rows of D first).
    H2 : ndarray of shape (p, p)
        J^T (I - S)^2 J.
    g : ndarray of shape (p,)
        J^T residual.
    C : ndarray of shape (r - k, r)
        Orthonormal complement of B.
    """

    H: FloatArray
    H2: FloatArray
    g: FloatArray
    C: FloatArray


def start(problem: Problem, B: FloatArray, name: str, scales: tuple[float, ...] = _COARSE) -> Candidate:
    """Return a start with the best of a few isotropic length scales."""
    smoother = problem.smoother(B)
    trials = [smoother.trial(np.full(B.shape[0], s)) for s in scales]
    return Candidate(B, min(trials, key=lambda t: t.gcv).finish(), name)


def information(problem: Problem, candidate: Candidate) -> Information:
    """Return the normal equations at a candidate, accumulated over blocks of samples."""
    B, fit = candidate.B, candidate.fit
    k, r = B.shape
    C = scipy.linalg.qr(B.T, check_finite=False)[0][:, k:].T
    n, q = problem.y.shape
    p = k * (r - k)
    H, g = np.zeros((p, p)), np.zeros(p)
    A = np.zeros((q, fit.basis.shape[1], p))
    for first in range(0, n, _BLOCK):
        rows = slice(first, first + _BLOCK)
        X = problem.X[rows]
        value, gradient = fit.value_and_gradient(X @ B.T)
        across = X @ C.T
        residual = problem.y[rows] - value
        if problem.weight is not None:
            root = np.sqrt(problem.weight[rows])[:, None]
            across, residual = across * root, residual * root
        for o in range(q):
            J = (gradient[o][:, :, None] * across[:, None, :]).reshape(X.shape[0], p)
            H += J.T @ J
            g += J.T @ residual[:, o]
            A[o] += fit.basis[rows].T @ J
    size = np.square(fit.basis).sum(axis=0)
    H2 = H.copy()
    for o in range(q):
        scaled = A[o] * fit.shrink[:, None]
        cross = A[o].T @ scaled
        H -= cross
        H2 -= 2.0 * cross - (scaled * size[:, None]).T @ scaled
    return Information(0.5 * (H + H.T), 0.5 * (H2 + H2.T), g, np.asarray(C, dtype=np.float64))


def _moved(B: FloatArray, D: FloatArray, C: FloatArray) -> FloatArray:
    """Return orthonormal rows spanning B + D C, as close to B as any."""
    left, _, right = np.linalg.svd(B + D @ C, full_matrices=False)
    return np.asarray(left @ right)


def principal(candidate: Candidate, problem: Problem) -> Candidate:
    """Return the candidate with axes along the principal curvatures of its link, so that one length scale fits each."""
    # Of the mean squared Hessian, not of the gradients: a link z_1 h(z_2) is linear, of any length scale, along its
    # first axis however large its slope there.
    k = candidate.B.shape[0]
    if k == 1:
        return candidate
    z, fit = problem.X[problem.order[:_CURVED]] @ candidate.B.T, candidate.fit
    Hessian = []
    for axis in range(k):
        h = 0.1 * float(fit.scales[axis]) * (np.arange(k) == axis)
        steps = fit.value_and_gradient(z + h)[1] - fit.value_and_gradient(z - h)[1]
        Hessian.append(steps / (2.0 * h[axis]))
    M = sum(np.einsum("onk,onl->kl", side, side) for side in Hessian)
    axes = np.linalg.eigh(M)[1][:, ::-1].T
    B = axes @ candidate.B
    form = axes @ np.diag(fit.scales**-2.0) @ axes.T
    scales = 1.0 / np.sqrt(np.diag(form))
    return replace(candidate, B=B, fit=problem.smoother(B).fit(scales, fit.kernel))


def tune(candidate: Candidate, problem: Problem, factor: float = 1.6, sweeps: int = 1) -> Candidate:
    """Return the candidate with each length scale multiplied as long as GCV improves."""
    smoother = problem.smoother(candidate.B)
    best: SmoothFit | Trial = candidate.fit
    k = candidate.B.shape[0]
    moves = [np.ones(k, dtype=bool)] + ([np.arange(k) == a for a in range(k)] if k > 1 else [])
    for _ in range(sweeps):
        for move in moves:
            for power in (factor, 1.0 / factor):
                improved = False
                for _ in range(4):
                    scales = np.where(move, best.scales * power, best.scales)
                    if scales.min() < 0.05 or scales.max() > 30.0:
                        break
                    trial = smoother.trial(scales, best.kernel)
                    if trial.gcv >= best.gcv * (1.0 - 1e-5):
                        break
                    best, improved = trial, True
                if improved:
                    break
    return replace(candidate, fit=best.finish() if isinstance(best, Trial) else best)


def polish(problem: Problem, candidate: Candidate, rounds: int = 12, tol: float = 1e-5) -> Candidate:
    """Return the candidate after Gauss-Newton rounds, each accepted only where it lowers GCV.

    Parameters
    ----------
    problem : Problem
        Samples.
    candidate : Candidate
        Start.
    rounds : int, default 12
        The most rounds.
    tol : float, default 1e-5
        Relative improvement of GCV below which the polishing ends.

    Returns
    -------
    Candidate
        Its ``trace`` never rises.
    """
    k, r = candidate.B.shape
    trace = [*candidate.trace, candidate.score]
    if k >= r:
        return candidate
    damping = 1e-3
    for _ in range(rounds):
        if problem.is_late:
            break
        info = information(problem, candidate)
        moved, damping = _damped_step(problem, candidate, info, damping)
        if moved is None:
            break
        before, candidate = candidate.score, moved
        trace.append(candidate.score)
        if candidate.score > before * (1.0 - tol):
            break
    return replace(candidate, trace=tuple(trace))


def _damped_step(
    problem: Problem, candidate: Candidate, info: Information, damping: float
) -> tuple[Candidate | None, float]:
    """Return the first of a few ever more damped steps that lowers GCV, and the damping for the next round."""
    k = candidate.B.shape[0]
    values, axes = np.linalg.eigh(info.H)
    g = axes.T @ info.g
    size = max(float(values.mean()), 1e-300)
    for _ in range(5):
        # I - S is positive semidefinite, so that negative eigenvalues are rounding.
        D = (axes @ (g / (np.maximum(values, 0.0) + damping * size))).reshape(k, -1)
        D *= min(1.0, 1.0 / max(float(np.abs(D).max()), 1e-300))
        B = _moved(candidate.B, D, info.C)
        trial = problem.smoother(B).trial(candidate.fit.scales, candidate.fit.kernel)
        if trial.gcv < candidate.fit.gcv:
            return replace(candidate, B=B, fit=trial.finish()), max(damping / 10.0, 1e-6)
        damping *= 10.0
    return None, damping
