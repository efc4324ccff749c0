"""A function with its gradient at one point, compared with differences along lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_array, check_scalar
from derand.exceptions import InputError, InputTypeError
from derand.hessian.differences import Difference, directional_difference, remainder_slope
from derand.hessian.operator import HessianOperator

__all__ = ["DerivativeProbe", "Findings", "compare"]


@dataclass
class Findings:
    """Coordinates (or rows) found so far."""

    wrong: list[int] = field(default_factory=list)
    kinks: list[int] = field(default_factory=list)
    undetermined: list[int] = field(default_factory=list)
    largest_error: float = 0.0


class DerivativeProbe:
    """A function with its gradient at one point; evaluates both along lines."""

    def __init__(self, fun: Callable[[Any], Any], x: Any, rtol: float) -> None:
        if not callable(fun):
            raise InputTypeError(f"fun must be callable, got {type(fun).__name__}")
        self._fun = fun
        self.x = check_array(x, "x", ndim=1)
        self.n = self.x.size
        if self.n == 0:
            raise InputError("x must not be empty")
        dtype = getattr(x, "dtype", None)
        self.dtype = np.dtype(np.float32) if dtype == np.float32 else np.dtype(np.float64)
        self.n_evaluations = 0
        value, gradient = self._call(self.x)
        self.gradient = check_array(gradient, "the gradient returned by fun", shape=(self.n,))
        check_array(value, "the value returned by fun", ndim=0)
        narrow = any(getattr(part, "dtype", None) == np.float32 for part in (value, gradient))
        self.eps = float(np.finfo(np.float32 if narrow else self.dtype).eps)
        rtol = check_scalar(rtol, "rtol", low=0.0, high=1.0, low_open=True, high_open=True)
        self.rtol = max(rtol, self.eps ** (1.0 / 3.0))
        self._typical = float(np.max(np.abs(self.x))) or 1.0
        self.scale = np.where(self.x == 0.0, self._typical, np.abs(self.x))

    def _call(self, x: FloatArray) -> tuple[Any, Any]:
        """Return (value, gradient) as the user gave them."""
        self.n_evaluations += 1
        pair = self._fun(x.astype(self.dtype))
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InputTypeError("fun must return a pair (value, gradient)")
        return pair

    def _line(self, direction: FloatArray, part: int) -> Callable[[float], FloatArray]:
        """Return t -> value (part 0) or gradient (part 1) at x + t direction; NaN where the user's function fails."""
        size = 1 if part == 0 else self.n

        def line(t: float) -> FloatArray:
            """Return the chosen part at x + t direction."""
            with np.errstate(all="ignore"):
                try:
                    raw = np.asarray(self._call(self.x + t * direction)[part], dtype=np.float64)
                except (ArithmeticError, ValueError):
                    # math.exp and math.log raise far away from x, where numpy gives inf and NaN.
                    return np.full(size, np.nan)
            return raw.reshape(size)

        return line

    def slope(self, generator: np.random.Generator) -> float:
        """Return the exponent of the remainder along a random direction."""
        direction = self.scale * generator.standard_normal(self.n)
        return remainder_slope(self._line(direction, 0), float(self.gradient @ direction), 1.0, eps=self.eps)

    def difference(self, indices: FloatArray, weights: FloatArray, part: int) -> Difference:
        """Return the derivative along sum_i weights_i e_i over the given coordinates."""
        direction = np.zeros(self.n)
        direction[indices] = weights
        if len(indices) == 1:
            # The line parameter has the units of x_i; the function's own scale may be anything around it.
            own = float(self.scale[indices[0]])
            scales = tuple(dict.fromkeys((own, self._typical, 1.0, own * 1e-6, own * 1e6, own * 1e-12)))
            trusted = max(own, 1e-6 * self._typical)
        else:
            scales, trusted = (1.0, 1e-6, 1e6), 1.0
        argument = float(np.max(np.abs(self.x[indices] / weights)))
        line = self._line(direction, part)
        return directional_difference(line, scales, eps=self.eps, argument=argument, trusted=trusted)

    def judge(self, indices: Any, weights: FloatArray, found: Findings) -> bool:
        """Return whether the gradient is right along a direction; a single coordinate is entered in the findings."""
        claimed = np.array([float(self.gradient[indices] @ weights)])
        slack = 10.0 * self.eps * float(np.abs(self.gradient[indices]) @ np.abs(weights))
        difference = self.difference(indices, weights, 0)
        wrong, unsure, relative = compare(claimed, difference, self.rtol, slack)
        if len(indices) == 1:
            i = int(indices[0])
            found.wrong += [i] * bool(wrong[0])
            found.undetermined += [i] * bool(unsure[0])
            found.kinks += [i] * bool(difference.is_kink[0])
        found.largest_error = max(found.largest_error, float(relative[0]))
        return not bool(wrong[0])

    def judge_product(self, operator: HessianOperator, indices: Any, weights: FloatArray, found: Findings) -> list[int]:
        """Return the rows in which the product along a direction contradicts the gradient."""
        direction = np.zeros(self.n)
        direction[indices] = weights
        claimed = np.asarray(operator.matvec(direction), dtype=np.float64)
        difference = self.difference(indices, weights, 1)
        slack = 10.0 * self.eps * float(np.max(np.abs(claimed)))
        wrong, unsure, relative = compare(claimed, difference, self.rtol, slack)
        found.kinks += [int(i) for i in np.flatnonzero(difference.is_kink)]
        found.undetermined += [int(i) for i in np.flatnonzero(unsure)]
        found.largest_error = max(found.largest_error, float(np.max(relative)))
        return [int(i) for i in np.flatnonzero(wrong)]


def compare(claimed: FloatArray, difference: Difference, rtol: float, slack: float) -> tuple[Any, Any, FloatArray]:
    """Return masks of the wrong and of the undecided derivatives, and the relative errors, each of shape (m,)."""
    with np.errstate(invalid="ignore"):
        low = np.where(difference.is_kink, np.fmin(difference.left, difference.right), difference.value)
        high = np.where(difference.is_kink, np.fmax(difference.left, difference.right), difference.value)
        error = np.where(difference.is_kink, difference.left_error + difference.right_error, difference.error)
        outside = np.fmax(np.fmax(low - claimed, claimed - high), 0.0)
        size = np.fmax(np.abs(claimed), np.fmax(np.abs(low), np.abs(high)))
        wrong = outside > rtol * size + 4.0 * error + slack
        unsure = ~wrong & ~(error <= rtol * size) & ~(error <= slack) & (size > 0.0)
        relative = np.where(wrong, outside / np.where(size > 0.0, size, 1.0), 0.0)
    return wrong, unsure, relative
