"""The function being minimised: counted, limited and checked evaluations, and the best point seen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from derand._utils.reductions import norm
from derand._utils.validation import FloatArray
from derand.exceptions import InputTypeError
from derand.optimize.status import SOSPStatus

if TYPE_CHECKING:
    from derand.hessian.operator import HessianOperator

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
        return norm(self.jac)


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
        self.nfev = self.nhev = self.n_non_finite = 0
        self.best: Point | None = None
        self.epsilon = float(np.finfo(np.float64).eps)  # of the coarsest gradient seen
        self._floating_point_warnings = np.geterr()

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
        with np.errstate(**self._floating_point_warnings):
            pair = self._fun(x.copy())
        value, gradient = _as_pair(pair, x.size)
        if value == -math.inf:
            raise StopRun(SOSPStatus.UNBOUNDED, f"value -inf at distance {norm(x):.3g} from the origin")
        if not (math.isfinite(value) and np.all(np.isfinite(gradient))):
            self.n_non_finite += 1
            return Point(x, math.inf, np.full_like(x, math.nan))
        self.epsilon = max(self.epsilon, float(np.finfo(gradient.dtype).eps))
        gradient = gradient.astype(np.float64)
        point = Point(x, value, gradient)
        if self.best is None or self._improves(point, self.best):
            self.best = point
        if value < self.fun_lower:
            raise StopRun(SOSPStatus.UNBOUNDED, f"value {value:.6g} at distance {norm(x):.3g} from the origin")
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
        from derand.hessian.operator import HessianOperator  # not at load: scipy is slow to import

        if self._hessp is not None:
            return HessianOperator(point.x, hessp=self._product)

        def gradient(x: FloatArray) -> FloatArray:
            """Return the gradient in the precision of the function."""
            # The operator asks for the gradient at the point itself, which is known.
            jac = point.jac if np.array_equal(x, point.x) else self._finite_gradient(x)
            # Single precision asks for longer steps; the operator tells it from the type.
            return jac.astype(np.float32) if self.epsilon > 1e-15 else jac

        return HessianOperator(point.x, gradient=gradient, hessian_lipschitz=hess_lip)

    def _product(self, x: FloatArray, v: FloatArray) -> FloatArray:
        assert self._hessp is not None
        self._spend()
        self.nhev += 1
        with np.errstate(**self._floating_point_warnings):
            raw = self._hessp(x.copy(), v.copy())
        product = _as_vector(raw, x.size, "the product that hessp returns")
        if not np.all(np.isfinite(product)):
            raise StopRun(SOSPStatus.NON_FINITE, "a product that hessp returned is NaN or inf")
        return product

    def _finite_gradient(self, x: FloatArray) -> FloatArray:
        point = self.evaluate(x)
        if not math.isfinite(point.fun):
            raise StopRun(SOSPStatus.NON_FINITE, "the gradient isn't finite next to x")
        return point.jac

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
        value = float(np.asarray(value).item())
    except (TypeError, ValueError) as error:
        raise InputTypeError("fun must return a pair (value, gradient) with a real value") from error
    return value, _as_vector(gradient, n, "the gradient that fun returns")


def _as_vector(raw: Any, n: int, name: str) -> FloatArray:
    """Return a copy of a real vector of shape (n,); lower precision than float64 keeps its type."""
    try:
        vector = np.array(raw)
        if vector.dtype not in (np.float32, np.float16):
            vector = vector.astype(np.float64, casting="same_kind" if vector.dtype.kind != "O" else "unsafe")
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"{name} must be an array of real numbers: {error}") from error
    if vector.shape != (n,):
        raise InputTypeError(f"{name} must have shape ({n},), got {vector.shape}")
    return vector
