"""What one Krylov space for the last Newton step and the certificate would save, were a moved certificate free.

    python -m tests.benchmarks.sosp_sharing [--early 1e-4 1e-5] [--share 0.1 0.01] [--half tuned|held-out|all]

The default method certifies where it ends, from a start of its own.  The other design certifies earlier, at the first
point with ||g|| <= early, by Lanczos from cos g/||g|| + sin v with a uniformly random v: the same space then holds a
Newton step that takes the gradient down by about sin, and the component of the start along an eigenvector is at least
sin times that of v (its density is unimodal), which raises the logarithm to be reached by 2 log(1/sin).  What was
proved at the earlier point x holds at the new one x' up to K ||x' - x||.

Everything is counted in favour of that design: the constant K ||x' - x|| is replaced by the true ||H(x') - H(x)||,
computed densely at no cost, against a reserve of a tenth of curv_tol; where the Newton step misses gtol the search goes
on with the memory it had; no check of the derivatives is charged.  Ratios below one would be savings.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from derand._utils.validation import FloatArray
from derand.hessian.christoffel import ChristoffelSum, start_component_target
from derand.hessian.lanczos import LanczosProcess
from derand.optimize import SOSPResult, minimize_sosp
from tests.benchmarks.sosp_report import geometric_mean
from tests.problems import PROBLEM_NAMES, Problem, make_problem

DELTA = 1e-6
RESERVE = 0.1  # share of curv_tol kept for the move
MAX_CALLS = 20_000


@dataclass(frozen=True)
class Shared:
    """Calls of both designs on one start, and what became of the move."""

    now: int
    shared: int
    moved_free: int
    newton_suffices: bool
    moves: bool


def solve(problem: Problem, x: FloatArray, gtol: float) -> SOSPResult:
    """Return the default method's result, with exact products."""
    options = {"curv_tol": problem.curv_tol, "max_evals": MAX_CALLS, "rng": 0}
    return minimize_sosp(problem.fun, x, hessp=problem.hessp, gtol=gtol, **options)


def shared_space(problem: Problem, x: FloatArray, gradient: FloatArray, share: float) -> LanczosProcess:
    """Return the Lanczos process that proves lambda_min >= -(1 - RESERVE) curv_tol from the mixed start."""
    direction = np.random.default_rng(0).standard_normal(problem.n)
    direction *= share / np.linalg.norm(direction)
    start = direction + math.sqrt(1.0 - share**2) * gradient / np.linalg.norm(gradient)
    process = LanczosProcess(lambda v: problem.hessp(x, v), start)
    total = ChristoffelSum(-(1.0 - RESERVE) * problem.curv_tol)
    target = start_component_target(problem.n, 6.0 / math.pi**2 * DELTA) - 2.0 * math.log(share)
    while total.log_sum < target and process.step():
        total.update(process.alpha[-1], process.beta[-1])
    return process


def newton_step(process: LanczosProcess, gradient: FloatArray, floor: float) -> FloatArray:
    """Return the step of the projected Newton system; curvatures below the floor carry no step."""
    m = process.n_steps
    values, vectors, _ = process.ritz_pairs(m)
    inverse = np.where(values > floor, 1.0 / np.maximum(values, floor), 0.0)
    return np.asarray(-(inverse * (vectors @ gradient)) @ vectors)


def compare(problem: Problem, x: FloatArray, early: float, share: float) -> Shared | None:
    """Return both designs' calls from one start, None where the early point is no minimum or isn't used."""
    result = solve(problem, x, problem.gtol)
    first = solve(problem, x, early)
    if not (result.success and first.success) or first.certificate.gradient_norm <= problem.gtol:
        return None
    now = result.nfev + result.nhev - 1  # without the check of the derivatives
    search = first.nfev + first.nhev - first.certificate.n_calls
    process = shared_space(problem, first.x, first.jac, share)
    end = first.x + newton_step(process, first.jac, problem.curv_tol)
    calls = search + process.n_steps + 1
    suffices = bool(np.linalg.norm(problem.fun(end)[1]) <= problem.gtol)
    if not suffices:
        end = result.x
        calls += now - result.certificate.n_products - search
    change = np.linalg.norm(problem.hess(end) - problem.hess(first.x), 2)
    moves = bool(change <= RESERVE * problem.curv_tol)
    return Shared(now, calls if moves else calls + result.certificate.n_products, calls, suffices, moves)


def row(problems: Sequence[Problem], early: float, share: float) -> str:
    """Return one line: how often each part works, and the ratio of the calls."""
    pairs = [compare(problem, x.copy(), early, share) for problem in problems for x in problem.starts.values()]
    found = [pair for pair in pairs if pair is not None]
    ratio = geometric_mean([pair.shared / pair.now for pair in found])
    chosen = geometric_mean([min(pair.shared, pair.now) / pair.now for pair in found])
    free = geometric_mean([pair.moved_free / pair.now for pair in found])
    counts = f"{len(found):>8}{sum(p.newton_suffices for p in found):>10}{sum(p.moves for p in found):>8}"
    return f"{early:>8.0e}{share:>8.0e}{counts}{ratio:>14.3f}{chosen:>13.3f}{free:>12.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sosp_sharing")
    parser.add_argument("--early", type=float, nargs="+", default=(1e-3, 1e-4, 1e-5))
    parser.add_argument("--share", type=float, nargs="+", default=(0.1, 0.01))
    parser.add_argument("--half", choices=("tuned", "held-out", "all"), default="all")
    options = parser.parse_args(arguments)
    for half in ("tuned", "held-out"):
        if options.half not in (half, "all"):
            continue
        problems = [make_problem(name) for name in PROBLEM_NAMES]
        problems = [problem for problem in problems if problem.tuned is (half == "tuned")]
        print(f"{half} half\n   early   share  starts    newton   moves  shared / now  best of the  every move")
        print("                         suffices                       two a start      holds")
        for early in options.early:
            for share in options.share:
                print(row(problems, early, share), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
