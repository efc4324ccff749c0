"""The same bits from fresh processes, from any number of BLAS threads, and after any interruption."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from derand._utils.threads import blas_threads
from derand.optimize import Checkpoint, SOSPStatus, minimize_sosp

ROOT = Path(__file__).resolve().parents[2]
#: OpenBLAS splits products with matrices of this size among its threads, and inner products of as many entries; the
#: latter change the order of additions.
ROWS, COLUMNS = 300, 200


class Regression:
    """A non-convex robust regression through matrix products that BLAS would share among threads."""

    def __init__(self, interrupt_at=None):
        rng = np.random.default_rng(0)
        self.A = rng.standard_normal((ROWS, COLUMNS)) / np.sqrt(COLUMNS)
        self.squares = np.sum(self.A**2, axis=0)
        self.b = rng.standard_normal(ROWS)
        self.count, self.interrupt_at = 0, interrupt_at

    def _tick(self):
        self.count += 1
        if self.count == self.interrupt_at:
            raise KeyboardInterrupt

    def fun(self, x):
        self._tick()
        r, scaled = self.A @ x - self.b, (self.A * x).ravel()
        robust = float(np.sum(r**2 / (1.0 + r**2)))
        value = robust + 0.25 * float(np.sum((x**2 - 0.1) ** 2)) + 1e-3 * float(scaled @ scaled)
        return value, self.A.T @ (2.0 * r / (1.0 + r**2) ** 2) + x * (x**2 - 0.1) + 2e-3 * self.squares * x

    def hessp(self, x, v):
        self._tick()
        r = self.A @ x - self.b
        weight = (2.0 - 6.0 * r**2) / (1.0 + r**2) ** 3
        return self.A.T @ (weight * (self.A @ v)) + (3.0 * x**2 - 0.1) * v + 2e-3 * self.squares * v

    def solve(self, products, **options):
        return minimize_sosp(
            self.fun,
            np.zeros(COLUMNS),
            hessp=self.hessp if products else None,
            gtol=1e-5,
            curv_tol=1e-2,
            rng=11,
            **options,
        )


def digest(result):
    """Return a hash of all bits of x, fun, jac, certificate and history."""
    proof = {k: v.tobytes().hex() if isinstance(v, np.ndarray) else v for k, v in vars(result.certificate).items()}
    parts = [result.x.tobytes(), result.jac.tobytes(), np.float64(result.fun).tobytes()]
    parts += [json.dumps([proof, result.history, result.message, result.nit, result.nfev, result.nhev]).encode()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _in_a_fresh_process(threads, products):
    code = f"from tests.optimize.test_determinism import *; print(digest(Regression().solve({products})))"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads), "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300
    )
    return found.stdout.strip()


def _interrupted(at, products, path):
    """Return the outcome of a run that is interrupted, saved, loaded and resumed."""
    part = Regression(at).solve(products)
    assert part.status is SOSPStatus.INTERRUPTED
    part.checkpoint.save(path)
    return Regression().solve(products, resume=Checkpoint.load(path))


@pytest.mark.medium
def test_fresh_processes_and_thread_counts():
    here = Regression().solve(products=True)
    assert here.success, here.message
    assert {_in_a_fresh_process(threads, True) for threads in (1, 2)} == {digest(here)}


def test_the_objective_is_one_whose_bits_depend_on_the_threads():
    # Otherwise the tests here would prove nothing; a BLAS that never splits such products is free to agree.
    points, problem, values = np.random.default_rng(1).standard_normal((20, COLUMNS)), Regression(), []
    for threads in (1, 2):
        with blas_threads(threads):
            values.append([problem.fun(x)[0] for x in points])
    if values[0] == values[1]:
        pytest.skip("this BLAS gives the same bits for 1 and 2 threads")


@pytest.mark.parametrize("products", [True, False])
def test_interruptions(products, tmp_path):
    whole = Regression().solve(products)
    n_calls = whole.nfev + whole.nhev
    for at in (2, n_calls // 2, n_calls):
        assert digest(_interrupted(at, products, tmp_path / "c")) == digest(whole)


@pytest.mark.slow
@pytest.mark.parametrize("products", [True, False])
def test_twenty_fresh_processes(products):
    digests = {_in_a_fresh_process(1 + repeat % 2, products) for repeat in range(20)}
    assert digests == {digest(Regression().solve(products))}


@pytest.mark.slow
@pytest.mark.parametrize("products", [True, False])
def test_fifty_random_interruptions(products, tmp_path):
    whole = Regression().solve(products)
    points = np.random.default_rng(0).integers(2, whole.nfev + whole.nhev + 1, 50)
    assert {digest(_interrupted(int(at), products, tmp_path / "c")) for at in points} == {digest(whole)}
