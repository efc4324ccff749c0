"""Regression models with known directions, their inputs, and the efficiency limit; shared by tests and benchmarks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

INPUTS = ("gaussian", "ar", "uniform", "chi2")
SMOOTH = ("tanh1", "quad1", "li1", "li2", "cos2", "prod2", "mix3")


@dataclass(frozen=True)
class Model:
    """A link of k directions and its noise."""

    k: int
    link: Any
    sigma: float


# li1 and li2 are the two models of Li (1991), cos2 that of Li (1992), jump2 the one of Chen and Li (1998).
MODELS = {
    "tanh1": Model(1, lambda z: np.tanh(2 * z[:, 0]), 0.3),
    "quad1": Model(1, lambda z: z[:, 0] ** 2, 0.7),
    "li1": Model(2, lambda z: z[:, 0] * (z[:, 0] + z[:, 1] + 1), 0.5),
    "li2": Model(2, lambda z: z[:, 0] / (0.5 + (z[:, 1] + 1.5) ** 2), 0.2),
    "cos2": Model(2, lambda z: np.cos(2 * z[:, 0]) - np.cos(z[:, 1]), 0.2),
    "prod2": Model(2, lambda z: z[:, 0] * z[:, 1], 0.5),
    "mix3": Model(3, lambda z: z[:, 0] + z[:, 1] ** 2 + np.sin(2 * z[:, 2]), 0.4),
    "jump2": Model(2, lambda z: np.sign(z[:, 0]) * np.log(np.abs(z[:, 1] + 5)), 0.2),
}


def inputs(kind, n, d, rng):
    """Return rows of mean zero with the identity, or the AR(0.5) matrix, as covariance."""
    if kind == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), (n, d))
    if kind == "chi2":
        return (rng.chisquare(4, (n, d)) - 4) / np.sqrt(8)
    X = rng.standard_normal((n, d))
    return X @ np.linalg.cholesky(covariance(kind, d)).T


def covariance(kind, d):
    """Return the covariance matrix of the inputs."""
    steps = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return 0.5**steps if kind == "ar" else np.eye(d)


def draw(name, kind, n, d, seed):
    """Return X, y and the true directions as orthonormal rows."""
    model = MODELS[name]
    rng = np.random.default_rng([seed, n, d])
    B = np.linalg.qr(rng.standard_normal((d, model.k)))[0].T
    X = inputs(kind, n, d, rng)
    return X, model.link(X @ B.T) + model.sigma * rng.standard_normal(n), B
