"""Goemans and Williamson's algorithm by the book: the semidefinite programme through cvxpy, then random hyperplanes."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_option
from derand.exceptions import BudgetExceededError, MissingDependencyError, NonConvergenceError
from derand.maxcut.problem import MaxCutProblem, SideArray
from derand.maxcut.relaxation import expected_cut

__all__ = ["BaselineResult", "HyperplaneResult", "goemans_williamson", "predicted_memory", "random_hyperplanes"]

_SOLVERS = ("SCS", "CLARABEL")
_INTERRUPTED = -5


@dataclass(frozen=True, eq=False)
class HyperplaneResult:
    """The best of many random hyperplane cuts.

    Attributes
    ----------
    value : int or float
        Value of the best cut.
    side : ndarray of int8, shape (n,)
        The best cut.
    mean, standard_error : float
        Mean over the hyperplanes and its standard error.
    """

    value: int | float
    side: SideArray
    mean: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class BaselineResult:
    """What the reference algorithm returns.

    Attributes
    ----------
    value : int or float
        Value of the best cut.
    side : ndarray of int8, shape (n,)
        The best cut.
    sdp_value : float
        Value that the solver reports: approximate, *not* a proved bound.
    expected_cut : float
        Expected hyperplane cut of the solver's vectors.
    solver, solver_version, cvxpy_version : str
        What computed it.
    status : str
        The solver's own verdict.
    """

    value: int | float
    side: SideArray
    sdp_value: float
    expected_cut: float
    solver: str
    solver_version: str
    cvxpy_version: str
    status: str


def predicted_memory(n: int, solver: str) -> int:
    """Return the bytes that ``solver`` will need for n vertices, to within a small factor.

    Clarabel keeps the Hessian of the cone as a dense block of n(n+1)/2 rows; SCS works with some thirty arrays of that
    length.

    Parameters
    ----------
    n : int
        Number of vertices.
    solver : {"SCS", "CLARABEL"}
        Which solver.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> predicted_memory(120, "CLARABEL") > 40 * predicted_memory(120, "SCS")
    True
    """
    length = n * (n + 1) // 2
    return 8 * length * (length if check_option(solver, "solver", _SOLVERS) == "CLARABEL" else 30)


def goemans_williamson(
    problem: MaxCutProblem,
    *,
    solver: str = "SCS",
    n_hyperplanes: int = 100,
    rng: RNGLike = None,
    max_memory: int = 4 * 2**30,
    **solver_options: Any,
) -> BaselineResult:
    """Return the best hyperplane cut of the relaxation as cvxpy solves it.

    A reference to compare with; `derand.maxcut.solve_relaxation` solves the same programme much faster.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph; a few hundred vertices at most.
    solver : {"SCS", "CLARABEL"}
        Solver behind cvxpy.
    n_hyperplanes : int, default 100
        Number of random cuts to take the best of.
    rng : int, Generator or None
        Source of the hyperplanes.
    max_memory : int, default 4 GiB
        Refuse graphs for which `predicted_memory` is larger.
    **solver_options
        Of the solver, such as ``eps_abs`` of SCS.

    Returns
    -------
    BaselineResult
        Cut, reported value, solver and versions.

    Raises
    ------
    BudgetExceededError
        If the predicted memory exceeds ``max_memory``; nothing has been allocated then.
    MissingDependencyError
        If cvxpy or the solver isn't installed.
    NonConvergenceError
        If the solver returns no solution.
    KeyboardInterrupt
        On Ctrl-C, also while SCS runs, except for one that comes while SCS sets up: it drops that.

    Notes
    -----
    Random, and not monotone in ``n_hyperplanes`` between different ``rng``.

    References
    ----------
    Goemans and Williamson (1995), Improved approximation algorithms for maximum cut and satisfiability problems using
    semidefinite programming.
    """
    needed = predicted_memory(problem.n, solver)
    if needed > max_memory:
        raise BudgetExceededError(
            f"{solver} needs about {needed} bytes for {problem.n} vertices, the limit is {max_memory}"
        )
    generator = check_rng(rng)
    try:
        import cvxpy

        solver_version = version(solver.lower())
    except (ImportError, PackageNotFoundError) as error:
        raise MissingDependencyError(f"this baseline needs cvxpy with {solver}: pip install cvxpy") from error
    gram = cvxpy.Variable((problem.n, problem.n), PSD=True)
    # The scale keeps the solver's absolute tolerances meaningful for any weights.
    coupling = problem.adjacency.toarray() / problem.scale
    programme = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.multiply(coupling, gram))), [cvxpy.diag(gram) == 1])
    try:
        _solve(programme, solver, solver_options)
    except cvxpy.error.SolverError as error:
        raise NonConvergenceError(f"{solver} failed: {error}") from error
    if gram.value is None:
        raise NonConvergenceError(f"{solver} returned no solution: {programme.status}")
    vectors = _gram_factor(np.asarray(gram.value))
    rounded = random_hyperplanes(problem, vectors, n_hyperplanes, rng=generator)
    sdp_value = float(problem.total_weight) / 2 - problem.scale * float(programme.value) / 4
    return BaselineResult(
        rounded.value,
        rounded.side,
        sdp_value,
        expected_cut(problem, vectors),
        solver,
        solver_version,
        str(cvxpy.__version__),
        str(programme.status),
    )


def _solve(programme: Any, solver: str, options: dict[str, Any]) -> None:
    """Solve a programme of cvxpy as its ``solve`` does, but raise where Ctrl-C ended the solver."""
    data, chain, inverse = programme.get_problem_data(solver, solver_opts=options)
    raw = chain.solve_via_data(programme, data, solver_opts=options)
    # SCS takes Ctrl-C away from Python while it runs, and cvxpy calls that a failure like any other.
    if solver == "SCS" and raw["info"]["status_val"] == _INTERRUPTED:
        raise KeyboardInterrupt
    programme.unpack_results(raw, chain, inverse)


def _gram_factor(gram: FloatArray) -> FloatArray:
    """Return unit rows (n, n) whose inner products are near a matrix that is nearly positive semidefinite."""
    values, axes = np.linalg.eigh((gram + gram.T) / 2)
    vectors: FloatArray = axes * np.sqrt(np.maximum(values, 0.0))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    return vectors


def random_hyperplanes(
    problem: MaxCutProblem, vectors: FloatArray, n_hyperplanes: int = 100, *, rng: RNGLike = None
) -> HyperplaneResult:
    """Return the best of many random hyperplane cuts of unit vectors.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    vectors : ndarray, shape (n, k)
        One vector per vertex.
    n_hyperplanes : int, default 100
        How many cuts to try.
    rng : int, Generator or None
        Source of the hyperplanes.

    Returns
    -------
    HyperplaneResult
        The best cut, and the mean over all.

    Raises
    ------
    InputError
        If the shapes don't fit or ``n_hyperplanes`` isn't positive.

    Notes
    -----
    Time O(n_hyperplanes (m + n k)), in blocks of 64 hyperplanes.

    Examples
    --------
    >>> edge = MaxCutProblem.from_edges([0], [1])
    >>> random_hyperplanes(edge, np.array([[1.0], [-1.0]]), 3, rng=0).value
    1
    """
    array = check_array(vectors, "vectors", shape=(problem.n, None))
    count, generator = check_int(n_hyperplanes, "n_hyperplanes", low=1), check_rng(rng)
    values: list[float] = []
    best, best_side = -np.inf, np.ones(problem.n, dtype=np.int8)
    for start in range(0, count, 64):
        normals = generator.standard_normal((array.shape[1], min(64, count - start)))
        sides = np.where(array @ normals >= 0.0, 1, -1).astype(np.int8)
        crossing = sides[problem.heads] != sides[problem.tails]
        cuts = problem.weights @ crossing if problem.n_edges else np.zeros(sides.shape[1])
        values.extend(cuts.tolist())
        top = int(np.argmax(cuts))
        if cuts[top] > best:
            best, best_side = float(cuts[top]), sides[:, top].copy()
    error = float(np.std(values, ddof=1) / np.sqrt(count)) if count > 1 else float("nan")
    return HyperplaneResult(problem.cut_value(best_side), best_side, float(np.mean(values)), error)
