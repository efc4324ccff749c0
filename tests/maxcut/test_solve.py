"""The whole job: brute force, known optima, proofs, limits, repeatability."""

import os
import subprocess
import sys

import numpy as np
import pytest

from derand.exceptions import CertificateError, InputError
from derand.maxcut.objective import SmoothedCutObjective
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.solve import solve_maxcut
from tests.maxcut.graphs import brute_force, cycle, karloff, petersen, random_graph, torus


def check_against_brute_force(seeds, effort):
    """Return how many optima were found; cut <= optimum <= bound and cut >= expectation always."""
    found = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 13))
        weights = ["int", "unit", "float", "negative"][seed % 4]
        problem = random_graph(rng, n, int(rng.integers(0, 3 * n + 1)), weights)
        solution = solve_maxcut(problem, effort=effort)
        optimum = brute_force(problem)
        assert solution.value == problem.cut_value(solution.side) <= optimum <= solution.upper_bound
        assert solution.is_guaranteed
        found += solution.value == optimum
    return found


def test_random_graphs_against_brute_force():
    assert check_against_brute_force(range(60), effort=0) >= 59


@pytest.mark.slow
def test_ten_thousand_random_graphs_against_brute_force():
    assert check_against_brute_force(range(10_000), effort=1) >= 9_900


@pytest.mark.parametrize(("size", "optimum"), [((6, 3, 1), 60), ((8, 4, 1), 420), ((10, 5, 1), 2520)])
def test_karloff_optima_without_search(size, optimum):
    solution = solve_maxcut(karloff(*size), effort=0)
    assert solution.value == solution.derandomized_value == optimum
    assert solution.is_optimal


@pytest.mark.parametrize(
    ("problem", "optimum"),
    [
        (cycle(5), 4),
        (cycle(101), 100),
        (petersen(), 12),
        (cycle(10), 10),
        (cycle(5, -2), 0),
        (cycle(5, 10**30), 4 * 10**30),
    ],
)
def test_proved_optima(problem, optimum):
    solution = solve_maxcut(problem)
    assert (solution.value, solution.upper_bound, solution.gap) == (optimum, optimum, 0.0)
    assert solution.is_optimal
    assert solution.certificate().verify(problem) == (optimum, optimum)


def test_larger_graph_has_a_proved_gap_and_a_history():
    problem = torus(14, 14, np.random.default_rng(0))
    solution = solve_maxcut(problem, effort=1)
    assert solution.is_proved
    assert 0.0 <= solution.gap < 0.25
    assert solution.guarantee.startswith(f"cut {solution.value} >= expected cut")
    stages = [event.stage for event in solution.history]
    assert stages[0] == "reduction"
    assert stages[-1] == "end"
    values = [event.value for event in solution.history]
    assert values == sorted(values)
    assert solution.derandomizations[0].sosp.success


@pytest.mark.parametrize("n", [0, 1, 3])
def test_graphs_without_edges(n):
    solution = solve_maxcut(MaxCutProblem.from_edges([], [], n=n))
    assert solution.value == 0
    assert solution.is_optimal
    assert solution.is_guaranteed


def test_every_method_keeps_the_chain():
    problem = random_graph(np.random.default_rng(1), 30, 200)
    for method in ("sosp", "conditional"):
        solution = solve_maxcut(problem, method=method, effort=0)
        assert solution.is_guaranteed
        assert solution.value >= solution.derandomized_value >= solution.expected_cut
    assert solve_maxcut(problem, method="hyperplane", effort=1).value >= solution.value - 10


def test_time_limit_returns_a_valid_cut_and_says_so():
    problem = torus(40, 40, np.random.default_rng(2))
    solution = solve_maxcut(problem, time_limit=0.3, effort=3)
    assert solution.status == "time_limit"
    assert solution.value == problem.cut_value(solution.side)
    at_once = solve_maxcut(problem, time_limit=0.0)
    assert at_once.value == problem.cut_value(at_once.side)
    assert not at_once.is_proved
    assert at_once.gap is None
    assert at_once.guarantee.startswith("no guarantee")
    with pytest.raises(CertificateError):
        at_once.certificate()


def test_callback_and_interruption_end_the_run():
    problem = torus(14, 14, np.random.default_rng(3))
    seen = []
    solution = solve_maxcut(problem, callback=lambda state: seen.append(state.value) or len(seen) == 2)
    assert solution.status == "callback"
    assert len(seen) == 2 or seen[-1] == solution.value

    def interrupt(state):
        if state.derandomized_value is not None:
            raise KeyboardInterrupt

    broken = solve_maxcut(problem, callback=interrupt)
    assert broken.status == "interrupted"
    assert broken.value == problem.cut_value(broken.side)
    assert broken.is_guaranteed


def test_no_bound_on_request_and_bad_arguments():
    problem = cycle(5)
    solution = solve_maxcut(random_graph(np.random.default_rng(4), 20, 80), bound=False, effort=0)
    assert solution.bound is None
    assert not solution.is_proved
    for bad in ({"method": "magic"}, {"effort": 4}, {"time_limit": -1.0}):
        with pytest.raises(InputError, match=next(iter(bad))):
            solve_maxcut(problem, **bad)


def test_value_does_not_depend_on_labels_of_small_graphs():
    rng = np.random.default_rng(5)
    problem = random_graph(rng, 40, 120)
    order = rng.permutation(40)
    other = MaxCutProblem.from_edges(order[problem.heads], order[problem.tails], problem.exact_weights, n=40)
    assert solve_maxcut(problem, effort=1).value == solve_maxcut(other, effort=1).value


SCRIPT = """
import hashlib, numpy as np
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.solve import solve_maxcut
rng = np.random.default_rng(0)
heads, tails = rng.integers(0, 120, (2, 500))
problem = MaxCutProblem.from_edges(heads, tails, rng.integers(-5, 6, 500), n=120)
s = solve_maxcut(problem, effort=1)
data = s.side.tobytes() + repr((s.value, s.upper_bound, s.expected_cut, s.history)).encode()
print(hashlib.sha256(data + s.derandomizations[0].sosp.x.tobytes()).hexdigest())
"""


@pytest.mark.medium
def test_same_bits_for_hash_seeds_and_blas_threads():
    digests = set()
    for hash_seed, threads in (("0", "1"), ("2", "2")):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "OPENBLAS_NUM_THREADS": threads}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        digests.add(run.stdout.strip())
    assert len(digests) == 1


def test_interruption_within_the_derandomization_ends_the_run(monkeypatch):
    """The solver of second-order points answers Ctrl-C with its best point: that must not pass for its end."""
    evaluate, calls = SmoothedCutObjective.value_and_grad, []

    def interrupted(self, x):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return evaluate(self, x)

    monkeypatch.setattr(SmoothedCutObjective, "value_and_grad", interrupted)
    problem = random_graph(np.random.default_rng(5), 60, 240, "unit")
    for n_starts in (1, 2):
        calls.clear()
        broken = solve_maxcut(problem, n_starts=n_starts)
        assert broken.status == "interrupted"
        assert len(calls) == 5
        assert broken.value == problem.cut_value(broken.side) > 0
