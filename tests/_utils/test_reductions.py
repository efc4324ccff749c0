import math
import subprocess
import sys

import numpy as np
import pytest

from derand._utils.reductions import dot, norm


def test_dot_against_exact_summation():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((30, 7)), rng.standard_normal((30, 7))
    # Pairwise summation of 210 products: a few roundings of the sum of their sizes.
    exact = math.fsum((a * b).ravel())
    assert dot(a, b) == pytest.approx(exact, abs=20 * np.finfo(float).eps * float(np.sum(np.abs(a * b))))
    assert isinstance(dot(a, b), float)
    assert dot(np.empty(0), np.empty(0)) == 0.0


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200, 1e-310])
def test_norm_neither_overflows_nor_vanishes(scale):
    # At 1e-310 the entries are subnormal and have 13 decimal digits left.
    assert norm(np.array([3.0, -4.0]) * scale) == pytest.approx(5.0 * scale, rel=1e-12)


def test_norm_of_special_vectors():
    assert norm(np.empty(0)) == 0.0
    assert norm(np.zeros(3)) == 0.0
    assert norm(np.array([1.0, -math.inf])) == math.inf
    assert math.isnan(norm(np.array([1.0, math.nan])))


def test_bits_do_not_depend_on_the_threads():
    code = (
        "import numpy as np; from derand._utils.reductions import dot, norm\n"
        "a = np.random.default_rng(0).standard_normal(200_000)\n"
        "print(dot(a, a[::-1]).hex(), norm(a).hex())"
    )
    outputs = set()
    for threads in ("1", "2", "4"):
        env = {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True, timeout=60
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
