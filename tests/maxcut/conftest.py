import gzip
import os
from pathlib import Path

import pytest

from derand.maxcut.problem import MaxCutProblem


@pytest.fixture
def gset():
    """Reader of benchmark graphs by name from the folder in DERAND_MAXCUT_DATA; skips without it."""
    folder = os.environ.get("DERAND_MAXCUT_DATA")
    if not folder:
        pytest.skip("DERAND_MAXCUT_DATA names no folder with benchmark graphs")

    def load(name):
        (path,) = Path(folder).glob(f"*/{name}.txt.gz")
        tokens = [int(token) for token in gzip.decompress(path.read_bytes()).split()]
        heads, tails, weights = tokens[2::3], tokens[3::3], tokens[4::3]
        return MaxCutProblem.from_edges([i - 1 for i in heads], [i - 1 for i in tails], weights, n=tokens[0])

    return load
