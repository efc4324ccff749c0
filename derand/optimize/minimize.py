"""The public function of the package."""

from __future__ import annotations

import math
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from derand._utils.rng import RNGLike, check_rng
from derand._utils.threads import blas_threads as limit_blas_threads
from derand._utils.validation import check_array, check_int, check_option, check_scalar
from derand.exceptions import InputError, InputTypeError
from derand.optimize.certificate import Tolerances
from derand.optimize.checkpoint import Checkpoint
from derand.optimize.driver import Callback, Driver
from derand.optimize.methods import METHODS, MethodOptions, make_method
from derand.optimize.oracle import Fun, HessP, Oracle
from derand.optimize.result import SOSPResult

__all__ = ["minimize_sosp"]

_DENSE_LIMIT = 10  # up to here the whole Hessian costs no more than Lanczos


def minimize_sosp(
    fun: Fun,
    x0: Any,
    *,
    hessp: HessP | None = None,
    gtol: float = 1e-5,
    curv_tol: float | None = None,
    hess_lip: float | None = None,
    grad_lip: float | None = None,
    delta_f: float | None = None,
    method: str = "lbfgs-lanczos",
    confidence: float = 1.0 - 1e-6,
    max_evals: int = 1_000_000,
    max_iter: int | None = None,
    time_limit: float | None = None,
    fun_lower: float | None = None,
    memory: int | None = None,
    blas_threads: int | None = 1,
    rng: RNGLike = 0,
    callback: Callback | None = None,
    resume: Checkpoint | str | PathLike[str] | None = None,
) -> SOSPResult:
    r"""Return a point that is proved to be an approximate second-order stationary point.

    The point x satisfies :math:`\|\nabla f(x)\| \le` `gtol`, and Lanczos from a random start proves
    :math:`\lambda_{\min}(\nabla^2 f(x)) \ge -` `curv_tol` with probability at least `confidence`.  With
    ``curv_tol = sqrt(hess_lip * gtol)`` that is the rho-SOSP of the literature for rho = gtol.  A second-order
    stationary point need not be a local minimum (x^3 has one at 0), and a local minimum need not be global.

    Parameters
    ----------
    fun : callable
        ``fun(x)`` returns (value, gradient) for x of shape (n,); twice differentiable, and the same for the same x.
    x0 : array of shape (n,)
        Start; it may be an exact saddle point.
    hessp : callable, optional
        ``hessp(x, v)`` returns the product of the Hessian at x with v.  Without it products are forward differences of
        gradients; their error is bounded (with `hess_lip`) or estimated, and subtracted from the proven bound.
    gtol : float, default 1e-5
        Tolerance on the Euclidean norm of the gradient.
    curv_tol : float, optional
        Tolerance on negative curvature.  Default: ``sqrt(hess_lip * gtol)``.
    hess_lip : float, optional
        Lipschitz constant of the Hessian.  When `curv_tol` is missing as well, it is estimated from differences of
        gradients at the first candidate, and again at the next ones as long as none show; the certificate says so.
    grad_lip, delta_f : float, optional
        Lipschitz constant of the gradient, and a bound on ``f(x0) - min f``, for ``"perturbed_gradient"`` and
        ``"accelerated"``, whose parameters their theorems derive from them (and from `hess_lip`).
    method : {"lbfgs-lanczos", "newton-cg", "perturbed_gradient", "accelerated"}
        How to search; the certificate is the same for all.
    confidence : float in (0, 1), default 1 - 1e-6
        Probability, over `rng`, that the run makes no false certificate; it is split over repeated certificates.
    max_evals : int, default 1_000_000
        Most evaluations and Hessian products together.
    max_iter : int, optional
        Most iterations.
    time_limit : float, optional
        Seconds after which the next evaluation ends the run.
    fun_lower : float, optional
        Value below which the function counts as unbounded.  Default: ``f(x0) - 1e10 (1 + |f(x0)|)``.
    memory : int, optional
        Pairs kept by L-BFGS.  Default: 100, less when n is above 200,000.
    blas_threads : int or None, default 1
        Cap on the BLAS threads during the run, those of `fun` included: with 1 the bits of the result don't depend on
        the number of threads.  None leaves them alone, which is quicker when `fun` multiplies large matrices.
    rng : int, Generator or None, default 0
        Source of all random numbers.  The same seed gives the same bits.
    callback : callable, optional
        Called after each iteration with an `SOSPResult` of status RUNNING; returning True or raising StopIteration ends
        the run.
    resume : Checkpoint or path, optional
        Checkpoint of an earlier run with the same function and method; the point, `rng`, the tolerances, and
        `grad_lip`, `delta_f` and `memory` where they aren't given, are taken from it (of `x0` only the length counts),
        and the outcome is bit for bit that of a run that was never interrupted.

    Returns
    -------
    SOSPResult
        ``success`` is True only when the certificate proves both inequalities; otherwise `status` and `message` say
        what is missing.

    Raises
    ------
    InputError
        If x0 isn't a finite vector, a parameter is out of range, a method's constants are missing, or the checkpoint is
        of another method or size or was made with other constants.
    InputTypeError
        If an argument, or what `fun` returns, has the wrong type or shape.

    Notes
    -----
    An exception raised by `fun` or `hessp` passes through, with the best point so far in its attribute ``partial``.
    Ctrl-C ends the run with status INTERRUPTED.  Before the first certificate counts, one more evaluation checks that
    value, gradient and Hessian products belong together.

    References
    ----------
    C. Jin, R. Ge, P. Netrapalli, S. Kakade, M. Jordan, How to escape saddle points efficiently, arXiv:1703.00887.
    C. Jin, P. Netrapalli, M. Jordan, Accelerated gradient descent escapes saddle points faster, arXiv:1711.10456.
    C. W. Royer, M. O'Neill, S. J. Wright, A Newton-CG algorithm with complexity guarantees, arXiv:1803.02924.
    J. L. M. van Dorsselaer, M. E. Hochstenbach, H. A. van der Vorst, SIAM J. Matrix Anal. Appl. 22 (2001) 837-852.

    Examples
    --------
    The function x^4/4 - x^2/2 + y^2/2 has a saddle point at the origin, where the gradient vanishes.

    >>> import numpy as np
    >>> def fun(z):
    ...     x, y = z
    ...     return x**4 / 4 - x**2 / 2 + y**2 / 2, np.array([x**3 - x, y])
    >>> result = minimize_sosp(fun, [0.0, 0.0], hess_lip=12.0)
    >>> result.success, round(result.fun, 8), result.n_escapes
    (True, -0.25, 1)
    >>> bool(result.certificate.min_eigenvalue_lower >= -result.certificate.curv_tol)
    True
    """
    x0 = check_array(x0, "x0", ndim=1).copy()  # the caller may change the array while the run goes on
    if x0.size == 0:
        raise InputError("x0 must not be empty")
    _check_callables(fun=fun, hessp=hessp, callback=callback)
    check_option(method, "method", METHODS)
    checkpoint = _checkpoint(resume)
    tolerances = _tolerances(gtol, curv_tol, hess_lip, confidence, x0.size)
    if checkpoint is not None:
        tolerances = _first_tolerances(checkpoint)
    oracle = Oracle(
        fun,
        hessp,
        max_evals=check_int(max_evals, "max_evals", low=1),
        time_limit=None if time_limit is None else check_scalar(time_limit, "time_limit", low=0.0),
        fun_lower=-math.inf if fun_lower is None else check_scalar(fun_lower, "fun_lower"),
    )
    constants = _same_constants(checkpoint, _checked_constants(grad_lip, delta_f, memory))
    options = MethodOptions(
        tolerances=tolerances,
        grad_lip=constants["grad_lip"],
        delta_f=constants["delta_f"],
        memory=_memory(constants["memory"], x0.size),
        n=x0.size,
    )
    driver = Driver(
        oracle,
        make_method(method, options),
        tolerances,
        check_rng(rng),
        max_iter=math.inf if max_iter is None else check_int(max_iter, "max_iter", low=0),
        callback=callback,
        constants=constants,
    )
    n_threads = None if blas_threads is None else check_int(blas_threads, "blas_threads", low=1)
    # Overflow far from the minimum is an ordinary thing in a line search; fun itself runs under the caller's settings.
    with limit_blas_threads(n_threads), np.errstate(over="ignore", invalid="ignore"):
        return driver.start(x0) if checkpoint is None else driver.resume(checkpoint, x0.size)


