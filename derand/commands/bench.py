"""``derand bench``: derand against other libraries on small problems, in one run."""

from __future__ import annotations

import argparse
import math
import platform
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy

from derand import __version__
from derand._utils.html import short
from derand._utils.threads import blas_threads
from derand.commands.comparisons import SUITES
from derand.commands.console import ExitCode, Progress, add_output_options, write_json

__all__ = ["configure", "run"]

_EXIT_CODES: Mapping[str, ExitCode] = MappingProxyType(
    {
        "finished": ExitCode.SOLVED,
        "time_limit": ExitCode.STOPPED_EARLY,
        "interrupted": ExitCode.INTERRUPTED,
    }
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``derand bench`` to a parser."""
    parser.add_argument(
        "--suite", choices=["all", *SUITES], default="all", help="which comparison to run (default: %(default)s)"
    )
    add_output_options(parser, seed=True, time_limit=True)


def run(args: argparse.Namespace) -> int:
    """Run the comparisons and write their rows.

    Parameters
    ----------
    args : Namespace
        Parsed options of `configure`.

    Returns
    -------
    int
        The exit code: 3 when the time limit came before the last row.
    """
    limit = math.inf if args.time_limit is None else args.time_limit
    progress, end = Progress("bench", quiet=args.quiet), time.monotonic() + limit
    rows: list[dict[str, Any]] = []
    status = "finished"
    try:
        with blas_threads(1):
            status = _collect(rows, args, progress, end)
    except KeyboardInterrupt:
        status = "interrupted"
    versions = {"derand": __version__, "python": platform.python_version(), "numpy": np.__version__}
    write_json(
        {"seed": args.seed, "status": status, "versions": {**versions, "scipy": scipy.__version__}, "rows": rows},
        args.json,
    )
    return _EXIT_CODES[status]


def _collect(rows: list[dict[str, Any]], args: argparse.Namespace, progress: Progress, end: float) -> str:
    """Append rows until the comparisons or the time are at their end, and return which of them was."""
    for suite in SUITES if args.suite == "all" else (args.suite,):
        for row in SUITES[suite](args.seed):
            rows.append(row)
            progress.say("; ".join(f"{key} {short(value)}" for key, value in row.items()))
            if time.monotonic() >= end:
                return "time_limit"
    return "finished"
