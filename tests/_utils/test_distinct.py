import re
from pathlib import Path

import numpy as np
import pytest

import derand
from derand._utils.distinct import distinct_columns, distinct_rows


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, float])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (40, 1), (40, 2), (300, 3)])
def test_rows_are_those_of_numpy(n, m, dtype):
    matrix = np.random.default_rng(n + m).integers(0, 4, (n, m)).astype(dtype)
    _, first, inverse = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    found = distinct_rows(matrix)
    assert np.array_equal(found[0], first)
    assert np.array_equal(found[1], inverse.ravel())


def test_columns_are_those_of_numpy_in_their_order():
    matrix = np.random.default_rng(0).choice(np.array([-1, 1], dtype=np.int8), (4, 30))
    assert np.array_equal(distinct_columns(matrix), np.sort(np.unique(matrix, axis=1, return_index=True)[1]))


def test_empty_columns_are_all_alike():
    assert distinct_columns(np.empty((0, 3), dtype=np.int8)).tolist() == [0]


def test_nothing_in_the_package_compares_rows_as_structured_scalars():
    """These comparisons lose a Ctrl-C."""
    sources = Path(derand.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if re.search(r"np\.unique\([^\n]*axis=", path.read_text())] == []
