import math
from types import SimpleNamespace

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.objectives import DerandomizationCheck, lemma_bound
from derand.objectives.bias_hessian import BiasHessian
from derand.objectives.diagnostics import stein_residual, weight_bound


def parts(slope, hessian):
    return SimpleNamespace(
        factor_gradient=np.asarray(slope), hessian=lambda k: np.asarray(hessian, dtype=float)[:k, :k]
    )


def bound_of(slope, hessian, W, lam):
    point = parts(slope, hessian)
    return weight_bound(point, BiasHessian(point, len(W), tol=0.0), np.asarray(W), lam)


def residual_of(slope, hessian, W, lam):
    return stein_residual(np.asarray(slope), BiasHessian(parts(slope, hessian), len(W), tol=0.0), np.asarray(W), lam)


def test_lemma_bound_by_hand():
    assert lemma_bound(1.0, 0.25, 4.0) == 0.25
    assert lemma_bound(0.5, 1.0, 1.0) == math.inf
    assert lemma_bound(0.4, 1.0, 1.0) == math.inf
    assert lemma_bound(0.5, 0.0, 1e300) == 0.0
    assert lemma_bound(1.0, 1e-300, 1e300) == pytest.approx(1e-300)


@pytest.mark.parametrize(
    ("lam", "rho", "lip", "name"), [(0.0, 1.0, 1.0, "lam"), (1.0, -1.0, 1.0, "rho"), (1.0, 1.0, np.nan, "hessian_lip")]
)
def test_lemma_bound_bad_input(lam, rho, lip, name):
    with pytest.raises(InputError, match=name):
        lemma_bound(lam, rho, lip)
    with pytest.raises(InputTypeError, match="lam"):
        lemma_bound("1", rho, lip)


def test_weight_bound_by_hand():
    # k = 1: H = 3, lam = 1/2, W = 2, exact Stein slope 6: grad_W = 8 and the bound is 8/4 = |W|, attained.
    bound = bound_of([[6.0]], [[3.0]], [[2.0]], 0.5)
    assert 2.0 <= bound <= 2.0 + 1e-12
    # A slope that is off by 1 costs 1/4.
    assert bound_of([[5.0]], [[3.0]], [[2.0]], 0.5) == pytest.approx((7.0 + 1.0) / 4.0, rel=1e-12)
    assert bound_of([[-2.0]], [[-1.0]], [[2.0]], 0.5) == math.inf
    assert bound_of([[-4.0]], [[-2.0]], [[2.0]], 0.5) == math.inf
    assert bound_of([[np.inf]], [[1.0]], [[2.0]], 0.5) == math.inf


def test_weight_bound_is_algebra():
    # It holds for every symmetric matrix and every slope, true expectations or not.
    rng = np.random.default_rng(0)
    finite = 0
    for _ in range(500):
        k, r = rng.integers(1, 5, size=2)
        h = rng.standard_normal((k, k))
        W = rng.standard_normal((k, r)) * 10.0 ** rng.integers(-9, 4)
        slope = (h + h.T) @ W + rng.choice([0.0, 1e-3, 1.0]) * rng.standard_normal((k, r))
        bound = bound_of(slope, h + h.T, W, float(rng.uniform(0.1, 5.0)))
        assert bound >= np.linalg.norm(W)
        finite += math.isfinite(bound)
    assert finite > 200


def test_stein_residual_by_hand():
    residual = residual_of([[3.0]], [[2.0]], [[2.0]], 0.5)
    assert (residual.absolute, residual.relative) == (1.0, 0.25)
    assert 2.0 - 1e-13 <= residual.min_eigenvalue <= 2.0
    zero = residual_of(np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 2)), 0.5)
    assert zero.relative == 0.0
    # Weights far below rounding of anything aren't told apart from zero.
    assert residual_of([[1e-12]], np.eye(1), [[1e-13]], 0.5).relative < 1e-4


def test_check_is_a_truth_value():
    check = DerandomizationCheck(False, 1.0, math.inf, 0.5, 16, "because")
    assert not check
    assert DerandomizationCheck(True, 0.0, 0.0, 0.0, None, "because")
