"""dimod's binary quadratic models in and out: its own energies are the reference, a stand-in where it is missing."""

import importlib.util
import itertools
import sys
import types
from enum import Enum

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError, MissingDependencyError
from derand.maxcut.bqm import from_bqm, to_bqm
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.quadratic import from_ising, from_qubo
from derand.maxcut.qubo import solve_qubo


class Vartype(Enum):
    SPIN = frozenset({-1, 1})
    BINARY = frozenset({0, 1})


class StandIn:
    """The part of dimod.BinaryQuadraticModel that is used, its energy taken from the definition."""

    def __init__(self, linear, quadratic, offset, vartype):
        self.linear, self.quadratic, self.offset = linear, quadratic, offset
        self.vartype = vartype if isinstance(vartype, Vartype) else Vartype[vartype]

    def energy(self, sample):
        pairs = sum(bias * sample[u] * sample[v] for (u, v), bias in self.quadratic.items())
        return self.offset + pairs + sum(bias * sample[v] for v, bias in self.linear.items())


@pytest.fixture(params=["stand-in", "dimod"])
def model_class(request, monkeypatch):
    if request.param == "dimod":
        if importlib.util.find_spec("dimod") is None:
            pytest.skip("dimod isn't installed")
        import dimod

        return dimod.BinaryQuadraticModel
    monkeypatch.setitem(sys.modules, "dimod", types.SimpleNamespace(BinaryQuadraticModel=StandIn))
    return StandIn


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
def test_energies_agree_both_ways(model_class, vartype):
    rng = np.random.default_rng(3)
    labels = ["a", "b", "c", "d", ("e", 1)]
    linear = {label: float(rng.integers(-8, 9)) / 4 for label in labels}
    quadratic = {pair: float(rng.integers(-8, 9)) / 4 for pair in itertools.combinations(labels, 2)}
    bqm = model_class(linear, quadratic, 0.75, vartype)
    model = from_bqm(bqm)
    assert model.vartype == vartype.lower()
    back = to_bqm(model)
    for values in itertools.product([0 if vartype == "BINARY" else -1, 1], repeat=5):
        sample = dict(zip(model.variables, values, strict=True))
        assert model.energy(values) == bqm.energy(sample) == back.energy(sample)
    assert isinstance(back, model_class)
    assert {v: back.linear[v] for v in labels} == linear


def test_cut_problem_as_a_model(model_class):
    bqm = to_bqm(MaxCutProblem.from_edges([0, 1, 2], [1, 2, 0], [1, 2, 4]))
    assert bqm.vartype.name == "BINARY"
    assert bqm.energy({0: 1, 1: 0, 2: 0}) == -5


def test_other_forms_as_models(model_class):
    assert to_bqm(from_ising({"a": 2}, {("a", "b"): -1}, 3)).energy({"a": -1, "b": 1}) == 2
    assert to_bqm(from_qubo({("a", "b"): -1}, 3)).energy({"a": 1, "b": 1}) == 2


def test_missing_dimod_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dimod", None)
    with pytest.raises(MissingDependencyError, match="pip install dimod"):
        to_bqm(from_qubo([[1]]))


def test_bad_models_are_named():
    with pytest.raises(InputTypeError, match="linear"):
        from_bqm({("a", "b"): 1})
    with pytest.raises(InputError, match="vartype"):
        from_bqm(types.SimpleNamespace(linear={}, quadratic={}, offset=0, vartype="DISCRETE"))
    with pytest.raises(InputError, match="finite"):
        from_bqm(StandIn({"a": float("nan")}, {}, 0.0, "SPIN"))


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
def test_solve_qubo_takes_models_of_dimod(model_class, vartype):
    bqm = model_class({"a": -1.0, "b": 0.5, "c": 0.25}, {("a", "b"): 2.0, ("b", "c"): -1.5}, 3.0, vartype)
    values = (0, 1) if vartype == "BINARY" else (-1, 1)
    least = min(bqm.energy(dict(zip("abc", x, strict=True))) for x in itertools.product(values, repeat=3))
    found = solve_qubo(bqm)
    assert float(found.value) == float(found.lower_bound) == least == bqm.energy(found.assignment)
    with pytest.raises(InputTypeError, match="has its own offset"):
        solve_qubo(bqm, 1)
