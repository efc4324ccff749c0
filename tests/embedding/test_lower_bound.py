"""The lower bound: below every map's distortion, its closed form, its derivative, the simplex."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import smacof

from derand.embedding import embedding_lower_bound
from derand.embedding.lower_bound import _root, _WeightedBound, softmax
from derand.embedding.minimax import MinimaxOptions, minimise_distortion
from derand.exceptions import InputError, InputTypeError
from tests.embedding.data import any_map_distortion, gaussian, point_set


def _best_scale(X, Y):
    """Return the distortion of Y after the best scaling."""
    ratios = pdist(Y, "sqeuclidean") / pdist(X, "sqeuclidean")
    return (ratios.max() - ratios.min()) / (ratios.max() + ratios.min())


@pytest.mark.parametrize("seed", range(50))
def test_never_above_any_map(seed):
    """PCA, random, learned and metric scaling, each at its best scale, on 50 data sets."""
    X, k = point_set(seed)
    centred = X - X.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    learned = minimise_distortion(
        centred @ axes.T, np.eye(k, len(axes)) + 0.01, MinimaxOptions(max_iter=200), np.random.default_rng(0)
    )
    mds = smacof(squareform(pdist(X)), n_components=k, init=centred @ axes[:k].T, n_init=1, max_iter=60, metric=True)[0]
    images = [centred @ axes[:k].T, X @ gaussian(X.shape[1], k, seed), centred @ axes.T @ learned.M.T, mds]
    bound = embedding_lower_bound(X, k, max_iter=60)
    assert 0.0 <= bound.uniform <= bound.value
    for image in images:
        assert bound.value <= _best_scale(X, image) + 1e-12
    assert bound.value <= any_map_distortion(X, images[2]) + 1e-12


@pytest.mark.parametrize(("n", "k"), [(3, 1), (20, 4), (200, 10)])
def test_simplex(n, k):
    """Equal eigenvalues 1/n and distances give a = (n-1)/n."""
    bound = embedding_lower_bound(np.eye(n), k, max_iter=3)
    tail, spread = (n - 1 - k) / n, (n - 1) / n
    squares = (n - 1 - k) / n**2
    assert bound.uniform == pytest.approx(math.sqrt((squares + tail**2 / (k + 1)) / spread), rel=1e-9)


@pytest.mark.parametrize("spread", [1.1, 3.0, 50.0])
def test_root_against_bisection(spread):
    """The least of squares + k x^2 + (tail - k x)^2 over shifts x that leave a trace of at most eps, on a grid."""
    k, tail, squares = 3, 0.5, 0.02
    x = np.linspace(0.0, tail / k, 200_001)
    right = squares + k * x**2 + (tail - k * x) ** 2
    low, high = 0.0, 1.0
    for _ in range(50):
        eps = (low + high) / 2
        holds = spread * eps**2 >= right[tail - k * x <= eps].min()
        low, high = (low, eps) if holds else (eps, high)
    assert _root(spread, squares, tail, 1.0, k) == pytest.approx(high, rel=1e-4)


def test_sum_of_squares_splits():
    """The identity behind the bound, for a change of the Gram matrix that comes from no linear map."""
    w = np.random.default_rng(1).dirichlet(np.ones(9))
    E = gaussian(9, 9)
    J = np.eye(9) - np.outer(np.ones(9), w)
    C = J @ (E + E.T) @ J.T
    delta = np.diag(C)[:, None] + np.diag(C) - 2 * C
    weighted = np.sqrt(np.outer(w, w)) * C
    expected = np.sum(weighted**2) + w @ np.diag(C) ** 2 / 2 + np.trace(weighted) ** 2 / 2
    assert w @ delta**2 @ w / 4 == pytest.approx(expected, rel=1e-12)


def test_spread_without_distances():
    X, weights = gaussian(9, 4) / 10, np.random.default_rng(1).dirichlet(np.ones(9))
    D = squareform(pdist(X, "sqeuclidean"))
    Xc = X - weights @ X
    lam = np.linalg.eigvalsh((Xc.T * weights) @ Xc)
    expected = _root(weights @ D**2 @ weights / 4, np.sum(lam[:-2] ** 2), lam[:-2].sum(), lam.sum(), 2)
    assert _WeightedBound(X, 2).bound(weights)[0] == pytest.approx(expected, rel=1e-9)


def test_slope():
    X, theta, step = gaussian(9, 4) / 10, gaussian(1, 9, 1).ravel(), gaussian(1, 9, 2).ravel()
    problem, h = _WeightedBound(X, 2), 1e-5
    weights = softmax(theta)
    slope = problem.bound(weights)[1]
    along = (weights * (slope - weights @ slope)) @ step
    ends = [problem.bound(softmax(theta + s * h * step))[0] for s in (1, -1)]
    assert along == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)


def test_weights_prove_the_value():
    X = gaussian(40, 6) * [5, 4, 3, 2, 1, 1]
    bound = embedding_lower_bound(X, 2)
    assert bound.value > 1.05 * bound.uniform
    assert bound.weights.sum() == pytest.approx(1.0)
    assert (bound.weights >= 0).all()
    D = squareform(pdist(X, "sqeuclidean"))
    Xc = X - bound.weights @ X
    lam = np.linalg.eigvalsh((Xc.T * bound.weights) @ Xc)[:-2]
    trace = np.sum(bound.weights @ Xc**2)
    a = bound.weights @ D**2 @ bound.weights / 4
    left, right = a * bound.value**2, np.sum(lam**2) + lam.sum() ** 2 / 3
    assert bound.value * trace >= lam.sum() / 3
    assert left == pytest.approx(right, rel=1e-9)


def test_enough_dimensions_and_scale():
    X = gaussian(10, 3)
    assert embedding_lower_bound(X, 3).value == 0.0
    assert embedding_lower_bound(np.ones((4, 2)), 1).value == 0.0
    value = embedding_lower_bound(X, 1, max_iter=0).value
    assert embedding_lower_bound(X * 1e200, 1, max_iter=0).value == pytest.approx(value, rel=1e-9)
    assert embedding_lower_bound(sp.csr_array(X), 1, max_iter=0).value == pytest.approx(value, rel=1e-9)
    assert math.isfinite(embedding_lower_bound(X.astype(np.float32) * np.float32(1e20), 1).value)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [((np.eye(3), 0), InputError), ((np.eye(3), 1.0), InputTypeError), ((np.eye(1), 1), InputError)],
)
def test_bad_input(arguments, error):
    with pytest.raises(error):
        embedding_lower_bound(*arguments)
