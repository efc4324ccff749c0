"""What a run returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from derand._utils.html import ResultRepr, result_html
from derand._utils.validation import FloatArray
from derand._utils.words import counted
from derand.optimize.certificate import SOSPCertificate
from derand.optimize.status import SOSPStatus

if TYPE_CHECKING:
    from derand.optimize.checkpoint import Checkpoint

__all__ = ["IterationRecord", "SOSPResult"]


class IterationRecord(NamedTuple):
    """One line of the history: counters, value and gradient norm after an iteration, and what the iteration was."""

    nit: int
    nfev: int
    nhev: int
    fun: float
    gradient_norm: float
    event: str

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        return result_html(self)


@dataclass(frozen=True)
class SOSPResult(ResultRepr):
    """Outcome of `minimize_sosp`, with the field names of scipy's OptimizeResult.

    Parameters
    ----------
    x : ndarray of shape (n,)
        The certified point; without a certificate the best point seen.
    fun : float
        Value at x.
    jac : ndarray of shape (n,)
        Gradient at x.
    success : bool
        True only when `certificate` proves x a second-order stationary point.
    status : SOSPStatus
        How the run ended.
    message : str
        The same as a sentence, with figures.
    nit : int
        Iterations: steps, escapes and certificates.
    nfev : int
        Evaluations of value and gradient.
    nhev : int
        Hessian products (with ``hessp``; differences of gradients count as evaluations).
    n_escapes : int
        Saddle points left along a direction of negative curvature.
    history : tuple of IterationRecord
        One record per iteration; a callback sees the last one only.
    certificate : SOSPCertificate or None
        The last certificate computed, of x when `success`; None when the derivatives on which it would rest
        contradict each other.
    checkpoint : Checkpoint or None
        State at the end of the last complete iteration; give it as ``resume`` to go on.  None in a callback, and
        when the run ended at its very start.
    """

    x: FloatArray
    fun: float
    jac: FloatArray
    success: bool
    status: SOSPStatus
    message: str
    nit: int
    nfev: int
    nhev: int
    n_escapes: int
    history: tuple[IterationRecord, ...]
    certificate: SOSPCertificate | None
    checkpoint: Checkpoint | None

    def __repr__(self) -> str:
        """Return the outcome in a few lines."""
        return (
            f"SOSPResult: {self.message}\n"
            f"  fun = {self.fun:.10g}, n = {self.x.size}, {counted(self.nit, 'iteration')}, "
            f"{counted(self.nfev, 'evaluation')}, {counted(self.nhev, 'Hessian product')}, "
            f"{counted(self.n_escapes, 'escape')}\n"
            f"  certificate: {self.certificate!r}"
        )
