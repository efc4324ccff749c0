"""Maximum cuts of networkx graphs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import networkx as nx

from derand._utils.rng import RNGLike
from derand.exceptions import InputTypeError
from derand.graphs.convert import LabelledProblem, Weight, labelled_problem
from derand.graphs.result import MaxCutResult
from derand.maxcut.solve import MaxCutSolution, solve_maxcut

__all__ = ["maxcut", "maximum_cut"]


def maxcut(
    G: nx.Graph[Any],
    weight: Weight = "weight",
    *,
    method: str = "sosp",
    effort: str = "default",
    bound: bool = True,
    time_limit: float | None = None,
    callback: Callable[[MaxCutResult], object] | None = None,
    seed: RNGLike = None,
    n_starts: int = 1,
    n_jobs: int | None = None,
) -> MaxCutResult:
    """Return a near-best cut of a graph with a proved upper bound on all cuts.

    The result states and checks the chain: cut >= expected cut of random hyperplane rounding >= 0.87856 times the
    value of the semidefinite relaxation (after subtracting the negative weights), and its upper bound is a theorem
    that ``result.verify(G)`` proves again with a program of 150 lines.

    Parameters
    ----------
    G : networkx.Graph or MultiGraph
        Undirected.  Self loops are ignored, parallel edges summed; negative weights are welcome.
    weight : str, callable or None, default "weight"
        Edge attribute that holds the weight (1 where an edge lacks it), a function ``weight(u, v, data)``, or None for
        weight 1 throughout.
    method : {"sosp", "perturbed_gradient", "conditional", "hyperplane"}
        How the relaxation is rounded: by a certified second-order stationary point of the smoothed objective (default),
        by the perturbed gradient descent of the paper, by conditioning one Gaussian coordinate after the other, or by a
        random hyperplane (for comparison).
    effort : {"derandomize", "quick", "default", "thorough"}
        How long to search after the rounding: not at all, or up to 6,000, 120,000 or 1,200,000 sweeps of 32 replicas,
        fewer on large graphs.
    bound : bool, default True
        Whether to prove an upper bound.
    time_limit : float, optional
        Seconds after which the best cut so far is returned with what is proved by then.
    callback : callable, optional
        Called with the present `MaxCutResult` after every stage; a true answer ends the run.
    seed : int, Generator or None
        Random stream of the search.  None means 0: the answer is the same on every run.
    n_starts : int, default 1
        Independent searches, whose cuts are recombined; each takes the effort's whole work.
    n_jobs : int, optional
        How many of them run at the same time, as in joblib; the answer doesn't depend on it.

    Returns
    -------
    MaxCutResult
        Value, partition, bound, gap, guarantee, certificate.

    Raises
    ------
    InputError
        If the graph is directed, a weight is None, NaN or infinite, or a parameter is out of range.
    InputTypeError
        If G is no networkx graph, or a weight or parameter has the wrong type.

    Notes
    -----
    Ctrl-C ends the run with the best cut so far and status "interrupted".

    References
    ----------
    Tsikouras, Pantis, Mitliagkas, Tzamos, arXiv:2510.19382; Goemans, Williamson, J. ACM 42 (1995) 1115-1145.

    Examples
    --------
    >>> import networkx as nx
    >>> result = maxcut(nx.cycle_graph(5))
    >>> result.value, result.upper_bound, result.optimal
    (4, 4, True)
    >>> result.verify(nx.cycle_graph(5))
    True
    """
    labelled = labelled_problem(G, weight)
    solution = solve_maxcut(
        labelled.problem,
        method=method,
        effort=effort,
        bound=bound,
        time_limit=time_limit,
        callback=_labelled_callback(callback, labelled, weight),
        rng=0 if seed is None else seed,
        n_starts=n_starts,
        n_jobs=n_jobs,
    )
    return MaxCutResult(solution, labelled, weight)


def maximum_cut(
    G: nx.Graph[Any], weight: Weight = None, seed: RNGLike = None
) -> tuple[int | float, tuple[set[Hashable], set[Hashable]]]:
    """Return the value and the partition of a near-best cut, in the form of networkx's approximation functions.

    Parameters
    ----------
    G : networkx.Graph or MultiGraph
        Undirected.
    weight : str, callable or None
        Edge attribute that holds the weight; None, as in networkx, for weight 1 throughout.
    seed : int, Generator or None
        Random stream of the search; None means 0.

    Returns
    -------
    cut_value : int or float
        Value of the cut.
    partition : pair of sets of nodes
        Its sides.

    Raises
    ------
    InputError
        As for `maxcut`.
    InputTypeError
        As for `maxcut`.

    Examples
    --------
    >>> import networkx as nx
    >>> maximum_cut(nx.path_graph(3))
    (2, ({0, 2}, {1}))
    """
    result = maxcut(G, weight, bound=False, seed=seed)
    return result.value, result.partition


def _labelled_callback(
    callback: Callable[[MaxCutResult], object] | None, labelled: LabelledProblem, weight: Weight
) -> Callable[[MaxCutSolution], Any] | None:
    """Return a callback on solutions that calls one on results."""
    if callback is None:
        return None
    if not callable(callback):
        raise InputTypeError(f"callback must be callable, got {type(callback).__name__}")
    return lambda solution: callback(MaxCutResult(solution, labelled, weight))
