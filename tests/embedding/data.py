"""Data and brute-force references for the embedding tests."""

import numpy as np
from scipy.spatial.distance import pdist


def brute_ratios(X, M):
    """Return the ratios of squared distances of all pairs i < j, nan for equal points; from differences."""
    X = np.asarray(X, dtype=np.float64)
    i, j = np.triu_indices(X.shape[0], 1)
    Z = X[i] - X[j]
    with np.errstate(invalid="ignore"):
        return np.square(Z @ np.asarray(M, dtype=np.float64).T).sum(axis=1) / np.square(Z).sum(axis=1)


def brute_distortion(X, M):
    """Return the largest |ratio - 1|."""
    return float(np.nanmax(np.abs(brute_ratios(X, M) - 1.0)))


def any_map_distortion(X, Y):
    """Return the distortion of an arbitrary embedding Y of distinct points X."""
    return float(np.max(np.abs(pdist(Y, "sqeuclidean") / pdist(X, "sqeuclidean") - 1.0)))


def gaussian(n, d, seed=0):
    """Return standard normal points."""
    return np.random.default_rng(seed).standard_normal((n, d))


def point_set(seed):
    """Return points of random size and shape, some in two clusters, and a number of dimensions."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 30)), int(rng.integers(2, 12))
    X = rng.standard_normal((n, d)) * rng.uniform(0.1, 3.0, d) ** int(rng.integers(0, 3))
    if seed % 3 == 0:
        X[: n // 2] += rng.standard_normal(d) * 5
    return X, int(rng.integers(1, min(d, 5) + 1))
