"""What all subcommands share: exit codes, JSON on stdout, progress on stderr."""

from __future__ import annotations

import argparse
import json
import math
import re
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
    "as_option",
    "check_options",
    "naming",
    "save_plot",
    "to_json",
    "write_json",
]

_PICTURES = (".png", ".svg", ".pdf")
#: Attributes that name a file to be read, and options that name one to be written.
_READ = ("graph", "proof", "points", "data")
_WRITTEN = ("plot", "json", "output", "certificate", "save_graph", "checkpoint")


class ExitCode(IntEnum):
    """What the exit code of ``derand`` means."""

    SOLVED = 0
    BAD_INPUT = 1
    USAGE = 2
    STOPPED_EARLY = 3
    INTERRUPTED = 130


def add_output_options(
    parser: argparse.ArgumentParser,
    *,
    seed: bool = False,
    time_limit: bool = False,
    plot: bool = False,
    output: tuple[str, str] | None = None,
) -> None:
    """Add the options that have the same names in all subcommands.

    Parameters
    ----------
    parser : ArgumentParser
        Of a subcommand; gets ``-o/--output/--json`` and ``-q/--quiet``.
    seed : bool, default False
        Whether it gets ``--seed``, 0 by default.
    time_limit : bool, default False
        Whether it gets ``--time-limit``.
    plot : bool, default False
        Whether it gets ``--plot``.
    output : tuple of str, optional
        Metavar and help of ``-o`` where it writes something else; the JSON is then sent to a file by ``--json`` alone.

    Examples
    --------
    >>> parser = argparse.ArgumentParser()
    >>> add_output_options(parser, seed=True)
    >>> parser.parse_args(["--seed", "3", "-q"])
    Namespace(seed=3, json=None, quiet=True)
    """
    if seed:
        parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default: %(default)s)")
    if time_limit:
        parser.add_argument(
            "--time-limit", type=float, metavar="S", help="seconds after which the best result so far is written"
        )
    if plot:
        parser.add_argument("--plot", metavar="FILE", help="draw the result into a .png, .svg or .pdf file")
    names: tuple[str, ...] = ("-o", "--output", "--json")
    if output is not None:
        parser.add_argument("-o", "--output", metavar=output[0], help=output[1])
        names = ("--json",)
    parser.add_argument(*names, dest="json", metavar="FILE", help="write the JSON there instead of to stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")


def check_options(args: argparse.Namespace) -> None:
    """Raise where an option that all subcommands share can't be right: before a long computation, not after it.

    Parameters
    ----------
    args : Namespace
        Parsed options of a subcommand.

    Raises
    ------
    InputError
        If the seed is negative or the time limit too, a picture has another ending than .png, .svg or .pdf, the folder
        of a file that is to be written doesn't exist, or two results go to one file.

    Examples
    --------
    >>> check_options(argparse.Namespace(seed=-1))
    Traceback (most recent call last):
        ...
    derand.exceptions.InputError: --seed must be at least 0, got -1
    """
    from derand._utils.validation import check_int, check_scalar  # numpy, which --help does without

    given = vars(args)
    check_int(given.get("seed", 0), "--seed", low=0)
    if given.get("time_limit") is not None:
        check_scalar(args.time_limit, "--time-limit", low=0.0)
    files = {Path(given[name]).absolute(): "the input" for name in _READ if given.get(name) is not None}
    for name in _WRITTEN:
        path = given.get(name)
        if path is None or (name == "json" and path == "-"):
            continue
        is_short = name == "json" and "output" not in given
        option, file = "--output" if is_short else _option(name), Path(path)
        if name == "plot" and file.suffix.lower() not in _PICTURES:
            raise InputError(f"{option} must name a file that ends in {', '.join(_PICTURES)}, got {path}")
        if not file.parent.is_dir():
            raise InputError(f"{option} must name a file in an existing folder, got {path}")
        if file.is_dir():
            raise InputError(f"{option} must name a file, and {path} is a folder")
        other = files.setdefault(file.absolute(), option)
        if other != option:
            raise InputError(f"{other} and {option} name the same file, {path}")


def as_option(message: str, args: argparse.Namespace) -> str:
    """Return a complaint about a parameter as one about the option that gave it.

    Parameters
    ----------
    message : str
        Of an error that a computation raised.
    args : Namespace
        Parsed options of the subcommand.

    Returns
    -------
    str
        The message with the name of the option; one that begins with no option's name comes back as it is.  The name
        of a file before it is dropped, for the file isn't at fault.

    Examples
    --------
    >>> as_option("points.csv: max_evals must be at least 1, got 0", argparse.Namespace(max_evals=0))
    '--max-evals must be at least 1, got 0'
    """
    match = re.match(r"(?:\S+: )?(\w+)(?= must )", message)
    if match is None or match[1] not in vars(args):
        return message
    return _option(match[1]) + message[match.end() :]


def _option(name: str) -> str:
    """Return the option of an attribute."""
    return "--" + name.replace("_", "-")


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
        from derand.plotting.figures import save_figure

        save_figure(display.plot(**options).figure_, path)


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
