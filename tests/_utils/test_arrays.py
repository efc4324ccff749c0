import sys

import array_api_strict
import numpy as np
import pytest

from derand._utils.arrays import array_namespace, as_like, index_like, to_numpy
from derand.exceptions import MissingDependencyError


def test_namespace_of_numpy_and_numbers():
    assert array_namespace(np.ones(2), 1.0, [1]) is np
    assert array_namespace() is np


def test_namespace_of_the_standard():
    array = array_api_strict.asarray(np.ones(2))
    assert array_namespace(1.0, array) is array.__array_namespace__()


def test_missing_helper_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(MissingDependencyError, match="array-api-compat"):
        array_namespace(object())


def test_round_trip_keeps_numbers_and_type():
    data = np.linspace(0, 1, 6).reshape(2, 3)
    like = array_api_strict.asarray(np.zeros(1, dtype=np.float32))
    there = as_like(data, like)
    assert there.dtype == array_api_strict.float32
    back = to_numpy(there)
    assert back.dtype == np.float64
    np.testing.assert_array_equal(back, data.astype(np.float32))
    assert to_numpy(data) is data
    assert as_like(data, data) is data
    assert index_like(np.array([1]), like).dtype == array_api_strict.int64
    index = np.array([1])
    assert index_like(index, data) is index


def test_read_only_and_reversed_arrays_reach_torch():
    torch = pytest.importorskip("torch")
    data = np.broadcast_to(np.ones(1), (3,))
    like = torch.zeros(1, dtype=torch.float64)
    assert as_like(data, like).tolist() == [1.0, 1.0, 1.0]
    assert as_like(np.arange(3.0)[::-1], like).tolist() == [2.0, 1.0, 0.0]
    assert to_numpy(torch.ones(2, requires_grad=True)).tolist() == [1.0, 1.0]
