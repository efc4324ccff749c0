"""What a test problem is, and the helpers that build its starts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray

#: Entries are real in use and complex under the complex-step checks of test_problems.py.
AnyArray = Any


class Objective(ABC):
    """A function of n variables with exact derivatives, written so that complex arguments pass through."""

    n: int

    @abstractmethod
    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        """Return the value and the gradient (n,) at x."""

    @abstractmethod
    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        """Return the product (n,) of the Hessian at x with v."""

    def hess(self, x: FloatArray) -> FloatArray:
        """Return the dense Hessian (n, n), one product a column."""
        columns = np.stack([self.hessp(x, e) for e in np.eye(self.n)], axis=1)
        return 0.5 * (columns + columns.T)


@dataclass(frozen=True)
class Problem:
    """One test problem.

    ``starts["saddle"]`` has zero gradient and, when ``strict``, a negative Hessian eigenvalue; ``minimum`` is the known
    global minimum and ``minimizer`` a point that attains it; with ``benign`` every second-order stationary point does.
    At a gradient of norm ``gtol`` beside a minimum the value exceeds it by at most ``gap``: a squared gradient over
    twice the curvature, 1e-12 / 0.02, unless f grows more slowly across its minima.
    ``grad_lip`` and ``hess_lip`` are proven Lipschitz constants of gradient and Hessian on all of R^n, or None.
    ``tuned`` marks the half of the problems that solver constants may be tuned on.
    """

    name: str
    n: int
    fun: Callable[[FloatArray], tuple[float, FloatArray]]
    hessp: Callable[[FloatArray, FloatArray], FloatArray]
    hess: Callable[[FloatArray], FloatArray]
    starts: Mapping[str, FloatArray]
    minimum: float | None = None
    minimizer: FloatArray | None = None
    benign: bool = False
    strict: bool = True
    gtol: float = 1e-6
    curv_tol: float = 1e-3
    gap: float = 1e-10
    grad_lip: float | None = None
    hess_lip: float | None = None
    tuned: bool = False


def make(
    name: str, objective: Objective, saddle: FloatArray, *, spread: float = 1.0, seed: int = 0, **fields: Any
) -> Problem:
    """Return the problem with its starts: the saddle, 1e-3 of noise on it, a normal draw of the given spread."""
    rng = np.random.default_rng([seed, *name.encode()])
    saddle = np.array(saddle, dtype=np.float64).ravel()
    starts = {
        "saddle": saddle,
        "near_saddle": saddle + 1e-3 * rng.standard_normal(objective.n),
        "random": spread * rng.standard_normal(objective.n),
    }
    minimizer = fields.get("minimizer")
    if minimizer is not None:
        fields["minimizer"] = np.array(minimizer, dtype=np.float64).ravel()
    return Problem(
        name=name,
        n=objective.n,
        fun=objective.value_and_grad,
        hessp=objective.hessp,
        hess=objective.hess,
        starts=starts,
        **fields,
    )


@blas_threads(1)  # the same bits whatever else the machine does
def polish(objective: Objective, x: FloatArray, *, index: int | None = None, n_steps: int = 200) -> FloatArray:
    """Return the stationary point that Newton's method with pseudo-inverse steps reaches from x.

    With ``index`` the step climbs along that many lowest eigenvectors and descends along the others, no further than
    0.2 at a time, and so ends at a saddle of that index, where it is Newton's step.
    """
    x = np.array(x, dtype=np.float64).ravel()
    for _ in range(n_steps):
        eigenvalues, vectors = np.linalg.eigh(objective.hess(x))
        curvature = (
            eigenvalues if index is None else np.abs(eigenvalues) * np.where(np.arange(objective.n) < index, -1.0, 1.0)
        )
        inverse = np.zeros_like(curvature)
        np.divide(1.0, curvature, out=inverse, where=np.abs(curvature) > 1e-9 * np.max(np.abs(curvature)))
        step = vectors @ (inverse * (vectors.T @ objective.value_and_grad(x)[1]))
        length = np.linalg.norm(step)
        x = x - (step if index is None or length <= 0.2 else 0.2 * step / length)
        if length <= 1e-15 * (1.0 + np.linalg.norm(x)):
            break
    return x


def random_orthogonal(n: int, rng: np.random.Generator) -> FloatArray:
    """Return an (n, n) orthogonal matrix, uniform up to column signs."""
    return np.linalg.qr(rng.standard_normal((n, n)))[0]
