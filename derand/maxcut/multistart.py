"""Several independent searches: each from another direction of the relaxation, with a random stream of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray
from derand.maxcut.clock import Clock
from derand.maxcut.derandomize import derandomize
from derand.maxcut.problem import MaxCutProblem, SideArray
from derand.maxcut.search import search_cut

__all__ = ["StartSettings", "search_starts"]


@dataclass(frozen=True)
class StartSettings:
    """What every start does: rounding method, limit on its evaluations, work of its search, a value to stop at."""

    method: str
    max_evals: int
    work: float
    target: int | float | None = None


def search_starts(
    problem: MaxCutProblem,
    vectors: FloatArray,
    side: SideArray,
    settings: StartSettings,
    streams: list[np.random.Generator],
    *,
    clock: Clock,
    n_jobs: int | None = None,
) -> Iterator[SideArray]:
    """Yield the cuts of independent searches in their order, one for each stream.

    The first search begins at ``side``.  For the method "sosp", search k begins at the derandomized cut whose kick
    follows column k of the relaxation, the deterministic multistart; for others it begins at ``side`` as well.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    vectors : ndarray, shape (n, k)
        Unit rows of the relaxation, columns by descending importance.
    side : ndarray of int8, shape (n,)
        The derandomized cut in direction 0.
    settings : StartSettings
        What every search does.
    streams : list of Generator
        Their random streams.
    clock : Clock
        When to stop early.
    n_jobs : int, optional
        Searches at the same time, as in joblib: threads, unless ``joblib.parallel_config`` says otherwise.

    Yields
    ------
    ndarray of int8, shape (n,)
        The cuts.  After one that reaches ``settings.target`` nothing follows.

    Notes
    -----
    The same cuts for every ``n_jobs``, unless the clock ends a search early.

    Examples
    --------
    >>> ring = MaxCutProblem.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    >>> side = np.array([1, -1, 1, -1, 1], dtype=np.int8)
    >>> streams = np.random.default_rng(0).spawn(2)
    >>> found = search_starts(ring, np.eye(5), side, StartSettings("sosp", 50, 0.0, 4), streams, clock=Clock(None))
    >>> [ring.cut_value(cut) for cut in found]
    [4]
    """
    from joblib import Parallel, delayed, effective_n_jobs  # type: ignore[import-untyped]

    tasks = [(problem, vectors, side, settings, start, clock) for start in enumerate(streams)]
    cuts: Any
    if effective_n_jobs(n_jobs) == 1 or len(tasks) == 1:
        cuts = (_search_start(*task) for task in tasks)
    else:
        # All of them end before the first is handed out: an abandoned generator of joblib's would warn.
        jobs = (delayed(_search_start)(*task) for task in tasks)
        cuts = (cut for cut in Parallel(n_jobs=n_jobs, prefer="threads")(jobs))
    with closing(cuts):
        for cut in cuts:
            yield cut
            if settings.target is not None and problem.cut_value(cut) >= settings.target:
                return


def _search_start(
    problem: MaxCutProblem,
    vectors: FloatArray,
    side: SideArray,
    settings: StartSettings,
    start: tuple[int, np.random.Generator],
    clock: Clock,
) -> SideArray:
    """Return the cut of one search, from its number and random stream."""
    number, stream = start
    rounding, searching = stream.spawn(2)
    limits: dict[str, Any] = {"max_evals": settings.max_evals, "should_stop": clock.is_over}
    with blas_threads(1):
        if number and settings.method == "sosp" and not clock.is_over():
            result = derandomize(problem, vectors, direction=number, rng=rounding, **limits)
            if result.is_interrupted:
                raise KeyboardInterrupt
            side = result.side
        work, target = settings.work, settings.target
        return search_cut(problem, side[:, None], work=work, rng=searching, clock=clock, target=target)
