"""The function being minimised: counted, limited and checked evaluations, and the best point seen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import InputTypeError
from derand.hessian.operator import HessianOperator
from derand.optimize.status import SOSPStatus

__all__ = ["Oracle", "Point", "StopRun"]

Fun = Callable[[FloatArray], tuple[float, FloatArray]]
HessP = Callable[[FloatArray, FloatArray], FloatArray]


class StopRun(Exception):  # not an error: the signal that ends a run from inside an evaluation
    """Ends a run from inside a step.

    Parameters
    ----------
    status : SOSPStatus
        How the run ended.
    detail : str, optional
        A sentence added to the message.
    """

    def __init__(self, status: SOSPStatus, detail: str = "") -> None:
        super().__init__(status.value)
        self.status, self.detail = status, detail


@dataclass(frozen=True)
class Point:
    """A point with its value and gradient."""

    x: FloatArray
    fun: float
    jac: FloatArray

    @property
    def gradient_norm(self) -> float:
        """Euclidean norm of the gradient."""
        return float(np.linalg.norm(self.jac))


class Oracle:
    """Counted evaluations within limits.

    Parameters
    ----------
    fun : callable
        ``fun(x)`` returns (value, gradient).
    hessp : callable or None
        ``hessp(x, v)`` returns the Hessian product; None means differences of gradients.
    max_evals : int
        Most evaluations and products together.
    time_limit : float or None
        Seconds after which the next evaluation stops the run.
    fun_lower : float
        Value below which the function counts as unbounded.
    """

    def __init__(
        self,
        fun: Fun,
        hessp: HessP | None = None,
        *,
        max_evals: int | float = math.inf,
        time_limit: float | None = None,
        fun_lower: float = -math.inf,
    ) -> None:
        self._fun, self._hessp = fun, hessp
        self.max_evals, self.fun_lower = max_evals, fun_lower
        self._deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        self.nfev = self.nhev = 0
        self.best: Point | None = None

    @property
    def has_hessp(self) -> bool:
        """Whether exact Hessian products are available."""
        return self._hessp is not None

    @property
    def n_calls(self) -> int:
        """Evaluations and products so far."""
        return self.nfev + self.nhev

    def evaluate(self, x: FloatArray) -> Point:
        """Return the point x with value and gradient; the value is inf where either isn't finite.

        Parameters
        ----------
        x : ndarray of shape (n,)
            Where to evaluate.

        Returns
        -------
        Point
            The evaluated point; it becomes `best` when it is lower.

        Raises
        ------
        StopRun
            If a limit is reached or the value falls below `fun_lower`.
        InputTypeError
            If ``fun`` doesn't return a real number and a gradient of shape (n,).
        """
        self._spend()
        self.nfev += 1
        value, gradient = _as_pair(self._fun(x.copy()), x.size)
        if math.isnan(value) or value == math.inf or not np.all(np.isfinite(gradient)):
            return Point(x, math.inf, np.full_like(x, math.nan))
        point = Point(x, value, gradient)
        if self.best is None or self._improves(point, self.best):
            self.best = point
        if value < self.fun_lower:
            raise StopRun(
                SOSPStatus.UNBOUNDED, f"value {value:.6g} at distance {np.linalg.norm(x):.3g} from the origin"
            )
        return point

    def hessian(self, point: Point, hess_lip: float | None = None) -> HessianOperator:
        """Return the counted Hessian at an evaluated point.

        Parameters
        ----------
        point : Point
            An evaluated point.
        hess_lip : float, optional
            Lipschitz constant of the Hessian, for the error bound of differences.

        Returns
        -------
        HessianOperator
            Its products count here; from differences of gradients without ``hessp``.
        """
        if self._hessp is not None:
            return HessianOperator(point.x, hessp=self._product)
        return HessianOperator(point.x, fun=self._difference_fun, hessian_lipschitz=hess_lip)

    def _product(self, x: FloatArray, v: FloatArray) -> FloatArray:
        assert self._hessp is not None
        self._spend()
        self.nhev += 1
        product = np.asarray(self._hessp(x.copy(), v.copy()), dtype=np.float64)
        if not np.all(np.isfinite(product)):
            raise StopRun(SOSPStatus.NON_FINITE, "hessp returned NaN or inf")
        return product

    def _difference_fun(self, x: FloatArray) -> tuple[float, FloatArray]:
        point = self.evaluate(x)
        if not math.isfinite(point.fun):
            raise StopRun(SOSPStatus.NON_FINITE, "the gradient isn't finite next to x")
        return point.fun, point.jac

    def _spend(self) -> None:
        if self.n_calls >= self.max_evals:
            raise StopRun(SOSPStatus.BUDGET)
        if time.monotonic() > self._deadline:
            raise StopRun(SOSPStatus.TIME_LIMIT)

    def _improves(self, point: Point, best: Point) -> bool:
        """Lower value; between values that rounding can't tell apart, the smaller gradient."""
        noise = 4.0 * np.finfo(np.float64).eps * abs(best.fun)
        if abs(point.fun - best.fun) <= noise:
            return point.gradient_norm < best.gradient_norm
        return point.fun < best.fun


def _as_pair(pair: Any, n: int) -> tuple[float, FloatArray]:
    """Return what the user's function gave as (float, array of shape (n,))."""
    try:
        value, gradient = pair
        value = float(value)
    except (TypeError, ValueError) as error:
        raise InputTypeError("fun must return a pair (value, gradient) with a real value") from error
    gradient = np.array(gradient, dtype=np.float64)
    if gradient.shape != (n,):
        raise InputTypeError(f"the gradient that fun returns must have shape ({n},), got {gradient.shape}")
    return value, gradient
