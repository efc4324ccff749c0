import math
import os
import signal
import threading

import numpy as np
import pytest

from derand.exceptions import BudgetExceededError, InputError
from derand.maxcut.baselines import goemans_williamson, predicted_memory, random_hyperplanes
from derand.maxcut.factor import quasi_random_vectors
from derand.maxcut.relaxation import expected_cut, solve_relaxation
from tests.maxcut.graphs import cycle, random_graph


@pytest.mark.parametrize("solver", ["SCS", "CLARABEL"])
def test_two_solvers_and_ours_agree(solver):
    problem = random_graph(np.random.default_rng(0), 14, 50, "int")
    reference = goemans_williamson(problem, solver=solver, rng=1)
    ours = solve_relaxation(problem)
    # SCS stops at 1e-4 by default, Clarabel at 1e-8.
    assert reference.sdp_value == pytest.approx(ours.value, rel=1e-3 if solver == "SCS" else 1e-6)
    assert reference.value == problem.cut_value(reference.side)
    assert reference.value <= ours.value + 1e-3
    assert reference.solver == solver
    assert reference.solver_version
    assert reference.cvxpy_version
    assert reference.status == "optimal"


def test_memory_is_refused_before_cvxpy_is_asked():
    with pytest.raises(BudgetExceededError, match="CLARABEL needs about"):
        goemans_williamson(random_graph(np.random.default_rng(0), 2000, 3000), solver="CLARABEL")
    assert predicted_memory(2000, "SCS") < predicted_memory(2000, "CLARABEL")
    with pytest.raises(InputError, match="solver"):
        predicted_memory(5, "MOSEK")


def test_hyperplanes_average_to_the_expected_cut():
    problem = random_graph(np.random.default_rng(2), 20, 60, "int")
    vectors = quasi_random_vectors(20, 3)
    result = random_hyperplanes(problem, vectors, 5000, rng=3)
    assert abs(result.mean - expected_cut(problem, vectors)) <= 5 * result.standard_error
    assert result.value == problem.cut_value(result.side) >= result.mean


def test_hyperplanes_repeat_with_their_seed():
    problem, vectors = cycle(9), quasi_random_vectors(9, 3)
    first, second = (random_hyperplanes(problem, vectors, 100, rng=5) for _ in range(2))
    assert np.array_equal(first.side, second.side)
    assert math.isnan(random_hyperplanes(problem, vectors, 1, rng=5).standard_error)
    with pytest.raises(InputError, match="n_hyperplanes"):
        random_hyperplanes(problem, vectors, 0)
    with pytest.raises(InputError, match="vectors"):
        random_hyperplanes(problem, vectors[:4], 5)


@pytest.mark.medium
def test_ctrl_c_while_scs_runs_is_an_interruption():
    """SCS has a handler of its own: a signal sent once it iterates must end as one of Python's."""
    problem = random_graph(np.random.default_rng(0), 30, 200, "int")
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        goemans_williamson(problem, eps_abs=0.0, eps_rel=0.0, max_iters=10**8, time_limit_secs=60.0)
    timer.join()
