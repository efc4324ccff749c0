"""Sweeps over parameters through joblib."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from itertools import product
from typing import Any

from derand._utils.shipped import Shipped
from derand._utils.validation import check_int
from derand.exceptions import BudgetExceededError, InputError, InputTypeError
from derand.sweeps.plain import decode, encode
from derand.sweeps.store import SweepStore, setting_key

__all__ = ["grid", "sweep"]


def grid(**axes: Iterable[Any]) -> list[dict[str, Any]]:
    """Return all combinations of values, the last name varying fastest.

    Parameters
    ----------
    **axes : iterable
        Values of each parameter.

    Returns
    -------
    list of dict
        One setting for each combination.

    Examples
    --------
    >>> grid(p=[2, 4], seed=range(2))
    [{'p': 2, 'seed': 0}, {'p': 2, 'seed': 1}, {'p': 4, 'seed': 0}, {'p': 4, 'seed': 1}]
    """
    return [dict(zip(axes, values, strict=True)) for values in product(*map(list, axes.values()))]


def sweep(
    function: Callable[..., Any],
    settings: Iterable[Any],
    *,
    n_jobs: int | None = None,
    store: str | os.PathLike[str] | None = None,
    retries: int = 2,
    callback: Callable[[int, int], object] | None = None,
) -> list[Any]:
    """Return the results of a function at many settings, in the order of the settings.

    The calls go through joblib: ``n_jobs`` spreads them over this machine, and ``joblib.parallel_config(backend=...)``
    around the call over a cluster.  The results don't depend on where or in which order the calls run, as long as the
    function is deterministic: give it a seed as one of its parameters.

    Parameters
    ----------
    function : callable
        Called with the entries of a setting: by name for a dictionary, by position for a tuple or list, otherwise with
        the setting itself.  Returns numbers, strings, None, numeric arrays, sequences, dictionaries with string keys or
        named tuples, nested.
    settings : iterable
        What to call it with, see `grid`.
    n_jobs : int, optional
        Processes, as in joblib; -1 for all cores.  None for one, or what the surrounding ``parallel_config`` says.
    store : str or path, optional
        File that every result is appended to when it is there.  Settings that it already holds aren't computed again,
        so that a sweep that was interrupted goes on where it ended.
    retries : int, default 2
        How often the settings that are left are tried again after a worker process has died.
    callback : callable, optional
        Called with (number done, number of settings) after every result; an answer of True ends the sweep.

    Returns
    -------
    list
        Results.  Tuples have become lists and named tuples dictionaries, whether read from a store or not.

    Raises
    ------
    InputError
        If two settings are equal, or the store belongs to another function.
    InputTypeError
        If a setting or result can't be stored.
    BudgetExceededError
        If worker processes keep dying, as they do when memory runs out, or the callback ended the sweep; ``partial``
        holds the results, None for those that are missing.

    Notes
    -----
    An exception in the function ends the sweep with a note that names the setting; what was finished is in the store.
    The store holds JSON lines with every bit of every number, arrays in base64; nothing is pickled in it.  Its first
    line names the function but can't tell whether the function has changed since: use another file then.

    Examples
    --------
    >>> sweep(pow, [(2, 3), (3, 2)])
    [8, 9]
    >>> from derand.teacher_student import TeacherStudent
    >>> def rate(p, lr):
    ...     return TeacherStudent(p, 2, lr=lr).plateau(second_order=False).loss
    >>> [round(loss, 6) for loss in sweep(rate, grid(p=[4, 8], lr=[0.05]))]
    [0.666667, 0.6]
    """
    settings = list(settings)
    check_int(retries, "retries", low=0)
    keys = [setting_key(setting) for setting in settings]
    if len(set(keys)) < len(keys):
        raise InputError("settings must differ from each other: repeat with a seed as one of the parameters")
    kept = SweepStore(store, _name(function)) if store is not None else None
    results: dict[str, Any] = {} if kept is None else {key: kept.results[key] for key in keys if key in kept.results}
    for _ in range(retries + 1):
        todo = [(key, setting) for key, setting in zip(keys, settings, strict=True) if key not in results]
        try:
            for key, setting, result in _calls(function, todo, n_jobs):
                results[key] = result
                if kept is not None:
                    kept.add(setting, result)
                if callback is not None and callback(len(results), len(keys)) is True:
                    raise BudgetExceededError("the callback ended the sweep", partial=_ordered(results, keys))
            break
        except (BrokenExecutor, CancelledError):
            continue  # a worker has died, with dask's data on it perhaps; whatever had arrived is kept
    else:
        missing = len(keys) - len(results)
        text = f"worker processes died {retries + 1} times with {missing} settings left; they may need more memory"
        raise BudgetExceededError(text, partial=_ordered(results, keys))
    return _ordered(results, keys)


def _calls(
    function: Callable[..., Any], todo: Sequence[tuple[str, Any]], n_jobs: int | None
) -> Iterator[tuple[str, Any, Any]]:
    """Yield key, setting and encoded result of every call as it ends."""
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    if todo:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        yield from parallel(delayed(Shipped(_call))(function, key, setting) for key, setting in todo)


def _call(function: Callable[..., Any], key: str, setting: Any) -> tuple[str, Any, Any]:
    """Return key, setting and encoded result of one call."""
    try:
        if isinstance(setting, Mapping):
            result = function(**setting)
        else:
            result = function(*setting) if isinstance(setting, (list, tuple)) else function(setting)
        return key, setting, encode(result)
    except Exception as error:
        error.add_note(f"in the sweep, at the setting {key}")
        raise


def _name(function: Callable[..., Any]) -> str:
    """Return the name by which a store knows the function."""
    if not callable(function):
        raise InputTypeError(f"function must be callable, got {type(function).__name__}")
    inner = getattr(function, "func", function)
    return str(getattr(inner, "__qualname__", type(inner).__qualname__))


def _ordered(results: Mapping[str, Any], keys: Sequence[str]) -> list[Any]:
    """Return decoded results in order, None where one is missing."""
    return [decode(results[key]) if key in results else None for key in keys]