def _tolerances(gtol: float, curv_tol: float | None, hess_lip: float | None, confidence: float, n: int) -> Tolerances:
    """Return the checked tolerances; a curvature tolerance that is still open is nan."""
    gtol = check_scalar(gtol, "gtol", low=0.0, high=math.inf, low_open=True, high_open=True)
    confidence = check_scalar(confidence, "confidence", low=0.0, high=1.0, low_open=True, high_open=True)
    lipschitz = _optional_positive(hess_lip, "hess_lip")
    if curv_tol is not None:
        tolerance = check_scalar(curv_tol, "curv_tol", low=0.0, high=math.inf, low_open=True, high_open=True)
    else:
        tolerance = math.nan if lipschitz is None else math.sqrt(lipschitz * gtol)
    source = None if lipschitz is None else "given"
    return Tolerances(gtol, tolerance, confidence, lipschitz, source, _DENSE_LIMIT if n <= _DENSE_LIMIT else 0)


def _checkpoint(resume: Any) -> Checkpoint | None:
    """Return the checkpoint to go on from, None for a new run."""
    if resume is None or isinstance(resume, Checkpoint):
        return resume
    if not isinstance(resume, (str, PathLike)):
        raise InputTypeError(f"resume must be a Checkpoint or a path, got {type(resume).__name__}")
    return Checkpoint.load(resume)


