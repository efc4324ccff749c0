from __future__ import annotations

import math
import re
import sys
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from derand.exceptions import GraphFormatError, InputError
from derand.io.numerals import WeightColumn, pack_integers, parse_count, parse_weight, show, weight_literals
from tests.io.strategies import FLOATS, INTEGERS


@given(FLOATS)
def test_floats_survive_bit_for_bit(value: float) -> None:
    literal = weight_literals(np.array([value]))[0]
    read = parse_weight(literal.encode(), 1)
    assert isinstance(read, float)
    assert read.hex() == value.hex()


@given(INTEGERS)
def test_integers_survive_exactly(value: int) -> None:
    assert parse_weight(str(value).encode(), 1) == value
    assert type(parse_weight(str(value).encode(), 1)) is int


@given(
    st.from_regex(r"\A[+-]?(\d{1,30}\.\d{0,30}|\.\d{1,30})([eE][+-]?\d{1,2})?\Z", alphabet=st.characters(codec="ascii"))
)
def test_decimals_are_rounded_to_nearest(literal: str) -> None:
    value = parse_weight(literal.encode(), 1)
    exact = Fraction(Decimal(literal))
    error = abs(Fraction(value) - exact)
    for neighbour in (math.nextafter(value, math.inf), math.nextafter(value, -math.inf)):
        assert error <= abs(Fraction(neighbour) - exact)


@given(st.binary(max_size=8))
def test_syntax_is_that_of_the_definition(token: bytes) -> None:
    grammar = rb"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
    is_number = re.fullmatch(grammar, token) is not None
    if is_number and math.isfinite(float(token)):
        assert parse_weight(token, 1) == float(token)
    else:
        with pytest.raises(GraphFormatError):
            parse_weight(token, 1)


@pytest.mark.parametrize(
    "token", ["1_0", "0x1", "٣", "１", "²", "1,5", "--1", "+-1", "1e", "e1", ".", "", " 1", "1\n", "None"]
)
def test_other_spellings_are_refused(token: str) -> None:
    with pytest.raises(GraphFormatError, match="line 7: a weight must be a number"):
        parse_weight(token.encode(), 7)
    with pytest.raises(GraphFormatError, match="line 7: n must be a non-negative integer"):
        parse_count(token.encode(), "n", 7)


@pytest.mark.parametrize("token", [b"nan", b"NaN", b"-nan", b"inf", b"+Infinity", b"-INF"])
def test_non_finite_weights_are_named(token: bytes) -> None:
    with pytest.raises(GraphFormatError, match="line 3: weights must be finite"):
        parse_weight(token, 3)


def test_overflow_and_underflow() -> None:
    with pytest.raises(GraphFormatError, match="exceeds the range of float64"):
        parse_weight(b"-1e309", 1)
    assert parse_weight(b"1e-999", 1) == 0.0
    assert parse_weight(b"4.9e-324", 1) == 5e-324


def test_counts() -> None:
    assert parse_count(b"0", "n", 1) == 0
    assert parse_count(b"0" * 40 + b"12", "n", 1) == 12
    assert parse_count(b"9" * 18, "n", 1) == 10**18 - 1
    with pytest.raises(GraphFormatError, match="absurdly large"):
        parse_count(b"1" + b"0" * 18, "n", 1)


def test_long_numbers_are_refused_at_once() -> None:
    assert parse_weight(b"9" * 4300, 1) == 10**4300 - 1
    start = time.process_time()
    for token in (b"9" * 10_000, b"9" * 10**7, b"0." + b"1" * 10**7, b"-" + b"9" * 10**7 + b"x"):
        with pytest.raises(GraphFormatError, match="more than 4300 characters") as caught:
            parse_weight(token, 1)
        assert len(str(caught.value)) < 150
    # Ten million digits take hours by the schoolbook method.
    assert time.process_time() - start < 1.0


def test_a_lower_limit_of_the_interpreter_is_respected() -> None:
    old = sys.get_int_max_str_digits()
    huge = 10**1000
    try:
        sys.set_int_max_str_digits(640)
        with pytest.raises(GraphFormatError, match="more digits than the interpreter allows"):
            parse_weight(b"9" * 1000, 1)
        with pytest.raises(InputError, match="more digits than the interpreter converts"):
            weight_literals(pack_integers([huge]))
        sys.set_int_max_str_digits(0)
        with pytest.raises(InputError, match="more than 4300 characters"):
            weight_literals(pack_integers([huge**5]))
    finally:
        sys.set_int_max_str_digits(old)


def column(*tokens: bytes, kind: str = "auto") -> WeightColumn:
    result = WeightColumn(kind)
    for line, token in enumerate(tokens, 1):
        result.append(token, line)
    return result


def test_columns_take_the_narrowest_exact_type() -> None:
    assert column(b"1", b"-9223372036854775808").pack().dtype == np.int64
    big = column(b"1", b"9223372036854775808").pack()
    assert big.dtype == np.object_
    assert big.tolist() == [1, 2**63]
    assert column(b"1", b"2.0", b"1").pack().tolist() == [1.0, 2.0, 1.0]
    assert column(b"1", kind="real").pack().dtype == np.float64
    assert column().pack().dtype == np.int64
    # 2**53 + 1 lies halfway between two floats; ties go to the even one.
    assert column(b"9007199254740993", b"0.5").pack()[0] == 2.0**53


def test_columns_refuse_what_they_cannot_hold() -> None:
    with pytest.raises(GraphFormatError, match="line 2: an integer weight is wanted"):
        column(b"1", b"1.0", kind="integer")
    limit = 2**1024 - 2**970  # the smallest integer that rounds to infinity
    assert column(str(limit - 1).encode(), b".5").pack()[0] == sys.float_info.max
    with pytest.raises(GraphFormatError, match="line 2: this integer exceeds the range"):
        column(b"1", str(limit).encode(), b".5").pack()
    assert column(b"1", str(limit).encode()).pack().tolist() == [1, limit]


def test_show_is_short() -> None:
    assert show(b"abc") == "'abc'"
    assert len(show(b"\xff" * 1000)) < 400
    assert show(b"a" * 41).endswith("...")
