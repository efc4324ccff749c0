import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.objectives.indexing import check_indices


def test_good_indices_come_back_as_int64():
    got = check_indices(np.array([[0, 4]], dtype=np.uint8), "pairs", width=2, limit=5)
    assert got.dtype == np.int64
    assert got.tolist() == [[0, 4]]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ([[0.0, 1.0]], InputTypeError),
        ([[True, False]], InputTypeError),
        ([], InputTypeError),
        (np.zeros((0, 2), dtype=int), InputError),
        ([0, 1], InputError),
        ([[0, 1, 2]], InputError),
        ([[0, 5]], InputError),
        ([[-1, 0]], InputError),
    ],
)
def test_bad_indices_are_named(value, error):
    with pytest.raises(error, match=r"^pairs must"):
        check_indices(value, "pairs", width=2, limit=5)