def _first_tolerances(checkpoint: Checkpoint) -> Tolerances:
    """Return the tolerances that the run of a checkpoint started with."""
    tolerances: Tolerances = checkpoint.unpack("tolerances", {"Tolerances": Tolerances}, Tolerances)
    if tolerances.hess_lip_source == "estimated":
        return replace(tolerances, curv_tol=math.nan, hess_lip=None, hess_lip_source=None)
    return tolerances


def _checked_constants(grad_lip: Any, delta_f: Any, memory: Any) -> dict[str, Any]:
    """Return the checked constants that a method may be made from."""
    return {
        "grad_lip": _optional_positive(grad_lip, "grad_lip"),
        "delta_f": _optional_positive(delta_f, "delta_f"),
        "memory": None if memory is None else check_int(memory, "memory", low=1),
    }


def _same_constants(checkpoint: Checkpoint | None, given: dict[str, Any]) -> dict[str, Any]:
    """Return the constants of a checkpoint's method, without one those given; `InputError` when they disagree."""
    if checkpoint is None:
        return given
    kept: dict[str, Any] = checkpoint.unpack("constants", {}, dict)
    for name, value in given.items():
        if value is not None and value != kept.get(name):
            raise InputError(f"{name} is {value}, but the checkpoint was made with {kept.get(name)}")
    return _checked_constants(**{name: kept.get(name) for name in given})


def _memory(memory: int | None, n: int) -> int:
    """Return the number of pairs for L-BFGS: 100 while they fit into about 300 MB."""
    if memory is not None:
        return memory
    return int(min(100, max(5, 2e7 // n)))


def _optional_positive(value: float | None, name: str) -> float | None:
    """Return a checked positive number, or None."""
    if value is None:
        return None
    return check_scalar(value, name, low=0.0, high=math.inf, low_open=True, high_open=True)


def _check_callables(**functions: Any) -> None:
    """Raise when an argument that has to be a function isn't one."""
    for name, function in functions.items():
        if not (callable(function) or (function is None and name != "fun")):
            raise InputTypeError(f"{name} must be callable, got {type(function).__name__}")
