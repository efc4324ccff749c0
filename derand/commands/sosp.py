"""``derand sosp``: a second-order stationary point of a built-in function, with its certificate."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from derand.commands.console import (
    ExitCode,
    Progress,
    add_output_options,
    check_plot_path,
    save_plot,
    write_json,
)
from derand.commands.demonstrations import DEMONSTRATIONS
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


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``derand sosp`` to a parser."""
    problem = parser.add_mutually_exclusive_group(required=True)
    problem.add_argument(
        "--demo", dest="problem", action="store_const", const=_DEMO, help=f"the same as --problem {_DEMO}"
    )
    problem.add_argument(
        "--problem",
        choices=sorted(DEMONSTRATIONS),
        help="a built-in function, started at a saddle point",
    )
    parser.add_argument("--method", choices=METHODS, default=METHODS[0], help="how to search (default: %(default)s)")
    number: dict[str, Any] = {"type": float, "metavar": "X"}
    parser.add_argument("--gtol", default=1e-6, help="tolerance on the gradient norm (default: %(default)s)", **number)
    parser.add_argument("--curv-tol", default=1e-3, help="tolerance on curvature (default: %(default)s)", **number)
    parser.add_argument("--confidence", default=1.0 - 1e-6, help="of the certificate (default: 1 - 1e-6)", **number)
    parser.add_argument("--hess-lip", help="Lipschitz constant of the Hessian, for methods that need it", **number)
    parser.add_argument("--grad-lip", help="Lipschitz constant of the gradient, for methods that need it", **number)
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
        If the method needs constants that aren't given, or an option is out of range.
    """
    check_plot_path(args.plot)
    if args.method in _NEED_CONSTANTS and None in (args.grad_lip, args.hess_lip):
        raise InputError(f"--method {args.method} needs --grad-lip and --hess-lip")
    progress = Progress("sosp", quiet=args.quiet)
    problem = DEMONSTRATIONS[args.problem]()
    value, gradient = problem.fun(problem.x0)
    progress.say(f"{problem.description}; value {value:.6g}, gradient norm {float(gradient @ gradient) ** 0.5:.3g}")
    args.delta_f = max(value - problem.minimum, 1e-12)
    started = time.perf_counter()
    result = minimize_sosp(
        problem.fun,
        problem.x0,
        hessp=problem.hessp,
        rng=args.seed,
        callback=lambda state: progress.update(f"iteration {state.nit}, value {state.fun:.6g}"),
        **{name: getattr(args, name) for name in _PASSED_ON},
    )
    progress.say(f"{result.n_escapes} saddle points left, {time.perf_counter() - started:.2f} s; {result.message}")
    write_json(_document(args, problem.minimum, result), args.output)
    if args.plot:
        from derand.plotting.sosp import SOSPDisplay

        save_plot(SOSPDisplay.from_result(result), args.plot)
    return _EXIT_CODES.get(result.status, ExitCode.STOPPED_EARLY)


def _document(args: argparse.Namespace, minimum: float, result: SOSPResult) -> dict[str, Any]:
    """Return what is written: the same bits for the same options, so no times."""
    fields = ("success", "message", "fun", "nit", "nfev", "nhev", "n_escapes", "x")
    certificate = result.certificate
    return {
        "problem": args.problem,
        "known_minimum": minimum,
        "method": args.method,
        "seed": args.seed,
        "status": result.status.name.lower(),
        **{name: getattr(result, name) for name in fields},
        "certificate": certificate and {"is_certified": certificate.is_certified, **asdict(certificate)},
    }
