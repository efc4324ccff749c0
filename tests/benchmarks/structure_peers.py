"""Other estimators of the directions that a response depends on, for the tables against derand.

SIR, SAVE and DR are derand's SliceReducer.  OPG and MAVE (Xia et al., JRSS B 64, 2002), RFM (Radhakrishnan et al.,
Science 383, 2024), xRFM (Beaglehole et al., arXiv:2508.10053; up to its leaf size one RFM with a tuned kernel) and
projection pursuit (Friedman, Stuetzle, JASA 76, 1981) are own implementations from the papers, none of whose Python
packages was installed; the pursuit's ridge functions are derand's own fits of one direction.  MLP takes the gradients
of scikit-learn's network, NCA and LDA are scikit-learn's on ten slices of the response, PLS is scikit-learn's, "seed"
is `derand.estimators.NetworkReducer` with at most 400 evaluations and a decay of 1e-2, three times that below 1,000
samples.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.neural_network import MLPRegressor

from derand.estimators import NetworkReducer, SliceReducer, StructureRegressor
from derand.structure.estimation.slicing import slice_labels
from derand.structure.subspace import orthonormal_rows


def top(M: Any, k: int) -> Any:
    """Return the leading eigenvectors as rows."""
    return np.linalg.eigh(M)[1][:, ::-1][:, :k].T


def local_linear(X: Any, y: Any, z: Any, h: float) -> tuple[Any, Any]:
    """Return slopes of local linear fits at up to 200 samples, and their weights of shape (m, n)."""
    rows = np.random.default_rng(0).permutation(len(X))[:200]
    slopes, weights = [], []
    for i in rows:
        w = np.exp(-0.5 * np.square(z - z[i]).sum(axis=1) / h**2)
        D = np.column_stack([np.ones(len(X)), X - X[i]])
        A = (D * w[:, None]).T @ D + 1e-3 * w.sum() * np.eye(D.shape[1])
        slopes.append(np.linalg.solve(A, D.T @ (w * y))[1:])
        weights.append(w)
    return np.array(slopes), (rows, np.array(weights))


def opg(X: Any, y: Any, k: int, rounds: int = 4) -> Any:
    """Outer product of gradients, refined in the found subspace."""
    z, B = X, None
    for step in range(rounds):
        dim = X.shape[1] if B is None else k
        h = 2.34 * len(X) ** (-1.0 / (max(dim, 3) + 6)) * (1.0 if B is not None else np.sqrt(dim / 3))
        slopes, _ = local_linear(X, y, z, h)
        B = top(slopes.T @ slopes, k)
        z = X @ B.T
        del step
    return B


def mave(X: Any, y: Any, k: int, rounds: int = 6) -> Any:
    """Minimum average variance: alternate local lines in the subspace and one least squares for the subspace."""
    B = opg(X, y, k)
    d = X.shape[1]
    rows = np.random.default_rng(0).permutation(len(X))[:200]
    for _ in range(rounds):
        z = X @ B.T
        h = 1.2 * len(X) ** (-1.0 / (k + 4))
        H, g = np.zeros((k * d, k * d)), np.zeros(k * d)
        for i in rows:
            w = np.exp(-0.5 * np.square(z - z[i]).sum(axis=1) / h**2)
            w /= w.sum()
            D = np.column_stack([np.ones(len(X)), z - z[i]])
            a = np.linalg.solve((D * w[:, None]).T @ D + 1e-8 * np.eye(k + 1), D.T @ (w * y))
            U = X - X[i]
            S = (U * w[:, None]).T @ U
            H += np.kron(np.outer(a[1:], a[1:]), S)
            g += np.kron(a[1:], U.T @ (w * (y - a[0])))
        B = np.linalg.solve(H + 1e-8 * np.trace(H) / len(H) * np.eye(len(H)), g).reshape(k, d)
        B = orthonormal_rows(B)
    return B


def rfm(X: Any, y: Any, k: int, rounds: int = 5) -> Any:
    """Recursive feature machine with a Gaussian kernel on at most 2,000 samples; ridge by GCV."""
    X, y = X[:2000], y[:2000] - y[:2000].mean()
    d = X.shape[1]
    root = np.eye(d)
    M = np.eye(d)
    for _ in range(rounds):
        z = X @ root
        squares = np.square(z).sum(axis=1)
        K = np.exp(-0.5 * np.maximum(squares[:, None] + squares - 2 * z @ z.T, 0.0) / d)
        e, V = np.linalg.eigh(K)
        t = V.T @ y
        ridges = np.logspace(-5, 1, 13)
        scores = [np.sum((r / (e + r) * t) ** 2) / np.sum(r / (e + r)) ** 2 for r in ridges]
        a = V @ (t / (e + ridges[int(np.argmin(scores))]))
        gradient = (K @ (a[:, None] * z) - z * (K @ a)[:, None]) / d @ root
        M = gradient.T @ gradient
        values, axes = np.linalg.eigh(M)
        root = (axes * np.sqrt(np.maximum(values, 0) / values.mean())) @ axes.T
    return top(M, k)


def pursuit(X: Any, y: Any, k: int) -> Any:
    """Projection pursuit: ridge functions one after another, each the best single index of the residual."""
    rows, residual = [], y.copy()
    for _ in range(k):
        model = StructureRegressor(1).fit(X, residual)
        rows.append(model.components_[0])
        residual = residual - model.predict(X)
    return orthonormal_rows(np.array(rows))


def mlp_gradients(X: Any, y: Any, k: int) -> Any:
    """Average gradient outer product of scikit-learn's MLP."""
    model = MLPRegressor(early_stopping=True, max_iter=500, random_state=0).fit(X, y / y.std())
    hidden = X @ model.coefs_[0] + model.intercepts_[0] > 0
    gradient = (hidden * model.coefs_[1][:, 0]) @ model.coefs_[0].T
    return top(gradient.T @ gradient, k)


