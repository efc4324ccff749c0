"""Methods by name, each a fresh object that makes a state its checkpoint can hold."""

import dataclasses

import numpy as np
import pytest

from derand.optimize import minimize_sosp
from derand.optimize.certificate import Tolerances
from derand.optimize.checkpoint import Checkpoint
from derand.optimize.method import Method
from derand.optimize.methods import METHODS, MethodOptions, make_method
from derand.optimize.oracle import Oracle
from tests.optimize import hostile

OPTIONS = MethodOptions(Tolerances(1e-3, 0.1, 0.99, 10.0, "given"), grad_lip=10.0, delta_f=5.0, memory=7, n=4)


@pytest.mark.parametrize("name", METHODS)
def test_name_and_state(name):
    method = make_method(name, OPTIONS)
    assert isinstance(method, Method)
    assert method.name == name
    oracle = Oracle(hostile.coupled, hostile.coupled_hessp)
    state = method.init(oracle, oracle.evaluate(np.full(4, 0.5)))
    assert dataclasses.is_dataclass(state)
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.point = None
    state, event = method.step(oracle, state, np.random.default_rng(0))
    assert isinstance(event, str)
    types = {kind.__name__: kind for kind in method.state_types}
    back = Checkpoint.pack({"state": state}).unpack("state", types, method.state_types)
    assert type(back) is type(state)
    np.testing.assert_array_equal(back.point.x, state.point.x)


def test_the_default_is_the_practical_one():
    assert METHODS[0] == "lbfgs-lanczos"
    result = minimize_sosp(hostile.coupled, np.zeros(5), curv_tol=1e-3)
    assert result.checkpoint.meta["method"] == "lbfgs-lanczos"
    assert set(METHODS) == {"lbfgs-lanczos", "newton-cg", "perturbed_gradient", "accelerated"}
