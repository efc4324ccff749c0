"""Relaxation and proved bound: against cvxpy's solvers, on benchmark graphs, on a large graph; CPU ratios in one run.

    python tests/benchmarks/maxcut_bound.py peers           # SCS at n = 200, Clarabel at n = 120
    python tests/benchmarks/maxcut_bound.py large            # n = 2*10^5, m = 10^6 against sparse products
    python tests/benchmarks/maxcut_bound.py whole [EFFORT]   # cut and bound, effort "derandomize" by default
    python tests/benchmarks/maxcut_bound.py graphs FOLDER    # every rudy file: value, bound, gap, CPU seconds

Run it with one BLAS thread (OPENBLAS_NUM_THREADS=1); every figure is CPU time of this process.
"""

import gzip
import resource
import sys
import time
from pathlib import Path

import numpy as np

from derand.maxcut.baselines import goemans_williamson
from derand.maxcut.certificate import prove_upper_bound
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.relaxation import solve_relaxation
from derand.maxcut.solve import solve_maxcut


def timed(function, *args, **options):
    start = time.process_time()
    result = function(*args, **options)
    return result, time.process_time() - start


def random_graph(rng, n, m):
    return MaxCutProblem.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), n=n)


def read_rudy(path):
    tokens = gzip.decompress(path.read_bytes()).split()
    ends = [np.array(tokens[k::3], dtype=np.int64) - 1 for k in (2, 3)]
    return MaxCutProblem.from_edges(*ends, [int(w) for w in tokens[4::3]], n=int(tokens[0]))


def peers():
    """Bars: 20 times SCS at n = 200, 1000 times Clarabel at n = 120, whole pipeline with proof on our side."""
    rng = np.random.default_rng(0)
    prove_upper_bound(random_graph(rng, 50, 200))
    goemans_williamson(random_graph(rng, 10, 20), n_hyperplanes=1)
    for solver, n, m, repeats in (("SCS", 200, 2100, 5), ("CLARABEL", 120, 1000, 1)):
        for _ in range(repeats):
            problem = random_graph(rng, n, m)
            bound, ours = timed(prove_upper_bound, problem)
            peer, theirs = timed(goemans_williamson, problem, solver=solver, n_hyperplanes=1)
            exact = float(bound.relaxation_value)
            print(
                f"{solver:9s} n={n} m={problem.n_edges} ours {ours:.3f} s (proved {bound.upper_bound}) "
                f"peer {theirs:.2f} s ratio {theirs / ours:.0f} values {exact:.5f} {peer.sdp_value:.5f}",
                flush=True,
            )


def large():
    """Relaxation cost in products of A with 8 columns, for m = 10^4, 10^5, 10^6."""
    rng = np.random.default_rng(1)
    for m in (10**4, 10**5, 10**6):
        n = m // 5
        problem = random_graph(rng, n, m)
        columns = rng.standard_normal((n, 8))
        matrix = problem.adjacency
        _, product = timed(lambda matrix=matrix, columns=columns: [matrix @ columns for _ in range(10)])
        relaxation, solving = timed(solve_relaxation, problem)
        bound, proving = timed(prove_upper_bound, problem, max_products=1)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"n={n} m={problem.n_edges} product {product / 10:.4f} s relaxation {solving:.2f} s = "
            f"{10 * solving / product:.0f} products, value {relaxation.value:.1f} residual {relaxation.residual:.1e}; "
            f"reductions and bound attempt {proving:.2f} s proved {bound.is_proved}; peak {peak:.2f} GiB",
            flush=True,
        )


def whole(effort="derandomize"):
    """Bars: the whole answer for m = 10^6 in 2500 products and 4 GiB; near-linear growth with m."""
    rng = np.random.default_rng(1)
    for m in (10**4, 10**5, 10**6):
        n = m // 5
        problem = random_graph(rng, n, m)
        columns, matrix = rng.standard_normal((n, 8)), problem.adjacency
        # Half of the products before the run and half after it, so that a busy machine slows down both.
        repeats = range(10**7 // m // 2)
        _, before = timed(lambda matrix=matrix, columns=columns, repeats=repeats: [matrix @ columns for _ in repeats])
        solution, seconds = timed(solve_maxcut, problem, effort=effort)
        _, after = timed(lambda matrix=matrix, columns=columns, repeats=repeats: [matrix @ columns for _ in repeats])
        product = (before + after) / (2 * len(repeats))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"n={n} m={problem.n_edges} product {product:.5f} s {effort} {seconds:.2f} s = {seconds / product:.0f} "
            f"products; cut {solution.value} bound {solution.upper_bound} by {solution.proof}, relaxation "
            f"{solution.sdp_value:.0f}, all edges {problem.total_weight}; peak {peak:.2f} GiB",
            flush=True,
        )


def graphs(folder):
    """Value, proved bound and gap above the value for every graph in a folder."""
    for path in sorted(Path(folder).rglob("*.txt.gz")):
        problem = read_rudy(path)
        bound, seconds = timed(prove_upper_bound, problem)
        value = bound.relaxation_value
        gap = (bound.upper_bound - value) / abs(value) if bound.is_proved else float("nan")
        print(
            f"{path.name[:-7]:18s} n={problem.n} m={problem.n_edges} value {value:.4f} bound {bound.upper_bound} "
            f"above the value by {gap:.1e} proved {bound.is_proved} {seconds:.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    {"peers": peers, "large": large, "whole": whole, "graphs": graphs}[sys.argv[1]](*sys.argv[2:])
