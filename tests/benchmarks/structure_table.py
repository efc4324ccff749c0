"""All estimators of directions on all links, inputs and sizes: where derand is within 2 per cent of the best peer.

Run ``python -m tests.benchmarks.structure_table --sizes 500x20 --seeds 5 --out runs.jsonl``.  Every error is written to
the file at once, and what the file holds isn't computed again; ``--report`` only prints the table of a file.
``--methods`` limits the peers: the slow ones at the large sizes.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from derand.structure.subspace import subspace_distance
from tests.benchmarks.structure_peers import METHODS
from tests.structure.estimation.models import INPUTS, MODELS, draw

warnings.simplefilter("ignore", ConvergenceWarning)


def read(path: Path) -> dict[tuple[Any, ...], float]:
    """Return the errors in a file by model, inputs, n, d, seed and method."""
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {(r["model"], r["inputs"], r["n"], r["d"], r["seed"], r["method"]): r["error"] for r in rows}


def fill(args: argparse.Namespace, sizes: list[tuple[int, int]]) -> None:
    """Compute what the file lacks."""
    done = read(args.out)
    with args.out.open("a") as out:
        for n, d in sizes:
            for seed in range(args.first, args.first + args.seeds):
                for kind in args.inputs:
                    for name in args.models:
                        X, y, B = draw(name, kind, n, d, seed)
                        for method in args.methods:
                            if (name, kind, n, d, seed, method) in done:
                                continue
                            start = time.process_time()
                            error = subspace_distance(METHODS[method](X, y, len(B)), B)
                            row = {
                                "model": name, "inputs": kind, "n": n, "d": d, "seed": seed, "method": method,
                                "error": error, "cpu": round(time.process_time() - start, 3),
                            }  # fmt: skip
                            out.write(json.dumps(row) + "\n")
                            out.flush()


def report(args: argparse.Namespace) -> None:
    """Print the mean errors of every cell, and the share of cells that are won, by size and inputs."""
    cells: dict[tuple[Any, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (name, kind, n, d, _, method), error in read(args.out).items():
        cells[n, d, kind, name][method].append(error)
    tally: dict[tuple[Any, ...], list[bool]] = defaultdict(list)
    for (n, d, kind, name), errors in sorted(cells.items()):
        means = {method: float(np.mean(errors[method])) for method in METHODS if method in errors}
        best = min((method for method in means if method != "derand"), key=means.__getitem__, default=None)
        if best is None or "derand" not in means:
            continue
        ratio = means["derand"] / means[best]
        difference = np.subtract(errors["derand"], errors[best]) if len(errors["derand"]) == len(errors[best]) else [0]
        noise = float(np.std(difference)) / max(len(difference), 1) ** 0.5 / means[best]
        tally[n, d, kind].append(ratio <= 1.02)
        text = " ".join(f"{method} {value:.3f}" for method, value in means.items())
        print(
            f"{name:6} {kind:8} n={n} d={d} {len(errors['derand'])} seeds: {text}; over {best} "
            f"{ratio:.3f} +- {noise:.3f}{'' if ratio <= 1.02 else '  lost'}"
        )
    for (n, d, kind), won in sorted(tally.items()):
        print(f"n={n} d={d} {kind}: within 2 % of the best peer or better in {sum(won)} of {len(won)}")
    won = [one for some in tally.values() for one in some]
    print(f"all: {sum(won)} of {len(won)} cells, {100 * np.mean(won):.1f} %; bar 95 %")


def main() -> None:
    """Read the options, compute and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", default=["500x20"])
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--inputs", nargs="*", default=list(INPUTS), choices=INPUTS)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, default=Path("structure_table.jsonl"))
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    if not args.report:
        fill(args, [(int(n), int(d)) for n, d in (size.split("x") for size in args.sizes)])
    report(args)


if __name__ == "__main__":
    main()
