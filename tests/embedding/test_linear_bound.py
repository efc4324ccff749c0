"""The bound for linear maps: below what any of them reaches, its identities, its derivatives, its proof recomputed."""

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from derand.embedding import embedding_lower_bound, linear_lower_bound
from derand.embedding.linear_bound import _LinearProblem
from derand.embedding.minimax import MinimaxOptions, minimise_distortion
from derand.exceptions import InputError, InputTypeError
from tests.embedding.data import brute_ratios, gaussian, point_set


def _least(X, M):
    """Return the distortion of the best multiple of M."""
    ratios = brute_ratios(X, M)
    ratios = ratios[np.isfinite(ratios)]
    return (ratios.max() - ratios.min()) / (ratios.max() + ratios.min())


@pytest.mark.parametrize("seed", range(50))
def test_never_above_a_linear_map(seed):
    X, k = point_set(seed)
    centred = X - X.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    coords = centred @ axes.T
    learned = [
        minimise_distortion(coords, start, MinimaxOptions(max_iter=200), np.random.default_rng(0)).M @ axes
        for start in (np.eye(k, len(axes)) + 0.01, gaussian(k, len(axes), seed))
    ]
    bound = linear_lower_bound(X, k, M=learned[0], max_iter=60)
    assert 0.0 <= bound.any_map <= bound.value
    for M in (axes[:k], gaussian(k, X.shape[1], seed), *learned):
        assert bound.value <= _least(X, M) + 1e-12


def test_grid_of_directions():
    """For points in a plane and k = 1 all maps are directions, and their least distortion is known to the grid's."""
    X = gaussian(12, 2) * [3.0, 1.0]
    best = min(_least(X, [[np.cos(angle), np.sin(angle)]]) for angle in np.linspace(0.0, np.pi, 5001))
    bound = linear_lower_bound(X, 1)
    assert 0.5 * best < bound.value <= best


def _state(problem, seed=0):
    """Return multipliers of all kinds that aren't optimal."""
    rng = np.random.default_rng(seed)
    n = problem.coords.shape[0]
    g = 1e-5 * rng.standard_normal(problem.Z.shape[0])
    return rng.dirichlet(np.ones(n)), 1e-3 * rng.standard_normal(n), 4e-3, g


def _problem(n=14, r=5, k=2):
    coords = gaussian(n, r) / 10
    problem = _LinearProblem(coords, k)
    i, j = np.triu_indices(6, 1)
    Z = coords[i] - coords[j]
    problem.Z = Z / np.linalg.norm(Z, axis=1)[:, None]
    return problem


def test_inequality_of_the_docstring_in_its_own_terms():
    problem = _problem()
    w, t, tau, g = _state(problem)
    x = problem.coords - w @ problem.coords
    cov = (x.T * w) @ x
    F = 2 * (problem.Z.T * g) @ problem.Z + (x.T * (w * t)) @ x + tau * cov
    K = scipy.linalg.sqrtm(cov).real
    mu = np.linalg.eigvalsh(cov + np.linalg.solve(K, np.linalg.solve(K, F.T).T) / 2)[-2:]
    squared = np.square(x[:, None] - x[None]).sum(axis=2)
    a = w @ squared**2 @ w / 4
    right = np.sum(cov**2) + np.trace(F) - np.sum(np.maximum(mu, 0) ** 2) - w @ t**2 / 2 - tau**2 / 2
    eps = problem.bound(w, t, tau, g)[0]
    assert eps > 0
    assert a * eps**2 + 2 * eps * np.abs(g).sum() == pytest.approx(right, rel=1e-8)


def test_sum_of_squares_splits():
    """The identity that the bound starts from, for a matrix that comes from no map."""
    x, w = gaussian(9, 4), np.random.default_rng(1).dirichlet(np.ones(9))
    x = x - w @ x
    S = gaussian(4, 4, 2) + gaussian(4, 4, 2).T
    cov, s = (x.T * w) @ x, np.einsum("ij,jk,ik->i", x, S, x)
    d = x[:, None] - x[None]
    left = np.einsum("i,j,ij->", w, w, np.einsum("ija,ab,ijb->ij", d, S, d) ** 2) / 4
    assert left == pytest.approx(np.trace(cov @ S @ cov @ S) + w @ s**2 / 2 + (w @ s) ** 2 / 2, rel=1e-12)


