"""Matrices with designed spectra, shared by the tests of this folder."""

import numpy as np
from scipy.sparse.linalg import LinearOperator


def designed(name, n, rng):
    """Return n eigenvalues in ascending order."""
    if name == "semicircle":
        # quantiles of the density (2/pi) sqrt(1 - x^2) on [-1, 1]
        grid = np.linspace(-1, 1, 20001)
        cdf = 0.5 + (grid * np.sqrt(1 - grid**2) + np.arcsin(grid)) / np.pi
        return np.interp((np.arange(n) + 0.5) / n, cdf, grid)
    if name == "wishart outliers":
        # sample covariance at ratio 1/2, its largest four replaced by outliers beyond the edge (1 + sqrt(1/2))^2 =
        # 2.914
        w = np.linalg.eigvalsh(np.cov(rng.standard_normal((n, 2 * n))))
        w[-4:] = [4.0, 5.0, 5.0, 8.0]
        return np.sort(w)
    if name == "half zeros":
        return np.sort(np.concatenate([np.zeros(n // 2), rng.uniform(0.1, 1, n - n // 2)]))
    if name == "uniform":
        return np.sort(rng.uniform(-1, 1, n))
    if name == "geometric":
        return np.geomspace(1e-8, 1, n)
    if name == "multiplicity 20":
        w = np.sort(rng.uniform(0, 1, n))
        w[:20] = -1.0
        return w
    if name == "identity":
        return np.ones(n)
    if name == "zero":
        return np.zeros(n)
    if name == "two values":
        return np.repeat([-1.0, 2.0], [n // 3, n - n // 3])
    raise ValueError(name)


NAMES = (
    "semicircle",
    "wishart outliers",
    "half zeros",
    "uniform",
    "geometric",
    "multiplicity 20",
    "identity",
    "zero",
    "two values",
)


def reflected(w, rng, *, n_reflections=2):
    """Return an operator with the eigenvalues w and eigenvectors turned by Householder reflections: O(n) a product."""
    normals = rng.standard_normal((n_reflections, len(w)))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)

    def turn(v, order):
        for u in normals[::order]:
            v = v - 2 * (u @ v) * u
        return v

    return LinearOperator((len(w), len(w)), matvec=lambda v: turn(w * turn(v.ravel(), 1), -1), dtype=np.float64)
