"""The contestants of the benchmark sosp.py, each behind one call, and the oracle that counts and stops them.

Every contestant sees one oracle: a point's value with its gradient is one call (asked for once per point), a Hessian
product is one call, a dense Hessian n calls.  A peer is stopped at the first evaluated point with ||g||_2 <= gtol,
whatever its own test would have said, so that all answer to the same rule; its own tolerances are set to zero and its
other options left alone.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import optimize
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from derand._utils.validation import FloatArray
from tests.problems import Problem

MAX_CALLS = 20_000
MAX_CPU_SECONDS = 60.0


class _ReachedError(Exception):
    """Raised at the first evaluated point whose gradient is small enough."""


class _SpentError(Exception):
    """Raised when the calls or the processor time of this instance are used up."""


class Oracle:
    """Value, gradient and products of a problem, counted; ``stops`` makes it end a peer by raising."""

    def __init__(self, problem: Problem, *, stops: bool) -> None:
        self.problem, self.stops = problem, stops
        self.n_gradients = self.n_products = 0
        self.x: FloatArray = np.empty(0)
        self._last: tuple[float, FloatArray] = (np.nan, np.empty(0))
        self.deadline = time.process_time() + MAX_CPU_SECONDS

    def _check_limits(self) -> None:
        if self.n_gradients + self.n_products > MAX_CALLS or time.process_time() > self.deadline:
            raise _SpentError

    def fun(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient; the same point twice in a row is one call."""
        if not np.array_equal(x, self.x):
            self._check_limits()
            self.n_gradients += 1
            self.x = np.array(x, dtype=np.float64)
            value, gradient = self.problem.fun(self.x)
            self._last = float(value), gradient
            if self.stops and np.linalg.norm(gradient) <= self.problem.gtol:
                raise _ReachedError
        return self._last[0], self._last[1].copy()

    def hessp(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """Return a Hessian product."""
        self._check_limits()
        self.n_products += 1
        return self.problem.hessp(x, np.ravel(v))

    def hess(self, x: FloatArray) -> FloatArray:
        """Return the dense Hessian at the price of n products."""
        self._check_limits()
        self.n_products += self.problem.n
        return self.problem.hess(x)


@dataclass(frozen=True)
class Run:
    """One method on one start of one problem; ``reached`` is decided by the dense eigensolver, never by the method."""

    problem: str
    start: str
    tuned: bool
    method: str
    reached: bool
    calls: int
    search_calls: int
    cpu: float
    gradient_norm: float
    min_eigenvalue: float
    value: float
    claimed: bool
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)


def _scipy(method: str, **options: float) -> Callable[[Oracle, FloatArray], FloatArray]:
    def run(oracle: Oracle, x: FloatArray) -> FloatArray:
        second: dict[str, Any] = {}
        if method in {"Newton-CG", "trust-ncg", "trust-krylov"}:
            second["hessp"] = oracle.hessp
        elif method == "trust-exact":
            second["hess"] = oracle.hess
        return np.asarray(optimize.minimize(oracle.fun, x, jac=True, method=method, options=dict(options), **second).x)

    return run


def _pymanopt(oracle: Oracle, x: FloatArray) -> FloatArray:
    import pymanopt
    from pymanopt.manifolds import Euclidean
    from pymanopt.optimizers import TrustRegions

    manifold = Euclidean(len(x))
    decorate = pymanopt.function.numpy(manifold)
    problem = pymanopt.Problem(
        manifold,
        decorate(lambda y: oracle.fun(y)[0]),
        euclidean_gradient=decorate(lambda y: oracle.fun(y)[1]),
        euclidean_hessian=decorate(lambda y, v: oracle.hessp(y, v)),
    )
    solver = TrustRegions(
        max_time=1e6,
        max_iterations=MAX_CALLS,
        max_cost_evaluations=MAX_CALLS,
        min_gradient_norm=0.0,
        min_step_size=0.0,
        verbosity=0,
    )
    return np.asarray(solver.run(problem, initial_point=x).point)


def _recipe(oracle: Oracle, x: FloatArray) -> FloatArray:
    """What a careful user writes today: descend, ask ARPACK for the lowest eigenvalue, step along it, repeat."""
    descend, problem = _scipy("L-BFGS-B", gtol=0.0, ftol=0.0, maxiter=MAX_CALLS, maxfun=MAX_CALLS), oracle.problem
    rng = np.random.default_rng(0)
    while True:
        oracle.stops = True
        try:
            x = descend(oracle, x)
        except _ReachedError:
            x = oracle.x
        oracle.stops = False
        operator = LinearOperator((problem.n, problem.n), matvec=lambda v, x=x: oracle.hessp(x, v), dtype=np.float64)
        try:
            values, vectors = eigsh(operator, k=1, which="SA", tol=1e-4, v0=rng.standard_normal(problem.n))
        except ArpackNoConvergence as error:
            values, vectors = error.eigenvalues, error.eigenvectors
        except ArpackError:
            return x  # the start vector lies in an invariant subspace: the Hessian is zero there
        if not len(values) or values[0] >= -problem.curv_tol:
            return x
        value, gradient = oracle.fun(x)
        v = vectors[:, 0] * (-1.0 if gradient @ vectors[:, 0] > 0.0 else 1.0)
        step = 1.0
        while oracle.fun(x + step * v)[0] > value + 0.25 * values[0] * step * step and step > 1e-12:
            step *= 0.5
        x = x + step * v


