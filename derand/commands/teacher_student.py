"""``derand teacher-student``: what the theory predicts for one teacher-student setting."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from derand.commands.console import ExitCode, write_json
from derand.exceptions import InputError
from derand.teacher_student import TeacherStudent

__all__ = ["configure", "run"]


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
    parser.add_argument("-o", "--output", metavar="FILE", help="write the JSON there instead of to stdout")


def run(args: argparse.Namespace) -> int:
    """Write the predictions for the square as activation.

    Parameters
    ----------
    args : Namespace
        Parsed options of `configure`.

    Returns
    -------
    int
        The exit code.  A prediction that doesn't exist for the setting is null, with the reason under "unavailable".

    Raises
    ------
    InputError
        If the setting itself is invalid.
    """
    if args.teacher is not None and len(args.teacher) != args.p_star:
        raise InputError(f"--teacher must give {args.p_star} squared norms, got {len(args.teacher)}")
    gram = None if args.teacher is None else np.diag(args.teacher)
    model = TeacherStudent(args.p, args.p_star, T=gram, lr=args.lr, lr_scaling=args.lr_scaling, noise=args.noise)
    reasons: dict[str, str] = {}
    values = {name: _attempt(name, call, reasons) for name, call in _predictions(model, args.inputs).items()}
    setting = {key: getattr(args, key) for key in ("p", "p_star", "teacher", "lr", "lr_scaling", "noise", "inputs")}
    write_json({"setting": setting, **values, "unavailable": reasons}, args.output)
    return ExitCode.SOLVED


def _attempt(name: str, call: Callable[[], Any], reasons: dict[str, str]) -> Any:
    """Return a prediction, or None with the reason noted."""
    try:
        return call()
    except InputError as error:
        reasons[name] = str(error)
        return None


def _predictions(model: TeacherStudent, n_inputs: int) -> dict[str, Callable[[], Any]]:
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
        "noise_floor": lambda: model.noise_floor()._asdict(),
        "tail": lambda: model.tail()._asdict(),
        "best_loss": model.best_loss,
        "solution_manifold_dimension": model.solution_manifold_dimension,
        "plateau_hessian": hessian,
    }
