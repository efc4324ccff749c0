import numpy as np
import pytest

from derand.exceptions import InputError
from derand.spectral import WeightedGram, extreme_vectors

X = np.random.default_rng(0).standard_normal((500, 40))
T = np.tanh(np.random.default_rng(1).standard_normal(500))


def test_products_are_those_of_the_matrix():
    dense = (X.T * T) @ X / 500
    v = np.random.default_rng(2).standard_normal(40)
    assert np.allclose(WeightedGram(X, T)(v), dense @ v, atol=1e-13)
    single = WeightedGram(X.astype(np.float32), T)(v)
    assert single.dtype == np.float64
    assert np.max(np.abs(single - dense @ v)) < 1e-5


def test_block_products():
    rng = np.random.default_rng(3)
    B = rng.standard_normal((500, 2, 2))
    B = B + B.transpose(0, 2, 1)
    dense = np.block([[(X.T * B[:, i, j]) @ X / 500 for j in range(2)] for i in range(2)])
    v = rng.standard_normal(80)
    assert np.allclose(WeightedGram(X, B)(v), dense @ v, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_extreme_pairs(k, sign):
    T = X[:, 0] ** 2 - 1.0
    values, vectors = np.linalg.eigh((X.T * T) @ X / 500)
    found = extreme_vectors(WeightedGram(X, T), k, tol=1e-8, rng=0, sign=sign)
    order = slice(None, -k - 1, -1) if sign > 0 else slice(0, k)
    assert np.allclose(found.values, values[order], atol=1e-10)
    overlap = np.abs(np.sum(found.vectors * vectors[:, order].T, axis=1))
    assert np.all(overlap > 1.0 - 1e-10)
    assert found.is_converged
    assert found.n_products <= 41


def test_the_budget_ends_the_search():
    found = extreme_vectors(WeightedGram(X, T), tol=1e-12, max_products=5, rng=0)
    assert (found.n_products, found.is_converged) == (5, False)
    with pytest.raises(InputError, match="entries"):
        WeightedGram(X, T[:3])


def test_a_part_of_the_rows_is_a_start_that_saves_products():
    """From 2,000,000 entries on the start comes from the rows that pull most: the same pair after fewer products."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((9000, 240))
    T = np.maximum(1.0 - 1.0 / X[:, 0] ** 2, -10.0)
    values, vectors = np.linalg.eigh((X.T * T) @ X / 9000)
    whole = extreme_vectors(WeightedGram(X, T), tol=1e-6, rng=0, edge=float(values[-2]))
    part = WeightedGram(X[:8000], T[:8000])  # too few entries
    plain = extreme_vectors(part, tol=1e-6, rng=0, edge=float(values[-2]))
    assert abs(whole.vectors[0] @ vectors[:, -1]) > 1.0 - 1e-12
    assert whole.is_converged
    assert whole.n_products <= plain.n_products - 4
    low = extreme_vectors(WeightedGram(X, T), 2, tol=1e-6, rng=0, sign=-1.0)
    assert np.allclose(low.values, values[:2], atol=1e-10)


def test_the_angle_is_bounded_by_the_distance_to_the_edge():
    """Residual over distance to the next eigenvalue bounds the sine of the angle, for a single eigenvalue above it."""
    T = X[:, 0] ** 2 - 1.0
    values, vectors = np.linalg.eigh((X.T * T) @ X / 500)
    for tol in (0.3, 0.1, 0.01):
        found = extreme_vectors(WeightedGram(X, T), tol=tol, rng=0, edge=float(values[-2]))
        assert found.is_converged
        assert 1.0 - (found.vectors[0] @ vectors[:, -1]) ** 2 <= tol**2
