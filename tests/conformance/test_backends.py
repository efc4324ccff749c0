"""Every sweep gives the same bits in one process, two processes and two threads; test_dask.py is about a cluster."""

import io
import itertools

import joblib
import numpy as np
import pytest
from joblib._parallel_backends import ThreadingBackend

from derand._utils import shipped
from tests.conformance.sweeps import SWEEPS


class _OddBackend(ThreadingBackend):
    """Threads that get their arrays at odd addresses, as a message over the network may leave them."""

    def submit(self, func, callback=None):
        buffers, stream = [], io.BytesIO()
        pickler = shipped._Pickler(stream, protocol=5, buffer_callback=buffers.append)
        pickler.dump(func.items)
        stream.seek(0)
        func.items = shipped._Unpickler(stream, [_odd(buffer.raw()) for buffer in buffers], pickler.kept).load()
        return super().submit(func, callback)


def _odd(raw):
    room = np.empty(raw.nbytes + 64, dtype=np.uint8)
    start = -room.ctypes.data % 16 + 13
    room[start : start + raw.nbytes] = np.frombuffer(raw, dtype=np.uint8)
    return room[start : start + raw.nbytes]


@pytest.mark.parametrize("backend", ["loky", pytest.param("threading", marks=pytest.mark.medium)])
@pytest.mark.parametrize("kind", SWEEPS)
def test_two_jobs_give_the_bits_of_one(kind, backend):
    alone = SWEEPS[kind](1)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert SWEEPS[kind](2) == alone
        assert SWEEPS[kind](None) == alone


@pytest.mark.parametrize("kind", SWEEPS)
def test_arrays_at_odd_addresses_change_no_bit(kind, monkeypatch):
    alone = SWEEPS[kind](1)
    numbers = itertools.count()
    monkeypatch.setattr(shipped, "_process", lambda: ("elsewhere", next(numbers)))
    joblib.register_parallel_backend("odd", _OddBackend)
    with joblib.parallel_config(backend="odd", n_jobs=2):
        assert SWEEPS[kind](2) == alone
