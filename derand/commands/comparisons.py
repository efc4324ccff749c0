"""What ``derand bench`` runs: the same problems for derand and for other libraries, judged by the same means."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray
from derand.commands.demonstrations import DEMONSTRATIONS, Demonstration
from derand.commands.graph_input import karloff_graph, to_problem
from derand.maxcut.problem import MaxCutProblem

__all__ = ["SUITES", "embedding_rows", "judge_point", "maxcut_rows", "sosp_rows", "structure_rows", "torus_graph"]

_GTOL, _CURV_TOL = 1e-6, 1e-3
_SCIPY = ("L-BFGS-B", "BFGS", "Newton-CG", "trust-ncg", "trust-krylov")

Row = dict[str, Any]


def judge_point(problem: Demonstration, x: FloatArray) -> tuple[float, float]:
    """Return gradient norm and smallest Hessian eigenvalue of a point, by a dense eigensolver.

    Parameters
    ----------
    problem : Demonstration
        The function.
    x : ndarray of shape (n,)
        The point.

    Returns
    -------
    gradient_norm : float
        Euclidean norm.
    smallest : float
        Smallest eigenvalue.
    """
    hessian = np.stack([problem.hessp(x, unit) for unit in np.eye(x.size)])
    return float(np.linalg.norm(problem.fun(x)[1])), float(np.linalg.eigvalsh((hessian + hessian.T) / 2.0)[0])


class _Counted:
    """Function and Hessian products of a demonstration, with the number of calls."""

    def __init__(self, problem: Demonstration) -> None:
        self.problem, self.calls = problem, 0

    def fun(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient."""
        self.calls += 1
        return self.problem.fun(x)

    def hessp(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """Return a Hessian product."""
        self.calls += 1
        return self.problem.hessp(x, v)


def sosp_rows(seed: int) -> Iterator[Row]:
    """Yield how each method does on the built-in functions, from their saddle points and from beside them.

    Parameters
    ----------
    seed : int
        Of the starts beside the saddles and of derand.

    Yields
    ------
    dict
        One row for each method: runs, runs that reached a second-order stationary point by a dense eigensolver, runs
        that the method itself called a success, runs with a proof, calls of function and products in all.
    """
    runs = [(problem, x0) for problem in (make() for make in DEMONSTRATIONS.values()) for x0 in _starts(problem, seed)]
    methods: dict[str, Callable[[_Counted, FloatArray], tuple[FloatArray, bool, bool]]] = {
        "derand": partial(_by_derand, seed=seed),
        "derand, gradients only": partial(_by_derand, seed=seed, hessp=False),
        **{f"scipy {name}": partial(_by_scipy, method=name) for name in _SCIPY},
    }
    for method, run in methods.items():
        row: Row = {"task": "second-order stationary point", "method": method, "runs": len(runs)}
        row |= {"reached": 0, "claimed": 0, "proved": 0, "calls": 0}
        for problem, x0 in runs:
            counted = _Counted(problem)
            x, claimed, proved = run(counted, x0)
            gradient_norm, smallest = judge_point(problem, x)
            row["reached"] += gradient_norm <= _GTOL and smallest >= -_CURV_TOL
            row["claimed"] += claimed
            row["proved"] += proved
            row["calls"] += counted.calls
        yield row


def _starts(problem: Demonstration, seed: int) -> list[FloatArray]:
    """Return the saddle itself and a point at a distance of about 1e-3."""
    step = np.random.default_rng(seed).standard_normal(problem.x0.size) * 1e-3 / np.sqrt(problem.x0.size)
    return [problem.x0, problem.x0 + step]


def _by_derand(f: _Counted, x0: FloatArray, *, seed: int, hessp: bool = True) -> tuple[FloatArray, bool, bool]:
    """Return point, success and proof of minimize_sosp."""
    from derand.optimize import SOSPStatus, minimize_sosp

    result = minimize_sosp(
        f.fun, x0, hessp=f.hessp if hessp else None, gtol=_GTOL, curv_tol=_CURV_TOL, rng=seed, max_evals=100_000
    )
    _go_on_unless(result.status is SOSPStatus.INTERRUPTED)
    return result.x, result.success, bool(result.certificate and result.certificate.is_certified)


def _by_scipy(f: _Counted, x0: FloatArray, *, method: str) -> tuple[FloatArray, bool, bool]:
    """Return point and success of a method of scipy, which proves nothing."""
    from scipy import optimize

    minimize: Any = optimize.minimize
    # Where the method looks at the largest entry of the gradient, it gets a tolerance that is safe for the norm.
    specific = {"L-BFGS-B": {"gtol": _GTOL / 10.0, "ftol": 0.0}, "BFGS": {"gtol": _GTOL / 10.0}}
    specific["Newton-CG"] = {"xtol": 1e-12}
    options: dict[str, Any] = {"maxiter": 10_000, **specific.get(method, {"gtol": _GTOL})}
    hessp = None if method in {"L-BFGS-B", "BFGS"} else f.hessp
    found = minimize(f.fun, x0, jac=True, hessp=hessp, method=method, options=options)
    return np.asarray(found.x), bool(found.success), False


def torus_graph(side: int, seed: int) -> MaxCutProblem:
    """Return a square grid on a torus with random weights +1 and -1.

    Parameters
    ----------
    side : int
        Vertices along each side, at least 3.
    seed : int
        Of the weights.

    Returns
    -------
    MaxCutProblem
        With side^2 vertices and 2 side^2 edges.

    Examples
    --------
    >>> torus_graph(3, 0).n_edges
    18
    """
    vertex = np.arange(side * side).reshape(side, side)
    heads = np.concatenate([vertex.ravel(), vertex.ravel()])
    tails = np.concatenate([np.roll(vertex, -1, axis=0).ravel(), np.roll(vertex, -1, axis=1).ravel()])
    weights = np.random.default_rng(seed).choice([-1, 1], size=heads.size)
    return MaxCutProblem.from_edges(heads, tails, weights, n=side * side)


def maxcut_rows(seed: int) -> Iterator[Row]:
    """Yield the cuts of derand, of networkx and of Goemans and Williamson's algorithm through cvxpy.

    Parameters
    ----------
    seed : int
        Of the weights and of the methods.

    Yields
    ------
    dict
        One row for each graph and method: cut, proved upper bound or None, CPU time as a multiple of derand's.
    """
    from derand.maxcut.solve import solve_maxcut

    for name, problem in (
        ("Karloff graph, n=70", to_problem(karloff_graph())),
        ("torus, n=400", torus_graph(20, seed)),
    ):
        with _Stopwatch() as ours:
            solution = solve_maxcut(problem, effort="quick", rng=seed)
        _go_on_unless(solution.status == "interrupted")
        row: Row = {"task": f"maximum cut, {name}", "method": "derand, quick", "cut": solution.value}
        yield row | {"proved_upper_bound": solution.upper_bound, "cpu_ratio": 1.0}
        for method, peer in _CUT_PEERS.items():
            if problem.n > 100 and method.startswith("cvxpy"):
                continue  # minutes, for a value that proves nothing
            with _Stopwatch() as theirs:
                value = peer(problem, seed)
            row = {"task": f"maximum cut, {name}", "method": method, "cut": value, "proved_upper_bound": None}
            yield row | {"cpu_ratio": theirs.seconds / max(ours.seconds, 1e-9)}


def _one_exchange(problem: MaxCutProblem, seed: int) -> Any:
    """Return the best cut of three runs of networkx's one_exchange."""
    import networkx as nx

    graph: Any = nx.Graph()
    graph.add_nodes_from(range(problem.n))
    edges = zip(problem.heads.tolist(), problem.tails.tolist(), problem.weights.tolist(), strict=True)
    graph.add_weighted_edges_from(edges)
    runs = (nx.approximation.one_exchange(graph, seed=seed + k, weight="weight", backend="networkx") for k in range(3))
    return max(value for value, _ in runs)


def _goemans_williamson(problem: MaxCutProblem, seed: int) -> Any:
    """Return the best of a hundred hyperplanes of the relaxation as SCS solves it."""
    from derand.maxcut.baselines import goemans_williamson

    return goemans_williamson(problem, solver="SCS", n_hyperplanes=100, rng=seed).value


_CUT_PEERS: Mapping[str, Callable[[MaxCutProblem, int], Any]] = MappingProxyType(
    {"networkx one_exchange, best of 3": _one_exchange, "cvxpy SCS + 100 hyperplanes": _goemans_williamson}
)


def embedding_rows(seed: int) -> Iterator[Row]:
    """Yield the largest distortion of maps of 200 points in 100 dimensions to 20.

    Parameters
    ----------
    seed : int
        Of the points and of the random maps.

    Yields
    ------
    dict
        One row for each method: exact distortion over all pairs, lower bound for any map where derand proves one.
    """
    from derand.embedding import distortion_report, embedding_lower_bound, learn_embedding

    rng = np.random.default_rng(seed)
    X, k = rng.standard_normal((200, 100)) * np.geomspace(4.0, 0.2, 100), 20
    task = "linear map, 200 points, 100 to 20 dimensions"
    learned = learn_embedding(X, k, rng=seed)
    _go_on_unless(learned.status == "interrupted")
    yield {
        "task": task,
        "method": "derand",
        "distortion": learned.report.distortion,
        "lower_bound_of_any_map": embedding_lower_bound(X, k).value,
    }
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:k]
    for method, M in (
        ("principal axes", axes),
        ("principal axes, best scale", axes * _best_scale(X, axes)),
        ("random projection, best of 10", _best_random(X, k, rng)),
    ):
        distortion = distortion_report(X, M).distortion
        yield {"task": task, "method": method, "distortion": distortion, "lower_bound_of_any_map": None}


