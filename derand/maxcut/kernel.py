"""One kernel of a reduced graph: its relaxation, derandomized cut, search and bound, in stages that may end early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derand.exceptions import BudgetExceededError
from derand.maxcut.bound import unproved_bound
from derand.maxcut.canonical import canonical_order
from derand.maxcut.certificate import KernelBound, bound_kernel, packed_bound
from derand.maxcut.clock import Clock
from derand.maxcut.cycle_packing import pack_cycles
from derand.maxcut.derandomize import Derandomization, derandomize
from derand.maxcut.elimination import EliminationPlan, plan_elimination
from derand.maxcut.exhaustive import best_cut_exhaustive
from derand.maxcut.local_search import one_flip, tabu_search
from derand.maxcut.multistart import StartSettings, search_starts
from derand.maxcut.problem import IndexArray, MaxCutProblem, SideArray
from derand.maxcut.relaxation import Relaxation, solve_relaxation
from derand.maxcut.renormalization import SearchRun
from derand.maxcut.search import fuse, search_cut, sweep_work

__all__ = ["KernelSolver", "Settings"]

_REPLICAS = 32
# Kernels up to this size are solved by looking at all cuts.
_ALL_CUTS = 12
# The bound needs the relaxation solved hard, the rounding doesn't.
_BOUND_TOL, _CUT_TOL = 1e-7, 1e-4
# Up to this size the bound comes before the search, which it may save.
_EARLY_BOUND = 3000
# Beyond it products and evaluations are limited, so that the whole costs a few thousand products.
_LARGE = 50_000
_LARGE_PRODUCTS, _LARGE_EVALUATIONS, _LARGE_WORK = 150, 50, 7e10
_EVALUATIONS = 2000
_TABU_LIMIT = 1000


@dataclass(frozen=True)
class Settings:
    """What a run was asked to do: rounding, sweeps and work of a search, whether to prove a bound, searches, jobs."""

    method: str
    sweeps: float
    work: float
    bound: bool
    n_starts: int = 1
    n_jobs: int | None = None


class KernelSolver:
    """The state of one kernel, advanced by stages.

    Parameters
    ----------
    problem : MaxCutProblem
        The kernel.
    settings : Settings
        What to do.
    clock : Clock
        When to stop early.
    stream : Generator
        The kernel's own random stream.
    share : float
        Its share of the vertices of all kernels, and so of work and time.
    notify : callable
        Called with the name of what was done, after everything that may have changed the cut or the bound.
    """

    def __init__(
        self,
        problem: MaxCutProblem,
        settings: Settings,
        clock: Clock,
        stream: np.random.Generator,
        *,
        share: float,
        notify: Callable[[str], None],
    ) -> None:
        self.problem, self.settings, self.clock, self.stream = problem, settings, clock, stream
        self.share, self.notify = share, notify
        self.side: SideArray = np.ones(problem.n, dtype=np.int8)
        self.rounded: SideArray = self.side
        self.bound: KernelBound | None = None
        self.derandomization: Derandomization | None = None
        self.is_rounded = False
        self._relaxation: Relaxation | None = None
        self._plan: EliminationPlan | None = None
        self._obstacle = ""
        # The stages see the vertices in an order of the graph itself, so that labels don't matter for the value.
        self._order: IndexArray = canonical_order(problem) if problem.n <= _LARGE else np.arange(problem.n)
        self._ordered = problem.subproblem(self._order) if problem.n <= _LARGE else problem

    @property
    def chain(self) -> tuple[float, float, float]:
        """Expected cut, value of the relaxation, sum of negative weights; the optimum where all cuts were tried."""
        if self.derandomization is None:
            value = float(self.problem.cut_value(self.side))
            return value, value, min(value, 0.0)
        result = self.derandomization
        return result.expected_cut, result.sdp_value, result.negative_weight

    def relax(self) -> None:
        """Solve the relaxation and round it."""
        if self.problem.n <= _ALL_CUTS:
            _, self.side = best_cut_exhaustive(self.problem)
            self.rounded, self.is_rounded = self.side, True
            if self.settings.bound:
                self.bound = bound_kernel(self.problem)
            self.notify("exhaustive")
            return
        if self.clock.is_over():
            return
        is_large = self.problem.n > _LARGE
        relaxation = self._solve_relaxation(is_large)
        self._relaxation = replace(
            relaxation,
            vectors=self._restored(relaxation.vectors),
            multipliers=self._restored(relaxation.multipliers),
        )
        result = derandomize(
            self._ordered,
            relaxation.vectors,
            method=self.settings.method,
            max_evals=_LARGE_EVALUATIONS if is_large else _EVALUATIONS,
            time_limit=self.clock.remaining(0.5 * self.share),
            should_stop=self.clock.is_over,
            rng=self.stream.spawn(1)[0],
        )
        improved = one_flip(self._ordered, result.side)
        result = replace(result, side=self._restored(result.side))
        self.derandomization, self.rounded, self.is_rounded = result, result.side, True
        self._keep(result.side)
        self._keep(self._restored(improved))
        self.notify("derandomization")
        if result.is_interrupted:
            raise KeyboardInterrupt

    def _solve_relaxation(self, is_large: bool) -> Relaxation:
        """Return the relaxation, solved as hard as what follows can use."""
        # Looking for an elimination order is cheap against solving hard for a proof that turns out to be impossible.
        if self.settings.bound and self.problem.n > _EARLY_BOUND:
            self._find_plan()
        return solve_relaxation(
            self._ordered,
            tol=_BOUND_TOL if self.settings.bound and not is_large and not self._obstacle else _CUT_TOL,
            max_rank=8 if is_large else None,
            # Without a proof to serve, products that only polish the factor aren't worth their cost.
            max_products=_LARGE_PRODUCTS if is_large else None if self._obstacle else 4000,
            time_limit=self.clock.remaining(0.3 * self.share),
        )

    def _find_plan(self) -> None:
        """Find an elimination order for the proof, or why there's none within the limits on memory and time."""
        clock = Clock(self.clock.remaining(0.2 * self.share))
        try:
            self._plan = plan_elimination(self.problem.adjacency, should_stop=clock.is_over)
        except BudgetExceededError as error:
            self._obstacle = str(error)

    def early_bound(self) -> None:
        """Prove the bound where that is cheap against the search."""
        if self.problem.n <= _EARLY_BOUND or self._obstacle:
            self.late_bound()

    def late_bound(self) -> None:
        """Prove the bound where there isn't one yet."""
        if self.settings.bound and self.bound is None and self._relaxation is not None and not self.clock.is_over():
            solved = self._relaxation
            if self._obstacle:
                self.bound = self._packed_bound(solved)
            else:
                self.bound = bound_kernel(self.problem, relaxation=solved, plan=self._plan)
            self.notify("bound")

    def _packed_bound(self, solved: Relaxation) -> KernelBound:
        """Return the bound of a packing of frustrated cycles, found in a share of the time left."""
        dual = unproved_bound(self.problem, solved.multipliers, self._obstacle)
        clock = Clock(self.clock.remaining(0.5 * self.share))
        packing = pack_cycles(self._ordered, should_stop=lambda: clock.is_over() or self.clock.is_over())
        return packed_bound(self.problem, solved, dual, packing.renamed(self._order))

    def search(self) -> None:
        """Search for better cuts."""
        target = None if self.bound is None else self.bound.upper_bound
        work = min(self.settings.work * self.share, self.settings.sweeps * _REPLICAS * sweep_work(self.problem))
        if self.problem.n > _LARGE and self.settings.work < 1e12:
            work = min(work, _LARGE_WORK)
        is_done = target is not None and self.problem.cut_value(self.side) >= target
        has_nothing_to_do = work <= 0.0 and self.settings.n_starts == 1
        if has_nothing_to_do or is_done or self.problem.n <= _ALL_CUTS or self.clock.is_over():
            return
        if self.settings.n_starts == 1:
            self._keep(self._restored(self._single_search(work, target)))
        else:
            self._many_searches(work, target)
        if work > 0.0 and self.problem.n <= _TABU_LIMIT:
            start = self.side[self._order]
            last = tabu_search(self._ordered, start, n_steps=5000, should_stop=self.clock.is_over)
            self._keep(self._restored(last))
        self.notify("search")

    def _single_search(self, work: float, target: int | float | None) -> SideArray:
        """Return the cut of a search from the best cut so far, told of round by round."""
        return search_cut(
            self._ordered,
            self.side[self._order][:, None],
            work=work,
            rng=self.stream.spawn(1)[0],
            clock=self.clock,
            target=target,
            report=self._report,
        )

    def _many_searches(self, work: float, target: int | float | None) -> None:
        """Keep the best cut of independent searches and of what becomes of them together."""
        if self._relaxation is None:
            return
        is_large = self.problem.n > _LARGE
        evaluations = _LARGE_EVALUATIONS if is_large else _EVALUATIONS
        settings = StartSettings(self.settings.method, evaluations, work, target)
        vectors, side = self._relaxation.vectors[self._order], self.side[self._order]
        streams, found = self.stream.spawn(self.settings.n_starts), []
        for cut in search_starts(
            self._ordered, vectors, side, settings, streams, clock=self.clock, n_jobs=self.settings.n_jobs
        ):
            found.append(cut)
            self._report("start", cut)
        is_done = target is not None and self.problem.cut_value(self.side) >= target
        if work > 0.0 and not is_done and not self.clock.is_over():
            run = SearchRun(self.clock, self.stream.spawn(1)[0])
            self._keep(self._restored(fuse(self._ordered, np.column_stack(found), run)))

    def _report(self, stage: str, side: SideArray) -> None:
        """Keep a cut of the search and tell about it."""
        self._keep(self._restored(side))
        self.notify(stage)

    def _restored(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return rows in the kernel's own vertex order from rows in the canonical one."""
        restored = np.empty_like(values)
        restored[self._order] = values
        return restored

    def _keep(self, side: SideArray) -> None:
        """Keep a cut that is better."""
        if self.problem.cut_value(side) > self.problem.cut_value(self.side):
            self.side = side
