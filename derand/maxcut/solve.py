"""The maximum cut of a graph, end to end: reductions, relaxation, derandomized cut, search, proved bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from derand._utils.html import ResultRepr, result_html
from derand._utils.rng import RNGLike, check_rng
from derand._utils.threads import blas_threads
from derand._utils.validation import check_int, check_option
from derand.exceptions import InputError
from derand.maxcut.certificate import Certificate, KernelBound, ProvedBound, combine_bounds
from derand.maxcut.clock import Clock
from derand.maxcut.derandomize import GOEMANS_WILLIAMSON, METHODS, Derandomization
from derand.maxcut.kernel import KernelSolver, Settings
from derand.maxcut.problem import MaxCutProblem, SideArray
from derand.maxcut.reductions import Reduction, reduce_problem

__all__ = ["EFFORTS", "CutEvent", "MaxCutSolution", "solve_maxcut"]

# Sweeps of 32 replicas that a search may take, and the most work in units of `sweep_work`.
EFFORTS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"derandomize": (0.0, 0.0), "quick": (6e3, 6e9), "default": (1.2e5, 5.2e11), "thorough": (1.2e6, 5.2e12)}
)


class CutEvent(NamedTuple):
    """One line of the history: what was done, the best cut after it, the bound known by then (None without one)."""

    stage: str
    value: int | float
    upper_bound: int | float | None

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


@dataclass(frozen=True, eq=False, repr=False)
class MaxCutSolution(ResultRepr):
    """The best cut found, the bound, and how they came about.

    Attributes
    ----------
    problem : MaxCutProblem
        The graph.
    side : ndarray of int8, shape (n,)
        The cut.
    value : int or float
        Its value: an exact Python int for whole-number weights.
    bound : ProvedBound or None
        The upper bound with its proof; None where it wasn't asked for or the run ended before.
    expected_cut : float or None
        Expected value of the random hyperplane rounding of the relaxation, in closed form; decided parts of the graph
        count with their optimum.  None where the run ended before it was known.
    sdp_value : float or None
        Value of the relaxation, decided parts included; no bound by itself.
    negative_weight : float
        The shift N of the guarantee: sum of the negative weights of what was relaxed, and of a negative decided part.
    derandomized_value : int or float or None
        Value of the derandomized cut alone, before any search.
    derandomizations : tuple of Derandomization
        One for each relaxed kernel, with its certificate.
    history : tuple of CutEvent
        Stages with value and bound; free of times, so that it repeats.
    status : str
        "finished", or what ended the run early: "time_limit", "callback", "interrupted".
    """

    problem: MaxCutProblem
    side: SideArray
    value: int | float
    bound: ProvedBound | None
    expected_cut: float | None
    sdp_value: float | None
    negative_weight: float
    derandomized_value: int | float | None
    derandomizations: tuple[Derandomization, ...]
    history: tuple[CutEvent, ...]
    status: str

    @property
    def is_proved(self) -> bool:
        """Whether `upper_bound` is proved."""
        return self.bound is not None and self.bound.is_proved

    @property
    def upper_bound(self) -> int | float | None:
        """The proved upper bound on all cuts; None without a proof."""
        return self.bound.upper_bound if self.bound is not None and self.bound.is_proved else None

    @property
    def proof(self) -> str:
        """What `upper_bound` rests on, see `ProvedBound`: "semidefinite", "odd cycles" or "all cuts"; empty without."""
        return self.bound.proof if self.bound is not None else ""

    @property
    def estimated_upper_bound(self) -> float | None:
        """Value of the relaxation where its own bound wasn't proved: an estimate, no bound; None where it was."""
        is_relaxation_proved = self.is_proved and self.proof != "odd cycles"
        return None if is_relaxation_proved else self.sdp_value

    @property
    def is_optimal(self) -> bool:
        """Whether the cut is proved to be a maximum cut."""
        upper = self.upper_bound
        return upper is not None and self.value >= upper

    @property
    def gap(self) -> float | None:
        """(upper_bound - value)/|upper_bound|, 0 where they are equal; None without a proof."""
        upper = self.upper_bound
        if upper is None:
            return None
        if upper == self.value:
            return 0.0
        return float(Fraction(upper) - Fraction(self.value)) / abs(float(upper)) if upper else math.inf

    @property
    def is_guaranteed(self) -> bool:
        """Whether value >= expected_cut and value - N >= 0.87856 (sdp_value - N), both checked."""
        if self.expected_cut is None or self.sdp_value is None:
            return False
        shifted = GOEMANS_WILLIAMSON * (self.sdp_value - self.negative_weight)
        slack = 1e-9 * max(1.0, abs(self.sdp_value), abs(self.negative_weight))
        return self.value >= self.expected_cut - slack and self.value - self.negative_weight >= shifted - slack

    @property
    def guarantee(self) -> str:
        """The chain of inequalities as a sentence, or what is missing."""
        if self.expected_cut is None or self.sdp_value is None:
            return "no guarantee: the run ended before the relaxation was rounded"
        chain = f"cut {self.value} >= expected cut {self.expected_cut:.6g} >= 0.87856 * SDP value {self.sdp_value:.6g}"
        if self.negative_weight:
            chain += f" after subtracting {self.negative_weight:.6g} throughout"
        return chain if self.is_guaranteed else f"violated: {chain}"

    def certificate(self) -> Certificate:
        """Return the cut and the bound as a certificate that the stand-alone checker accepts.

        Returns
        -------
        Certificate
            Ready to be written.

        Raises
        ------
        CertificateError
            If there's no proved bound.
        """
        missing = ProvedBound(None, None, False, math.nan, "", "no bound was computed")
        return Certificate.of(self.problem, self.side, self.bound or missing)


