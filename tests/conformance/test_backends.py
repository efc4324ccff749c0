"""Every sweep gives the same bits in one process, two processes and two threads; test_dask.py is about a cluster."""

import joblib
import pytest

from tests.conformance.sweeps import SWEEPS


@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.parametrize("kind", SWEEPS)
def test_two_jobs_give_the_bits_of_one(kind, backend):
    alone = SWEEPS[kind](1)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert SWEEPS[kind](2) == alone
        assert SWEEPS[kind](None) == alone
