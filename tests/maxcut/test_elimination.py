import numpy as np
import pytest
import scipy.sparse as sp

from derand.exceptions import BudgetExceededError
from derand.maxcut import elimination
from derand.maxcut.elimination import backward_error, plan_elimination, try_cholesky
from derand.maxcut.problem import MaxCutProblem
from tests.maxcut.graphs import complete, random_graph, torus


@pytest.fixture(params=[True, False], ids=["levels", "dense"])
def small_core(request, monkeypatch):
    """Force elimination by levels on small graphs, or leave them to LAPACK."""
    if request.param:
        monkeypatch.setattr(elimination, "_DENSE_CORE", 3)
    return request.param


def graphs():
    rng = np.random.default_rng(0)
    yield torus(8, 9, rng)
    yield complete(12)
    yield random_graph(rng, 80, 160, "float")
    yield random_graph(rng, 60, 70, "int")


@pytest.mark.parametrize("which", range(4))
def test_completion_agrees_with_the_smallest_eigenvalue(which, small_core):
    problem = list(graphs())[which]
    plan = plan_elimination(problem.adjacency)
    smallest = np.linalg.eigvalsh(problem.adjacency.toarray())[0]
    # Far above the rounding of either method, which is about 1e-13.
    for offset, expected in ((1e-9, True), (-1e-9, False), (1.0, True), (-1.0, False)):
        assert try_cholesky(plan, problem.adjacency, np.full(problem.n, offset - smallest)) is expected


@pytest.mark.parametrize("which", range(4))
def test_order_is_a_permutation_and_sets_are_independent(which, small_core):
    problem = list(graphs())[which]
    plan = plan_elimination(problem.adjacency)
    assert np.array_equal(np.sort(plan.order), np.arange(problem.n))
    assert plan.core + sum(gone.size for gone, _ in plan.levels) == problem.n
    if plan.levels:
        assert small_core
        first = plan.levels[0][0]
        assert problem.adjacency[first][:, first].nnz == 0


def test_nonuniform_diagonals():
    rng = np.random.default_rng(1)
    problem = random_graph(rng, 40, 100, "float")
    matrix = problem.adjacency.toarray()
    for _ in range(20):
        diagonal = rng.uniform(0.5, 8.0, 40)
        smallest = np.linalg.eigvalsh(matrix + np.diag(diagonal))[0]
        assert try_cholesky(plan_elimination(problem.adjacency), problem.adjacency, diagonal) is bool(smallest > 0)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, 1e-200])
def test_useless_diagonals_prove_nothing(bad):
    problem = complete(4)
    diagonal = np.full(4, 3.0)
    diagonal[2] = bad
    assert try_cholesky(plan_elimination(problem.adjacency), problem.adjacency, diagonal) is False


def test_memory_is_refused_before_it_is_used():
    rng = np.random.default_rng(2)
    problem = random_graph(rng, 4000, 30000, "unit")
    with pytest.raises(BudgetExceededError, match="bytes"):
        plan_elimination(problem.adjacency, max_memory=10**6)


def test_sparse_random_graphs_keep_a_small_core():
    rng = np.random.default_rng(3)
    problem = random_graph(rng, 6000, 13000, "unit")
    assert plan_elimination(problem.adjacency).core <= 2500


def test_error_bound_covers_the_error_in_exact_arithmetic(small_core):
    # The bound is a few thousand roundoffs here; a completed factorisation of a singular matrix must not claim more.
    problem = complete(9)
    plan = plan_elimination(problem.adjacency)
    assert 9 * 9 * 2.0**-53 < backward_error(plan) < 1e-12
    # K_n + 1 is singular: ten times the claimed margin below it must not pass.
    margin = backward_error(plan)
    assert try_cholesky(plan, problem.adjacency, np.full(9, 1.0 - 10 * margin)) is False


def test_empty_matrix():
    problem = MaxCutProblem.from_edges([], [], n=0)
    assert try_cholesky(plan_elimination(problem.adjacency), problem.adjacency, np.zeros(0)) is True


def test_a_search_without_time_says_how_far_it_came():
    adjacency = cycle_square(6000)
    answers = iter([False, False, True])
    with pytest.raises(BudgetExceededError, match="beyond 2 levels"):
        plan_elimination(adjacency, should_stop=lambda: next(answers))
    assert len(plan_elimination(adjacency, should_stop=lambda: False).levels) > 2


def cycle_square(n):
    """Adjacency of the square of a cycle."""
    here = np.arange(n)
    rows, columns = np.concatenate([here, here]), np.concatenate([(here + 1) % n, (here + 2) % n])
    half = sp.csr_array((np.ones(2 * n), (rows, columns)), shape=(n, n))
    return sp.csr_array(half + half.T)
