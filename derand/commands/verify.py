"""``derand verify``: whether a certificate proves what it claims about a graph."""

from __future__ import annotations

import argparse
from fractions import Fraction

from derand.commands.console import ExitCode, add_output_options, naming, write_json
from derand.commands.graph_input import read_edges, to_problem
from derand.io.certificates import read_certificate
from derand.io.formats import FORMATS
from derand.maxcut.certificate import Certificate

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``derand verify`` to a parser."""
    parser.add_argument("graph", metavar="GRAPH", help="the graph, gzipped or not")
    parser.add_argument("proof", metavar="CERTIFICATE", help="as written by derand maxcut --certificate")
    parser.add_argument("--format", choices=sorted(FORMATS), help="of GRAPH (default: by name or content)")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Recompute cut and bound with the stand-alone checker and write both.

    Parameters
    ----------
    args : Namespace
        Parsed options of `configure`.

    Returns
    -------
    int
        The exit code; a certificate that doesn't hold raises, and ends the command with exit code 1.
    """
    problem = to_problem(read_edges(args.graph, args.format))
    with naming(args.proof):
        value, bound = Certificate.from_dict(read_certificate(args.proof)).verify(problem)
    document = {"accepted": True, "cut_value": _plain(value), "upper_bound": _plain(bound), "optimal": value == bound}
    write_json(document, args.json)
    return ExitCode.SOLVED


def _plain(number: Fraction) -> int | str:
    """Return an integer as such, and any other fraction exactly, as text."""
    return int(number) if number.denominator == 1 else str(number)
