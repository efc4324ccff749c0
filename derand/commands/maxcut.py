"""``derand maxcut``: a near-best cut of a graph, or the least value of a QUBO, with a proved bound."""

from __future__ import annotations

import argparse
import time
from typing import Any

from derand._utils.words import counted
from derand.commands.console import (
    ExitCode,
    Progress,
    add_output_options,
    save_plot,
    write_json,
)
from derand.commands.graph_input import is_quadratic, read_any, to_problem
from derand.exceptions import InputError
from derand.io import EdgeList, write_graph
from derand.io.certificates import write_certificate
from derand.io.formats import FORMATS
from derand.maxcut.derandomize import METHODS
from derand.maxcut.quadratic import QuadraticModel, from_qubo
from derand.maxcut.qubo import QUBOSolution
from derand.maxcut.solve import EFFORTS, MaxCutSolution, solve_maxcut

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``derand maxcut`` to a parser."""
    parser.add_argument(
        "graph",
        nargs="?",
        metavar="FILE",
        help="a graph or QUBO, gzipped or not; a built-in graph of 70 vertices without it",
    )
    parser.add_argument("--format", choices=sorted(FORMATS), help="of FILE (default: by name or content)")
    parser.add_argument("--method", choices=METHODS, default=METHODS[0], help="how to round (default: %(default)s)")
    parser.add_argument(
        "--effort", choices=tuple(EFFORTS), default="default", help="how long to search (default: %(default)s)"
    )
    parser.add_argument("--starts", type=int, default=1, help="independent searches (default: %(default)s)")
    parser.add_argument("--jobs", type=int, help="searches at the same time; the result doesn't depend on it")
    parser.add_argument("--no-bound", action="store_true", help="don't prove an upper bound")
    parser.add_argument("--certificate", metavar="FILE", help="write the proof there, for derand verify")
    parser.add_argument("--save-graph", metavar="FILE", help="write the graph there, as derand verify needs it")
    add_output_options(parser, seed=True, time_limit=True, plot=True)


def run(args: argparse.Namespace) -> int:
    """Cut the graph, or minimise the quadratic binary program, and write result, bound and proof.

    Parameters
    ----------
    args : Namespace
        Parsed options of `configure`.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    InputError
        If a certificate is asked for without a bound.
    """
    if args.certificate and args.no_bound:
        raise InputError("--certificate needs the bound that --no-bound leaves out")
    progress, started = Progress("maxcut", quiet=args.quiet), time.perf_counter()
    edges = read_any(args.graph, args.format)
    model = from_qubo(edges) if is_quadratic(edges) else None
    problem = to_problem(edges) if model is None else model.problem
    if args.save_graph:
        write_graph(edges if model is None else _cut_graph(model, edges.name), args.save_graph)
    progress.say(f"{edges.name}: {counted(problem.n, 'vertex', 'vertices')}, {counted(problem.n_edges, 'edge')}")
    solution = solve_maxcut(
        problem,
        method=args.method,
        effort=args.effort,
        bound=not args.no_bound,
        time_limit=args.time_limit,
        callback=lambda state: progress.update(f"{state.history[-1].stage}, cut {state.value}"),
        rng=args.seed,
        n_starts=args.starts,
        n_jobs=args.jobs,
    )
    progress.say(f"{_summary(solution)}; {time.perf_counter() - started:.2f} s")
    write_json(_document(edges, solution) if model is None else _minimum(edges, model, solution), args.json)
    if args.plot:
        from derand.plotting.cut import CutDisplay

        # The vertex after a program's variables is the side of those that are 1.
        labels = (*edges.node_labels, *(() if model is None else ("1",)))
        save_plot(CutDisplay(solution, labels), args.plot)
    return _finish(args, solution, progress)


def _finish(args: argparse.Namespace, solution: MaxCutSolution, progress: Progress) -> int:
    """Write the certificate, say how to check it, and return the exit code."""
    if args.certificate and solution.is_proved:
        write_certificate(solution.certificate().to_dict(), args.certificate)
        progress.say(f"check it with: derand verify {args.save_graph or args.graph or 'GRAPH'} {args.certificate}")
    elif args.certificate:
        progress.say("no certificate was written, since no bound was proved")
    elif args.graph is None:
        progress.say("to check it: derand maxcut --save-graph G --certificate C && derand verify G C")
    if solution.status == "interrupted":
        return ExitCode.INTERRUPTED
    is_complete = solution.status == "finished" and (solution.is_proved or not args.certificate)
    return ExitCode.SOLVED if is_complete else ExitCode.STOPPED_EARLY


def _summary(solution: MaxCutSolution) -> str:
    """Return cut and bound in half a sentence."""
    if solution.is_optimal:
        return f"cut {solution.value}, proved optimal"
    if solution.gap is not None:
        by = " by odd cycles" if solution.proof == "odd cycles" else ""
        return f"cut {solution.value}, proved upper bound {solution.upper_bound}{by}, gap {solution.gap:.3%}"
    return f"cut {solution.value}, no proved upper bound"


def _document(edges: EdgeList, solution: MaxCutSolution) -> dict[str, Any]:
    """Return what is written: the same bits for the same options, so no times."""
    labels, ahead = edges.node_labels, solution.side == solution.side[:1]
    fields = ("value", "upper_bound", "gap", "proof", "estimated_upper_bound", "expected_cut", "sdp_value")
    return {
        "graph": edges.name,
        "n_vertices": edges.n,
        "n_edges": solution.problem.n_edges,
        **{name: getattr(solution, name) for name in (*fields, "guarantee", "status")},
        "proved": solution.is_proved,
        "optimal": solution.is_optimal,
        "partition": [[labels[v] for v in range(edges.n) if ahead[v] == is_first] for is_first in (True, False)],
    }


def _minimum(edges: EdgeList, model: QuadraticModel, solution: MaxCutSolution) -> dict[str, Any]:
    """Return what is written for a quadratic binary program: its minimum, from the cut of the model's graph."""
    found = QUBOSolution(model, solution)
    return {
        "program": edges.name,
        "n_variables": model.n_variables,
        **{name: getattr(found, name) for name in ("value", "lower_bound", "gap")},
        "status": solution.status,
        "proved": found.is_proved,
        "proof": solution.proof,
        "optimal": found.is_optimal,
        "ones": [label for label, value in found.assignment.items() if value],
    }


def _cut_graph(model: QuadraticModel, name: str) -> EdgeList:
    """Return the graph of the model: its certificate is about this graph."""
    problem = model.problem
    return EdgeList(problem.n, problem.heads, problem.tails, problem.exact_weights, name=name, format="rudy")
