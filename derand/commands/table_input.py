"""The table of numbers that a subcommand works on: a CSV file, with complaints that name line, column and remedy."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import InputError

__all__ = ["Table", "read_table"]

_DELIMITERS = ",;\t|"
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", "."})


class Table(NamedTuple):
    """Columns of numbers, with a target where one was asked for.

    Parameters
    ----------
    names : tuple of str
        Names of the columns of `values`; "1", "2", ... without a line of names.
    values : ndarray of shape (n, d)
        Finite numbers.
    target : ndarray of shape (n,) or None
        Numbers, or texts where not all are numbers.
    """

    names: tuple[str, ...]
    values: FloatArray
    target: Any = None


def read_table(path: str, target: str | None = None) -> Table:
    r"""Return the numbers of a CSV file.

    Parameters
    ----------
    path : str
        Fields between commas, semicolons, tabs or bars, quoted or not; the first line may hold names.
    target : str, optional
        Name or number (from 1) of a column to set apart; it may hold texts.

    Returns
    -------
    Table
        Names, numbers and target.

    Raises
    ------
    InputError
        If the file isn't such a table, a value is missing, infinite or text, or there is no column of that name.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "data.csv")
    ...     _ = file.write_text("height,kind\n1.5,cat\n2.5,dog\n")
    ...     read_table(str(file), target="kind")
    Table(names=('height',), values=array([[1.5],
           [2.5]]), target=array(['cat', 'dog'], dtype='<U3'))
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            first = stream.readline()
        if "\0" in first:
            raise InputError("the file is no table of text")
        if not first.strip() and not Path(path).read_bytes().strip():
            raise InputError("the file is empty")
        delimiter = max(_DELIMITERS, key=first.count)
        header = next(csv.reader([first], delimiter=delimiter), [])
        has_names = any(not _is_number(field) and field.strip().lower() not in _MISSING for field in header)
        names = tuple(field.strip() for field in header) if has_names else _numbers(len(header))
        column = None if target is None else _column(target, names)
        values = _quick(path, delimiter, has_names)
        if values is None or values.shape[1] != len(names) or (column is not None and len(names) == 1):
            return _slow(path, delimiter, has_names, names, column)
        if column is None:
            return Table(names, values)
        kept = [j for j in range(len(names)) if j != column]
        return Table(tuple(names[j] for j in kept), values[:, kept], values[:, column])
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: the file is no table of text in UTF-8 ({error.reason}): save it as one") from error
    except csv.Error as error:
        raise InputError(f"{path}: the file is no table of text: {error}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _is_number(field: str) -> bool:
    """Return whether a field is a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _numbers(count: int) -> tuple[str, ...]:
    """Return the names of columns without names."""
    return tuple(str(k) for k in range(1, count + 1))


def _column(target: str, names: Sequence[str]) -> int:
    """Return the position of a column given by name, or by number."""
    if names.count(target) > 1:
        raise InputError(f"{names.count(target)} columns are called {target!r}: give the number of one, from 1")
    if target in names:
        return names.index(target)
    if target.isdecimal() and 1 <= int(target) <= len(names):
        return int(target) - 1
    shown = ", ".join(repr(name[:40]) for name in names[:10]) + (", ..." if len(names) > 10 else "")
    raise InputError(f"there is no column {target!r}; the columns are {shown}")


def _quick(path: str, delimiter: str, has_names: bool) -> FloatArray | None:
    """Return the numbers as NumPy reads them, or None where anything is unusual."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of a file without data
            values = np.loadtxt(
                path,
                delimiter=delimiter,
                skiprows=int(has_names),
                ndmin=2,
                quotechar='"',
                comments=None,
                encoding="utf-8-sig",
            )
    except ValueError:
        return None
    return values if values.size and np.isfinite(values).all() else None


def _rows(path: str, delimiter: str, has_names: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that aren't blank with the numbers of their lines."""
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=delimiter)
        for number, row in enumerate(reader):
            if row and (number or not has_names):
                yield reader.line_num, row


def _slow(path: str, delimiter: str, has_names: bool, names: tuple[str, ...], column: int | None) -> Table:
    """Return the table read field by field, or say what is wrong with it."""
    lines, rows = [], []
    for line, row in _rows(path, delimiter, has_names):
        if len(row) != len(names):
            raise InputError(f"line {line} has {len(row)} fields, the first line has {len(names)}")
        lines.append(line)
        rows.append([field.strip() for field in row])
    if not rows:
        raise InputError("the table holds no rows")
    columns = list(zip(*rows, strict=True))
    kept = [j for j in range(len(names)) if j != column]
    if not kept:
        raise InputError("the table holds no columns besides the target")
    values = np.column_stack([_floats(columns[j], names[j], lines) for j in kept])
    target = None if column is None else _target(columns[column], names[column], lines)
    return Table(tuple(names[j] for j in kept), values, target)


def _floats(fields: Sequence[str], name: str, lines: Sequence[int]) -> FloatArray:
    """Return the numbers of a column, or name the first field that is none."""
    absent = [line for field, line in zip(fields, lines, strict=True) if field.lower() in _MISSING]
    texts = [(field, line) for field, line in zip(fields, lines, strict=True) if not _is_number(field)]
    texts = [(field, line) for field, line in texts if field.lower() not in _MISSING]
    if texts:
        field, line = texts[0]
        advice = "leave the column out, or encode it as numbers"
        if _is_number(field.replace(",", ".")):
            advice = "write decimals with a point"
        raise InputError(f"column {name!r} holds text, {field[:40]!r} in line {line}: {advice}")
    if absent:
        count = f"{len(absent)} values are missing" if len(absent) > 1 else "a value is missing"
        advice = "fill it in (for instance by scikit-learn's SimpleImputer), or leave out such lines"
        raise InputError(f"{count} in column {name!r}, the first in line {absent[0]}: {advice}")
    values = np.array([float(field) for field in fields])
    if not np.isfinite(values).all():
        line = lines[int(np.flatnonzero(~np.isfinite(values))[0])]
        raise InputError(f"column {name!r} must be finite, see line {line}")
    return values


def _target(fields: Sequence[str], name: str, lines: Sequence[int]) -> Any:
    """Return numbers where all fields are, and texts otherwise; nothing may be missing."""
    for field, line in zip(fields, lines, strict=True):
        if field.lower() in _MISSING - {"-", "."}:
            raise InputError(f"the target {name!r} has no value in line {line}: leave out such lines")
    return _floats(fields, name, lines) if all(map(_is_number, fields)) else np.array(fields)
