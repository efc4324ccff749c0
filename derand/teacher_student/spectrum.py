"""Hessian of the population loss of the quadratic model: full spectrum with multiplicities, and as an operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import BudgetExceededError, InputError
from derand.hessian import HessianOperator
from derand.teacher_student.parameters import Parameters

__all__ = ["HessianSpectrum", "hessian_operator", "hessian_spectrum"]

_RANK_TOLERANCE = 1e-13
_MERGE = 1e-11
_LARGEST = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class HessianSpectrum(ResultRepr):
    """Eigenvalues of the Hessian of N times the population loss in the student's weights.

    Attributes
    ----------
    values : ndarray of shape (m,)
        Different eigenvalues, increasing; those closer than 1e-11 times the largest modulus count as one.
    multiplicities : tuple of int
        How often each occurs, exact for any N; they add up to p N.
    """

    values: FloatArray
    multiplicities: tuple[int, ...]

    def inertia(self, tol: float = 1e-10) -> tuple[int, int, int]:
        """Return the numbers of negative, zero and positive eigenvalues.

        Parameters
        ----------
        tol : float, default 1e-10
            Eigenvalues of modulus up to this times the largest count as zero.

        Returns
        -------
        tuple of int
            (negative, zero, positive).
        """
        level = tol * float(np.max(np.abs(self.values)))
        pairs = list(zip(self.values.tolist(), self.multiplicities, strict=True))
        negative = sum(count for value, count in pairs if value < -level)
        positive = sum(count for value, count in pairs if value > level)
        return negative, sum(self.multiplicities) - negative - positive, positive


def hessian_spectrum(parameters: Parameters, sigma: FloatArray, n_inputs: Any) -> HessianSpectrum:
    """Return the spectrum at order parameters Sigma; see `TeacherStudent.hessian_spectrum`.

    Returns
    -------
    HessianSpectrum
        Values and multiplicities.

    Raises
    ------
    InputError
        If N is smaller than the rank of Sigma.
    BudgetExceededError
        If the matrix of the directions inside the span has more than 10,000 rows.
    """
    n_inputs = check_int(n_inputs, "N", low=1)
    p, output = parameters.p, parameters.output
    variances, vectors = np.linalg.eigh(sigma)
    kept = variances > _RANK_TOLERANCE * max(float(variances[-1]), 0.0)
    factor = vectors[:, kept] * np.sqrt(variances[kept])
    rank = factor.shape[1]
    if n_inputs < rank:
        raise InputError(f"N must be at least the rank {rank} of [[Q, rho], [rho', T]], got {n_inputs}")
    if p * rank > _LARGEST:
        raise BudgetExceededError(f"eigenvalues of a matrix of order {p * rank} > {_LARGEST}: take smaller p or p_star")
    student, a = factor[:p], output[:p]
    target = (factor.T * output) @ factor
    trace = float(np.trace(target))
    # Rows of d run over the students, columns over an orthonormal basis of the span.
    gram = student @ student.T
    inside = 2.0 * np.kron(np.diag(a), trace * np.eye(rank) + 2.0 * target)
    scaled = a[:, None] * student
    inside += 4.0 * np.outer(scaled, scaled)
    inside += 4.0 * np.einsum("ks,lr->krls", scaled, scaled).reshape(p * rank, p * rank)
    inside += 4.0 * np.kron(a[:, None] * gram * a, np.eye(rank))
    outside = 2.0 * trace * np.diag(a) + 4.0 * a[:, None] * gram * a
    values = [*np.linalg.eigvalsh(inside).tolist()] if rank else []
    counts = [1] * len(values)
    if n_inputs > rank:
        values += np.linalg.eigvalsh(outside).tolist()
        counts += [n_inputs - rank] * p
    return _merge(np.array(values), counts)


def _merge(values: FloatArray, counts: list[int]) -> HessianSpectrum:
    """Return the spectrum with equal eigenvalues put together."""
    level = _MERGE * float(np.max(np.abs(values)))
    order = np.argsort(values, kind="stable")
    groups: list[list[int]] = []
    for index in order.tolist():
        if groups and values[index] - values[groups[-1][-1]] <= level:
            groups[-1].append(index)
        else:
            groups.append([index])
    sizes = tuple(sum(counts[i] for i in group) for group in groups)
    means = [float(np.mean(values[group])) for group in groups]
    return HessianSpectrum(np.array(means), sizes)


def hessian_operator(parameters: Parameters, W: Any, W_star: Any) -> HessianOperator:
    """Return the Hessian as an operator; see `TeacherStudent.hessian_operator`.

    Returns
    -------
    HessianOperator
        Operator of order p N.

    Raises
    ------
    InputError
        If the shapes don't fit or W_star's Gram matrix isn't T.
    """
    W = check_array(W, "W", shape=(parameters.p, None))
    size = W.shape[1]
    W_star = check_array(W_star, "W_star", shape=(parameters.p_star, size))
    if size == 0:
        raise InputError("W must have at least one column")
    gram = W_star @ W_star.T / size
    if np.max(np.abs(gram - parameters.gram)) > 1e-8 * max(1.0, float(np.max(np.abs(parameters.gram)))):
        raise InputError("W_star W_star' / N must be the model's T (random teachers realise their own T)")
    a, b = parameters.output[: parameters.p], parameters.output[parameters.p :]
    own, teacher = W / np.sqrt(size), W_star / np.sqrt(size)
    trace = float(a @ np.sum(own**2, axis=1) + b @ np.sum(teacher**2, axis=1))
    scaled = a[:, None] * own

    def product(_: Any, vector: Any) -> FloatArray:
        """Return the product of the Hessian with a vector of all weights."""
        d = np.asarray(vector, dtype=np.float64).reshape(own.shape)
        # M is never formed: it is N x N
        d_m = (d @ own.T) @ scaled + ((d @ teacher.T) * b) @ teacher
        result = 2.0 * a[:, None] * (trace * d + 2.0 * d_m)
        result += 4.0 * np.sum(scaled * d) * scaled
        result += 4.0 * a[:, None] * (own @ d.T) @ scaled + 4.0 * (a[:, None] * (own @ own.T)) @ (a[:, None] * d)
        return np.asarray(result.reshape(-1))

    return HessianOperator(W.reshape(-1), hessp=product)
