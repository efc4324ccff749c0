"""The same question asked of many settings, in parallel, with bitwise the same answers for any number of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.threads import blas_threads
from derand.exceptions import DerandError, InputError, InputTypeError
from derand.teacher_student.model import TeacherStudent

__all__ = ["SweepPoint", "sweep"]

Task = Callable[[TeacherStudent, np.random.Generator], Any]


@dataclass(frozen=True, eq=False, repr=False)
class SweepPoint(ResultRepr):
    """The answer at one setting.

    Attributes
    ----------
    setting : mapping
        Keyword arguments of the model.
    value : object
        What the task returned; None if it raised an error of this package.
    error : DerandError or None
        That error: for instance that there is no plateau at this learning rate.
    """

    setting: Mapping[str, Any]
    value: Any
    error: DerandError | None

    @property
    def success(self) -> bool:
        """Whether the task returned."""
        return self.error is None


def sweep(
    task: Task,
    settings: Iterable[Mapping[str, Any]],
    *,
    n_jobs: int | None = None,
    rng: RNGLike = None,
    callback: Callable[[int, int], object] | None = None,
    **common: Any,
) -> list[SweepPoint]:
    """Return the answers of a task for many settings, in their order.

    For each setting the model ``TeacherStudent(**common, **setting)`` is built and ``task(model, generator)`` called.
    Each setting has a random stream of its own, spawned from ``rng`` by its position, and BLAS has one thread: so the
    answers are bitwise the same for any number of jobs and any back end of joblib.

    Parameters
    ----------
    task : callable
        ``task(model, generator)``; for back ends with processes it must be picklable, as a function of a module is.
    settings : iterable of mapping
        Keyword arguments of the models, as from `derand.sweeps.grid`.
    n_jobs : int, optional
        As in joblib: the number of jobs, -1 for all processors, None for the one of the active ``parallel_config``.
        The back end is the active one too.
    rng : None, int or Generator
        Source of the settings' random streams.
    callback : callable, optional
        Called with (number done, number of settings) after every answer.
    **common
        Arguments of `TeacherStudent` that all settings share.

    Returns
    -------
    list of SweepPoint
        One for each setting.  An error of this package (a prediction that doesn't exist there, an invalid value)
        becomes part of the answer; any other is raised.

    Raises
    ------
    InputError
        If a setting repeats an argument of ``common``.
    InputTypeError
        If the task isn't callable or a setting isn't a mapping.
    KeyboardInterrupt
        On Ctrl-C; its ``partial`` is the list of the answers that were there.

    See Also
    --------
    derand.sweeps.sweep : Any function of plain values, stored result by result and resumed after an interruption.

    Examples
    --------
    >>> from derand.sweeps import grid
    >>> def plateau_loss(model, generator):
    ...     return model.plateau(second_order=False).loss
    >>> [round(point.value, 12) for point in sweep(plateau_loss, grid(p=(2, 6)), p_star=2)]  # 1/2 + 1/(p + 2)
    [0.75, 0.625]
    """
    if not callable(task):
        raise InputTypeError(f"task must be callable, got {type(task).__name__}")
    chosen = list(settings)
    for setting in chosen:
        if not isinstance(setting, Mapping):
            raise InputTypeError(f"settings must hold mappings, got {type(setting).__name__}")
        if set(setting) & set(common):
            raise InputError(f"settings must not repeat the common arguments {sorted(set(setting) & set(common))}")
    streams = check_rng(rng).spawn(len(chosen))
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    jobs = [delayed(_answer)(task, {**common, **s}, g) for s, g in zip(chosen, streams, strict=True)]
    points: list[SweepPoint] = []
    try:
        for answer in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
            points.append(SweepPoint(chosen[len(points)], *answer))
            if callback is not None:
                callback(len(points), len(chosen))
    except KeyboardInterrupt as interrupt:
        interrupt.partial = points  # type: ignore[attr-defined]
        raise
    return points


def _answer(task: Task, setting: dict[str, Any], generator: np.random.Generator) -> tuple[Any, DerandError | None]:
    """Return what the task says about one setting, or the error of this package that it raised."""
    with blas_threads(1):
        try:
            return task(TeacherStudent(**setting), generator), None
        except DerandError as error:
            return None, error
