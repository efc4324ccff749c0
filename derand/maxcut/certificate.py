"""Certificates: a cut, an upper bound, and the numbers from which anyone can check both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray
from derand.exceptions import CertificateError, InputError
from derand.maxcut.bound import DualBound, cut_lattice, lattice_floor, prove_bound, round_up
from derand.maxcut.checker import check
from derand.maxcut.cycle_packing import CyclePacking, pack_cycles
from derand.maxcut.elimination import EliminationPlan, plan_elimination
from derand.maxcut.exhaustive import best_cut_exhaustive
from derand.maxcut.problem import IndexArray, MaxCutProblem, SideArray
from derand.maxcut.reductions import Kernel, Reduction, reduce_problem
from derand.maxcut.relaxation import Relaxation, solve_relaxation

__all__ = [
    "BoundPart",
    "Certificate",
    "KernelBound",
    "ProvedBound",
    "bound_kernel",
    "combine_bounds",
    "packed_bound",
    "prove_upper_bound",
]

# Kernels up to this size are solved by looking at all cuts, and the checker does so too.
_ALL_CUTS = 12
_CHECKER_CORE = 100
_CHECKER_ERRORS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, eq=False)
class KernelBound:
    """What is known about the cuts of one kernel.

    Attributes
    ----------
    upper_bound : int or None
        Proved bound in the kernel's units; None without a proof.
    side : ndarray of int8 or None
        An optimal cut, where all cuts were tried.
    relaxation : Relaxation or None
        The relaxation behind the bound; None where all cuts were tried.
    dual : DualBound or None
        The relaxation's bound, or why it has no proof; None where all cuts were tried.
    packing : CyclePacking or None
        The proof where the relaxation's bound has none.
    """

    upper_bound: int | None
    side: SideArray | None
    relaxation: Relaxation | None
    dual: DualBound | None
    packing: CyclePacking | None = None

    @property
    def exact(self) -> Fraction | None:
        """The bound before it was rounded down; None without a proof."""
        if self.packing is not None:
            return self.packing.upper_bound
        return None if self.upper_bound is None else Fraction(self.upper_bound)


@dataclass(frozen=True, eq=False)
class BoundPart:
    """One summand of the weights with a bound on its cuts.

    Attributes
    ----------
    vertices : tuple of int
        Vertices of the graph that the part touches.
    dual : ndarray or None
        z with A + diag(z) positive semidefinite for the part's weights; None means that all cuts are tried.
    order : ndarray of int64
        Elimination order that keeps the factor of a dual proof sparse.
    edges : tuple of (int, int, Fraction) or None
        The part's weights; None stands for all weight between `vertices` that earlier parts left.
    """

    vertices: tuple[int, ...]
    dual: FloatArray | None
    order: IndexArray
    edges: tuple[tuple[int, int, Fraction], ...] | None

    def to_dict(self) -> dict[str, Any]:
        """Return the part as plain JSON data: exact numbers as text."""
        data: dict[str, Any] = {"vertices": list(self.vertices), "proof": "all cuts" if self.dual is None else "dual"}
        if self.edges is not None:
            data["edges"] = [[i, j, str(weight)] for i, j, weight in self.edges]
        if self.dual is not None:
            data["dual"] = [value.hex() for value in self.dual.tolist()]
            data["order"] = self.order.tolist()
        return data


@dataclass(frozen=True, eq=False)
class ProvedBound(ResultRepr):
    """An upper bound on all cuts of a graph with its proof in parts.

    Attributes
    ----------
    upper_bound : int, float or None
        Proved upper bound: a Python int for whole-number weights, else rounded up; None without a proof.
    exact : Fraction or None
        The bound without rounding.
    is_proved : bool
        Whether there's a proof.
    relaxation_value : float
        Value of the relaxation, kernels and decided parts together: an estimate, *not* a bound.
    proof : str
        What the bound rests on: "all cuts" (exact reductions and nothing else), "semidefinite" (the relaxation), "odd
        cycles" (a packing of frustrated cycles, at least in part: a weaker bound); empty without a proof.
    reason : str
        Why the relaxation's own bound has no proof; empty with one.
    """

    upper_bound: int | float | None
    exact: Fraction | None
    is_proved: bool
    relaxation_value: float
    proof: str
    reason: str
    _reduction: Reduction | None = None
    _bounds: tuple[KernelBound, ...] = ()

    @cached_property
    def parts(self) -> tuple[BoundPart, ...]:
        """The proof, made when it is asked for, since a packing may have 10^5 parts; empty without one."""
        return () if self._reduction is None else tuple(_all_parts(self._reduction, self._bounds))


@dataclass(frozen=True, eq=False)
class Certificate:
    """A cut and an upper bound on all cuts of one graph, with the proof of the bound.

    Attributes
    ----------
    n_vertices : int
        Number of vertices.
    side : ndarray of int8
        The cut.
    cut_value, upper_bound : Fraction
        Exact values.
    parts : tuple of dict
        The proof, as plain data in the format of ``derand.maxcut.checker``.
    proof : str
        What the bound rests on, see `ProvedBound`: a remark, which the checker doesn't need.

    Examples
    --------
    >>> pentagon = MaxCutProblem.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    >>> certificate = Certificate.of(pentagon, [1, -1, 1, -1, 1], prove_upper_bound(pentagon))
    >>> certificate.is_optimal, certificate.verify(pentagon)
    (True, (Fraction(4, 1), Fraction(4, 1)))
    """

    n_vertices: int
    side: SideArray
    cut_value: Fraction
    upper_bound: Fraction
    parts: tuple[dict[str, Any], ...]
    proof: str = ""

    @classmethod
    def of(cls, problem: MaxCutProblem, side: Any, bound: ProvedBound) -> Certificate:
        """Return the certificate of a cut and a proved bound.

        Parameters
        ----------
        problem : MaxCutProblem
            The graph.
        side : array_like of shape (n,)
            The cut, +1 and -1.
        bound : ProvedBound
            A bound with its proof.

        Returns
        -------
        Certificate
            Ready to be written.

        Raises
        ------
        CertificateError
            If the bound isn't proved.
        """
        if bound.exact is None:
            raise CertificateError(f"there's no proof to certify: {bound.reason}")
        sides = problem.check_side(side)
        parts = tuple(part.to_dict() for part in bound.parts)
        return cls(problem.n, sides, _exact_cut(problem, sides), bound.exact, parts, bound.proof)

    @property
    def is_optimal(self) -> bool:
        """Whether the cut reaches the bound."""
        return self.cut_value == self.upper_bound

    def verify(self, problem: MaxCutProblem) -> tuple[Fraction, Fraction]:
        """Return the cut's exact value and the bound that the proof gives, both recomputed by the stand-alone checker.

        Parameters
        ----------
        problem : MaxCutProblem
            The graph.

        Returns
        -------
        tuple of Fraction
            Value and bound; the bound isn't above `upper_bound`.

        Raises
        ------
        CertificateError
            If anything in the certificate is wrong for this graph.

        Notes
        -----
        Pure Python: c^3/6 steps of 50 to 100 ns for a part whose factor has a dense core of order c, so ten seconds at
        c = 1000.
        """
        weights = problem.exact_weights.tolist()
        edges = zip(problem.heads.tolist(), problem.tails.tolist(), weights, strict=True)
        try:
            return check(problem.n, edges, self.to_dict())
        except _CHECKER_ERRORS as error:
            raise CertificateError(f"the certificate doesn't hold: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain JSON data."""
        return {
            "format": "derand-maxcut-certificate",
            "version": 1,
            "n_vertices": self.n_vertices,
            "cut_value": str(self.cut_value),
            "upper_bound": str(self.upper_bound),
            "proof": self.proof,
            "side": "".join("+" if s > 0 else "-" for s in self.side.tolist()),
            "parts": list(self.parts),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Certificate:
        """Return the certificate of plain JSON data; what it claims is not checked here, see `verify`.

        Parameters
        ----------
        data : dict
            As `to_dict` gives it.

        Returns
        -------
        Certificate
            The same certificate.

        Raises
        ------
        CertificateError
            If the data isn't a certificate of this format.
        """
        try:
            if data["format"] != "derand-maxcut-certificate" or data["version"] != 1:
                raise CertificateError("the data is no maximum cut certificate of version 1")
            side = np.array([{"+": 1, "-": -1}[s] for s in data["side"]], dtype=np.int8)
            cut, bound = Fraction(data["cut_value"]), Fraction(data["upper_bound"])
            parts, proof = tuple(data["parts"]), str(data.get("proof", ""))
            return cls(int(data["n_vertices"]), side, cut, bound, parts, proof)
        except _CHECKER_ERRORS as error:
            raise CertificateError(f"the data is no maximum cut certificate: {error!r}") from error


def bound_kernel(
    problem: MaxCutProblem,
    *,
    max_memory: int = 2**29,
    relaxation: Relaxation | None = None,
    plan: EliminationPlan | None = None,
    **options: Any,
) -> KernelBound:
    """Return a bound on the cuts of a kernel: all cuts up to 12 vertices, the relaxation above.

    Where the relaxation's factorisation doesn't fit, a packing of frustrated cycles proves a weaker bound.

    Parameters
    ----------
    problem : MaxCutProblem
        A graph with whole-number weights, such as `Kernel.problem`.
    max_memory : int, default 512 MiB
        Limit in bytes for the factorisation.
    relaxation : Relaxation, optional
        One that is already known.
    plan : EliminationPlan, optional
        An elimination order that is already known.
    **options
        Passed to `solve_relaxation`: ``tol``, ``max_products``, ``time_limit``, ...

    Returns
    -------
    KernelBound
        The bound and where it comes from.
    """
    if problem.n <= _ALL_CUTS:
        value, side = best_cut_exhaustive(problem)
        return KernelBound(int(value), side, None, None)
    solved = solve_relaxation(problem, **options) if relaxation is None else relaxation
    dual = prove_bound(problem, solved.multipliers, max_memory=max_memory, plan=plan)
    if dual.upper_bound is None:
        return packed_bound(problem, solved, dual, pack_cycles(problem))
    return KernelBound(int(dual.upper_bound), None, solved, dual)


def packed_bound(problem: MaxCutProblem, relaxation: Relaxation, dual: DualBound, packing: CyclePacking) -> KernelBound:
    """Return the bound of a packing where the relaxation's has no proof."""
    upper = lattice_floor(packing.upper_bound, cut_lattice(problem))
    return KernelBound(upper, None, relaxation, dual, packing)


def combine_bounds(reduction: Reduction, bounds: list[KernelBound]) -> ProvedBound:
    """Return the bound on a graph from the bounds on its kernels.

    Parameters
    ----------
    reduction : Reduction
        The reduced graph.
    bounds : list of KernelBound
        One per kernel, in order.

    Returns
    -------
    ProvedBound
        The bound with its proof in parts.

    Raises
    ------
    InputError
        If the number of bounds is wrong.
    """
    if len(bounds) != len(reduction.kernels):
        raise InputError(f"bounds must hold {len(reduction.kernels)} entries, got {len(bounds)}")
    unit = 2.0**-reduction.exponent
    values = [float(b.upper_bound or 0) if b.relaxation is None else b.relaxation.value for b in bounds]
    relaxation_value = float(Fraction(reduction.offset) / 2**reduction.exponent) + unit * float(np.sum(values))
    reasons = [b.dual.reason for b in bounds if b.dual is not None and not b.dual.is_proved]
    exact_bounds = [b.exact for b in bounds]
    known = [bound for bound in exact_bounds if bound is not None]
    reason = next(iter(reasons), "")
    if len(known) < len(bounds):
        return ProvedBound(None, None, False, relaxation_value, "", reason)
    # The checker rounds down once, at the end: kernels must not do so before.
    exact = reduction.total(known)
    lattice = cut_lattice(reduction.scaled)
    if lattice:
        exact = Fraction(lattice_floor(exact * 2**reduction.exponent, lattice), 2**reduction.exponent)
    upper = int(exact) if reduction.problem.is_integer else round_up(exact)
    return ProvedBound(upper, exact, True, relaxation_value, _kind(bounds), reason, reduction, tuple(bounds))


def _kind(bounds: list[KernelBound]) -> str:
    """Return what proved bounds rest on."""
    if any(bound.packing is not None for bound in bounds):
        return "odd cycles"
    return "semidefinite" if any(bound.dual is not None for bound in bounds) else "all cuts"


def prove_upper_bound(problem: MaxCutProblem, *, max_memory: int = 2**29, **options: Any) -> ProvedBound:
    """Return a proved upper bound on the cuts of a graph: exact reductions, then the relaxation of every kernel.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph; any weights.
    max_memory : int, default 512 MiB
        Limit in bytes for the factorisation; no proof above it.
    **options
        Passed to `solve_relaxation`.

    Returns
    -------
    ProvedBound
        The bound with its proof in parts.

    Examples
    --------
    >>> prove_upper_bound(MaxCutProblem.from_edges([0, 1, 2], [1, 2, 0], [0.5, 0.25, 1.0])).upper_bound
    1.5
    """
    reduction = reduce_problem(problem)
    bounds = [bound_kernel(kernel.problem, max_memory=max_memory, **options) for kernel in reduction.kernels]
    return combine_bounds(reduction, bounds)


def _all_parts(reduction: Reduction, bounds: tuple[KernelBound, ...]) -> Iterator[BoundPart]:
    """Yield the proof: what was eliminated, then the kernels."""
    yield from _triangles(reduction)
    unit = Fraction(1, 2**reduction.exponent)
    for kernel, bound in zip(reduction.kernels, bounds, strict=True):
        yield from _kernel_parts(kernel, bound, unit)


def _triangles(reduction: Reduction) -> Iterator[BoundPart]:
    """Yield the part that replaces every eliminated vertex of two neighbours: weights whose best cut is known."""
    unit = Fraction(1, 2**reduction.exponent)
    none = np.zeros(0, dtype=np.int64)
    for vertex, first, second, a, b in reduction.elimination.records:
        if second < 0:
            continue
        base = max(0, a + b) - max(a, b)
        edges = ((vertex, first, a * unit), (vertex, second, b * unit), (first, second, base * unit))
        yield BoundPart((vertex, first, second), None, none, edges)


def _kernel_parts(kernel: Kernel, bound: KernelBound, unit: Fraction) -> Iterator[BoundPart]:
    """Yield the parts of a kernel: the weight that the triangles left between its vertices, or cycles out of it."""
    vertices, none = tuple(kernel.vertices.tolist()), np.zeros(0, dtype=np.int64)
    if bound.packing is not None:
        for names, edges in bound.packing.parts(kernel.vertices, unit):
            yield BoundPart(names, None, none, edges)
    elif bound.dual is None:
        yield BoundPart(vertices, None, none, None)
    else:
        # The proof itself may have used a dense matrix throughout; the checker gains from every sparse column.
        core = max(_CHECKER_CORE, kernel.problem.n // 20)
        order = plan_elimination(kernel.problem.adjacency, core=core).order
        yield BoundPart(vertices, bound.dual.dual * float(unit), order, None)


def _exact_cut(problem: MaxCutProblem, side: NDArray[np.int8]) -> Fraction:
    """Return the value of a cut without rounding."""
    crossing = problem.exact_weights[side[problem.heads] != side[problem.tails]]
    return sum(map(Fraction, crossing.tolist()), Fraction(0))