def discriminant(X: Any, y: Any, k: int) -> Any:
    """LDA on ten slices."""
    model = LinearDiscriminantAnalysis(solver="eigen", shrinkage=1e-6).fit(X, slice_labels(y, 10))
    return model.scalings_[:, :k].T


def components(X: Any, y: Any, k: int) -> Any:
    """NCA on ten slices of at most 500 samples."""
    model = NeighborhoodComponentsAnalysis(k, random_state=0, max_iter=60).fit(X[:500], slice_labels(y[:500], 10))
    return model.components_


def xrfm(X: Any, y: Any, k: int, rounds: int = 4) -> Any:
    """Kernel exp(-(|x - z|_M / L)^p) with L, p and the round chosen on a fifth held out; 1,500 samples at most."""
    X, y = X[:1500], y[:1500] - y[:1500].mean()
    d, cut = X.shape[1], len(X[:1500]) // 5
    held, z_all, best = slice(0, cut), slice(cut, None), (np.inf, np.eye(d))
    for power in (0.7, 1.0, 1.4):
        for width in (0.5, 1.0, 2.0):
            M = np.eye(d)
            for _ in range(rounds):
                values, axes = np.linalg.eigh(M)
                root = (axes * np.sqrt(np.maximum(values, 0.0) / max(values.mean(), 1e-300))) @ axes.T
                z = X @ root
                squares = np.square(z).sum(axis=1)
                r = np.sqrt(np.maximum(squares[:, None] + squares - 2 * z @ z.T, 1e-12)) / (width * np.sqrt(2.0 * d))
                K = np.exp(-(r**power))
                inner = K[z_all, z_all]
                a = np.linalg.solve(inner + 1e-3 * np.eye(len(inner)), y[z_all])
                loss = float(np.square(y[held] - K[held, z_all] @ a).mean())
                slope = -power * np.maximum(r[z_all, z_all], 1e-3) ** (power - 2.0) * inner
                zt = z[z_all]
                gradient = (zt * (slope @ a)[:, None] - slope @ (a[:, None] * zt)) @ root
                M = gradient.T @ gradient
                if loss < best[0]:
                    best = (loss, M)
    return top(best[1], k)


def seed_network(X: Any, y: Any, k: int) -> Any:
    """The seed paper's network, at most 400 evaluations."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return NetworkReducer(k, max_iter=400, alpha=1e-2 if len(X) >= 1000 else 3e-2).fit(X, y).components_


METHODS: dict[str, Any] = {
    **{m.upper(): lambda X, y, k, m=m: SliceReducer(k, method=m).fit(X, y).components_ for m in ("sir", "save", "dr")},
    "PLS": lambda X, y, k: PLSRegression(k).fit(X, y).x_rotations_.T,
    "LDA": discriminant,
    "NCA": components,
    "OPG": opg,
    "MAVE": mave,
    "RFM": rfm,
    "PP": pursuit,
    "MLP": mlp_gradients,
    "xRFM": xrfm,
    "seed": seed_network,
    "derand": lambda X, y, k: StructureRegressor(k).fit(X, y).components_,
}
