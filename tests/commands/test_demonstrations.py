import numpy as np
import pytest

from derand.commands.demonstrations import DEMONSTRATIONS, coupled_wells, low_rank, phase_retrieval

SMALL = [coupled_wells(5), low_rank(4, 2), phase_retrieval(3, 12)]


@pytest.mark.parametrize("problem", SMALL)
def test_derivatives_agree_with_differences(problem):
    # Central differences of quartics: an error of h^2 = 1e-10 times third derivatives below 1e3, and rounding 1e-16/h.
    rng = np.random.default_rng(1)
    x, v, h = rng.standard_normal(problem.x0.size), rng.standard_normal(problem.x0.size), 1e-5
    ahead, behind = problem.fun(x + h * v), problem.fun(x - h * v)
    assert problem.fun(x)[1] @ v == pytest.approx((ahead[0] - behind[0]) / (2 * h), rel=1e-6)
    np.testing.assert_allclose(problem.hessp(x, v), (ahead[1] - behind[1]) / (2 * h), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", DEMONSTRATIONS)
def test_start_is_stationary_and_no_minimum(name):
    problem = DEMONSTRATIONS[name]()
    value, gradient = problem.fun(problem.x0)
    assert np.linalg.norm(gradient) == 0.0
    assert value > problem.minimum
    hessian = np.stack([problem.hessp(problem.x0, e) for e in np.eye(problem.x0.size)])
    assert np.linalg.eigvalsh(hessian)[0] < -0.1


def test_known_minimizers_have_value_zero():
    wells = coupled_wells(5)
    assert wells.fun(np.ones(5))[0] == wells.minimum == 0.0
    factor = np.random.default_rng(0).standard_normal((4, 2))
    # Rounding of 16 squared residuals of order 1e-16.
    assert low_rank(4, 2).fun(factor.ravel())[0] < 1e-28
    rng = np.random.default_rng(0)
    rng.standard_normal((12, 3))
    hidden = rng.standard_normal(3)
    assert phase_retrieval(3, 12).fun(-hidden / np.linalg.norm(hidden))[0] < 1e-28
