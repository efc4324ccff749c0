"""CPU time of importing derand against importing numpy, each in fresh processes and all in turn.

Run: python -m tests.benchmarks.import_time [REPEATS]

The minimum over the repeats is compared, less that of a process that imports nothing: the rest is noise of the machine,
which only adds.  Targets: ``import derand`` at most 0.1, ``from derand import minimize_sosp`` at most 5 times numpy.
"""

import os
import resource
import subprocess
import sys

NUMPY = "import numpy"
LIMITS = {"import derand": 0.1, "from derand import minimize_sosp": 5.0}


def cpu_seconds(statement):
    """Return the CPU time of a fresh process that runs a statement."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(repeats=15):
    """Print one line per import and return 1 when a target is missed."""
    statements = ("pass", NUMPY, *LIMITS)
    best = {statement: cpu_seconds(statement) for statement in statements}  # the first round also writes byte code
    for _ in range(repeats):
        best = {statement: min(best[statement], cpu_seconds(statement)) for statement in statements}
    numpy = best[NUMPY] - best["pass"]
    print(f"{NUMPY}: {1e3 * numpy:.1f} ms")
    failed = False
    for statement, limit in LIMITS.items():
        ratio = (best[statement] - best["pass"]) / numpy
        failed |= ratio > limit
        print(f"{statement}: {1e3 * ratio * numpy:.1f} ms, {ratio:.3f} of numpy (at most {limit})")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