def _go_on_unless(is_interrupted: bool) -> None:
    """Raise the KeyboardInterrupt that a call has answered with its best result: half a run is no comparison."""
    if is_interrupted:
        raise KeyboardInterrupt


def _best_scale(X: FloatArray, M: FloatArray) -> float:
    """Return the factor that makes the extreme ratios lie at equal distances from 1."""
    from derand.embedding import distortion_report

    low, high = distortion_report(X, M).ratio_range
    return float(np.sqrt(2.0 / (low + high)))


def _best_random(X: FloatArray, k: int, rng: np.random.Generator) -> FloatArray:
    """Return the Gaussian random projection of smallest distortion out of ten, scaled as in scikit-learn."""
    from derand.embedding import distortion_report

    maps = [rng.standard_normal((k, X.shape[1])) / np.sqrt(k) for _ in range(10)]
    return min(maps, key=lambda M: distortion_report(X, M).distortion)


def structure_rows(seed: int) -> Iterator[Row]:
    """Yield the errors of the direction that a response depends on, found from 500 samples in 20 dimensions.

    Parameters
    ----------
    seed : int
        Of the samples and of the methods.

    Yields
    ------
    dict
        One row for each link and method: sine of the angle to the true direction, and for derand the limit of
        efficient estimators.
    """
    from derand.structure import efficiency_bound, subspace_distance

    rng = np.random.default_rng(seed)
    for name, link in _LINKS.items():
        X, direction = rng.standard_normal((500, 20)), rng.standard_normal((1, 20))
        direction /= np.linalg.norm(direction)
        y = link((X @ direction.T)[:, 0]) + 0.2 * rng.standard_normal(500)
        for method, find in _DIRECTION_FINDERS.items():
            with warnings.catch_warnings(action="ignore"):  # of iterations that ran out
                error = subspace_distance(find(X, y, seed), direction)
            bound = efficiency_bound(partial(_of_column, link), 500, 20, 0.2) if method == "derand" else None
            task = f"direction of a {name}, 500 samples, 20 dimensions"
            yield {"task": task, "method": method, "subspace_error": error, "efficiency_bound": bound}


