"""A user's program under mypy's strict mode: public entry points with the types that their documentation promises."""

from typing import assert_type

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import derand
from derand import SOSPCertificate, SOSPResult, minimize_sosp
from derand.embedding import EmbeddingResult, embedding_lower_bound, jl_min_dim, learn_embedding
from derand.estimators import LearnedJL
from derand.exceptions import DerandError, InputError
from derand.graphs import MaxCutResult, maxcut, maximum_cut
from derand.maxcut import Certificate, MaxCutProblem, solve_maxcut
from derand.objectives import SmoothedObjective, double_well
from derand.plotting import CutDisplay, SOSPDisplay
from derand.sweeps import grid, sweep
from derand.teacher_student import TeacherStudent

Vector = NDArray[np.float64]


def fun(x: Vector) -> tuple[float, Vector]:
    """Return value and gradient of a quartic."""
    return float(np.sum((x**2 - 1) ** 2)) / 4, x * (x**2 - 1)


def point() -> SOSPCertificate | None:
    """Find a second-order stationary point."""
    result = minimize_sosp(fun, np.zeros(3), curv_tol=1e-3)
    assert_type(result, SOSPResult)
    assert_type(result.x, Vector)
    assert_type(result.success, bool)
    assert_type(result.fun, float)
    SOSPDisplay.from_result(result)
    assert_type(derand.__version__, str)
    return result.certificate


def smoothed() -> float:
    """Minimise a smoothed objective."""
    f = SmoothedObjective(double_well(1), k=1, d=1, lam=0.3)
    result = minimize_sosp(f.value_and_grad, f.pack([[1.0]], [0.0]), hessp=f.hessp)
    return f.weight_bound(*f.unpack(result.x)[:2])


def cut() -> Certificate | None:
    """Cut a graph."""
    G: nx.Graph[str] = nx.Graph()
    G.add_edge("a", "b", weight=2)
    result = maxcut(G)
    assert_type(result, MaxCutResult)
    assert_type(result.value, int | float)
    assert_type(result.upper_bound, int | float | None)
    assert_type(result.verify(G), bool)
    maximum_cut(G)
    CutDisplay.from_result(result, G)
    solution = solve_maxcut(MaxCutProblem.from_edges([0], [1]))
    assert_type(solution.is_optimal, bool)
    return result.certificate


def embed() -> int:
    """Learn a linear map."""
    X = np.eye(4)
    result = learn_embedding(X, 2)
    assert_type(result, EmbeddingResult)
    assert_type(result.report.distortion, float)
    assert_type(embedding_lower_bound(X, 2).value, float)
    LearnedJL(2, random_state=0).fit(X)
    return jl_min_dim(100, eps=0.1, delta=0.05)


def loss(p: int) -> float:
    """Return the loss of a plateau."""
    return TeacherStudent(p, 2, lr=0.05).plateau(second_order=False).loss


def many() -> list[float]:
    """Sweep over widths."""
    try:
        return [float(value) for value in sweep(loss, grid(p=[4, 8]))]
    except InputError as error:
        known: DerandError = error
        raise known from None
