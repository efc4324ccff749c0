"""Cut quality on benchmark graphs, against best-known values, random hyperplanes and other samplers at equal CPU time.

Run ``python -m tests.benchmarks.maxcut_quality [--effort E] [--peers] [NAME ...]`` with DERAND_MAXCUT_DATA
naming a folder that holds ``best_known.csv`` and graphs in rudy format below it. Every graph gets one line: the
best-known value, the derandomized cut by itself, the best of 1,000 random hyperplanes of the same relaxation,
the result, CPU seconds of this process; with ``--peers`` the value that simulated annealing of dwave-samplers,
MQLib's BURER2002 and simulated-bifurcation reach when they are given the same CPU time (where installed).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import os
import sys
import time
from pathlib import Path

import numpy as np

from derand.maxcut.conditioning import best_hyperplane
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.relaxation import solve_relaxation
from derand.maxcut.solve import solve_maxcut


def read_graph(path: Path) -> MaxCutProblem:
    """Return the graph of a gzipped rudy file."""
    tokens = [int(token) for token in gzip.decompress(path.read_bytes()).split()]
    heads, tails = np.array(tokens[2::3]) - 1, np.array(tokens[3::3]) - 1
    return MaxCutProblem.from_edges(heads, tails, tokens[4::3], n=tokens[0])


def best_known(folder: Path) -> dict[str, dict[str, str]]:
    """Return the table of best-known values by name."""
    with (folder / "best_known.csv").open() as file:
        return {row["name"]: row for row in csv.DictReader(file) if row["best"]}


def annealing_peer(problem: MaxCutProblem, seconds: float) -> float:
    """Return the best cut of dwave-samplers' simulated annealing in about the given CPU time, conversions excluded."""
    import dimod
    from dwave.samplers import SimulatedAnnealingSampler

    pairs = zip(problem.heads.tolist(), problem.tails.tolist(), strict=True)
    couplings = dict(zip(pairs, problem.weights.tolist(), strict=True))
    model = dimod.BQM.from_ising({}, couplings)
    sampler = SimulatedAnnealingSampler()
    start = time.process_time()
    sampler.sample(model, num_reads=1, num_sweeps=20, seed=1)
    cost = max((time.process_time() - start) / 20, 1e-6)
    sweeps = max(10, int(seconds / cost / 4))
    start, best = time.process_time(), -math.inf
    seed = 0
    while time.process_time() - start < seconds and seed < 1000:
        seed += 1
        energy = sampler.sample(model, num_reads=1, num_sweeps=sweeps, seed=seed).first.energy
        best = max(best, (float(problem.weights.sum()) - energy) / 2)
    return best


def burer_peer(problem: MaxCutProblem, seconds: float) -> float:
    """Return the best cut of MQLib's BURER2002 in the given time."""
    import MQLib

    edges = zip(problem.heads.tolist(), problem.tails.tolist(), problem.weights.tolist(), strict=True)
    instance = MQLib.Instance("M", [(i + 1, j + 1, w) for i, j, w in edges], problem.n)
    return float(MQLib.runHeuristic("BURER2002", instance, seconds, lambda _: 1, 100)["objval"])


def bifurcation_peer(problem: MaxCutProblem, seconds: float) -> float:
    """Return the best cut of simulated-bifurcation in about the given CPU time, both modes in turn, on one thread."""
    import simulated_bifurcation
    import torch

    torch.set_num_threads(1)
    matrix = torch.tensor(problem.adjacency.toarray(), dtype=torch.float32)
    options = {"domain": "spin", "agents": 16, "max_steps": 2000, "early_stopping": False, "verbose": False}
    start, best, runs = time.process_time(), -math.inf, 0
    while runs == 0 or time.process_time() - start < seconds:
        torch.manual_seed(runs)
        mode = ("discrete", "ballistic")[runs % 2]
        spins = simulated_bifurcation.minimize(matrix, mode=mode, **options)[0].numpy()
        best = max(best, float(problem.cut_value(np.where(spins > 0, 1, -1).astype(np.int8))))
        runs += 1
    return best


PEERS = {"dwave-sa": annealing_peer, "BURER2002": burer_peer, "simulated-bifurcation": bifurcation_peer}


def hyperplane_value(problem: MaxCutProblem) -> float:
    """Return the best of 1,000 random hyperplanes."""
    vectors = solve_relaxation(problem, tol=1e-4).vectors
    return float(best_hyperplane(problem, vectors, n_draws=1000)[1].max())


def report(name: str, problem: MaxCutProblem, best: int, effort: int, with_peers: bool) -> tuple[float, bool, bool]:
    """Print one line; return the ratio, whether it is the best known, whether rounding beats hyperplanes."""
    start = time.process_time()
    solution = solve_maxcut(problem, effort=effort, bound=False)
    seconds = time.process_time() - start
    planes = hyperplane_value(problem)
    ratio = solution.value / best
    line = f"{name:18s} {problem.n:6d} {best:>17d} {solution.derandomized_value:>17} {planes:17.0f}"
    line += f" {solution.value:>17} {ratio:8.5f} {seconds:7.1f}"
    if with_peers:
        for label, peer in PEERS.items():
            try:
                line += f"  {label} {peer(problem, seconds) / best:.5f}"
            except ImportError:
                line += f"  {label} missing"
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    return ratio, solution.value >= best, solution.derandomized_value > planes


def main(arguments: list[str] | None = None) -> None:
    """Print the table and its summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--effort", type=int, default=2)
    parser.add_argument("--peers", action="store_true")
    options = parser.parse_args(arguments)
    folder = os.environ.get("DERAND_MAXCUT_DATA")
    if not folder:
        sys.stdout.write("skipped: DERAND_MAXCUT_DATA names no folder\n")
        return
    table = best_known(Path(folder))
    names = options.names or [name for name, row in table.items() if row["family"] == "gset"]
    sys.stdout.write("graph                   n        best known      derandomized   1000 hyperplanes")
    sys.stdout.write("             value    ratio     CPU\n")
    rows = []
    for name in names:
        (path,) = Path(folder).glob(f"*/{name}.txt.gz")
        rows.append(report(name, read_graph(path), int(table[name]["best"]), options.effort, options.peers))
    ratios = [row[0] for row in rows]
    sys.stdout.write(
        f"{len(rows)} graphs: min {min(ratios):.5f}, mean {math.fsum(ratios) / len(ratios):.5f}, best known on"
        f" {sum(row[1] for row in rows)}, derandomized cut above 1000 hyperplanes on {sum(row[2] for row in rows)}\n"
    )


if __name__ == "__main__":
    main()