def solve_maxcut(
    problem: MaxCutProblem,
    *,
    method: str = "sosp",
    effort: str | int = "default",
    bound: bool = True,
    time_limit: float | None = None,
    callback: Callable[[MaxCutSolution], object] | None = None,
    rng: RNGLike = 0,
    n_starts: int = 1,
    n_jobs: int | None = None,
) -> MaxCutSolution:
    """Return a near-best cut with a proved upper bound.

    The graph is reduced exactly; what is left is relaxed, derandomized by ``method`` and, for ``effort`` above 0,
    searched.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph; any weights.
    method : {"sosp", "perturbed_gradient", "conditional", "hyperplane"}
        How the relaxation is rounded, see `derand.maxcut.derandomize`.
    effort : {"derandomize", "quick", "default", "thorough"} or their numbers 0 to 3
        0: the derandomized cut with a last one-flip descent, no random bits at all except for "hyperplane".  1: a
        search of at most 6,000 sweeps of 32 replicas, a second or so for 10^4 edges.  2: at most 120,000 sweeps, for
        best-known cuts on many benchmark graphs: a minute or two for 4 * 10^4 edges.  3: ten times that.  For larger
        graphs the work is limited instead, to some minutes by default.  A search ends before when the cut reaches the
        bound or several independent rounds end at one value.
    bound : bool, default True
        Whether to compute a proved upper bound.
    time_limit : float, optional
        Seconds after which the best cut so far is returned with what is proved by then.  A factorisation under way
        isn't interrupted.
    callback : callable, optional
        Called with the present `MaxCutSolution` after every stage that changes it; a true answer ends the run.  With
        several starts, a stage is a whole search.
    rng : int, Generator, SeedSequence or None, default 0
        The random stream of the search.
    n_starts : int, default 1
        Independent searches, each with the effort's whole work and its own random stream; for the method "sosp" each
        begins at the derandomized cut of another direction of the relaxation.  What they found is recombined.
    n_jobs : int, optional
        Searches at the same time, as in joblib; -1 for all cores.  None for one, or what the surrounding
        ``joblib.parallel_config`` says.  They run in threads, or in processes where ``parallel_config`` says so.

    Returns
    -------
    MaxCutSolution
        Cut, bound, guarantee, history.

    Raises
    ------
    InputError
        If an argument is out of range.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    The same bits for the same ``rng`` without a time limit, on any number of BLAS threads and jobs.  Relabelling the
    vertices doesn't change the value where the order of ``derand.maxcut.canonical`` can tell them apart or the graph's
    symmetry exchanges them, for kernels of up to 50,000 vertices that the reductions bring to the same form.

    The value is never below the expected cut of the relaxation for any method but "hyperplane" at effort 0.  Ctrl-C
    ends the run with the best cut so far and status "interrupted".

    References
    ----------
    arXiv:2510.19382; Goemans and Williamson (1995); the modules named above for the rest.

    Examples
    --------
    >>> pentagon = MaxCutProblem.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    >>> solution = solve_maxcut(pentagon)
    >>> solution.value, solution.upper_bound, solution.is_optimal
    (4, 4, True)
    """
    check_option(method, "method", METHODS)
    names = tuple(EFFORTS)
    name = (
        check_option(effort, "effort", names)
        if isinstance(effort, str)
        else names[check_int(effort, "effort", low=0, high=3)]
    )
    n_jobs = None if n_jobs is None else check_int(n_jobs, "n_jobs")
    if n_jobs == 0:
        raise InputError("n_jobs must not be 0: pass -1 for all cores")
    settings = Settings(method, *EFFORTS[name], bound, check_int(n_starts, "n_starts", low=1), n_jobs)
    clock, stream = Clock(time_limit), check_rng(rng)
    with blas_threads(1):
        return _Driver(problem, settings, clock, callback, stream).run()


