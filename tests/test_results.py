"""Every public class of results has a table for notebooks, and a text that doesn't print whole arrays."""

import dataclasses
import importlib
import inspect
import pkgutil

import networkx as nx
import numpy as np
import pytest

import derand
from derand.embedding import distortion_report, learn_embedding
from derand.graphs import maxcut
from derand.maxcut import solve_maxcut
from derand.maxcut.problem import MaxCutProblem
from derand.optimize import minimize_sosp
from derand.spectral import MultiIndexLink
from derand.structure import estimate_structure
from derand.teacher_student import TeacherStudent
from derand.two_step import random_problem, two_step_update

#: Not results: problems, models and data that a user makes, and displays.
NOT_RESULTS = {
    "Batch",
    "Certificate",
    "EdgeList",
    "FirstLayer",
    "HiddenActivation",
    "Loss",
    "MaxCutProblem",
    "Network",
    "PointwiseLoss",
    "QuadraticModel",
    "Sample",
    "SmoothFunction",
    "TwoStepActivation",
}


def _classes():
    """Yield the public dataclasses and named tuples of all packages."""
    for info in pkgutil.iter_modules(derand.__path__):
        if info.name.startswith("_") or info.name in {"cli", "commands", "plotting"}:
            continue
        module = importlib.import_module(f"derand.{info.name}")
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isclass(thing) and (dataclasses.is_dataclass(thing) or hasattr(thing, "_fields")):
                yield f"{info.name}.{name}", thing


def test_every_result_has_a_table():
    missing = [name for name, c in _classes() if not hasattr(c, "_repr_html_") and c.__name__ not in NOT_RESULTS]
    assert missing == []


def _points():
    return np.random.default_rng(0).standard_normal((80, 6))


def _cut():
    return maxcut(nx.gnp_random_graph(60, 0.2, seed=0), effort="derandomize")


def _trajectory():
    model = TeacherStudent(8, 2, lr=0.05)
    return model.solve(0.1 * np.ones((8, 2)), np.eye(8), np.linspace(0.0, 5.0, 50))


def _steps():
    return two_step_update(*random_problem(120, 120, 120, [np.sin], rng=0)[:4], 1.0, 1.0, activation="tanh")


MAKERS = {
    "point": lambda: minimize_sosp(lambda x: (float(x @ x), 2.0 * x), np.ones(200)),
    "cut": _cut,
    "solution": lambda: solve_maxcut(MaxCutProblem.from_edges(*np.triu_indices(40, 1)), effort="derandomize"),
    "map": lambda: learn_embedding(_points(), 3, max_iter=5),
    "distortion": lambda: distortion_report(_points(), np.eye(6)[:3]),
    "directions": lambda: estimate_structure(_points(), np.tanh(_points()[:, 0]), 1),
    "plateau": lambda: TeacherStudent(8, 2, lr=0.05).plateau(second_order=False),
    "trajectory": _trajectory,
    "steps": _steps,
    "threshold": lambda: MultiIndexLink("z**2").delta_alg(),
}


@pytest.mark.parametrize("name", MAKERS)
def test_text_and_table_are_short(name):
    result = MAKERS[name]()
    assert len(repr(result)) < 1500
    table = result._repr_html_()
    assert type(result).__name__ in table
    assert table.count("<tr>") >= 3
    assert len(table) < 8000