def _of_column(link: Callable[[FloatArray], FloatArray], z: FloatArray) -> FloatArray:
    """Return a link of points of shape (m, 1)."""
    return link(z[:, 0])


def _by_structure(X: FloatArray, y: FloatArray, seed: int) -> FloatArray:
    """Return derand's direction."""
    from derand.estimators import StructureRegressor

    return np.asarray(StructureRegressor(1, random_state=seed).fit(X, y).components_)


def _by_pls(X: FloatArray, y: FloatArray, seed: int) -> FloatArray:
    """Return the direction of scikit-learn's partial least squares."""
    from sklearn.cross_decomposition import PLSRegression

    return np.asarray(PLSRegression(1).fit(X, y).x_rotations_.T)


def _by_slices(X: FloatArray, y: FloatArray, seed: int) -> FloatArray:
    """Return the direction of sliced inverse regression, which scikit-learn doesn't have."""
    from derand.estimators import SliceReducer

    return np.asarray(SliceReducer(1, method="sir").fit(X, y).components_)


def _by_network(X: FloatArray, y: FloatArray, seed: int) -> FloatArray:
    """Return the leading direction of the first layer of scikit-learn's network."""
    from sklearn.neural_network import MLPRegressor

    network = MLPRegressor(hidden_layer_sizes=(50,), early_stopping=True, max_iter=2000, random_state=seed).fit(X, y)
    return np.linalg.svd(network.coefs_[0].T)[2][:1]


_LINKS: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {"tanh": lambda t: np.tanh(1.5 * t), "square": lambda t: t * t, "cosine": lambda t: np.cos(2.0 * t)}
)
_DIRECTION_FINDERS: Mapping[str, Callable[[FloatArray, FloatArray, int], FloatArray]] = MappingProxyType(
    {
        "derand": _by_structure,
        "sliced inverse regression": _by_slices,
        "scikit-learn partial least squares": _by_pls,
        "scikit-learn network, first layer": _by_network,
    }
)


class _Stopwatch:
    """CPU time of a block."""

    def __enter__(self) -> _Stopwatch:
        """Start."""
        self._start = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.seconds = time.process_time() - self._start


SUITES: Mapping[str, Callable[[int], Iterator[Row]]] = MappingProxyType(
    {"sosp": sosp_rows, "maxcut": maxcut_rows, "embedding": embedding_rows, "structure": structure_rows}
)