def test_every_value_is_a_bound():
    """Multipliers drawn at random prove something weaker, never something false."""
    problem = _problem()
    learned = minimise_distortion(problem.coords, gaussian(2, 5), MinimaxOptions(), np.random.default_rng(0))
    for seed in range(200):
        w, t, tau, g = _state(problem, seed)
        assert problem.bound(w, t, tau, 30.0 * g)[0] <= learned.distortion


def test_derivatives():
    problem = _problem()
    w, t, tau, g = _state(problem)
    slopes, h, rng = problem.bound(w, t, tau, g)[1], 1e-6, np.random.default_rng(4)
    shift = rng.standard_normal(w.size) * w
    shift -= w * shift.sum()  # weights keep their sum
    for name, step in (
        ("w", shift),
        ("t", 1e-1 * rng.standard_normal(t.size)),
        ("g", 1e-3 * rng.standard_normal(g.size)),
    ):
        moved = [{"w": w, "t": t, "tau": tau, "g": g} for _ in range(2)]
        for state, sign in zip(moved, (1, -1), strict=True):
            state[name] = state[name] + sign * h * step
        ends = [problem.bound(**state)[0] for state in moved]
        assert getattr(slopes, name) @ step == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5, abs=1e-9)
    ends = [problem.bound(w, t, tau + s * h / 10, g)[0] for s in (1, -1)]
    assert slopes.tau == pytest.approx((ends[0] - ends[1]) / (0.2 * h), rel=1e-5)


def test_multipliers_prove_the_value():
    X = gaussian(40, 6) * [5, 4, 3, 2, 1, 1]
    bound = linear_lower_bound(X, 2)
    assert bound.value > bound.any_map == embedding_lower_bound(X, 2).value
    scaled = X - X.mean(axis=0)
    scaled /= np.linalg.norm(scaled, axis=1).max()
    problem = _LinearProblem(scaled, 2)
    Z = scaled[bound.pairs[:, 0]] - scaled[bound.pairs[:, 1]]
    problem.Z = Z / np.linalg.norm(Z, axis=1)[:, None]
    assert bound.weights.sum() == pytest.approx(1.0)
    again = problem.bound(bound.weights, bound.multipliers, 0.0, bound.pair_weights)[0]
    # tau is as good as a constant in t but for its square: (sum w t)^2 / 2 is counted once instead of twice.
    assert again >= 0.7 * bound.value


def test_enough_dimensions_scale_and_sparse():
    X = gaussian(10, 3)
    assert linear_lower_bound(X, 3).value == 0.0
    assert linear_lower_bound(np.ones((4, 2)), 1).value == 0.0
    value = linear_lower_bound(X, 1, max_iter=20).value
    assert linear_lower_bound(X * 2.0**600, 1, max_iter=20).value == value
    # Steps have the same length for any gradient but 0, so rounding moves their path; every point of it is a bound.
    assert linear_lower_bound(sp.csr_array(X), 1, max_iter=20).value == pytest.approx(value, rel=1e-2)
    assert math.isfinite(linear_lower_bound(X.astype(np.float32) * np.float32(1e20), 1, max_iter=5).value)


def test_nearly_flat_points():
    """Where weights leave a direction to rounding, the allowance for it keeps the bound below every map's."""
    X = gaussian(30, 4) * [1.0, 1.0, 1e-9, 1e-9]
    learned = minimise_distortion(X, gaussian(1, 4), MinimaxOptions(), np.random.default_rng(0))
    assert linear_lower_bound(X, 1, max_iter=100).value <= learned.distortion


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        ((np.eye(3), 0), {}, InputError),
        ((np.eye(3), 1.0), {}, InputTypeError),
        ((np.eye(1), 1), {}, InputError),
        ((np.eye(3), 1), {"M": np.eye(2)}, InputError),
        ((np.eye(3), 1), {"max_iter": -1}, InputError),
    ],
)
def test_bad_input(arguments, options, error):
    with pytest.raises(error):
        linear_lower_bound(*arguments, **options)
