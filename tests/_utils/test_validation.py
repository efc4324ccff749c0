import math
from fractions import Fraction

import numpy as np
import pytest

from derand._utils.validation import check_array, check_int, check_option, check_scalar
from derand.exceptions import InputError, InputTypeError


def test_good_arrays_become_double_precision():
    array = check_array([[1, 2], [3, 4]], "a", ndim=2)
    assert array.dtype == np.float64
    assert array.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    same = np.ones(3)
    assert check_array(same, "a", shape=(3,)) is same
    assert check_array(np.ones((2, 5)), "a", shape=(2, None)).shape == (2, 5)
    assert check_array(np.float32(0.5), "a", ndim=0) == 0.5


@pytest.mark.parametrize(
    ("value", "options", "error", "says"),
    [
        ([1.0, math.nan], {}, InputError, r"a must be finite, got nan at index \(1,\)"),
        ([[0.0], [-math.inf]], {}, InputError, r"got -inf at index \(1, 0\)"),
        ([1.0, 2.0], {"ndim": 2}, InputError, r"a must be an array with 2 dimensions, got shape \(2,\)"),
        ([1.0, 2.0], {"shape": (3,)}, InputError, r"a must have shape \(3,\), got \(2,\)"),
        ([1.0, 2.0], {"shape": (2, None)}, InputError, "a must have shape"),
        ([1j], {}, InputTypeError, "a must be real, got complex"),
        ("text", {}, InputTypeError, "a must be an array of real numbers"),
        ([[1.0], [1.0, 2.0]], {}, InputTypeError, "a must be an array of real numbers"),
        ([None, object()], {}, InputTypeError, "a must be an array of real numbers"),
        ([1, 10**400], {}, InputError, "a must not exceed the largest float"),
    ],
)
def test_bad_arrays_are_named(value, options, error, says):
    with pytest.raises(error, match=says):
        check_array(value, "a", **options)


def test_scalars_inside_the_interval():
    assert check_scalar(0, "s", low=0.0) == 0.0
    assert check_scalar(np.float32(0.5), "s", low=0.0, high=1.0, low_open=True, high_open=True) == 0.5
    assert check_scalar(Fraction(1, 4), "s") == 0.25
    assert check_scalar(math.inf, "s") == check_scalar(10**400, "s") == math.inf
    assert isinstance(check_scalar(np.int64(3), "s"), float)


@pytest.mark.parametrize(
    ("value", "options", "error", "says"),
    [
        (-1.0, {"low": 0.0}, InputError, r"s must lie in \[0, inf\], got -1.0"),
        (0.0, {"low": 0.0, "low_open": True}, InputError, r"s must lie in \(0, inf\]"),
        (1.0, {"high": 1.0, "high_open": True}, InputError, r"s must lie in \[-inf, 1\)"),
        (2.0, {"high": 1.0}, InputError, "s must lie in"),
        (math.nan, {}, InputError, "got nan"),
        (-(10**400), {"low": 0.0}, InputError, r"s must lie in \[0, inf\], got -inf"),
        (Fraction(10**400), {"high": math.inf, "high_open": True}, InputError, "got inf"),
        (True, {}, InputTypeError, "s must be a real number, got bool"),
        (np.bool_(True), {}, InputTypeError, "s must be a real number"),
        ("1", {}, InputTypeError, "got str"),
        (1j, {}, InputTypeError, "got complex"),
        (None, {}, InputTypeError, "got NoneType"),
    ],
)
def test_bad_scalars_are_named(value, options, error, says):
    with pytest.raises(error, match=says):
        check_scalar(value, "s", **options)


def test_integers():
    assert check_int(np.uint8(200), "n", low=0, high=200) == 200
    assert type(check_int(np.int32(2), "n")) is int
    assert check_int(10**30, "n", low=1) == 10**30


@pytest.mark.parametrize(
    ("value", "options", "error", "says"),
    [
        (0, {"low": 1}, InputError, "n must be at least 1, got 0"),
        (5, {"low": 0, "high": 4}, InputError, "n must be between 0 and 4, got 5"),
        (1.0, {}, InputTypeError, "n must be an integer, got float"),
        (False, {}, InputTypeError, "n must be an integer, got bool"),
    ],
)
def test_bad_integers_are_named(value, options, error, says):
    with pytest.raises(error, match=says):
        check_int(value, "n", **options)


def test_options():
    assert check_option("b", "o", ("a", "b")) == "b"
    with pytest.raises(InputError, match="o must be one of 'a', 'b', got 'c'"):
        check_option("c", "o", ("a", "b"))
