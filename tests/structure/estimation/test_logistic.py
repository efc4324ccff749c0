"""Multinomial fits against scikit-learn and finite differences."""

import numpy as np
import pytest

from derand.structure.estimation.logistic import fit_network, ridge_logistic, softmax_loss


def _data(n=150, d=4, C=3):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    labels = np.argmax(X[:, :C] + 0.7 * rng.standard_normal((n, C)), axis=1)
    return X, labels, np.eye(C)[labels]


def test_ridge_logistic_against_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, labels, targets = _data()
    fit = ridge_logistic(X, targets, np.ones(len(X)), 2.0)
    peer = linear_model.LogisticRegression(C=0.5, tol=1e-8, max_iter=1000).fit(X, labels)
    log_p = fit.scores(X) - np.log(np.exp(fit.scores(X)).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(log_p, peer.predict_log_proba(X), atol=5e-3)
    assert fit.B.shape == (2, 4)


def test_loss_gradient_by_differences():
    _, _, targets = _data(5)
    scores = np.random.default_rng(1).standard_normal((5, 3))
    _, G = softmax_loss(scores, targets, np.arange(1.0, 6.0))
    h = np.zeros_like(scores)
    h[2, 1] = 1e-5
    ends = [softmax_loss(scores + s * h, targets, np.arange(1.0, 6.0))[0] for s in (1, -1)]
    assert G[2, 1] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


def test_network_finds_a_ring():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 5))
    targets = np.eye(2)[(np.square(X[:, :2]).sum(axis=1) > 1.4).astype(int)]
    start = np.eye(5)[:2] + 0.2 * rng.standard_normal((2, 5))
    fit = fit_network(X, targets, np.ones(500), start, np.arange(40), ridge=0.1)
    assert np.mean(fit.scores(X).argmax(axis=1) == targets.argmax(axis=1)) > 0.97
    assert np.linalg.norm(fit.B[:, :2]) > 5 * np.linalg.norm(fit.B[:, 2:])
    gradient = fit.gradient(X[:3])
    h = 1e-5 * np.linalg.pinv(fit.B)[:, 0]
    slope = (fit.scores(X[:3] + h) - fit.scores(X[:3] - h)) / 2e-5
    np.testing.assert_allclose(gradient[:, :, 0].T, slope, atol=1e-4)


def test_fixed_directions_stay():
    X, _, targets = _data()
    fit = fit_network(X, targets, np.ones(150), np.eye(4)[:2], np.arange(10), ridge=1.0, fixed=True)
    assert np.linalg.norm(fit.B[:, 2:]) < 1e-12
