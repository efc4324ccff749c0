import os
from dataclasses import dataclass

import joblib
import numpy as np
import pytest

from derand._utils.shipped import Shipped, aligned


@dataclass
class Nested:
    tables: dict
    link: object


def _at(array, offset):
    """Return a copy of an array at an address that is ``offset`` beyond a multiple of 64, in the same order."""
    room = np.empty(array.nbytes + 128, dtype=np.uint8)
    start = -room.ctypes.data % 64 + offset
    copy = np.ndarray(array.shape, array.dtype, room, start, array.strides)
    copy[...] = array
    return copy


@pytest.mark.parametrize("offset", [0, 1, 8, 13, 16, 45])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_in_any_object_are_aligned(offset, order):
    array = np.asarray(np.random.default_rng(0).standard_normal((5, 7)), order=order)
    given = Nested({"x": (_at(array, offset), array)}, lambda z: z + 1)
    found = aligned(given)
    odd, even = found.tables["x"]
    assert (found is given) == (offset % 16 == 0)
    assert odd.ctypes.data % 16 == even.ctypes.data % 16 == 0
    assert odd.strides == array.strides
    np.testing.assert_array_equal(odd, array)
    np.testing.assert_array_equal(even, array)
    assert found.link(1) == 2
    assert odd.flags.writeable


def test_read_only_arrays_stay_so():
    array = _at(np.arange(6.0), 8)
    array.flags.writeable = False
    found = aligned([array])[0]
    assert found.tolist() == list(range(6))
    assert not found.flags.writeable


def test_what_cannot_be_pickled_comes_back():
    given = [_at(np.arange(3.0), 8), (number for number in range(3))]
    assert aligned(given) is given


def _address(array):
    return os.getpid(), array.ctypes.data % 16, float(array.sum())


def test_only_another_process_aligns():
    array = _at(np.arange(6.0), 8)
    shipped = Shipped(_address)
    assert shipped(array) == (os.getpid(), 8, 15.0)
    other = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(shipped)(array) for _ in range(2))
    assert all(pid != os.getpid() and (rest, total) == (0, 15.0) for pid, rest, total in other)


def test_a_product_has_the_bits_of_the_sender():
    """Without alignment some products of these differ in the last bit, which is why all this is done."""
    differ = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((120, 120)), rng.standard_normal(120)
        odd = _at(X, 13)
        differ += not np.array_equal(odd.T @ y, X.T @ y)
        np.testing.assert_array_equal(aligned([odd])[0].T @ y, X.T @ y)
    assert differ > 0
