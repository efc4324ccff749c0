"""Sweeps on a real dask cluster of two worker processes give the bits of one process, also when a worker dies."""

import os
import signal
import threading
import time
from concurrent.futures import CancelledError

import joblib
import numpy as np
import pytest

from derand.sweeps import grid, read_sweep, sweep
from derand.two_step import phase_diagram, random_problem
from tests.conformance.sweeps import SWEEPS, draw

pytestmark = [
    pytest.mark.slow,
    # dask's own clean-up at the end of a cluster, not ours.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
distributed = pytest.importorskip("distributed")


def _cluster():
    # Port 0 is any free one: two clusters live at the same time.
    return distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")


@pytest.fixture(scope="module")
def client():
    with _cluster() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def own_client():
    """A cluster of its own for a test that kills workers."""
    with _cluster() as cluster, distributed.Client(cluster) as client:
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


@pytest.mark.parametrize("kind", SWEEPS)
def test_every_kind_survives_a_worker(kind, own_client):
    """A worker is killed as soon as it has work; another one or the same line run again gives the same bits."""
    alone, client, killed = SWEEPS[kind](1), own_client, []
    client.wait_for_workers(2)
    processes = client.run(os.getpid)

    def kill():
        end = time.monotonic() + 60.0
        while not killed and time.monotonic() < end:
            busy = [worker for worker, tasks in client.processing().items() if tasks and worker in processes]
            if busy:
                os.kill(processes[busy[0]], signal.SIGKILL)
                killed.append(busy[0])
            time.sleep(0.01)

    watcher = threading.Thread(target=kill)
    watcher.start()
    with joblib.parallel_config(backend="dask"):
        try:
            found = SWEEPS[kind](2)
        except CancelledError:
            # The arguments lay on the lost worker alone, and dask has no other copy: run the line again.
            found = SWEEPS[kind](2)
    watcher.join()
    assert len(killed) == 1
    assert found == alone


def test_a_diagram_is_resumed_on_the_cluster(client, tmp_path):
    """Rows finished in one process are taken over, the others come from the cluster."""
    problem = random_problem(120, 120, 120, [np.tanh], rng=0)
    given = {"activation": [0.0, 1.0, 0.5], "checkpoint": tmp_path / "rows.npz"}
    part = phase_diagram([0.1, 0.2, 0.3], [0.2], *problem[:4], time_limit=1e-9, **given)
    assert part.alphas1 == (0.1,)
    with joblib.parallel_config(backend="dask"):
        whole = phase_diagram([0.1, 0.2, 0.3], [0.2], *problem[:4], n_jobs=2, **given)
    assert whole.is_complete
    alone = phase_diagram([0.1, 0.2, 0.3], [0.2], *problem[:4], activation=[0.0, 1.0, 0.5])
    np.testing.assert_array_equal(whole.theta, alone.theta)
