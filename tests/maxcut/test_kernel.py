"""Stages of one kernel: what each of them leaves behind."""

import functools
from fractions import Fraction

import numpy as np
import pytest

from derand.maxcut.clock import Clock
from derand.maxcut.elimination import plan_elimination
from derand.maxcut.kernel import KernelSolver, Settings
from derand.maxcut.problem import MaxCutProblem
from tests.maxcut.graphs import brute_force, karloff, petersen, random_graph, torus


def solver(problem, *, sweeps=300.0, bound=True, clock=None, notes=None):
    settings = Settings("sosp", sweeps, 1e10, bound)
    notes = [] if notes is None else notes
    return KernelSolver(
        problem, settings, clock or Clock(None), np.random.default_rng(0), share=1.0, notify=notes.append
    )


def test_tiny_kernels_are_enumerated():
    notes = []
    kernel = solver(petersen(), notes=notes)
    kernel.relax()
    assert kernel.problem.cut_value(kernel.side) == 12
    assert kernel.bound.upper_bound == 12
    assert kernel.chain == (12.0, 12.0, 0.0)
    assert notes == ["exhaustive"]


def test_stages_relax_bound_search():
    notes = []
    problem = random_graph(np.random.default_rng(0), 16, 70)
    kernel = solver(problem, notes=notes)
    kernel.relax()
    assert kernel.is_rounded
    assert problem.cut_value(kernel.side) >= problem.cut_value(kernel.rounded)
    expected, relaxed, negative = kernel.chain
    assert problem.cut_value(kernel.rounded) >= expected - 1e-9
    assert expected - negative >= 0.878 * (relaxed - negative)
    kernel.early_bound()
    kernel.search()
    kernel.late_bound()
    assert brute_force(problem) == problem.cut_value(kernel.side) <= kernel.bound.upper_bound
    assert notes[:2] == ["derandomization", "bound"]
    assert notes.count("bound") == 1


def test_search_is_skipped_when_the_bound_is_reached():
    notes = []
    kernel = solver(karloff(6, 3, 1), notes=notes)
    for stage in (kernel.relax, kernel.early_bound, kernel.search, kernel.late_bound):
        stage()
    assert kernel.problem.cut_value(kernel.side) == kernel.bound.upper_bound == 60
    assert notes == ["derandomization", "bound"]


def test_nothing_happens_after_the_deadline():
    kernel = solver(karloff(6, 3, 1), clock=Clock(0.0))
    for stage in (kernel.relax, kernel.early_bound, kernel.search, kernel.late_bound):
        stage()
    assert kernel.bound is None
    assert not kernel.is_rounded


@pytest.mark.parametrize(
    ("size", "n_labellings"), [((21, 29), 2), pytest.param((30, 30), 3, marks=pytest.mark.slow)], ids=["609", "900"]
)
def test_labels_do_not_matter(size, n_labellings):
    # A search this short ends well below the optimum, so that equal values aren't both the optimum.
    problem = torus(*size, np.random.default_rng(6))
    values = []
    for seed in range(n_labellings):
        names = np.random.default_rng(seed).permutation(problem.n) if seed else np.arange(problem.n)
        relabelled = MaxCutProblem.from_edges(
            names[problem.heads], names[problem.tails], problem.exact_weights, n=problem.n
        )
        kernel = solver(relabelled, sweeps=2.0, bound=False)
        kernel.relax()
        rounded = relabelled.cut_value(kernel.side)
        kernel.search()
        values.append((relabelled.cut_value(kernel.rounded), rounded, relabelled.cut_value(kernel.side)))
    assert values == values[:1] * n_labellings


def test_a_proof_out_of_reach_costs_no_hard_relaxation(monkeypatch):
    # A limit of nothing below the proofs: the order is refused, and neither the cut nor the estimate suffers much.
    problem = random_graph(np.random.default_rng(3), 200, 800)
    hard = solver(problem)
    hard.relax()
    monkeypatch.setattr("derand.maxcut.kernel._EARLY_BOUND", 100)
    refuse = functools.partial(plan_elimination, max_memory=1000, core=10)
    monkeypatch.setattr("derand.maxcut.kernel.plan_elimination", refuse)
    kernel = solver(problem)
    kernel.relax()
    kernel.early_bound()
    assert not kernel.bound.dual.is_proved
    # Odd cycles prove something in its place, in the kernel's own vertex names.
    assert hard._relaxation.value < kernel.bound.upper_bound <= kernel.bound.packing.upper_bound
    weights = {(i, j): w for i, j, w in zip(problem.heads, problem.tails, problem.exact_weights, strict=True)}
    for vertices, edges in kernel.bound.packing.parts(np.arange(problem.n), Fraction(1)):
        if len(vertices) == 3:
            assert all(weights[min(i, j), max(i, j)] * w > 0 for i, j, w in edges)
            break
    assert "bytes" in kernel.bound.dual.reason
    assert kernel.bound.relaxation.n_products < hard._relaxation.n_products
    assert kernel.bound.dual.estimate == pytest.approx(hard._relaxation.value, rel=1e-3)
    expected = kernel.chain[0]
    assert problem.cut_value(kernel.rounded) >= expected - 1e-9


def test_an_order_found_before_the_relaxation_serves_the_proof(monkeypatch):
    problem = random_graph(np.random.default_rng(3), 200, 800)
    plain = solver(problem)
    monkeypatch.setattr("derand.maxcut.kernel._EARLY_BOUND", 100)
    planned = solver(problem)
    for kernel in (plain, planned):
        kernel.relax()
        kernel.late_bound()
    assert planned.bound.upper_bound == plain.bound.upper_bound
    np.testing.assert_array_equal(planned.bound.dual.dual, plain.bound.dual.dual)
