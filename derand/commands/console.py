"""What all subcommands share: exit codes, JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any

__all__ = ["ExitCode", "Progress", "to_json", "write_json"]


class ExitCode(IntEnum):
    """What the exit code of ``derand`` means."""

    SOLVED = 0
    BAD_INPUT = 1
    USAGE = 2
    STOPPED_EARLY = 3
    INTERRUPTED = 130


def to_json(value: Any) -> Any:
    """Return nested results as types that JSON knows.

    Parameters
    ----------
    value : object
        Numbers, strings, arrays, sequences and mappings, nested.

    Returns
    -------
    object
        Arrays become lists.  JSON has no NaN and no infinity: they become null.

    Examples
    --------
    >>> to_json({"bound": float("-inf"), "sides": (1, -1)})
    {'bound': None, 'sides': [1, -1]}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_json(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(entry) for entry in value]
    return value


def write_json(document: Mapping[str, Any], path: str | None = None) -> None:
    """Write a result as JSON to a file, or to stdout.

    Parameters
    ----------
    document : mapping
        What to write; every float keeps all its digits.
    path : str, optional
        File to write; None and ``"-"`` mean stdout.
    """
    text = json.dumps(to_json(document), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    if path in (None, "-"):
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        Path(str(path)).write_text(text, encoding="utf-8")


class Progress:
    """Lines on stderr, at most one in a given time.

    Parameters
    ----------
    command : str
        Name of the subcommand, written at the start of each line.
    quiet : bool, default False
        Whether to write nothing at all.
    interval : float, default 2.0
        Seconds between two lines of `update`.
    """

    def __init__(self, command: str, *, quiet: bool = False, interval: float = 2.0) -> None:
        self._prefix, self._quiet, self._interval = f"derand {command}: ", quiet, interval
        self._last = time.monotonic()

    def say(self, line: str) -> None:
        """Write a line."""
        if not self._quiet:
            sys.stderr.write(f"{self._prefix}{line}\n")
            sys.stderr.flush()

    def update(self, line: str) -> None:
        """Write a line unless the last one is too recent."""
        now = time.monotonic()
        if now - self._last >= self._interval:
            self._last = now
            self.say(line)
