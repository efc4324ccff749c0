"""``derand teacher-student``: what the theory predicts for one teacher-student setting."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from derand._utils.validation import check_int, check_scalar
from derand.commands.console import ExitCode, Progress, add_output_options, save_plot, write_json
from derand.exceptions import DerandError, InputError
from derand.teacher_student import TeacherStudent

__all__ = ["configure", "run"]

_LATE = "not begun within the time limit"
_CODES: Mapping[str, ExitCode] = MappingProxyType(
    {"finished": ExitCode.SOLVED, "time_limit": ExitCode.STOPPED_EARLY, "interrupted": ExitCode.INTERRUPTED}
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``derand teacher-student`` to a parser."""
    number: dict[str, Any] = {"type": float, "metavar": "X"}
    parser.add_argument("--p", type=int, required=True, help="width of the student")
    parser.add_argument("--p-star", type=int, required=True, help="width of the teacher")
    parser.add_argument(
        "--teacher", type=float, nargs="+", metavar="T", help="squared norms of orthogonal teacher vectors"
    )
    parser.add_argument("--lr", default=0.05, help="learning rate (default: %(default)s)", **number)
    parser.add_argument(
        "--lr-scaling", choices=("mean_field", "standard"), default="mean_field", help="eta = p lr or lr"
    )
    parser.add_argument("--noise", default=0.0, help="variance of the label noise (default: %(default)s)", **number)
    parser.add_argument("--inputs", type=int, default=10**6, metavar="N", help="input dimension (default: %(default)s)")
    parser.add_argument(
        "--picture",
        choices=("loss", "escape", "distance", "hessian"),
        default="loss",
        help="what --plot draws: the loss with its plateau, escape times of students of width 1 to 4 p, distances of "
        "solutions from a random start, or Hessian spectra (default: %(default)s)",
    )
    add_output_options(parser, seed=True, time_limit=True, plot=True)


def run(args: argparse.Namespace) -> int:
    """Write the predictions for the square as activation.

    Parameters
    ----------
    args : Namespace
        Parsed options of `configure`.

    Returns
    -------
    int
        The exit code.  A prediction that doesn't exist for the setting is null, with the reason under "unavailable"; so
        is one that the time limit or Ctrl-C kept from being computed, and then the code is that of a run stopped early
        or interrupted.

    Raises
    ------
    InputError
        If the setting itself is invalid, or the picture can't be drawn or written for it.
    KeyboardInterrupt
        If interrupted before anything was computed.
    """
    progress = Progress("teacher-student", quiet=args.quiet)
    check_int(args.inputs, "--inputs", low=1)
    if args.teacher is not None and len(args.teacher) != args.p_star:
        raise InputError(f"--teacher must give {args.p_star} squared norms, got {len(args.teacher)}")
    for norm in args.teacher or ():
        check_scalar(norm, "--teacher", low=0.0, high=1e60)
    gram = None if args.teacher is None else np.diag(args.teacher)
    model = TeacherStudent(args.p, args.p_star, T=gram, lr=args.lr, lr_scaling=args.lr_scaling, noise=args.noise)
    reasons: dict[str, str] = {}
    deadline = time.monotonic() + (math.inf if args.time_limit is None else args.time_limit)
    calls = _predictions(model, args.inputs, args.seed)
    values: dict[str, Any] = {}
    try:
        for name, call in calls.items():
            progress.update(name.replace("_", " "))
            _attempt(name, call, reasons, values, deadline)
    except KeyboardInterrupt:
        if not values:
            raise
    status = "interrupted" if len(values) < len(calls) else "time_limit" if _LATE in reasons.values() else "finished"
    for name in calls.keys() - values.keys():
        values[name], reasons[name] = None, "not computed before the interruption"
    progress.say(f"{len(calls) - len(reasons)} of {len(calls)} predictions exist for this setting")
    names = ("p", "p_star", "teacher", "lr", "lr_scaling", "noise", "inputs", "seed")
    setting = {key: getattr(args, key) for key in names}
    document = {"setting": setting, "status": status, **{name: values[name] for name in calls}}
    write_json({**document, "unavailable": reasons}, args.json)
    if args.plot is not None:
        save_plot(_picture(model, args, gram), args.plot)
        progress.say(f"{args.picture} drawn into {args.plot}")
    return _CODES[status]


def _attempt(
    name: str, call: Callable[[], Any], reasons: dict[str, str], values: dict[str, Any], deadline: float
) -> None:
    """Add a prediction, or None with the reason."""
    if time.monotonic() >= deadline:
        values[name], reasons[name] = None, _LATE
        return
    try:
        values[name] = call()
    except DerandError as error:
        values[name], reasons[name] = None, str(error)


def _picture(model: TeacherStudent, args: argparse.Namespace, gram: Any) -> Any:
    """Return the display that was asked for."""
    from derand import plotting

    p, p_star = args.p, args.p_star
    if args.picture == "hessian":
        return plotting.HessianSpectrumDisplay.from_model(model, args.inputs)
    if args.picture == "escape":
        widths = sorted({max(1, round(p * factor)) for factor in (0.25, 0.5, 1, 2, 4)})
        shared = {"T": gram, "lr": args.lr, "lr_scaling": args.lr_scaling, "noise": args.noise}
        return plotting.EscapeTimeDisplay.from_widths(widths, (p_star,), N=args.inputs, rng=args.seed, **shared)
    if args.picture == "distance":
        normal = np.random.default_rng(args.seed).standard_normal((p, p_star))
        rho = normal @ np.sqrt(model.parameters.gram) / np.sqrt(args.inputs)
        return plotting.SolutionDistanceDisplay.from_start(
            model, rho, np.eye(p), second_order=args.noise == 0.0, rng=args.seed
        )
    try:
        end = 2.0 * model.escape_time(args.inputs).time
    except InputError:
        end = 10.0 / (model.parameters.gamma * max(float(model.parameters.strengths[0]), 1e-3))
    return plotting.LossCurvesDisplay.from_models(
        {f"p = {p}, p* = {p_star}": model}, np.linspace(0.0, end, 401), N=args.inputs, rng=args.seed
    )


def _predictions(model: TeacherStudent, n_inputs: int, seed: int) -> dict[str, Callable[[], Any]]:
    """Return the predictions by name, not computed yet."""

    def hessian() -> dict[str, Any]:
        """Return the spectrum at the plateau."""
        q, (p, p_star) = model.plateau(second_order=False).q, (model.parameters.p, model.parameters.p_star)
        spectrum = model.hessian_spectrum(np.zeros((p, p_star)), q * np.eye(p), n_inputs)
        return {
            "eigenvalues": spectrum.values,
            "multiplicities": spectrum.multiplicities,
            "negative_zero_positive": spectrum.inertia(),
        }

    return {
        "plateau": lambda: model.plateau()._asdict(),
        "gradient_flow_plateau": lambda: model.plateau(second_order=False)._asdict(),
        "critical_lr": lambda: model.critical_lr()._asdict(),
        "escape_time": lambda: model.escape_time(n_inputs)._asdict(),
        "escape_time_with_gathered_noise": lambda: model.escape_time(n_inputs, fluctuations=True)._asdict(),
        "overlap_law": lambda: model.overlap_law(N=n_inputs, rng=seed)._asdict(),
        "noise_floor": lambda: model.noise_floor()._asdict(),
        "tail": lambda: model.tail()._asdict(),
        "best_loss": model.best_loss,
        "solution_manifold_dimension": model.solution_manifold_dimension,
        "plateau_hessian": hessian,
    }
