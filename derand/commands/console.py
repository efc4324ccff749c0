"""What all subcommands share: exit codes, JSON on stdout, progress on stderr."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any

from derand.exceptions import DerandError, InputError

__all__ = [
    "ExitCode",
    "Progress",
    "add_output_options",
    "check_plot_path",
    "naming",
    "save_plot",
    "to_json",
    "write_json",
]

_PICTURES = (".png", ".svg", ".pdf")


class ExitCode(IntEnum):
    """What the exit code of ``derand`` means."""

    SOLVED = 0
    BAD_INPUT = 1
    USAGE = 2
    STOPPED_EARLY = 3
    INTERRUPTED = 130


def add_output_options(
    parser: argparse.ArgumentParser, *, seed: bool = False, time_limit: bool = False, plot: bool = False
) -> None:
    """Add the options that have the same names in all subcommands.

    Parameters
    ----------
    parser : ArgumentParser
        Of a subcommand; gets ``-o/--output`` and ``-q/--quiet``.
    seed : bool, default False
        Whether it gets ``--seed``, 0 by default.
    time_limit : bool, default False
        Whether it gets ``--time-limit``.
    plot : bool, default False
        Whether it gets ``--plot``.

    Examples
    --------
    >>> parser = argparse.ArgumentParser()
    >>> add_output_options(parser, seed=True)
    >>> parser.parse_args(["--seed", "3", "-q"])
    Namespace(seed=3, output=None, quiet=True)
    """
    if seed:
        parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default: %(default)s)")
    if time_limit:
        parser.add_argument(
            "--time-limit", type=float, metavar="S", help="seconds after which the best result so far is written"
        )
    if plot:
        parser.add_argument("--plot", metavar="FILE", help="draw the result into a .png, .svg or .pdf file")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the JSON there instead of to stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")


def check_plot_path(path: str | None) -> None:
    """Raise unless a picture can be written to a file: ask before a long computation, not after it.

    Parameters
    ----------
    path : str or None
        Argument of ``--plot``; None for no picture.

    Raises
    ------
    InputError
        If the name has another ending than .png, .svg or .pdf, or its folder doesn't exist.
    """
    if path is None:
        return
    file = Path(path)
    if file.suffix.lower() not in _PICTURES:
        raise InputError(f"--plot must name a file that ends in {', '.join(_PICTURES)}, got {path}")
    if not file.parent.is_dir():
        raise InputError(f"--plot must name a file in an existing folder, got {path}")


@contextmanager
def naming(path: str | None) -> Iterator[None]:
    """Put the name of a file before the message of every error of derand that the block raises.

    Parameters
    ----------
    path : str or None
        The file that the block reads; None changes nothing.

    Yields
    ------
    None
        The block.

    Raises
    ------
    DerandError
        The one that the block raised, of the same type.

    Examples
    --------
    >>> with naming("data.csv"):
    ...     raise InputError("line 3 is empty")
    Traceback (most recent call last):
        ...
    derand.exceptions.InputError: data.csv: line 3 is empty
    """
    try:
        yield
    except DerandError as error:
        if path is not None and path not in str(error):
            error.args = (f"{path}: {error}",)
        raise


def save_plot(display: Any, path: str | None, **options: Any) -> None:
    """Plot a display of `derand.plotting` into a file, and close its figure.

    Parameters
    ----------
    display : object
        With a method ``plot`` that returns the display with a ``figure_``.
    path : str or None
        The file; None for no picture.
    **options
        Of ``plot``.
    """
    if path is not None:
        check_plot_path(path)
        figure = display.plot(**options).figure_
        # Without its date, the same picture is the same file.
        date = {"CreationDate": None} if path.lower().endswith(".pdf") else {"Date": None}
        figure.savefig(path, dpi=150, metadata=None if path.lower().endswith(".png") else date)
        figure.clear()


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
