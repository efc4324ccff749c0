"""The built-in problems of ``derand sosp``: functions started where gradient methods stop, at no minimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from derand._utils.validation import FloatArray

__all__ = ["DEMONSTRATIONS", "Demonstration", "coupled_wells", "low_rank", "phase_retrieval"]


@dataclass(frozen=True)
class Demonstration:
    """A function with exact derivatives, and a start where its gradient vanishes although it is no minimum.

    Parameters
    ----------
    description : str
        One line about the function and the start.
    fun : callable
        ``fun(x)`` returns (value, gradient).
    hessp : callable
        ``hessp(x, v)`` returns the Hessian product.
    x0 : ndarray of shape (n,)
        The start.
    minimum : float
        Smallest value of the function.
    """

    description: str
    fun: Callable[[FloatArray], tuple[float, FloatArray]]
    hessp: Callable[[FloatArray, FloatArray], FloatArray]
    x0: FloatArray
    minimum: float


def coupled_wells(n: int = 20) -> Demonstration:
    """Return a ring of coupled double wells, sum_i ((x_i^2 - 1)^2 + (x_i - x_{i+1})^2) / 4.

    The global minima are (1, ..., 1) and its negative; arcs of either sign side by side are further local minima.

    Parameters
    ----------
    n : int, default 20
        Number of wells, at least 3.

    Returns
    -------
    Demonstration
        Started at the origin, a saddle point.
    """

    def fun(x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        excess, step = x * x - 1.0, x - np.roll(x, -1)
        value = 0.25 * (excess @ excess + step @ step)
        return float(value), excess * x + 0.5 * (step - np.roll(step, 1))

    def hessp(x: FloatArray, v: FloatArray) -> FloatArray:
        """Return the Hessian product."""
        step = v - np.roll(v, -1)
        return (3.0 * x * x - 1.0) * v + 0.5 * (step - np.roll(step, 1))

    return Demonstration(f"{n} double wells coupled on a ring, from the saddle 0", fun, hessp, np.zeros(n), 0.0)


def low_rank(n: int = 25, rank: int = 2, seed: int = 0) -> Demonstration:
    """Return the distance ||U U' - M||_F^2 / 4 to a random matrix M of the given rank.

    All second-order stationary points are global minima.

    Parameters
    ----------
    n : int, default 25
        Rows of U (n, rank).
    rank : int, default 2
        Columns of U.
    seed : int, default 0
        Seed of M.

    Returns
    -------
    Demonstration
        Started at U = 0, a stationary point of negative semidefinite Hessian.

    References
    ----------
    R. Ge, C. Jin, Y. Zheng, No spurious local minima in nonconvex low rank problems, arXiv:1704.00708.
    """
    factor = np.random.default_rng(seed).standard_normal((n, rank))
    target = factor @ factor.T

    def fun(x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        U = x.reshape(n, rank)
        residual = U @ U.T - target
        return 0.25 * float(np.sum(residual * residual)), (residual @ U).ravel()

    def hessp(x: FloatArray, v: FloatArray) -> FloatArray:
        """Return the Hessian product."""
        U, V = x.reshape(n, rank), v.reshape(n, rank)
        return ((U @ U.T - target) @ V + (U @ V.T + V @ U.T) @ U).ravel()

    return Demonstration(
        f"rank-{rank} factor of a {n} x {n} matrix, from the saddle 0", fun, hessp, np.zeros(n * rank), 0.0
    )


def phase_retrieval(n: int = 20, n_measurements: int = 200, seed: int = 0) -> Demonstration:
    """Return the misfit sum_i ((a_i'x)^2 - (a_i'z)^2)^2 / (4 m) for normal a_i; it vanishes at z and -z.

    Parameters
    ----------
    n : int, default 20
        Number of variables.
    n_measurements : int, default 200
        The number m of measurements.
    seed : int, default 0
        Seed of the a_i and of the unit vector z.

    Returns
    -------
    Demonstration
        Started at the origin, a local maximum.

    References
    ----------
    J. Sun, Q. Qu, J. Wright, A geometric analysis of phase retrieval, arXiv:1602.06664.
    """
    rng = np.random.default_rng(seed)
    rows, hidden = rng.standard_normal((n_measurements, n)), rng.standard_normal(n)
    intensities = (rows @ (hidden / np.linalg.norm(hidden))) ** 2

    def fun(x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        amplitude = rows @ x
        excess = amplitude**2 - intensities
        return 0.25 * float(np.mean(excess**2)), rows.T @ (excess * amplitude) / n_measurements

    def hessp(x: FloatArray, v: FloatArray) -> FloatArray:
        """Return the Hessian product."""
        return np.asarray(rows.T @ ((3.0 * (rows @ x) ** 2 - intensities) * (rows @ v)) / n_measurements)

    description = f"a unit vector in R^{n} from {n_measurements} intensities, from the local maximum 0"
    return Demonstration(description, fun, hessp, np.zeros(n), 0.0)


DEMONSTRATIONS: Mapping[str, Callable[[], Demonstration]] = MappingProxyType(
    {"low-rank": low_rank, "phase-retrieval": phase_retrieval, "wells": coupled_wells}
)
