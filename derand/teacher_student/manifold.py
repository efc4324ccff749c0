"""The manifold of zero-loss solutions of the quadratic model: random points, the closest one, distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import InputError
from derand.teacher_student.frame import conserved_frame
from derand.teacher_student.parameters import Parameters

__all__ = ["closest_solution", "sample_solutions", "solution_distance"]

_IS_SOLUTION = 1e-6


def _require_solutions(parameters: Parameters) -> None:
    """Raise InputError unless every matrix of orthonormal columns gives a solution."""
    parameters.require_plain("the solution manifold")
    if parameters.p < parameters.p_star:
        raise InputError("p must be at least p_star for solutions of zero loss")


def _from_rotation(parameters: Parameters, rotation: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rho and Q of sqrt(p/p*) R W*, R of shape (..., p, p_star) with orthonormal columns."""
    ratio = parameters.p / parameters.p_star
    rho = rotation @ parameters.gram
    return math.sqrt(ratio) * rho, ratio * rho @ np.swapaxes(rotation, -1, -2)


def sample_solutions(parameters: Parameters, n: Any, rng: RNGLike) -> tuple[FloatArray, FloatArray]:
    """Return random solutions; see `TeacherStudent.random_solutions`.

    Returns
    -------
    tuple of ndarray
        rho, shape (n, p, p_star), and Q, shape (n, p, p).

    Raises
    ------
    InputError
        If p < p_star or the model isn't the plain quadratic one.
    """
    _require_solutions(parameters)
    n = check_int(n, "n", low=1, high=10_000_000)
    shape = (n, parameters.p, parameters.p_star)
    # The polar factor of a normal matrix is uniform, as the normal law is invariant under rotations of the rows.
    return _from_rotation(parameters, conserved_frame(check_rng(rng).standard_normal(shape)))


def closest_solution(parameters: Parameters, rho0: Any) -> tuple[FloatArray, FloatArray]:
    """Return the closest solution; see `TeacherStudent.closest_solution`.

    Returns
    -------
    tuple of ndarray
        rho, shape (..., p, p_star), and Q, shape (..., p, p).

    Raises
    ------
    InputError
        If rho0 has another shape or is rank deficient, or the model isn't the plain quadratic one.
    """
    _require_solutions(parameters)
    rotation = conserved_frame(rho0)
    if rotation.shape[-2:] != (parameters.p, parameters.p_star):
        raise InputError(f"rho0 must have shape (..., {parameters.p}, {parameters.p_star}), got {rotation.shape}")
    return _from_rotation(parameters, rotation)


def solution_distance(parameters: Parameters, sigma: FloatArray, rho: Any) -> FloatArray:
    """Return distances from the start with covariance ``sigma``; see `TeacherStudent.solution_distance`.

    Returns
    -------
    ndarray of shape (...)
        The distances.

    Raises
    ------
    InputError
        If T is singular or a rho isn't that of a solution.
    """
    _require_solutions(parameters)
    p, p_star, gram = parameters.p, parameters.p_star, parameters.gram
    rho = check_array(rho, "rho")
    if rho.ndim < 2 or rho.shape[-2:] != (p, p_star):
        raise InputError(f"rho must have shape (..., {p}, {p_star}), got {rho.shape}")
    strengths = parameters.strengths
    if strengths[-1] <= 1e-12 * strengths[0]:
        raise InputError("T must be positive definite for distances of solutions")
    rotation = math.sqrt(p_star / p) * np.linalg.solve(gram, np.swapaxes(rho, -1, -2))
    defect = rotation @ np.swapaxes(rotation, -1, -2) - np.eye(p_star)
    if np.max(np.abs(defect), initial=0.0) > _IS_SOLUTION:
        raise InputError("rho isn't that of a zero-loss solution: rho must be sqrt(p/p*) R T with R'R = I")
    overlap = np.sum(np.swapaxes(rotation, -1, -2) * sigma[:p, p:], axis=(-2, -1))
    square = np.trace(sigma[:p, :p]) + p / p_star * np.trace(gram) - 2.0 * math.sqrt(p / p_star) * overlap
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))
