"""``derand structure``: the directions of a table's columns that one column depends on, with error bars."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from derand._utils.words import counted
from derand.commands.console import ExitCode, Progress, add_output_options, naming, save_plot, write_json
from derand.commands.table_input import Table, read_table, suspected_index
from derand.exceptions import InputError
from derand.structure.estimation.classification import ClassEstimate, estimate_class_structure
from derand.structure.estimation.estimate import StructureEstimate, estimate_structure

__all__ = ["configure", "run"]

_FEW_CLASSES, _LARGEST = 10, 1e100
_CODES: Mapping[str, ExitCode] = MappingProxyType(
    {"finished": ExitCode.SOLVED, "time_limit": ExitCode.STOPPED_EARLY, "interrupted": ExitCode.INTERRUPTED}
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``derand structure`` to a parser."""
    parser.add_argument(
        "data", metavar="DATA.csv", help="a table of numbers, with a line of names or not, gzipped or not"
    )
    parser.add_argument("--target", required=True, metavar="COLUMN", help="name or number (from 1) of the response")
    parser.add_argument("-k", "--n-components", type=int, metavar="K", help="number of directions (default: chosen)")
    parser.add_argument("--max-components", type=int, default=6, metavar="K", help="the most tried (default: 6)")
    parser.add_argument(
        "--task", choices=("auto", "regression", "classification"), default="auto",
        help="auto takes texts, and at most 10 different whole numbers, for classes",
    )  # fmt: skip
    add_output_options(parser, seed=True, time_limit=True, plot=True)


def run(args: argparse.Namespace) -> int:
    """Estimate the directions and write them.

    Parameters
    ----------
    args : Namespace
        Parsed options of `configure`.

    Returns
    -------
    int
        The exit code: 3 when the time limit came before the end, 130 when Ctrl-C did.

    Raises
    ------
    InputError
        If the file isn't a table of numbers with that column, or an option is out of range.
    KeyboardInterrupt
        If interrupted before any number of directions was tried.
    """
    progress = Progress("structure", quiet=args.quiet)
    table = read_table(args.data, args.target)
    note = suspected_index(table)
    if note:
        sys.stderr.write(f"derand: {args.data}: {note}\n")
    progress.say(
        f"{counted(table.values.shape[0], 'row')}, {counted(table.values.shape[1], 'column')} besides the target"
    )
    _check_scales(table, args.data)
    if np.all(table.target == table.target[0]):
        raise InputError(f"{args.data}: the target is {table.target[0]} in all lines: it depends on no column")
    k = "auto" if args.n_components is None else args.n_components
    options = {"max_components": args.max_components, "time_limit": args.time_limit, "rng": args.seed}
    status = ""
    try:
        with naming(args.data):
            found = _estimate(args, table, k, progress, options)
    except KeyboardInterrupt as interrupt:
        if not hasattr(interrupt, "partial"):
            raise
        found, status = interrupt.partial, "interrupted"
    status = status or ("finished" if found.is_complete else "time_limit")
    count = found.components.shape[0]
    progress.say(counted(count, "direction"))
    write_json(_document(args, table, found, status), args.json)
    if args.plot:
        from derand.plotting.structure import SufficientSummaryDisplay

        save_plot(SufficientSummaryDisplay.from_estimate(found, table.values, table.target), args.plot)
    return _CODES[status]


def _estimate(
    args: argparse.Namespace, table: Table, k: int | str, progress: Progress, options: dict[str, Any]
) -> StructureEstimate | ClassEstimate:
    """Return the directions of a number or of a class."""
    if _is_classification(args.task, table.target):
        classes, labels = np.unique(table.target, return_inverse=True)
        if 2 * classes.size > table.target.size:
            advice = "--target must name a column with classes, several lines each, or numbers"
            raise InputError(f"the target has {classes.size} different texts in {table.target.size} lines: {advice}")
        return estimate_class_structure(
            table.values,
            labels,
            k,
            callback=lambda step: progress.update(f"{step.k} by {step.model}, held-out loss {step.loss:.4g}"),
            **options,
        )
    return estimate_structure(
        table.values,
        table.target,
        k,
        callback=lambda step: progress.update(f"{step.k} tried, BIC {step.bic:.4g}"),
        **options,
    )


def _check_scales(table: Table, path: str) -> None:
    """Raise where the square of a column, which the estimate forms, would overflow or vanish."""
    numbers = dict(zip(table.names, table.values.T, strict=True))
    if table.target.dtype.kind in "fiu":
        numbers["of the target"] = table.target
    for name, column in numbers.items():
        spread = np.ptp(column / 2.0)
        if np.max(np.abs(column)) > _LARGEST or 0.0 < spread < 1.0 / _LARGEST:
            shown = name if name == "of the target" else repr(name)
            raise InputError(f"{path}: the numbers in column {shown} are too large or too small: change their unit")


def _is_classification(task: str, target: Any) -> bool:
    """Return whether the target holds classes."""
    is_text = target.dtype.kind not in "fiu"
    if task == "regression" and is_text:
        raise InputError("--task regression needs a target of numbers")
    if task != "auto":
        return task == "classification"
    return is_text or (np.unique(target).size <= _FEW_CLASSES and bool(np.all(target == np.round(target))))


def _document(
    args: argparse.Namespace, table: Table, found: StructureEstimate | ClassEstimate, status: str
) -> dict[str, Any]:
    """Return what is written: the same bits for the same options."""
    is_regression = isinstance(found, StructureEstimate)
    stderr = found.cone.stderr if isinstance(found, StructureEstimate) else found.stderr
    return {
        "data": Path(args.data).name,
        "target": args.target,
        "task": "regression" if is_regression else "classification",
        "seed": args.seed,
        "status": status,
        "columns": table.names,
        "n_components": found.components.shape[0],
        "components": found.components,
        "stderr": stderr,
        "singular_values": found.singular_values,
        "cone_95": found.cone.angle(0.95) if isinstance(found, StructureEstimate) else None,
        "expected_error": found.cone.expected_error if isinstance(found, StructureEstimate) else None,
        "path": [vars(step) for step in found.path],
    }