_UNLIMITED = {"maxiter": MAX_CALLS}

PEERS: MappingProxyType[str, Callable[[Oracle, FloatArray], FloatArray]] = MappingProxyType(
    {
        "L-BFGS-B": _scipy("L-BFGS-B", gtol=0.0, ftol=0.0, maxfun=MAX_CALLS, **_UNLIMITED),
        "BFGS": _scipy("BFGS", gtol=0.0, **_UNLIMITED),
        "CG": _scipy("CG", gtol=0.0, **_UNLIMITED),
        "Newton-CG": _scipy("Newton-CG", xtol=0.0, **_UNLIMITED),
        "trust-ncg": _scipy("trust-ncg", gtol=0.0, **_UNLIMITED),
        "trust-krylov": _scipy("trust-krylov", gtol=0.0, **_UNLIMITED),
        "trust-exact": _scipy("trust-exact", gtol=0.0, **_UNLIMITED),
        "pymanopt": _pymanopt,
    }
)


def run_peer(problem: Problem, start: str, method: str) -> Run:
    """Run one peer, or the recipe, and judge the point it ends at."""
    contestant = _recipe if method == "recipe" else PEERS[method]
    oracle, note = Oracle(problem, stops=method != "recipe"), ""
    x = problem.starts[start].copy()
    begin = time.process_time()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            x = contestant(oracle, x)
    except _ReachedError:
        x = oracle.x
    except _SpentError:
        x, note = oracle.x, "budget"
    except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
        x, note = oracle.x, f"{type(error).__name__}: {error}"[:80]
    cpu = time.process_time() - begin
    calls = oracle.n_gradients + oracle.n_products
    return judge(problem, start, method, x, calls=calls, search_calls=calls, cpu=cpu, claimed=False, note=note)


def run_derand(problem: Problem, start: str, method: str) -> Run:
    """Run minimize_sosp: "derand", "derand-gradients" (no products given) or "derand:METHOD"."""
    from derand.optimize import minimize_sosp

    oracle = Oracle(problem, stops=False)
    arguments: dict[str, Any] = {"gtol": problem.gtol, "curv_tol": problem.curv_tol, "max_evals": MAX_CALLS, "rng": 0}
    if method != "derand-gradients":
        arguments["hessp"] = oracle.hessp
    if ":" in method:
        arguments["method"] = method.split(":", 1)[1]
    x = problem.starts[start].copy()
    begin = time.process_time()
    try:
        result = minimize_sosp(oracle.fun, x, **arguments)
    except _SpentError:
        calls = oracle.n_gradients + oracle.n_products
        cpu = time.process_time() - begin
        return judge(
            problem, start, method, oracle.x, calls=calls, search_calls=calls, cpu=cpu, claimed=False, note="budget"
        )
    cpu = time.process_time() - begin
    calls = oracle.n_gradients + oracle.n_products
    proof = 0 if result.certificate is None else int(result.certificate.n_calls)
    note = "" if result.success else f"{result.status}"
    return judge(
        problem,
        start,
        method,
        result.x,
        calls=calls,
        search_calls=calls - proof,
        cpu=cpu,
        claimed=bool(result.success),
        note=note,
    )


def judge(problem: Problem, start: str, method: str, x: FloatArray, **counts: Any) -> Run:
    """Return the run with gradient and smallest eigenvalue recomputed at x, uncounted, by dense linear algebra."""
    value, gradient = problem.fun(x)
    gradient_norm = float(np.linalg.norm(gradient))
    lowest = np.nan
    if gradient_norm <= problem.gtol:
        lowest = float(np.linalg.eigvalsh(problem.hess(x))[0])
    # A multiple zero eigenvalue is computed to rounding of the norm of the Hessian, far below curv_tol.
    reached = gradient_norm <= problem.gtol and lowest >= -problem.curv_tol
    return Run(
        problem=problem.name,
        start=start,
        tuned=problem.tuned,
        method=method,
        reached=bool(reached),
        gradient_norm=gradient_norm,
        min_eigenvalue=lowest,
        value=float(value),
        **counts,
    )
