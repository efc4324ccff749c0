"""Certified second-order stationary points against the solvers that people use, in one run.

    python -m tests.benchmarks.sosp [--half tuned|held-out|all] [--methods NAME ...] [--json FILE] [--instances]
                                    [--reuse FILE]

All methods see the same problems, starts and stopping rule (see sosp_methods.py); a run counts as reached when a dense
eigensolver confirms lambda_min >= -curv_tol at a point with ||g||_2 <= gtol.  Ratios are geometric means over the
instances that both sides reach; the half of the problems that tuned the solver's constants is reported apart.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    # One thread for everybody, set before the BLAS is loaded: processor time then compares work, not scheduling.
    for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(_name, "1")

from tests.benchmarks.sosp_methods import PEERS, Run, run_derand, run_peer
from tests.benchmarks.sosp_report import by_method, headline_rows, instance_rows, method_rows, octopus_rows
from tests.problems import PROBLEM_NAMES, make_problem

DEFAULT_METHODS = ("derand", "derand-gradients", *PEERS, "recipe")
EXTRA_METHODS = ("derand:perturbed_gradient", "derand:accelerated", "derand:newton-cg")


def run_all(names: Sequence[str], methods: Sequence[str]) -> list[Run]:
    """Return the runs of all methods on all starts of the named problems."""
    runs = []
    for name in names:
        problem = make_problem(name)
        for start in problem.starts:
            for method in methods:
                contest = run_derand if method.startswith("derand") else run_peer
                runs.append(contest(problem, start, method))
        print(f"{name} done", file=sys.stderr, flush=True)
    return runs


def reused(file: Path, names: Sequence[str], methods: Sequence[str]) -> list[Run]:
    """Return the runs of other methods from an earlier --json file, without their processor times."""
    runs = [Run(**{**fields, "cpu": math.nan}) for fields in json.loads(file.read_text())]
    return [run for run in runs if run.problem in names and run.method not in methods]


def report(runs: Sequence[Run], *, instances: bool) -> list[str]:
    """Return the tables, the two halves apart."""
    lines = []
    methods = {run.method for run in runs}
    for title, tuned in (("held-out half (not used for tuning)", False), ("tuned half", True)):
        chosen = [run for run in runs if run.tuned is tuned]
        if not chosen:
            continue
        table = by_method(chosen)
        lines += ["", f"== {title}: {len({r.problem for r in chosen})} problems", *method_rows(table, "derand")]
        for reference in ("derand", "derand-gradients"):
            if reference in methods:
                lines += ["", *headline_rows(table, reference)]
        octopus = octopus_rows(table)
        if octopus:
            lines += ["", "octopus chain with 100 saddles, calls per saddle:", *octopus]
        if instances and "derand" in methods:
            lines += ["", *instance_rows(table, "derand")]
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sosp", description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("tuned", "held-out", "all"), default="all")
    parser.add_argument("--methods", nargs="+", choices=(*DEFAULT_METHODS, *EXTRA_METHODS), default=DEFAULT_METHODS)
    parser.add_argument("--problems", nargs="+", choices=PROBLEM_NAMES, default=PROBLEM_NAMES)
    parser.add_argument("--json", type=Path, help="write every run to this file")
    parser.add_argument("--instances", action="store_true", help="also list every instance beside its best peer")
    parser.add_argument("--reuse", type=Path, help="take the calls of all other methods from an earlier --json file")
    options = parser.parse_args(arguments)
    names = [n for n in options.problems if options.half == "all" or make_problem(n).tuned is (options.half == "tuned")]
    run_all(["six_hump_camel"], options.methods)  # imports and first calls must not be charged to an instance
    runs = run_all(names, options.methods)
    if options.reuse is not None:
        runs += reused(options.reuse, names, options.methods)
    if options.json is not None:
        options.json.write_text(json.dumps([run.as_dict() for run in runs], indent=1) + "\n")
    print("\n".join(report(runs, instances=options.instances)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
