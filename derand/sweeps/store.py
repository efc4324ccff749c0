"""A file that a sweep fills line by line, and that a later run takes up where the last one ended."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from derand.exceptions import InputError
from derand.sweeps.plain import decode, encode

__all__ = ["SweepStore", "read_sweep", "setting_key"]

_FORMAT = "derand sweep 1"


def setting_key(setting: Any) -> str:
    """Return the text that identifies a setting: JSON with sorted keys."""
    return json.dumps(encode(setting), sort_keys=True, allow_nan=False)


class SweepStore:
    """Results by setting in a file of JSON lines.

    Parameters
    ----------
    path : str or path
        The file; made with its first line when it doesn't exist.
    name : str
        Name of the function whose results it holds.
    """

    def __init__(self, path: str | os.PathLike[str], name: str) -> None:
        self.path = Path(path)
        self.results: dict[str, Any] = {}
        if self.path.exists() and self.path.stat().st_size:
            good = 0
            for record, end in _records(self.path):
                good = end
                if "format" in record:
                    self._check(record, name)
                else:
                    self.results[setting_key(decode(record["setting"]))] = record["result"]
            # A run that was killed while it wrote may have left half a line.
            with self.path.open("r+b") as file:
                file.truncate(good)
        else:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._append({"format": _FORMAT, "function": name})

    def add(self, setting: Any, result: Any) -> None:
        """Write an encoded result, so that it survives whatever happens next."""
        self.results[setting_key(setting)] = result
        self._append({"setting": encode(setting), "result": result})

    def _append(self, record: dict[str, Any]) -> None:
        """Write one line and bring it to the disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _check(self, header: dict[str, Any], name: str) -> None:
        """Refuse the file of another function."""
        if header["function"] != name:
            raise InputError(f"store {self.path} holds results of {header['function']}, not of {name}")


def _records(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the records of a file with the position after each; an incomplete last line ends it."""
    end = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                if number == 1:
                    raise InputError(f"store {path} is no file of a sweep")
                return
            try:
                record = json.loads(line)
                is_good = record.get("format") == _FORMAT if number == 1 else {"setting", "result"} <= set(record)
            except (ValueError, AttributeError, TypeError):
                is_good = False
            if not is_good:
                raise InputError(f"store {path} is no file of a sweep, see line {number}")
            end += len(line)
            yield record, end


def read_sweep(path: str | os.PathLike[str]) -> list[tuple[dict[str, Any], Any]]:
    """Return the settings and results that a sweep has stored so far.

    Parameters
    ----------
    path : str or path
        The file given to `derand.sweeps.sweep` as ``store``; a sweep that still runs may be read.

    Returns
    -------
    list of (setting, result)
        In the order in which they were finished.

    Raises
    ------
    InputError
        If the file isn't one of a sweep.

    Examples
    --------
    >>> import tempfile
    >>> from derand.sweeps import sweep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = sweep(divmod, [(7, 3), (9, 2)], store=f"{folder}/out.jsonl")
    ...     read_sweep(f"{folder}/out.jsonl")
    [([7, 3], [2, 1]), ([9, 2], [4, 1])]
    """
    pairs = (record for record, _ in _records(Path(path)) if "format" not in record)
    return [(decode(record["setting"]), decode(record["result"])) for record in pairs]
