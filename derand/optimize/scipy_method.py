"""The solver as a method of scipy.optimize.minimize."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import InputError, InputTypeError
from derand.optimize.minimize import minimize_sosp
from derand.optimize.result import SOSPResult

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

__all__ = ["sosp_method"]

_OPTIONS = frozenset(inspect.signature(minimize_sosp).parameters) - {"fun", "x0", "hessp", "callback"}


def sosp_method(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    jac: Callable[..., Any] | None = None,
    hess: Callable[..., Any] | None = None,
    hessp: Callable[..., Any] | None = None,
    callback: Callable[..., Any] | None = None,
    tol: float | None = None,
    bounds: Any = None,
    constraints: Any = (),
    **options: Any,
) -> OptimizeResult:
    """Return scipy's result of `minimize_sosp`, for ``scipy.optimize.minimize(..., method=derand.sosp_method)``.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns the value.
    x0 : array of shape (n,)
        Start.
    args : tuple, optional
        Further arguments of the functions.
    jac : callable
        ``jac(x, *args)`` returns the gradient (scipy makes it from ``jac=True``).
    hess, hessp : callable, optional
        ``hess(x, *args)`` returns the Hessian, ``hessp(x, v, *args)`` a product with it; without them products are
        differences of gradients.
    callback : callable, optional
        As in scipy: ``callback(intermediate_result=...)`` or ``callback(x)``; StopIteration ends the run.
    tol : float, optional
        Used as `gtol` where the options don't hold one.
    bounds, constraints : optional
        Not supported; anything but None and () is refused.
    **options
        Options of `minimize_sosp`; ``maxiter`` is its ``max_iter``.

    Returns
    -------
    OptimizeResult
        Fields of `SOSPResult`; ``status`` is 0 exactly when certified, else the number of the status in `SOSPStatus`,
        and ``sosp`` holds the result itself.

    Raises
    ------
    InputError
        If there is no gradient, or there are bounds or constraints.
    InputTypeError
        If an option is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.optimize import minimize
    >>> found = minimize(lambda x: (x @ x - 1) ** 2, np.zeros(2), jac=lambda x: 4 * (x @ x - 1) * x, method=sosp_method)
    >>> found.success, round(float(np.linalg.norm(found.x)), 6)
    (True, 1.0)
    """
    is_free = constraints is None or (isinstance(constraints, (list, tuple)) and not constraints)
    if bounds is not None or not is_free:
        raise InputError("sosp_method takes no bounds or constraints")
    if not callable(jac):
        raise InputError("sosp_method needs the gradient: give jac=True or a callable jac")
    if tol is not None:
        options.setdefault("gtol", tol)
    options.pop("disp", None)
    if "maxiter" in options:
        options.setdefault("max_iter", options.pop("maxiter"))
    unknown = sorted(options.keys() - _OPTIONS)
    if unknown:
        raise InputTypeError(f"sosp_method has no option {unknown[0]!r}; it has {', '.join(sorted(_OPTIONS))}")
    result = minimize_sosp(
        lambda x: (fun(x, *args), jac(x, *args)),
        np.atleast_1d(x0),
        hessp=_products(hess, hessp, args),
        callback=None if callback is None else _scipy_callback(callback),
        **options,
    )
    return _as_scipy(result)


def _products(
    hess: Callable[..., Any] | None, hessp: Callable[..., Any] | None, args: tuple[Any, ...]
) -> Callable[[FloatArray, FloatArray], FloatArray] | None:
    """Return the Hessian products that scipy's arguments allow."""
    if callable(hessp):
        return lambda x, v: np.asarray(hessp(x, v, *args))
    if callable(hess):
        return lambda x, v: np.asarray(hess(x, *args) @ v)
    return None


def _scipy_callback(callback: Callable[..., Any]) -> Callable[[SOSPResult], Any]:
    """Return a callback of ours that calls one of scipy's."""
    if set(inspect.signature(callback).parameters) == {"intermediate_result"}:
        return lambda state: callback(intermediate_result=_as_scipy(state))
    return lambda state: callback(state.x.copy())


def _as_scipy(result: SOSPResult) -> OptimizeResult:
    """Return the fields that scipy knows."""
    from scipy.optimize import OptimizeResult

    converted = OptimizeResult()
    converted.update(
        {
            "x": result.x,
            "fun": result.fun,
            "jac": result.jac,
            "success": result.success,
            "status": 0 if result.success else list(type(result.status)).index(result.status) + 1,
            "message": result.message,
            "nit": result.nit,
            "nfev": result.nfev,
            "njev": result.nfev,
            "nhev": result.nhev,
            "sosp": result,
        }
    )
    return converted
