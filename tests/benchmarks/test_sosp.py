"""The benchmark's own arithmetic: the oracle's counts, the stopping rule, the verdict, the ratios."""

import numpy as np
import pytest

from tests.benchmarks import sosp
from tests.benchmarks.sosp_methods import PEERS, Oracle, Run, judge, run_peer
from tests.benchmarks.sosp_report import best_peer, by_method, geometric_mean, headline_rows, octopus_rows, paired_ratio
from tests.problems import make_problem


def _run(method, start="random", *, reached=True, calls=10, search_calls=None, problem="p", cpu=1.0, claimed=True):
    return Run(problem, start, False, method, reached, calls, search_calls or calls, cpu, 0.0, 0.0, 0.0, claimed)


def test_oracle_counts_points_products_and_dense_hessians():
    problem = make_problem("six_hump_camel")
    oracle = Oracle(problem, stops=False)
    x, y = np.array([0.3, 0.4]), np.array([0.5, 0.4])
    for point in (x, x, y):
        value, gradient = oracle.fun(point)
        assert value == problem.fun(point)[0]
        np.testing.assert_array_equal(gradient, problem.fun(point)[1])
    oracle.hessp(x, y)
    oracle.hess(x)
    assert (oracle.n_gradients, oracle.n_products) == (2, 1 + 2)


def test_oracle_hands_out_copies():
    oracle = Oracle(make_problem("six_hump_camel"), stops=False)
    x = np.array([0.3, 0.4])
    first = oracle.fun(x)[1]
    kept = first.copy()
    first[:] = 0.0
    np.testing.assert_array_equal(oracle.fun(x)[1], kept)


@pytest.mark.parametrize("method", [m for m in PEERS if m != "pymanopt"])
def test_peers_stop_at_the_saddle_and_leave_its_neighbourhood(method):
    """The stopping rule is the same for all: the exact saddle costs one call and isn't second-order stationary."""
    problem = make_problem("six_hump_camel")
    at_saddle, beside = run_peer(problem, "saddle", method), run_peer(problem, "near_saddle", method)
    assert (at_saddle.calls, at_saddle.reached) == (1, False)
    assert beside.reached
    assert beside.gradient_norm <= problem.gtol
    assert 1 < beside.calls < 100


def test_recipe_leaves_the_saddle():
    run = run_peer(make_problem("hopfield"), "saddle", "recipe")
    assert run.reached
    assert run.min_eigenvalue > 0.0


def test_verdict_does_not_trust_the_method():
    problem = make_problem("six_hump_camel")
    counts = {"calls": 1, "search_calls": 1, "cpu": 0.0, "claimed": True, "note": ""}
    assert not judge(problem, "saddle", "liar", problem.starts["saddle"], **counts).reached
    assert not judge(problem, "random", "liar", problem.starts["random"], **counts).reached
    assert judge(problem, "random", "honest", problem.minimizer, **counts).reached


def test_ratios_use_only_instances_that_both_reach():
    ours = {("p", s): _run("derand", s, calls=c) for s, c in (("a", 10), ("b", 20), ("c", 30))}
    theirs = {("p", "a"): _run("BFGS", "a", calls=40), ("p", "b"): _run("BFGS", "b", calls=20, reached=False)}
    theirs["p", "c"] = _run("BFGS", "c", calls=30)
    assert paired_ratio(theirs, ours, lambda r: r.calls, lambda r: r.calls) == pytest.approx(2.0)
    assert geometric_mean([1.0, 4.0, 2.0]) == pytest.approx(2.0)
    assert np.isnan(geometric_mean([]))


def test_best_peer_is_a_peer_that_succeeds():
    runs = [
        _run("BFGS", calls=50),
        _run("CG", calls=30),
        _run("L-BFGS-B", calls=5, reached=False),
        _run("recipe", calls=7),
    ]
    assert {key: run.method for key, run in best_peer(by_method(runs)).items()} == {("p", "random"): "CG"}


def test_headline_reports_a_refuted_claim():
    table = by_method(
        [
            _run("derand", calls=30, search_calls=15, reached=True),
            _run("derand", "saddle", reached=False),
            _run("CG", calls=20),
        ]
    )
    text = "\n".join(headline_rows(table, "derand"))
    assert "certified and confirmed 1/2; claimed but refuted 1" in text
    assert "of 1 instances: 1.500; search alone: 0.750" in text


def test_octopus_rows_are_per_saddle():
    rows = octopus_rows(by_method([_run("derand", problem="octopus_100", calls=600, search_calls=550)]))
    assert rows[0].split(maxsplit=1)[1] == "random 6.00 (search 5.50)"


def test_command_prints_tables_and_writes_every_run(tmp_path, capsys):
    file = tmp_path / "runs.json"
    assert (
        sosp.main(["--methods", "BFGS", "--problems", "hopfield", "himmelblau", "--half", "tuned", "--json", str(file)])
        == 0
    )
    printed = capsys.readouterr().out
    assert "tuned half: 1 problems" in printed
    assert "held-out" not in printed
    assert file.read_text().count('"himmelblau"') == 3


def test_reused_runs_keep_calls_and_lose_times(tmp_path, capsys):
    file = tmp_path / "runs.json"
    sosp.main(["--methods", "BFGS", "CG", "--problems", "hopfield", "--json", str(file)])
    capsys.readouterr()
    runs = sosp.reused(file, ["hopfield"], ["CG"])
    assert {run.method for run in runs} == {"BFGS"}
    assert len(runs) == 3
    assert all(np.isnan(run.cpu) and run.calls > 0 for run in runs)
    assert sosp.reused(file, ["himmelblau"], []) == []
