"""The one loop that runs every method: certificates, escapes, limits, callbacks, checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from derand._utils.reductions import norm
from derand._utils.validation import FloatArray
from derand._utils.words import counted
from derand.exceptions import InputError
from derand.optimize.certificate import SOSPCertificate, Tolerances, certify
from derand.optimize.checkpoint import Checkpoint, generator_from_state, generator_state
from derand.optimize.derivative_samples import estimate_curvature_scales, verify_derivatives
from derand.optimize.method import Method, NegativeCurvature
from derand.optimize.oracle import Oracle, Point, StopRun
from derand.optimize.result import IterationRecord, SOSPResult
from derand.optimize.status import SOSPStatus

if TYPE_CHECKING:
    from derand.hessian.min_eigenvalue import MinEigenvalue

__all__ = ["Driver"]

_CONTRADICTIONS = (SOSPStatus.BAD_GRADIENT, SOSPStatus.BAD_HESSP)
_UNFINISHED = (
    SOSPStatus.BUDGET,
    SOSPStatus.TIME_LIMIT,
    SOSPStatus.STALLED,
    SOSPStatus.INTERRUPTED,
    SOSPStatus.CALLBACK,
)
Callback = Callable[[SOSPResult], Any]


@dataclass(frozen=True)
class _Progress:
    """Counters of a run, and what it has settled."""

    nit: int = 0
    n_certificates: int = 0
    n_escapes: int = 0


class Driver:
    """Runs a method from a point or a checkpoint to a status.

    Parameters
    ----------
    oracle : Oracle
        The function, with its limits.
    method : Method
        How to search.
    tolerances : Tolerances
        What is to be proved; a `curv_tol` of nan is settled from an estimated Lipschitz constant at the first
        candidate.
    rng : Generator
        Source of all random numbers.
    max_iter : int
        Most iterations.
    callback : callable or None
        Called with the state after each iteration; True or StopIteration ends the run.
    constants : mapping of str to number or None, optional
        What the method was made from; checkpoints keep it.
    """

    def __init__(
        self,
        oracle: Oracle,
        method: Method[Any],
        tolerances: Tolerances,
        rng: np.random.Generator,
        *,
        max_iter: float = math.inf,
        callback: Callback | None = None,
        constants: Mapping[str, float | None] | None = None,
    ) -> None:
        self.oracle, self.method, self.tolerances, self.rng = oracle, method, tolerances, rng
        self.max_iter, self.callback, self.constants = max_iter, callback, dict(constants or {})
        self.progress = _Progress()
        self.history: list[IterationRecord] = []
        self.certificate: SOSPCertificate | None = None
        self.state: Any = None
        self._start: FloatArray | None = None
        self._snapshot: dict[str, Any] = {}

    def start(self, x0: FloatArray) -> SOSPResult:
        """Return the outcome of a run from x0."""
        self._start = x0
        return self._guard(lambda: self._begin(x0))

    def _begin(self, x0: FloatArray) -> SOSPResult:
        """Evaluate the start and go on from there."""
        point = self.oracle.evaluate(x0)
        if not math.isfinite(point.fun):
            return self._result(SOSPStatus.NON_FINITE, "the start x0 is such a point")
        if self.oracle.fun_lower == -math.inf:
            self.oracle.fun_lower = point.fun - 1e10 * (1.0 + abs(point.fun))
        self.state = self.method.init(self.oracle, point)
        status = self._record("start")
        return self._run() if status is None else self._result(status)

    def resume(self, checkpoint: Checkpoint, n: int) -> SOSPResult:
        """Return the outcome of a run that goes on from a checkpoint.

        Parameters
        ----------
        checkpoint : Checkpoint
            Of a run with the same function, method and tolerances.
        n : int
            Number of variables of the function.

        Returns
        -------
        SOSPResult
            Bit for bit what the uninterrupted run returns.

        Raises
        ------
        InputError
            If the checkpoint belongs to another method or to another number of variables.
        """
        if checkpoint.meta.get("method") != self.method.name:
            raise InputError(f"the checkpoint is of method {checkpoint.meta.get('method')!r}, not {self.method.name!r}")
        known = (*self.method.state_types, _Progress, Tolerances, Point, SOSPCertificate)
        types = {kind.__name__: kind for kind in known}
        try:
            self._restore(checkpoint, types)
            size = self.state.point.x.size
        except (TypeError, ValueError, AttributeError) as error:
            raise InputError(f"the checkpoint is damaged: {error}") from error
        if size != n:
            raise InputError(f"the checkpoint has {counted(size, 'variable')}, x0 has {n}")
        self._snapshot = self._boundary()
        return self._guard(self._run)

    def _restore(self, checkpoint: Checkpoint, types: dict[str, type]) -> None:
        """Take over what a checkpoint holds."""
        self.state = checkpoint.unpack("state", types, self.method.state_types)
        self.progress = checkpoint.unpack("progress", types, _Progress)
        self.tolerances = checkpoint.unpack("tolerances", types, Tolerances)
        self.certificate = checkpoint.unpack("certificate", types, (SOSPCertificate, type(None)))
        self.history = [IterationRecord(*record) for record in checkpoint.unpack("history", types, tuple)]
        self.rng = generator_from_state(checkpoint.unpack("rng", types, dict))
        self.oracle.best = checkpoint.unpack("best", types, Point)
        self.oracle.nfev, self.oracle.nhev, self.oracle.n_non_finite = checkpoint.unpack("counts", types, tuple)
        self.oracle.fun_lower = checkpoint.unpack("fun_lower", types, float)

    def _run(self) -> SOSPResult:
        """Iterate until something ends the run."""
        while True:
            if self.progress.nit >= self.max_iter:
                return self._result(SOSPStatus.BUDGET)
            status = self._iterate()
            if status is not None:
                return self._result(status)

    def _guard(self, run: Callable[[], SOSPResult]) -> SOSPResult:
        """Return the outcome of a run, however it ends."""
        try:
            return run()
        except StopRun as stop:
            return self._after_stop(stop)
        except KeyboardInterrupt:
            return self._result(SOSPStatus.INTERRUPTED)
        except Exception as error:
            # The user's function failed: what was reached travels with its own exception.
            error.partial = self._result(SOSPStatus.INTERRUPTED)  # type: ignore[attr-defined]
            raise

    def _iterate(self) -> SOSPStatus | None:
        """Take one step, or certify a candidate and leave it if it is a saddle."""
        if not self.method.is_candidate(self.state):
            self.state, event = self.method.step(self.oracle, self.state, self.rng)
            n_escapes = self.progress.n_escapes + event.endswith("escape")
            self.progress = replace(self.progress, n_escapes=n_escapes)
            return self._record(event)
        point: Point = self.state.point
        self._settle_tolerances(point)
        found = self._certify(point)
        assert self.certificate is not None
        if self.certificate.is_certified:
            self._verify(point, found)
            self._record("certificate")
            return SOSPStatus.CERTIFIED
        escaped = None
        if found.value < 0.0:
            direction = NegativeCurvature(found.vector, found.value)
            escaped = self.method.escape(self.oracle, self.state, direction, self.rng)
        if escaped is None:
            self._verify(point, found)
            return SOSPStatus.INCONCLUSIVE
        self.state = escaped
        self.progress = replace(self.progress, n_escapes=self.progress.n_escapes + 1)
        return self._record("certificate and escape")

    def _settle_tolerances(self, point: Point) -> None:
        """Choose the curvature tolerance from an estimated Lipschitz constant where the user gave neither."""
        known = self.tolerances
        # An even function shows no third derivative at its saddle in the origin: an estimate so small that the floor
        # was used in its place is made again at the next candidate.
        estimate = known.hess_lip if known.hess_lip_source == "estimated" else None
        has_floor = estimate is not None and known.curv_tol > math.sqrt(estimate * known.gtol)
        if not (math.isnan(known.curv_tol) or has_floor):
            return
        hess_lip, curvature = estimate_curvature_scales(self.oracle, point, self.rng)
        # A quadratic has hess_lip 0; no certificate is possible below rounding, so the size of the spectrum sets a
        # floor.
        curv_tol = max(math.sqrt(hess_lip * known.gtol), 1e-5 * curvature, known.gtol)
        if not math.isfinite(curv_tol):
            raise StopRun(SOSPStatus.NON_FINITE, "the second differences of the gradient overflow; rescale fun")
        self.tolerances = replace(known, curv_tol=curv_tol, hess_lip=hess_lip, hess_lip_source="estimated")

    def _certify(self, point: Point) -> MinEigenvalue:
        """Compute the certificate of the candidate."""
        count = self.progress.n_certificates + 1
        share = 6.0 / (math.pi * count) ** 2  # the shares of all certificates add up to one
        self.certificate, found = certify(self.oracle, point, self.tolerances, share=share, rng=self.rng)
        self.progress = replace(self.progress, n_certificates=count)
        return found

    def _verify(self, point: Point, found: MinEigenvalue) -> None:
        """Check that the derivatives behind a certificate belong together; saddles that were left need no check."""
        assert self.certificate is not None
        before = self.oracle.n_calls
        is_exact = self.oracle.has_hessp
        is_usable = is_exact or self.certificate.is_certified
        verify_derivatives(
            self.oracle,
            point,
            found.start,
            found.start_product if is_usable else None,
            product_error=0.0 if is_exact else self.certificate.hvp_error,
            asymmetry=found.asymmetry,
            slack=0.02 * self.tolerances.gtol,
        )
        n_calls = self.certificate.n_calls + self.oracle.n_calls - before
        self.certificate = replace(self.certificate, n_calls=n_calls)

    def _record(self, event: str) -> SOSPStatus | None:
        """Close an iteration: history, checkpoint, callback."""
        point: Point = self.state.point
        self.progress = replace(self.progress, nit=self.progress.nit + (event != "start"))
        counts = (self.progress.nit, self.oracle.nfev, self.oracle.nhev)
        self.history.append(IterationRecord(*counts, point.fun, point.gradient_norm, event))
        self._snapshot = self._boundary()
        if self.callback is None:
            return None
        try:
            stop = self.callback(self._result(SOSPStatus.RUNNING))
        except StopIteration:
            stop = True
        return SOSPStatus.CALLBACK if stop is True else None

    def _boundary(self) -> dict[str, Any]:
        """Return what decides how the run goes on; all of it is immutable, so nothing is copied."""
        return {
            "method": self.method.name,
            "state": self.state,
            "progress": self.progress,
            "tolerances": self.tolerances,
            "constants": self.constants,
            "certificate": self.certificate,
            "n_records": len(self.history),
            "rng": generator_state(self.rng),
            "best": self.oracle.best,
            "counts": (self.oracle.nfev, self.oracle.nhev, self.oracle.n_non_finite),
            "fun_lower": self.oracle.fun_lower,
        }

    def _checkpoint(self) -> Checkpoint | None:
        """Return the last boundary as a checkpoint, None before the first one."""
        if not self._snapshot:
            return None
        values = dict(self._snapshot)
        records = self.history[: values.pop("n_records")]
        return Checkpoint.pack({**values, "history": tuple(tuple(record) for record in records)})

    def _after_stop(self, stop: StopRun) -> SOSPResult:
        """Return the outcome of a run that ended inside a step; a stall may be the gradient's fault."""
        if stop.status is SOSPStatus.STALLED:
            unit = self.rng.standard_normal(self.state.point.x.size)
            try:
                verify_derivatives(self.oracle, self.state.point, unit / norm(unit))
            except StopRun as fault:
                stop = fault
        return self._result(stop.status, stop.detail)

    def _result(self, status: SOSPStatus, detail: str = "") -> SOSPResult:
        """Return the outcome at the certified point, or at the best one."""
        best = self.oracle.best or self._nowhere()
        if status in (SOSPStatus.CERTIFIED, SOSPStatus.INCONCLUSIVE, SOSPStatus.RUNNING):
            best = self.state.point
        return SOSPResult(
            x=best.x.copy(),
            fun=best.fun,
            jac=best.jac.copy(),
            success=status is SOSPStatus.CERTIFIED,
            status=status,
            message=self._message(status, detail, best),
            nit=self.progress.nit,
            nfev=self.oracle.nfev,
            nhev=self.oracle.nhev,
            n_escapes=self.progress.n_escapes,
            history=tuple(self.history[-1:] if status is SOSPStatus.RUNNING else self.history),
            certificate=None if status in _CONTRADICTIONS else self.certificate,
            checkpoint=self._checkpoint() if status is not SOSPStatus.RUNNING else None,
        )

    def _nowhere(self) -> Point:
        """Return the start without a value, for a run that ended before there was a better point."""
        assert self._start is not None
        return Point(self._start, math.nan, np.full_like(self._start, math.nan))

    def _message(self, status: SOSPStatus, detail: str, best: Point) -> str:
        """Return the sentence of the status, what is known about this run, and its figures."""
        sentences = [status.value]
        if detail:
            sentences.append(f"{detail[0].upper()}{detail[1:]}.")
        if status in _UNFINISHED:
            sentences.append(f"The gradient norm is {best.gradient_norm:.3g}, gtol {self.tolerances.gtol:.3g}.")
            if self.oracle.n_non_finite:
                sentences.append(f"{self.oracle.n_non_finite} evaluations of fun were not finite.")
        if status is SOSPStatus.INCONCLUSIVE and self.certificate is not None:
            proof = self.certificate
            sentences.append(
                f"The estimate is {proof.min_eigenvalue:.3g}, the proven bound {proof.min_eigenvalue_lower:.3g}, "
                f"-curv_tol {-proof.curv_tol:.3g}, the error of a product {proof.hvp_error:.3g}."
            )
        return " ".join(sentences)
