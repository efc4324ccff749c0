"""Independent searches: the same cuts for any number of jobs, none below its start, and an end at the target."""

import joblib
import numpy as np
import pytest

from derand.exceptions import InputError
from derand.maxcut.clock import Clock
from derand.maxcut.multistart import StartSettings, search_starts
from derand.maxcut.relaxation import solve_relaxation
from derand.maxcut.search import sweep_work
from derand.maxcut.solve import solve_maxcut
from tests.maxcut.graphs import karloff, random_graph, torus


def starts(problem, *, sweeps=20, count=2, n_jobs=None, method="sosp", target=None):
    work = sweeps * 32 * sweep_work(problem)
    vectors = solve_relaxation(problem, tol=1e-4).vectors
    side = np.ones(problem.n, dtype=np.int8)
    streams = np.random.default_rng(0).spawn(count)
    settings = StartSettings(method, 500, work, target)
    return list(search_starts(problem, vectors, side, settings, streams, clock=Clock(None), n_jobs=n_jobs))


@pytest.mark.parametrize("method", ["sosp", "conditional"])
def test_cuts_do_not_depend_on_the_number_of_jobs(method):
    problem = torus(5, 6, np.random.default_rng(1))
    one, two = (starts(problem, n_jobs=n_jobs, method=method) for n_jobs in (1, 2))
    assert len(one) == len(two) == 2
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    # Both searches of so small a graph end at the ground state, maybe at different ones.
    assert problem.cut_value(one[0]) == problem.cut_value(one[1])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_nothing_follows_a_cut_at_the_target(n_jobs):
    problem = karloff(6, 3, 1)
    found = starts(problem, sweeps=300, n_jobs=n_jobs, target=60)
    assert [problem.cut_value(cut) for cut in found] == [60]


@pytest.mark.medium
def test_directions_without_search_need_no_random_numbers():
    # Fixed-effort rounding in several directions: never below one direction, whatever the seed.
    problem = random_graph(np.random.default_rng(2), 40, 120, "int")
    options = {"effort": "derandomize", "bound": False}
    single = solve_maxcut(problem, **options)
    several = [solve_maxcut(problem, n_starts=4, rng=seed, **options) for seed in (0, 1)]
    assert np.array_equal(several[0].side, several[1].side)
    assert several[0].value >= single.value
    assert several[0].derandomized_value == single.derandomized_value


def _bits(solution):
    return solution.side.tobytes(), solution.value, solution.upper_bound, solution.expected_cut, solution.history


def test_whole_run_has_the_same_bits_for_any_number_of_jobs():
    problem = random_graph(np.random.default_rng(3), 24, 80, "int")
    runs = [solve_maxcut(problem, effort="quick", n_starts=2, n_jobs=n_jobs) for n_jobs in (None, 2)]
    assert len({_bits(run) for run in runs}) == 1
    assert runs[0].value <= runs[0].upper_bound


@pytest.mark.slow
def test_processes_return_the_same_bits():
    problem = torus(8, 9, np.random.default_rng(4))
    options = {"effort": "quick", "n_starts": 3, "bound": False}
    alone = solve_maxcut(problem, **options)
    with joblib.parallel_config(backend="loky"):
        spread = solve_maxcut(problem, n_jobs=2, **options)
    assert _bits(alone) == _bits(spread)


def test_time_limit_ends_all_searches():
    problem = torus(20, 20, np.random.default_rng(5))
    solution = solve_maxcut(problem, effort="thorough", n_starts=3, n_jobs=2, bound=False, time_limit=0.3)
    assert solution.status == "time_limit"
    assert problem.cut_value(solution.side) == solution.value


def test_numbers_out_of_range():
    problem = karloff(6, 3, 1)
    for name in ("n_starts", "n_jobs"):
        with pytest.raises(InputError, match=name):
            solve_maxcut(problem, **{name: 0})
