"""``derand sosp``: a second-order stationary point of a function of the user's or a built-in one, with its proof."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any, NamedTuple

from derand._utils.validation import FloatArray
from derand._utils.words import counted
from derand.commands.console import (
    ExitCode,
    Progress,
    add_output_options,
    save_plot,
    write_json,
)
from derand.commands.demonstrations import DEMONSTRATIONS, Demonstration
from derand.commands.user_function import load_function, read_start
from derand.exceptions import InputError
from derand.optimize import SOSPResult, SOSPStatus, minimize_sosp
from derand.optimize.methods import METHODS

__all__ = ["configure", "run"]

_DEMO = "low-rank"
_NEED_CONSTANTS = ("accelerated", "perturbed_gradient")
_PASSED_ON = ("method", "gtol", "curv_tol", "grad_lip", "hess_lip", "delta_f", "confidence", "max_evals", "time_limit")
_EXIT_CODES: Mapping[SOSPStatus, ExitCode] = MappingProxyType(
    {
        SOSPStatus.CERTIFIED: ExitCode.SOLVED,
        SOSPStatus.INTERRUPTED: ExitCode.INTERRUPTED,
        SOSPStatus.NON_FINITE: ExitCode.BAD_INPUT,
        SOSPStatus.BAD_GRADIENT: ExitCode.BAD_INPUT,
        SOSPStatus.BAD_HESSP: ExitCode.BAD_INPUT,
    }
)


class _OwnProblem(NamedTuple):
    """A function of the user's with its start, in the form of a demonstration."""

    description: str
    fun: Callable[..., Any]
    hessp: Callable[..., Any] | None
    x0: FloatArray
    minimum: None = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``derand sosp`` to a parser."""
    problem = parser.add_mutually_exclusive_group(required=True)
    problem.add_argument(
        "function",
        nargs="?",
        metavar="FUNCTION",
        help="your own, as FILE.py:NAME or MODULE:NAME; NAME(x) returns value and gradient (the file is run)",
    )
    problem.add_argument(
        "--demo", dest="problem", action="store_const", const=_DEMO, help=f"the same as --problem {_DEMO}"
    )
    problem.add_argument(
        "--problem",
        choices=sorted(DEMONSTRATIONS),
        help="a built-in function, started at a saddle point",
    )
    parser.add_argument(
        "--x0", metavar="START", help="start of your function: numbers such as 0,1.5 (--x0=-1,2), a .npy or a .csv file"
    )
    parser.add_argument(
        "--hessp", metavar="FUNCTION", help="its Hessian product, NAME(x, v); differences of gradients without it"
    )
    parser.add_argument("--method", choices=METHODS, default=METHODS[0], help="how to search (default: %(default)s)")
    number: dict[str, Any] = {"type": float, "metavar": "X"}
    parser.add_argument("--gtol", default=1e-6, help="tolerance on the gradient norm (default: %(default)s)", **number)
    parser.add_argument("--curv-tol", default=1e-3, help="tolerance on curvature (default: %(default)s)", **number)
    parser.add_argument("--confidence", default=1.0 - 1e-6, help="of the certificate (default: 1 - 1e-6)", **number)
    parser.add_argument("--hess-lip", help="Lipschitz constant of the Hessian, for methods that need it", **number)
    parser.add_argument("--grad-lip", help="Lipschitz constant of the gradient, for methods that need it", **number)
    parser.add_argument("--delta-f", help="how far the start lies above the minimum, for the same methods", **number)
    parser.add_argument("--max-evals", type=int, default=1_000_000, metavar="N", help="most evaluations and products")
    add_output_options(parser, seed=True, time_limit=True, plot=True)


def run(args: argparse.Namespace) -> int:
    """Minimise the chosen function and write the outcome as JSON.

    Parameters
    ----------
    args : Namespace
        Parsed options of `configure`.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    InputError
        If the function can't be used, the method needs constants that aren't given, or an option is out of range.
    """
    if args.method in _NEED_CONSTANTS and None in (args.grad_lip, args.hess_lip):
        raise InputError(f"--method {args.method} needs --grad-lip and --hess-lip")
    progress = Progress("sosp", quiet=args.quiet)
    problem = _problem(args)
    progress.say(problem.description)
    if args.delta_f is None and problem.minimum is not None:
        args.delta_f = max(problem.fun(problem.x0)[0] - problem.minimum, 1e-12)
    started = time.perf_counter()
    result = minimize_sosp(
        problem.fun,
        problem.x0,
        hessp=problem.hessp,
        rng=args.seed,
        callback=lambda state: progress.update(f"iteration {state.nit}, value {state.fun:.6g}"),
        **{name: getattr(args, name) for name in _PASSED_ON},
    )
    progress.say(
        f"{counted(result.n_escapes, 'saddle point')} left, {time.perf_counter() - started:.2f} s; {result.message}"
    )
    write_json(_document(args, problem.minimum, result), args.json)
    if args.plot:
        from derand.plotting.sosp import SOSPDisplay

        save_plot(SOSPDisplay.from_result(result), args.plot)
    code = _EXIT_CODES.get(result.status, ExitCode.STOPPED_EARLY)
    if code == ExitCode.BAD_INPUT and args.quiet:
        sys.stderr.write(f"derand: {args.function}: {result.message}\n")
    return code


def _problem(args: argparse.Namespace) -> Demonstration | _OwnProblem:
    """Return the user's function with its start, or the built-in one."""
    if args.function is None:
        for option in ("x0", "hessp"):
            if getattr(args, option) is not None:
                raise InputError(f"--{option} belongs to a FUNCTION of yours; built-in ones have their own")
        return DEMONSTRATIONS[args.problem]()
    if args.x0 is None:
        raise InputError("FUNCTION needs a start: give --x0 0,1.5 or the name of a .npy or .csv file")
    fun = load_function(args.function, "FUNCTION")
    hessp = None if args.hessp is None else load_function(args.hessp, "--hessp")
    x0 = read_start(args.x0)
    return _OwnProblem(f"{args.function} of {x0.size} variables", fun, hessp, x0)


def _document(args: argparse.Namespace, minimum: float | None, result: SOSPResult) -> dict[str, Any]:
    """Return what is written: the same bits for the same options, so no times."""
    fields = ("success", "message", "fun", "nit", "nfev", "nhev", "n_escapes", "x")
    certificate = result.certificate
    return {
        "problem": args.problem or args.function,
        "known_minimum": minimum,
        "method": args.method,
        "seed": args.seed,
        "status": result.status.name.lower(),
        **{name: getattr(result, name) for name in fields},
        "certificate": certificate and {"is_certified": certificate.is_certified, **asdict(certificate)},
    }
