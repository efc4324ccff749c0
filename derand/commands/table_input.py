"""The table of numbers that a subcommand works on: a CSV file, with complaints that name line, column and remedy."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import InputError
from derand.io.source import GZIP_MAGIC, gunzip

__all__ = ["Table", "read_table", "suspected_index"]

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
        Fields between commas, semicolons, tabs or bars, quoted or not, or numbers between blanks; the first line may
        hold names.  Lines before it that begin with ``#`` are comments, unless the last of them names as many columns
        as there are.  The file may be gzipped.
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
        source = _Source(path)
        has_names = any(not _is_number(field) and field.strip().lower() not in _MISSING for field in source.header)
        names = tuple(field.strip() for field in source.header) if has_names else _numbers(len(source.header))
        column = None if target is None else _column(target, names, has_names)
        values = _quick(source, has_names)
        if values is None or values.shape[1] != len(names) or (column is not None and len(names) == 1):
            return _slow(source, has_names, names, column)
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


class _Source:
    """A table of text: how its fields are separated, what its first line holds, and where the lines begin."""

    def __init__(self, path: str) -> None:
        """Look at the first lines."""
        self.path = path
        self.skipped = 0
        with self.open() as stream:
            first = stream.readline()
            comments = []
            while first.startswith("#"):
                comments.append(first)
                first = stream.readline()
        if "\0" in first:
            raise InputError("the file is no table of text")
        if not first.strip() and not (comments or Path(path).read_bytes().strip()):
            raise InputError("the file is empty")
        self.delimiter = max(_DELIMITERS, key=first.count)
        if self.delimiter not in first and all(map(_is_number, first.split())):
            self.delimiter = " "
        self.header = self._fields(first)
        self.skipped = len(comments)
        titles = self._fields(comments[-1].lstrip("# ")) if comments else []
        if len(titles) == len(self.header) and all(map(_is_number, self.header)):
            self.header = titles
            self.skipped -= 1

    def open(self) -> TextIO:
        """Return the stream of the text behind the comments."""
        with Path(self.path).open("rb") as file:
            is_packed = file.read(2) == GZIP_MAGIC
        if is_packed:
            data = io.BytesIO(gunzip(Path(self.path).read_bytes()))
            stream: TextIO = io.TextIOWrapper(data, encoding="utf-8-sig", newline="")
        else:
            stream = open(self.path, encoding="utf-8-sig", newline="")  # noqa: SIM115
        for _ in range(self.skipped):
            stream.readline()
        return stream

    def _fields(self, line: str) -> list[str]:
        """Return the fields of one line."""
        return next(csv.reader([line], delimiter=self.delimiter, skipinitialspace=True), [])

    def rows(self, has_names: bool) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows that aren't blank with the numbers of their lines."""
        with self.open() as stream:
            reader = csv.reader(stream, delimiter=self.delimiter, skipinitialspace=True)
            for number, row in enumerate(reader):
                if row and (number or not has_names):
                    yield self.skipped + reader.line_num, row


def suspected_index(table: Table) -> str:
    """Return what to say about a first column that only counts the lines, or nothing.

    Parameters
    ----------
    table : Table
        Of a file with a line of names.

    Returns
    -------
    str
        Empty unless the first column has no name and holds 0, 1, 2, ... or 1, 2, 3, ...

    Examples
    --------
    >>> suspected_index(Table(("", "height"), np.array([[0.0, 1.5], [1.0, 2.5]])))
    'note: the first column has no name and counts the lines; it is taken for data (pandas: index=False)'
    """
    if not table.names or table.names[0]:
        return ""
    count = np.arange(table.values.shape[0])
    is_count = table.values.shape[0] > 1 and np.array_equal(table.values[:, 0] - table.values[0, 0], count)
    if not is_count or table.values[0, 0] not in {0.0, 1.0}:
        return ""
    return "note: the first column has no name and counts the lines; it is taken for data (pandas: index=False)"


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


def _column(target: str, names: Sequence[str], has_names: bool = True) -> int:
    """Return the position of a column given by name, or by number."""
    if names.count(target) > 1:
        raise InputError(f"{names.count(target)} columns are called {target!r}: give the number of one, from 1")
    if target in names:
        return names.index(target)
    if target.isdecimal() and 1 <= int(target) <= len(names):
        return int(target) - 1
    if not has_names:
        raise InputError(
            f"there is no column {target!r}: the first line has no names, give a number from 1 to {len(names)}"
        )
    shown = ", ".join(repr(name[:40]) for name in names[:10]) + (", ..." if len(names) > 10 else "")
    raise InputError(f"there is no column {target!r}; the columns are {shown}")


def _quick(source: _Source, has_names: bool) -> FloatArray | None:
    """Return the numbers as NumPy reads them, or None where anything is unusual."""
    try:
        with warnings.catch_warnings(action="ignore"), source.open() as stream:  # warns of a file without data
            separator = None if source.delimiter == " " else source.delimiter
            values = np.loadtxt(
                stream, delimiter=separator, skiprows=int(has_names), ndmin=2, quotechar='"', comments=None
            )
    except ValueError:
        return None
    return values if values.size and np.isfinite(values).all() else None


def _slow(source: _Source, has_names: bool, names: tuple[str, ...], column: int | None) -> Table:
    """Return the table read field by field, or say what is wrong with it."""
    lines, rows = [], []
    for line, row in source.rows(has_names):
        if len(row) != len(names):
            fields = "field" if len(row) == 1 else "fields"
            raise InputError(f"line {line} has {len(row)} {fields}, the first line has {len(names)}")
        lines.append(line)
        rows.append([field.strip() for field in row])
    if not rows:
        raise InputError("the table holds no rows")
    columns = list(zip(*rows, strict=True))
    kept = [j for j in range(len(names)) if j != column]
    if not kept:
        raise InputError("the table holds no columns besides the target")
    values = np.column_stack([_floats(columns[j], names[j] or f"number {j + 1}", lines) for j in kept])
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
        elif _is_number(field.replace(",", "")):
            advice = "write thousands without commas"
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
