"""A vectorised reader for tables of numbers that accepts only what is beyond doubt.

``numpy.fromstring`` converts a whole block at the speed of C but stops silently at the first oddity and knows nothing
of lines.  So the block is first proved to be regular: allowed characters only, the same number of tokens on every
line, signs, points and exponents where a number can have them, lengths that can't overflow.  Anything else is left to
the exact reader.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from derand.io.numerals import MAX_CHARACTERS, IntArray, WeightArray

_INTEGER_CHARACTERS = b"0123456789 \t\n-"
# Longest token that can't overflow int64, and longest integer that float64 holds exactly.
_MAX_INT64_CHARACTERS = 18
_MAX_EXACT_CHARACTERS = 15
_NEWLINE, _PLUS, _MINUS, _POINT, _ZERO, _UPPER_E, _LOWER_E = b"\n+-.0Ee"


def parse_table(
    data: bytes, width: int, *, prefix: bytes = b"", is_real: bool = False
) -> tuple[IntArray, IntArray, WeightArray] | None:
    """Return the columns of a regular table of numbers, or None where the exact reader has to decide.

    Parameters
    ----------
    data : bytes
        Lines of ``width`` numbers each, without blank lines except at the end.
    width : {2, 3}
        Two vertices counted from 1, and a weight (1 when there is none).
    prefix : bytes
        One letter that begins each line, or nothing.
    is_real : bool
        Return float64 weights even when all are integers.

    Returns
    -------
    heads, tails : ndarray of int64, shape (m,)
        The first two columns minus one; not checked against any range.
    weights : ndarray of int64 or float64, shape (m,)
        The third column.

    Notes
    -----
    O(size) time, at most about 30 bytes of memory for each byte of input.
    """
    data = data.rstrip(b" \t\n")
    if prefix:
        data = _without_prefix(data, prefix)
    extra = data.translate(None, _INTEGER_CHARACTERS)
    is_decimal = bool(extra.translate(None, b"+"))
    if not data or extra.translate(None, b".eE+") or (extra and not is_decimal):
        return None
    is_float = (is_decimal or is_real) and width > 2
    buffer = np.frombuffer(b"\n" + data + b"\n", dtype=np.uint8)
    starts, ends = token_bounds(buffer)
    if not _is_rectangular(buffer, starts, width) or not _are_lengths_safe(ends - starts, width, is_float):
        return None
    if not are_signs_right(buffer) or (extra and not _is_decimal_syntax(buffer, starts, width)):
        return None
    del buffer, ends
    values = np.fromstring(data, dtype=np.float64 if is_float else np.int64, sep=" ")
    if values.size != starts.size:
        return None
    table = values.reshape(-1, width)
    heads, tails = (table[:, k].astype(np.int64) - 1 for k in (0, 1))
    if width == 2:
        return heads, tails, np.ones(heads.size, dtype=np.float64 if is_real else np.int64)
    weights = table[:, 2].copy()
    # A negative zero may be the integer "-0", which the exact reader takes for 0.
    if is_float and not (np.isfinite(weights).all() and not np.any((weights == 0.0) & np.signbit(weights))):
        return None
    return heads, tails, weights


def token_bounds(buffer: NDArray[np.uint8]) -> tuple[IntArray, IntArray]:
    """Return first and one-past-last positions of runs above the blank; the buffer begins and ends with one."""
    is_inside = buffer > 32
    changes = np.flatnonzero(is_inside[1:] != is_inside[:-1])
    changes += 1
    return changes[::2], changes[1::2]


def are_signs_right(buffer: NDArray[np.uint8]) -> bool:
    """Return whether each sign begins a token or follows an exponent letter, and a digit or a point follows it."""
    places = np.flatnonzero((buffer == _MINUS) | (buffer == _PLUS))
    before, after = buffer[places - 1], buffer[places + 1]
    return bool(np.all((before <= 32) | _is_exponent(before)) and np.all(_is_digit(after) | (after == _POINT)))


def _without_prefix(data: bytes, prefix: bytes) -> bytes:
    """Return the lines without their first letter; anything else than that letter and a blank spoils the result."""
    buffer = np.frombuffer(data, dtype=np.uint8).copy()
    starts = np.append(0, np.flatnonzero(buffer[:-1] == _NEWLINE) + 1)
    if starts[-1] + 1 >= buffer.size or np.any(buffer[starts] != prefix[0]) or np.any(buffer[starts + 1] > 32):
        return b""
    buffer[starts] = 32
    return buffer.tobytes()


def _is_rectangular(buffer: NDArray[np.uint8], starts: IntArray, width: int) -> bool:
    """Return whether every line holds exactly ``width`` tokens."""
    rows, rest = divmod(starts.size, width)
    newlines = np.flatnonzero(buffer == _NEWLINE)[1:-1]
    if rest or newlines.size != rows - 1:
        return False
    # One newline between the last token of a row and the first of the next, for all rows: then none is inside a row.
    return bool(np.all(newlines > starts[width - 1 : -1 : width]) and np.all(newlines < starts[width::width]))


def _are_lengths_safe(lengths: IntArray, width: int, is_float: bool) -> bool:
    """Return whether no token is so long that its conversion could overflow or lose digits."""
    if not is_float:
        return bool(lengths.max() <= _MAX_INT64_CHARACTERS)
    table = lengths.reshape(-1, width)
    return bool(table[:, :2].max() <= _MAX_EXACT_CHARACTERS and table[:, 2].max() <= MAX_CHARACTERS)


def _is_decimal_syntax(buffer: NDArray[np.uint8], starts: IntArray, width: int) -> bool:
    """Return whether points and exponents stand where a literal allows them, and only in the last of three columns."""
    points, exponents = np.flatnonzero(buffer == _POINT), np.flatnonzero(_is_exponent(buffer))
    pluses = np.flatnonzero(buffer == _PLUS)
    in_points, in_exponents, in_pluses = (
        np.searchsorted(starts, places, side="right") - 1 for places in (points, exponents, pluses)
    )
    if any(np.any(tokens % width != 2) for tokens in (in_points, in_exponents, in_pluses)):
        return False
    if np.any(in_points[1:] == in_points[:-1]) or np.any(in_exponents[1:] == in_exponents[:-1]):
        return False
    before, after = buffer[points - 1], buffer[points + 1]
    is_led = (before <= 32) | (before == _MINUS) | (before == _PLUS)
    if not np.all(_is_digit(before) | (is_led & _is_digit(after))):
        return False
    before, after = buffer[exponents - 1], buffer[exponents + 1]
    if not np.all(_is_digit(before) | (before == _POINT)) or not np.all(
        _is_digit(after) | (after == _PLUS) | (after == _MINUS)
    ):
        return False
    _, first, second = np.intersect1d(in_points, in_exponents, assume_unique=True, return_indices=True)
    return bool(np.all(points[first] < exponents[second]))


def _is_digit(characters: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return where a character is one of 0..9."""
    return (characters >= _ZERO) & (characters < _ZERO + 10)


def _is_exponent(characters: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return where a character is e or E."""
    is_exponent: NDArray[np.bool_] = (characters == _LOWER_E) | (characters == _UPPER_E)
    return is_exponent
