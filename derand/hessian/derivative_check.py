"""Checks of user-supplied gradients and Hessian products that name the wrong coordinate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import check_int
from derand._utils.words import counted
from derand.exceptions import DerivativeError
from derand.hessian.derivative_probe import DerivativeProbe, Findings
from derand.hessian.operator import HessianOperator

__all__ = ["DerivativeCheck", "GradientCheck", "HessianCheck", "check_gradient", "check_hessian"]

_MAX_NAMED = 10  # a gradient that is wrong in more coordinates than this is reported with the first ones


@dataclass(frozen=True)
class DerivativeCheck(ResultRepr):
    """What a check of derivatives found.

    Parameters
    ----------
    is_consistent : bool
        Whether nothing contradicts the derivatives.
    kinks : tuple of int
        Coordinates along which the one-sided derivatives differ (a partial derivative between the two is consistent),
        or rows in which the gradient jumps.
    undetermined : tuple of int
        Coordinates, or rows, whose differences are too inaccurate to confirm the derivative to `rtol`.
    largest_error : float
        Largest disagreement found wrong, relative to the larger of the two numbers compared.
    n_evaluations : int
        Calls of `fun`.
    message : str
        One sentence.
    """

    is_consistent: bool
    kinks: tuple[int, ...]
    undetermined: tuple[int, ...]
    largest_error: float
    n_evaluations: int
    message: str

    def raise_if_wrong(self) -> None:
        """Raise when the check failed.

        Raises
        ------
        DerivativeError
            With `message`, if `is_consistent` is False; ``partial`` is this object.
        """
        if not self.is_consistent:
            raise DerivativeError(self.message, partial=self)


@dataclass(frozen=True)
class GradientCheck(DerivativeCheck):
    """What `check_gradient` found; see `DerivativeCheck` for the other fields.

    Parameters
    ----------
    wrong : tuple of int
        Wrong coordinates, ascending; the first ten when n is above `max_coordinates`.
    wrong_block : tuple of (int, int) or None
        Smallest range ``start, stop`` that holds all coordinates in `wrong`.
    slope : float
        Exponent of the remainder f(x + t d) - f(x) - t g'd along a random d: 2 when all is well, 1 for a wrong
        gradient, infinite for a function that is linear to rounding.
    """

    wrong: tuple[int, ...]
    wrong_block: tuple[int, int] | None
    slope: float


@dataclass(frozen=True)
class HessianCheck(DerivativeCheck):
    """What `check_hessian` found; see `DerivativeCheck` for the other fields.

    Parameters
    ----------
    wrong : tuple of (int, int)
        Wrong entries (row, column), up to n = `max_coordinates`; above that, one pair (row, -1) for each wrong row.
    wrong_rows, wrong_columns : tuple of int
        The rows and columns of the smallest block that holds them; no columns are known above `max_coordinates`.
    symmetry_error : float
        Estimate of ||H - H'||_F / ||H||_F.
    """

    wrong: tuple[tuple[int, int], ...]
    wrong_rows: tuple[int, ...]
    wrong_columns: tuple[int, ...]
    symmetry_error: float


def check_gradient(
    fun: Callable[[Any], Any],
    x: Any,
    *,
    rtol: float = 1e-5,
    max_coordinates: int = 100,
    rng: RNGLike = 0,
) -> GradientCheck:
    r"""Compare a gradient with differences of its function, and name the coordinates that are wrong.

    Along a direction d the derivative is taken from extrapolated central differences over many orders of magnitude of
    steps, so that variables and functions of any scale (1e-10 to 1e10 is tested) can be checked without a step to
    choose.  Up to `max_coordinates` variables each coordinate is checked on its own.  Above, random directions find out
    whether something is wrong, and bisection of the coordinates finds where.

    A wrong partial derivative counts when it is off by more than `rtol` relatively and by more than four times the
    estimated error of the difference.  In a random direction small partial derivatives hide behind large ones: for n >
    `max_coordinates` an error that is small against the whole directional derivative isn't found.

    Parameters
    ----------
    fun : callable
        ``fun(x)`` returns (value, gradient).
    x : array of shape (n,)
        The point.
    rtol : float in (0, 1), default 1e-5
        Relative disagreement that counts as wrong (raised to the cube root of the machine epsilon for float32
        functions).
    max_coordinates : int, default 100
        Up to this many variables, every coordinate is checked.
    rng : int, Generator or None
        Source of the random directions.

    Returns
    -------
    GradientCheck
        Verdict, wrong coordinates, kinks, the slope of the remainder.

    Raises
    ------
    InputError
        If x isn't a finite vector or `fun` isn't finite at x or returns the wrong shape.
    InputTypeError
        If `fun` doesn't return a pair.

    Notes
    -----
    15 to 85 values of `fun` for each direction, n directions up to `max_coordinates`, else 3 and about 2 log2(n) for
    each wrong coordinate.  Deterministic for a given `rng`.

    Examples
    --------
    >>> import numpy as np
    >>> def fun(x):
    ...     return x[0] ** 2 + np.sin(x[1]) * x[2], np.array([2 * x[0], np.sin(x[1]) * x[2], np.sin(x[1])])
    >>> found = check_gradient(fun, [1.0, 2.0, 3.0])
    >>> found.is_consistent, found.wrong
    (False, (1,))
    """
    probe = DerivativeProbe(fun, x, rtol)
    max_coordinates = check_int(max_coordinates, "max_coordinates", low=0)
    generator = check_rng(rng)
    slope = probe.slope(generator)
    found = Findings()
    if probe.n <= max_coordinates:
        for i in range(probe.n):
            probe.judge(np.array([i]), np.ones(1), found)
    else:
        everything = np.arange(probe.n)
        for _ in range(3):
            if len(found.wrong) == 0:
                _bisect(probe, everything, generator, found)
    wrong = tuple(sorted(set(found.wrong)))
    block = (wrong[0], wrong[-1] + 1) if wrong else None
    message = _gradient_message(wrong, found, slope)
    return GradientCheck(
        is_consistent=not wrong,
        wrong=wrong,
        wrong_block=block,
        kinks=tuple(sorted(set(found.kinks))),
        undetermined=tuple(sorted(set(found.undetermined))),
        slope=slope,
        largest_error=found.largest_error,
        n_evaluations=probe.n_evaluations,
        message=message,
    )


def check_hessian(
    fun: Callable[[Any], Any],
    hessp: Callable[[Any, Any], Any],
    x: Any,
    *,
    rtol: float = 1e-4,
    max_coordinates: int = 100,
    rng: RNGLike = 0,
) -> HessianCheck:
    """Compare Hessian products with differences of the gradient, name the wrong entries, and check the symmetry.

    Parameters
    ----------
    fun : callable
        ``fun(x)`` returns (value, gradient).  Only the gradient is used; see `check_gradient` for that.
    hessp : callable
        ``hessp(x, v)`` returns the product of the Hessian at x with v.
    x : array of shape (n,)
        The point.
    rtol : float in (0, 1), default 1e-4
        Relative disagreement that counts as wrong, for entries as well as for the symmetry.
    max_coordinates : int, default 100
        Up to this many variables, every column is checked; above, three random directions, which show the wrong rows.
    rng : int, Generator or None
        Source of the random directions.

    Returns
    -------
    HessianCheck
        Verdict, wrong entries and their block, kinks, symmetry error.

    Raises
    ------
    InputError
        If x isn't a finite vector, or a function isn't finite at x or returns the wrong shape.
    InputTypeError
        If `fun` doesn't return a pair or `hessp` isn't callable.

    Notes
    -----
    15 to 85 gradients for each direction.  Deterministic for a given `rng`.

    Examples
    --------
    >>> import numpy as np
    >>> def fun(x):
    ...     return x[0] ** 2 * x[1], np.array([2 * x[0] * x[1], x[0] ** 2])
    >>> def hessp(x, v):  # the factor 2 x_0 is missing in the second row
    ...     return np.array([2 * x[1] * v[0] + 2 * x[0] * v[1], v[0]])
    >>> check_hessian(fun, hessp, [3.0, 1.0]).wrong
    ((1, 0),)
    """
    probe = DerivativeProbe(fun, x, rtol)
    max_coordinates = check_int(max_coordinates, "max_coordinates", low=0)
    operator = HessianOperator(probe.x.astype(probe.dtype), hessp=hessp)
    symmetry_error = operator.symmetry_error(rng=rng)
    generator = check_rng(rng)
    wrong: set[tuple[int, int]] = set()
    found = Findings()
    is_small = probe.n <= max_coordinates
    for j in range(probe.n if is_small else 3):
        indices = np.array([j]) if is_small else np.arange(probe.n)
        weights = np.ones(1) if is_small else probe.scale * generator.standard_normal(probe.n)
        failed = probe.judge_product(operator, indices, weights, found)
        wrong |= {(i, j if is_small else -1) for i in failed}
    is_symmetric = symmetry_error <= max(rtol, np.sqrt(probe.eps))
    rows = tuple(sorted({i for i, _ in wrong}))
    columns = tuple(sorted({j for _, j in wrong if j >= 0}))
    return HessianCheck(
        is_consistent=not wrong and is_symmetric,
        wrong=tuple(sorted(wrong)),
        wrong_rows=rows,
        wrong_columns=columns,
        kinks=tuple(sorted(set(found.kinks))),
        undetermined=tuple(sorted(set(found.undetermined))),
        symmetry_error=symmetry_error,
        largest_error=found.largest_error,
        n_evaluations=probe.n_evaluations,
        message=_hessian_message(rows, columns, symmetry_error, is_symmetric, found),
    )


def _bisect(probe: DerivativeProbe, indices: Any, generator: np.random.Generator, found: Findings) -> None:
    """Enter the wrong coordinates among ``indices`` in the findings, by random directions on halves that fail."""
    stack = [indices]
    while stack and len(found.wrong) < _MAX_NAMED:
        part = stack.pop()
        weights = probe.scale[part] * generator.standard_normal(len(part))
        if not probe.judge(part, weights, found) and len(part) > 1:
            half = len(part) // 2
            stack += [part[half:], part[:half]]


def _gradient_message(wrong: tuple[int, ...], found: Findings, slope: float) -> str:
    """Return the sentence for the user."""
    if wrong:
        more = "at least " if len(wrong) >= _MAX_NAMED else ""
        return (
            f"the gradient is wrong in {more}{counted(len(wrong), 'place')}, {_named(wrong)}: relative error up to "
            f"{found.largest_error:.1e}, remainder slope {slope:.2f} instead of 2"
        )
    if found.kinks:
        return f"the gradient is consistent, but f has a kink at x along {_named(tuple(found.kinks))}"
    if found.undetermined:
        return f"nothing contradicts the gradient, but rounding hides {_named(tuple(found.undetermined))}"
    return "the gradient agrees with the function values"


def _hessian_message(
    rows: tuple[int, ...], columns: tuple[int, ...], symmetry_error: float, is_symmetric: bool, found: Findings
) -> str:
    """Return the sentence for the user."""
    parts = []
    if rows:
        where = f"rows {_names(rows)}" + (f", columns {_names(columns)}" if columns else "")
        parts.append(f"hessp is wrong in {where} (relative error up to {found.largest_error:.1e})")
    if not is_symmetric:
        parts.append(f"hessp isn't symmetric: ||H - H'|| / ||H|| is about {symmetry_error:.1e}")
    if found.kinks:
        parts.append(f"the gradient jumps at x in {_named(tuple(sorted(set(found.kinks))), 'row')}")
    return "; ".join(parts) if parts else "the products agree with the gradient and are symmetric"


def _named(indices: tuple[int, ...], kind: str = "coordinate") -> str:
    """Return up to ten indices as text, with what they count."""
    return f"{kind}{'s' * (len(indices) > 1)} {_names(indices)}"


def _names(indices: tuple[int, ...]) -> str:
    """Return up to ten indices as text."""
    return ", ".join(map(str, indices[:_MAX_NAMED])) + (", ..." if len(indices) > _MAX_NAMED else "")
