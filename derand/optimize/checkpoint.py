"""State of a run between two iterations, on disk as npz without pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from derand._utils.html import ResultRepr
from derand.exceptions import InputError

__all__ = ["Checkpoint"]

_FORMAT = "derand sosp checkpoint 1"
_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


@dataclass(frozen=True, repr=False)
class Checkpoint(ResultRepr):
    """Everything that decides how a run goes on: arrays by name, and the rest as plain JSON values.

    Parameters
    ----------
    meta : mapping
        JSON values; arrays appear in it by name.
    arrays : mapping of str to ndarray
        The arrays.
    """

    meta: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the checkpoint to an npz file.

        Parameters
        ----------
        path : path
            File to write; an old file of that name is replaced only once the new one is complete.
        """
        target = Path(path)
        partial = target.with_name(target.name + ".partial")
        with partial.open("wb") as stream:
            content: dict[str, Any] = {**self.arrays, "meta": np.array(json.dumps(self.meta))}
            np.savez(stream, **content)
        partial.replace(target)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Checkpoint:
        """Return the checkpoint in an npz file.

        Parameters
        ----------
        path : path
            File that `save` wrote.

        Returns
        -------
        Checkpoint
            Its content.

        Raises
        ------
        InputError
            If the file isn't a checkpoint of this format.
        """
        with Path(path).open("rb") as stream:
            try:
                with np.load(stream, allow_pickle=False) as archive:
                    arrays = {name: archive[name] for name in archive.files}
                meta = json.loads(str(arrays.pop("meta")))
            except (OSError, ValueError, KeyError, EOFError, AttributeError, BadZipFile) as error:
                raise InputError(f"{path} is no checkpoint: {error}") from error
        if not isinstance(meta, dict) or meta.get("format") != _FORMAT:
            raise InputError(f"{path} is no checkpoint of the format {_FORMAT!r}")
        return cls(meta, arrays)

    @classmethod
    def pack(cls, values: Mapping[str, Any]) -> Checkpoint:
        """Return a checkpoint of named values: numbers, strings, arrays, tuples and dataclasses of these.

        Parameters
        ----------
        values : mapping of str to object
            What to keep.

        Returns
        -------
        Checkpoint
            The arrays are shared, not copied.
        """
        arrays: dict[str, np.ndarray] = {}
        meta = {name: _encode(value, arrays) for name, value in values.items()}
        return cls({"format": _FORMAT, **meta}, arrays)

    def unpack(self, name: str, types: Mapping[str, type], kind: type | tuple[type, ...] = object) -> Any:
        """Return the value of that name.

        Parameters
        ----------
        name : str
            Its name in `pack`.
        types : mapping of str to type
            Dataclasses that may occur, by class name.
        kind : type or tuple of types, default object
            What the value has to be.

        Returns
        -------
        object
            Equal to what was packed.

        Raises
        ------
        InputError
            If the value is missing or has a type that isn't listed.
        """
        try:
            value = _decode(self.meta[name], self.arrays, types)
        except (KeyError, TypeError) as error:
            raise InputError(f"the checkpoint holds no usable {name!r}: {error}") from error
        if not isinstance(value, kind):
            raise InputError(f"the checkpoint holds no usable {name!r}: got {type(value).__name__}")
        return value


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return the state of a generator as JSON values."""
    state: dict[str, Any] = _plain(rng.bit_generator.state)
    return state


def generator_from_state(state: Mapping[str, Any]) -> np.random.Generator:
    """Return a generator in the given state.

    Parameters
    ----------
    state : mapping
        What `generator_state` returned.

    Returns
    -------
    Generator
        It draws what the first one would have drawn.

    Raises
    ------
    InputError
        If the state is none of a NumPy bit generator.
    """
    name = state.get("bit_generator")
    if name not in _BIT_GENERATORS:
        raise InputError(f"unknown bit generator {name!r} in the checkpoint")
    bit_generator = getattr(np.random, str(name))()
    bit_generator.state = dict(state)
    return np.random.Generator(bit_generator)


def _plain(value: Any) -> Any:
    """Return nested dictionaries with arrays turned into lists."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if is_dataclass(value) and not isinstance(value, type):
        content = {field.name: _encode(getattr(value, field.name), arrays) for field in fields(value)}
        return {"class": type(value).__name__, "fields": content}
    if isinstance(value, tuple):
        return {"tuple": [_encode(part, arrays) for part in value]}
    if isinstance(value, dict):
        return {"dict": value}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a checkpoint can't hold {type(value).__name__}")


def _decode(value: Any, arrays: Mapping[str, np.ndarray], types: Mapping[str, type]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "tuple" in value:
        return tuple(_decode(part, arrays, types) for part in value["tuple"])
    if "class" in value:
        content = {name: _decode(part, arrays, types) for name, part in value["fields"].items()}
        return types[value["class"]](**content)
    return value["dict"]
