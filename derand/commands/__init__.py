"""The subcommands of the command ``derand``, one module each.

A module of this package that is listed in `COMMANDS`, with hyphens for the underscores of its name, has two functions:
``configure(parser)`` adds the options of the subcommand to an argparse parser, and ``run(args)`` does the work and
returns the exit code.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["COMMANDS"]

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "maxcut": "cut a graph, and prove how close to the best cut that is",
        "verify": "check the proof that derand maxcut has written",
        "sosp": "find a second-order stationary point and print the proof",
        "teacher-student": "predict how a student network learns a teacher",
        "two-step": "predict what two gradient steps learn, and measure it in a simulated network",
        "threshold": "predict how many samples the hard directions of a link need",
        "embed": "map points to few dimensions, and measure exactly what that does to distances",
        "structure": "find the directions of a table's columns that one column depends on, with error bars",
        "bench": "compare derand with other libraries on small problems",
    }
)
