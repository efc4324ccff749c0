"""Cuts against other programs at equal CPU time, all in one process.

    python -m tests.benchmarks.maxcut_peers exchange            # networkx's one_exchange at n = 400
    python -m tests.benchmarks.maxcut_peers annealing NAME ...  # simulated annealing of dwave-samplers, by graph

The second needs DERAND_MAXCUT_DATA, as `tests.benchmarks.maxcut_quality` does.  With ``quick`` or ``default`` before
the names it takes that effort (quick without it); the annealing gets the CPU time that the effort took.
"""

import os
import sys
import time
from pathlib import Path

import networkx as nx

from derand.graphs.convert import labelled_problem
from derand.maxcut.solve import EFFORTS, solve_maxcut
from tests.benchmarks.maxcut_quality import annealing_peer, best_known, read_graph


def own_run(G, effort):
    """CPU seconds from the networkx graph to the cut, and the cut; no bound, which the peer doesn't have either."""
    start = time.process_time()
    solution = solve_maxcut(labelled_problem(G).problem, effort=effort, bound=False)
    return time.process_time() - start, solution


def exchange():
    """Bar: better than networkx's one_exchange at no more than a hundredth of its time, n = 400."""
    solve_maxcut(labelled_problem(nx.random_regular_graph(3, 50, seed=0)).problem, effort="quick")
    for seed, degree in ((1, 6), (0, 3)):
        G = nx.random_regular_graph(degree, 400, seed=seed)
        # Some of our runs come before the peer's and some after, so that a busy machine slows down both.
        early = [own_run(G, "derandomize") for _ in range(5)]
        start = time.process_time()
        theirs, _ = nx.approximation.one_exchange(G, seed=0)
        peer = time.process_time() - start
        runs = {"derandomize": early + [own_run(G, "derandomize") for _ in range(5)], "quick": [own_run(G, "quick")]}
        for effort, measured in runs.items():
            ours, solution = min(measured, key=lambda run: run[0])
            print(
                f"degree {degree} {effort}: {solution.value} against {theirs} in {ours:.3f} s against {peer:.2f} s, "
                f"ratio {peer / ours:.0f} (bar 100)",
                flush=True,
            )


def annealing(*names):
    """Bar: not worse on 80 % of the graphs at equal CPU time, better on tori and for n >= 5,000."""
    effort = names[0] if names and names[0] in EFFORTS else "quick"
    folder = Path(os.environ["DERAND_MAXCUT_DATA"])
    table = best_known(folder)
    chosen = [name for name in names if name != effort]
    chosen = chosen or [name for name, row in table.items() if row["family"] == "gset"]
    not_worse = 0
    for name in chosen:
        (path,) = folder.glob(f"*/{name}.txt.gz")
        problem, best = read_graph(path), int(table[name]["best"])
        start = time.process_time()
        ours = solve_maxcut(problem, effort=effort, bound=False).value
        seconds = time.process_time() - start
        theirs = annealing_peer(problem, seconds)
        not_worse += ours >= theirs
        print(f"{name:6s} {problem.n:6d} {seconds:6.1f} s  {ours / best:.5f}  {theirs / best:.5f}", flush=True)
    print(f"{effort}: not worse on {not_worse} of {len(chosen)}")


if __name__ == "__main__":
    {"exchange": exchange, "annealing": annealing}[sys.argv[1]](*sys.argv[2:])
