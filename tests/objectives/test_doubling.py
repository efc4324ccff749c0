from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from derand.exceptions import InputError, NonConvergenceError
from derand.objectives import SmoothedObjective, double_well, solve_by_doubling


def lbfgs(f, x):
    return minimize(
        f.value_and_grad, x, jac=True, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 1e-15, "maxiter": 2000}
    )


def test_sixteen_points_are_doubled_until_they_are_enough():
    # 16 points in 6 dimensions hold W at norms of about 2; the least number that may be believed is 240.
    f = SmoothedObjective(double_well(6, height=0.25, tilt=0.05), 6, 30, 0.02, expectation="mc", n_samples=16, rng=1)
    rng = np.random.default_rng(0)
    start = f.pack(rng.standard_normal((6, 30)) / 2.5, rng.standard_normal(6))
    first = f.derandomization_check(lbfgs(f, start).x)
    assert not first
    assert first.weight_norm > 0.1
    done = solve_by_doubling(f, start, lbfgs)
    assert done.check
    assert done.objective.n_samples == 16 * 2 ** (done.n_rounds - 1) >= 256
    assert np.linalg.norm(done.objective.unpack(done.x)[0]) <= 1e-3


def test_exact_objectives_get_one_round():
    f = SmoothedObjective(double_well(2), 2, 3, 0.1)
    x = f.pack(np.zeros((2, 3)), [1.0, -1.0])
    done = solve_by_doubling(f, x, lambda f, x: SimpleNamespace(x=x))
    assert done.n_rounds == 1
    assert done.objective is f
    with pytest.raises(NonConvergenceError, match="after 1 round") as caught:
        solve_by_doubling(f, x + 1.0, lambda f, x: SimpleNamespace(x=x))
    np.testing.assert_array_equal(caught.value.partial.x, x + 1.0)


def test_rounds_are_limited():
    f = SmoothedObjective(double_well(4), 4, 4, 0.1, expectation="mc", n_samples=16, rng=0)
    x = f.pack(np.ones((4, 4)), np.ones(4))
    with pytest.raises(NonConvergenceError) as caught:
        solve_by_doubling(f, x, lambda f, x: SimpleNamespace(x=x), max_rounds=3)
    assert caught.value.partial.n_rounds == 3
    assert caught.value.partial.objective.n_samples == 64


def test_grids_end_where_there_are_no_more_nodes():
    f = SmoothedObjective(double_well(1), 1, 1, 0.1, expectation="quadrature", n_nodes=300)
    with pytest.raises(NonConvergenceError, match="after 2 round"):
        solve_by_doubling(f, np.ones(2), lambda f, x: SimpleNamespace(x=x))


def test_bad_input_is_named():
    f = SmoothedObjective(double_well(1), 1, 1, 0.1)
    for x0, solver, name in (
        (np.zeros(3), lbfgs, "x0"),
        (np.zeros(2), lambda f, x: x, "solver"),
        (np.zeros(2), lambda f, x: SimpleNamespace(x=np.full(2, np.nan)), "solver"),
    ):
        with pytest.raises(InputError, match=name):
            solve_by_doubling(f, x0, solver)
    with pytest.raises(InputError, match="max_rounds"):
        solve_by_doubling(f, np.zeros(2), lbfgs, max_rounds=0)
