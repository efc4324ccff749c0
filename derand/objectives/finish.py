"""The last step of a derandomization: minimising g itself, without ever losing ground."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_array

__all__ = ["Solver", "finish"]

Fun = Callable[[FloatArray], tuple[float, FloatArray]]
Solver = Callable[[Fun, FloatArray], Any]


def finish(fun: Fun, start: FloatArray, solver: Solver | None = None) -> FloatArray:
    """Return the solver's point, or the start when that isn't worse.

    Parameters
    ----------
    fun : callable
        ``fun(b) -> (value, gradient)``.
    start : array, shape (k,)
        Where to start.
    solver : callable, optional
        ``solver(fun, x0)`` returns an object with the attribute ``x``; SciPy's L-BFGS-B by default.

    Returns
    -------
    ndarray, shape (k,)
        A point with ``fun`` at most that of the start.

    Raises
    ------
    InputError
        If the solver's answer has another shape or isn't finite.
    """
    found = check_array((_lbfgs if solver is None else solver)(fun, start.copy()).x, "solver(...).x", shape=start.shape)
    # "not <" keeps the start when the solver ended where the function is NaN.
    return found if fun(found)[0] < fun(start)[0] else np.array(start)


def _lbfgs(fun: Fun, start: FloatArray) -> Any:
    """SciPy's L-BFGS-B, driven to rounding."""
    from scipy.optimize import minimize

    return minimize(fun, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-10})
