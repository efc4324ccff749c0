"""The command ``derand``: JSON on stdout, progress and messages on stderr."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from derand import __version__
from derand.commands import COMMANDS
from derand.commands.console import ExitCode, as_option, check_options
from derand.exceptions import DerandError

__all__ = ["main"]

_EPILOG = """\
The result goes to stdout as JSON, progress and messages to stderr.
Exit codes: 0 solved, 1 bad input, 2 usage, 3 stopped early with a valid weaker result, 130 interrupted.
'derand COMMAND --help' lists the options of a command.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the name of the program; those of the process by default.

    Returns
    -------
    int
        0 solved, 1 bad input, 2 usage, 3 stopped early with a valid weaker result, 130 interrupted.

    Examples
    --------
    >>> main(["--version"])
    derand 0.1.0
    0
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = argparse.Namespace()
    try:
        args = _parser(arguments).parse_args(arguments)
        check_options(args)
        return int(_command(args.command).run(args))
    except SystemExit as stop:  # how argparse ends: --help, --version, usage
        return stop.code if isinstance(stop.code, int) else ExitCode.SOLVED
    except KeyboardInterrupt:
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of stdout has gone, as in `derand ... | head -1`; the interpreter's own flush must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.BAD_INPUT
    except Exception as error:
        if _is_interruption(error):
            return _fail("interrupted", ExitCode.INTERRUPTED)
        text = _complaint(error, args)
        if text is not None:
            return _fail(text, ExitCode.BAD_INPUT)
        if os.environ.get("DERAND_DEBUG"):
            raise
        text = f"internal error, {type(error).__name__}: {error} (the traceback: set DERAND_DEBUG=1)"
        return _fail(text, ExitCode.BAD_INPUT)


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser; it imports a subcommand only when the arguments name it, so that --help is quick."""
    parser = argparse.ArgumentParser(
        prog="derand",
        description="Optimization and derandomization algorithms whose every answer carries its proof.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"derand {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if name in arguments:
            _command(name).configure(subparser)
    return parser


def _command(name: str) -> Any:
    """Return the module of a subcommand; its name has underscores where the command has hyphens."""
    return import_module(f"derand.commands.{name.replace('-', '_')}")


def _complaint(error: Exception, args: argparse.Namespace) -> str | None:
    """Return what is to be said of an error that lies with the input, None for one of derand's own."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, DerandError):
        return as_option(str(error), args)
    return "not enough memory for input of this size" if isinstance(error, MemoryError) else None


def _is_interruption(error: BaseException | None) -> bool:
    """Return whether Ctrl-C is behind an error: one in an extension's import comes out as an ImportError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _fail(message: str, code: ExitCode) -> ExitCode:
    """Write one line to stderr and return the exit code."""
    sys.stderr.write(f"derand: {' '.join(message.split())}\n")
    return code
