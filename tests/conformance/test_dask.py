"""Sweeps on a real dask cluster of two worker processes give the bits of one process, also when a worker dies."""

import os
import signal

import joblib
import pytest

from derand.sweeps import grid, read_sweep, sweep
from tests.conformance.sweeps import SWEEPS, draw

pytestmark = [
    pytest.mark.slow,
    # dask's own clean-up at the end of a cluster, not ours.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("kind", SWEEPS)
def test_same_bits_as_one_process(kind, client):
    alone = SWEEPS[kind](1)
    with joblib.parallel_config(backend="dask"):
        assert SWEEPS[kind](2) == alone


def test_a_store_is_filled_from_the_cluster(client, tmp_path):
    settings = grid(n=[3, 40], seed=range(3))
    with joblib.parallel_config(backend="dask"):
        spread = sweep(draw, settings, store=tmp_path / "s")
    assert [r.tobytes() for r in spread] == [r.tobytes() for r in sweep(draw, settings)]
    assert len(read_sweep(tmp_path / "s")) == 6


def test_a_killed_worker_is_replaced(client, tmp_path):
    marker = str(tmp_path / "died")

    def fragile(x):
        if x == 3 and not os.path.exists(marker):
            with open(marker, "x"):
                os.kill(os.getpid(), signal.SIGKILL)
        return x * 0.1

    with joblib.parallel_config(backend="dask"):
        assert sweep(fragile, range(8)) == [x * 0.1 for x in range(8)]
    assert os.path.exists(marker)
