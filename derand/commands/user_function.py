"""Functions of the user's own, in a Python file or module: what ``derand sosp`` minimises, and links."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray
from derand.commands.table_input import read_table
from derand.exceptions import DerandError, InputError

__all__ = ["load_function", "read_start"]


def load_function(reference: str, option: str) -> Callable[..., Any]:
    """Return a function of the user's own.

    Importing a module runs it, as ``python FILE.py`` would: it is for the user's own code.  What the function prints
    goes to stderr, so that stdout is JSON.

    Parameters
    ----------
    reference : str
        ``FILE.py:NAME`` or ``MODULE:NAME``; modules are looked for in the present folder, too.
    option : str
        What the user gave it as, for messages.

    Returns
    -------
    callable
        The function, whose exceptions are `InputError` with the name and the line of the file.

    Raises
    ------
    InputError
        If the reference has another form, the module can't be imported, or holds no such function.

    Examples
    --------
    >>> load_function("math:hypot", "FUNCTION")(3.0, 4.0)
    5.0
    """
    source, colon, name = reference.rpartition(":")
    if not (colon and source and name.isidentifier()):
        raise InputError(f"{option} must be FILE.py:NAME or MODULE:NAME, got {reference}")
    module = _guarded(reference, _import, source)
    function = getattr(module, name, None)
    if not callable(function):
        raise InputError(f"{option} must name a function: {source} holds none called {name}")

    # Its own signature shows through: some callers look at the number of parameters.
    @functools.wraps(function)
    def guarded(*arguments: Any) -> Any:
        """Return what the function does."""
        return _guarded(reference, function, *arguments)

    return guarded


def _import(source: str) -> ModuleType:
    """Return the module of a file or of a dotted name."""
    if not source.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        try:
            return importlib.import_module(source)
        finally:
            sys.path.remove(os.getcwd())
    path = Path(source)
    if not path.is_file():
        raise InputError(f"there is no file {source}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.absolute()))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent.absolute()))
    return module


def _guarded(reference: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what the user's code returns; its prints go to stderr, and its exceptions name file and line."""
    try:
        # Overflow shows in the result, which is checked: NumPy's warnings would only be further lines.
        with redirect_stdout(sys.stderr), np.errstate(all="ignore"):
            return function(*arguments)
    except DerandError:
        raise
    except Exception as error:
        if os.environ.get("DERAND_DEBUG"):
            raise
        libraries = (sys.prefix, sys.base_prefix, "<", __file__)
        frames = traceback.extract_tb(error.__traceback__)[1:]
        own = [frame for frame in frames if not frame.filename.startswith(libraries)]
        where = f" in line {own[-1].lineno} of {Path(own[-1].filename).name}" if own else ""
        kind = type(error).__name__
        raise InputError(f"{reference}: {kind}: {error}{where} (the traceback: set DERAND_DEBUG=1)") from error


def read_start(text: str) -> FloatArray:
    """Return the start of a search.

    Parameters
    ----------
    text : str
        Numbers with commas between them, or the name of a .npy or .csv file that holds one row or one column of them.

    Returns
    -------
    ndarray of shape (n,)
        Finite numbers.

    Raises
    ------
    InputError
        If it is neither.

    Examples
    --------
    >>> read_start("0,1.5,-1e3").tolist()
    [0.0, 1.5, -1000.0]
    """
    suffix = Path(text).suffix.lower()
    if suffix == ".csv":
        values: Any = read_table(text).values
    elif suffix == ".npy":
        try:
            values = np.load(text, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise InputError(f"{text}: {error}") from error
    else:
        try:
            values = np.array([float(part) for part in text.split(",")])
        except ValueError:
            raise InputError(f"--x0 must be numbers such as 0,1.5 or a .npy or .csv file, got {text[:40]}") from None
    is_vector = values.ndim == 1 or (values.ndim == 2 and 1 in values.shape)
    if not is_vector or values.size == 0 or values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        raise InputError(f"--x0 must be one row or one column of finite numbers, got {text[:40]}")
    return np.asarray(values, dtype=np.float64).ravel()
