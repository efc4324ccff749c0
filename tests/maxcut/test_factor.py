import numpy as np
import pytest

from derand._utils.threads import blas_threads
from derand.maxcut.factor import principal_axes, quasi_random_vectors


def test_principal_axes_keep_inner_products():
    vectors = quasi_random_vectors(50, 5)
    vectors[:, 4] = 0.0
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    turned, rank = principal_axes(vectors)
    assert turned @ turned.T == pytest.approx(vectors @ vectors.T, abs=1e-12)
    assert rank == 4
    energies = (turned**2).sum(axis=0)
    assert np.all(np.diff(energies) <= 1e-12)


def test_start_is_fixed_generic_and_unit():
    vectors = quasi_random_vectors(4000, 3)
    assert np.array_equal(vectors[:10], quasi_random_vectors(10, 3))
    assert (vectors**2).sum(axis=1) == pytest.approx(np.ones(4000))
    # Uniform directions have mean 0 and covariance 1/3; five standard errors of 1/sqrt(3 * 4000).
    assert np.abs(vectors.mean(axis=0)).max() < 5 / np.sqrt(3 * 4000)
    assert vectors.T @ vectors / 4000 == pytest.approx(np.eye(3) / 3, abs=5 / np.sqrt(3 * 4000))
    assert np.linalg.matrix_rank(quasi_random_vectors(30, 12)) == 12


def test_principal_axes_have_the_same_bits_on_two_threads():
    vectors, turned = quasi_random_vectors(3000, 50), []
    for threads in (1, 2):
        with blas_threads(threads):
            turned.append(principal_axes(vectors)[0])
    assert np.array_equal(*turned)