class _Driver:
    """One run: the kernels' solvers and the best cut of the whole graph so far."""

    def __init__(
        self,
        problem: MaxCutProblem,
        settings: Settings,
        clock: Clock,
        callback: Callable[[MaxCutSolution], object] | None,
        stream: np.random.Generator,
    ) -> None:
        self.problem, self.settings, self.clock, self.callback, self.stream = problem, settings, clock, callback, stream
        self.history: list[CutEvent] = []
        self.solvers: list[KernelSolver] = []
        self.reduction: Reduction | None = None
        side = np.ones(problem.n, dtype=np.int8)
        self.best = MaxCutSolution(
            problem, side, problem.cut_value(side), None, None, None, 0.0, None, (), (), "finished"
        )

    def run(self) -> MaxCutSolution:
        """Return the solution; an interruption ends the stage that it hits."""
        try:
            self._prepare()
            for stage in ("relax", "early_bound", "search", "late_bound"):
                self._stage(stage)
        except KeyboardInterrupt:
            self.clock.stop("interrupted")
        # The user may have interrupted inside the callback: it is not called again.
        self.callback = None
        self._collect("end")
        return replace(self.best, status=self.clock.status)

    def _prepare(self) -> None:
        """Reduce the graph and make a solver for every kernel."""
        self.reduction = reduce_problem(self.problem)
        streams = self.stream.spawn(len(self.reduction.kernels))
        total = sum(kernel.problem.n for kernel in self.reduction.kernels)
        self.solvers = [
            KernelSolver(
                kernel.problem,
                self.settings,
                self.clock,
                stream,
                share=kernel.problem.n / max(total, 1),
                notify=self._collect,
            )
            for kernel, stream in zip(self.reduction.kernels, streams, strict=True)
        ]
        self._collect("reduction")

    def _stage(self, stage: str) -> None:
        """Run one stage on all kernels, largest first."""
        for solver in self.solvers:
            getattr(solver, stage)()

    def _collect(self, stage: str) -> None:
        """Put the kernels' cuts together and keep the result if it is better or knows more."""
        if self.reduction is None or len(self.solvers) != len(self.reduction.kernels):
            return
        side = self.reduction.lift([solver.side for solver in self.solvers])
        value = self.problem.cut_value(side)
        if value < self.best.value:
            side, value = self.best.side, self.best.value
        proved = self._bound()
        upper = proved.upper_bound if proved is not None and proved.is_proved else None
        self.history.append(CutEvent(stage, value, upper))
        chain = self._chain()
        self.best = MaxCutSolution(self.problem, side, value, proved, *chain, tuple(self.history), "finished")
        if self.callback is not None and self.callback(self.best):
            self.clock.stop("callback")

    def _bound(self) -> ProvedBound | None:
        """Return the bound on the whole graph once every kernel has one."""
        if self.best.bound is not None:
            return self.best.bound
        bounds: list[KernelBound] = [solver.bound for solver in self.solvers if solver.bound is not None]
        if not self.settings.bound or self.reduction is None or len(bounds) < len(self.solvers):
            return None
        return combine_bounds(self.reduction, bounds)

    def _chain(self) -> tuple[float | None, float | None, float, int | float | None, tuple[Derandomization, ...]]:
        """Return expected cut, SDP value, shift, derandomized value and the kernels' derandomizations."""
        if self.reduction is None or any(not solver.is_rounded for solver in self.solvers):
            return None, None, 0.0, None, ()
        if self.best.derandomized_value is not None:
            best = self.best
            return (
                best.expected_cut,
                best.sdp_value,
                best.negative_weight,
                best.derandomized_value,
                best.derandomizations,
            )
        unit = 2.0**-self.reduction.exponent
        offset = float(self.reduction.total([]))
        expected, relaxed, negative = (
            offset_part + unit * math.fsum(solver.chain[k] for solver in self.solvers)
            for k, offset_part in enumerate((offset, offset, min(offset, 0.0)))
        )
        rounded = self.problem.cut_value(self.reduction.lift([solver.rounded for solver in self.solvers]))
        runs = tuple(solver.derandomization for solver in self.solvers if solver.derandomization is not None)
        return expected, relaxed, negative, rounded, runs
