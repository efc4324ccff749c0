"""Numbers in graph files: strict ASCII syntax, exact integers, correctly rounded decimals.

An integer literal stays an exact integer of any size up to 4,300 characters (the default limit of Python itself,
beyond which conversion takes quadratic time).  A decimal literal becomes the nearest float64; its text isn't kept.
Since ``repr`` gives the shortest literal that is read back as the same float64, what is written is read back bit for
bit.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derand.exceptions import GraphFormatError, InputError

IntArray = NDArray[np.int64]
WeightArray = NDArray[Any]

MAX_CHARACTERS = 4300
_COUNT_CHARACTERS = 18
_INT64_MAX = (1 << 63) - 1
# The smallest integer that rounds to infinity: halfway between the largest float64 and 2**1024.
_FLOAT_OVERFLOW = (1 << 1024) - (1 << 970)
# Most files repeat few weights: looking those up is faster than parsing them again.
_MAX_SEEN = 1024
_MAX_SEEN_CHARACTERS = 32
_COUNT = re.compile(rb"[0-9]++")
_INTEGER = re.compile(rb"[+-]?+[0-9]++")
_DECIMAL = re.compile(rb"[+-]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+")
_NOT_FINITE = re.compile(rb"[+-]?+(?:nan|inf|infinity)", re.IGNORECASE)


def show(token: bytes) -> str:
    """Return a short printable form of a piece of input, for error messages."""
    head = token[:40].decode("utf-8", "backslashreplace")
    return repr(head) + ("..." if len(token) > 40 else "")


def parse_count(token: bytes, what: str, line: int) -> int:
    """Return a non-negative integer below 10**18.

    Parameters
    ----------
    token : bytes
        Decimal digits, nothing else.
    what : str
        The number's name in an error message.
    line : int
        Line number for an error message.

    Returns
    -------
    int
        The number.

    Raises
    ------
    GraphFormatError
        If the token holds anything but ASCII digits, or more than 18 significant ones.
    """
    if not _COUNT.fullmatch(token):
        raise GraphFormatError(f"{what} must be a non-negative integer, got {show(token)}", line=line)
    digits = token.lstrip(b"0") if len(token) > _COUNT_CHARACTERS else token
    if len(digits) > _COUNT_CHARACTERS:
        raise GraphFormatError(f"{what} is absurdly large: {show(token)}", line=line)
    return int(digits or b"0")


def parse_weight(token: bytes, line: int) -> int | float:
    """Return an exact int for an integer literal and the nearest float64 for a decimal one.

    Parameters
    ----------
    token : bytes
        The literal.
    line : int
        Line number for an error message.

    Returns
    -------
    int or float
        The weight, always finite.

    Raises
    ------
    GraphFormatError
        If the token is no number, isn't finite, overflows float64 or has more than 4,300 characters.
    """
    if len(token) > MAX_CHARACTERS:
        raise GraphFormatError(f"a weight of more than {MAX_CHARACTERS} characters: {show(token)}", line=line)
    if _INTEGER.fullmatch(token):
        try:
            return int(token)
        except ValueError as error:  # the interpreter may run with a lower limit than its default
            raise GraphFormatError(
                f"weight {show(token)} has more digits than the interpreter allows", line=line
            ) from error
    if _DECIMAL.fullmatch(token):
        value = float(token)
        if math.isfinite(value):
            return value
        raise GraphFormatError(f"weight {show(token)} exceeds the range of float64", line=line)
    if _NOT_FINITE.fullmatch(token):
        raise GraphFormatError(f"weights must be finite, got {show(token)}", line=line)
    raise GraphFormatError(f"a weight must be a number, got {show(token)}", line=line)


class WeightColumn:
    """Weights in reading order, packed into the narrowest exact array at the end.

    Parameters
    ----------
    kind : {"auto", "integer", "real"}
        "integer" refuses decimals; "real" gives float64 even when every literal is an integer.
    """

    def __init__(self, kind: str = "auto") -> None:
        self._kind = kind
        self._values: list[int | float] = []
        self._is_real = kind == "real"
        self._overflow_line: int | None = None
        self._seen: dict[bytes, int | float] = {}

    def append(self, token: bytes, line: int) -> None:
        """Add one literal.

        Raises
        ------
        GraphFormatError
            If it is no finite number, or a decimal in a column of integers.
        """
        value = self._seen.get(token)
        if value is None:
            value = self._parse(token, line)
            if len(token) <= _MAX_SEEN_CHARACTERS and len(self._seen) < _MAX_SEEN:
                self._seen[token] = value
        self._values.append(value)

    def _parse(self, token: bytes, line: int) -> int | float:
        """Return the value of a literal and note what it means for the column."""
        value = parse_weight(token, line)
        if isinstance(value, float):
            if self._kind == "integer":
                raise GraphFormatError(f"an integer weight is wanted here, got {show(token)}", line=line)
            self._is_real = True
        elif self._overflow_line is None and abs(value) >= _FLOAT_OVERFLOW:
            self._overflow_line = line
        return value

    def pack(self) -> WeightArray:
        """Return the weights as an int64, float64 or (integers beyond int64) object array.

        Returns
        -------
        ndarray, shape (m,)
            A new array.

        Raises
        ------
        GraphFormatError
            If decimals occur together with an integer beyond the range of float64.
        """
        if not self._is_real:
            return pack_integers(self._values)  # type: ignore[arg-type]
        if self._overflow_line is not None:
            message = "this integer exceeds the range of float64 and the file's weights are decimals"
            raise GraphFormatError(message, line=self._overflow_line)
        return np.array(self._values, dtype=np.float64)


def pack_integers(values: list[int]) -> WeightArray:
    """Return integers as int64 when all fit, else as an object array of Python ints."""
    if all(-_INT64_MAX - 1 <= value <= _INT64_MAX for value in values):
        return np.array(values, dtype=np.int64)
    array = np.empty(len(values), dtype=np.object_)
    array[:] = values
    return array


def weight_literals(weights: WeightArray) -> list[str]:
    """Return a literal for each weight that is read back as the same number and the same type.

    Parameters
    ----------
    weights : ndarray, shape (m,)
        An int64, float64 or object array (of Python ints).

    Returns
    -------
    list of str
        Integers in decimal, floats by ``repr``.

    Raises
    ------
    InputError
        If an integer has more than 4,300 characters.
    """
    if weights.dtype == np.float64:
        return list(map(repr, weights.tolist()))
    try:
        literals = list(map(str, weights.tolist()))
    except ValueError as error:
        raise InputError(f"an integer weight has more digits than the interpreter converts: {error}") from error
    if weights.dtype == np.object_ and any(len(literal) > MAX_CHARACTERS for literal in literals):
        raise InputError(f"an integer weight has more than {MAX_CHARACTERS} characters")
    return literals
