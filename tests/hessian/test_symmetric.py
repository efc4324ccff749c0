"""Tests of the input seam: what is accepted as a symmetric matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from derand.exceptions import InputError, InputTypeError
from derand.hessian.symmetric import as_symmetric, materialise, rounding_bound


@pytest.fixture
def matrix():
    B = np.random.default_rng(0).standard_normal((7, 7))
    return B + B.T


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, sp.coo_matrix, aslinearoperator, np.ndarray.tolist])
def test_all_forms_give_the_same_products_and_entries(matrix, wrap):
    found = as_symmetric(wrap(matrix))
    v = np.arange(7.0)
    np.testing.assert_allclose(found.operator.matvec(v), matrix @ v, rtol=1e-14)
    np.testing.assert_allclose(materialise(found), matrix, rtol=1e-14)


@pytest.mark.parametrize(
    "bad",
    [
        np.ones((2, 3)),
        np.zeros((0, 0)),
        np.array([[1.0, np.nan], [np.nan, 1.0]]),
        np.array([[1.0, 2.0], [2.1, 1.0]]),
        sp.csr_array(np.array([[1.0, 2.0], [0.0, 1.0]])),
        sp.csr_array(np.array([[np.inf, 0.0], [0.0, 1.0]])),
        aslinearoperator(np.ones((2, 3))),
        np.ones(3),
    ],
)
def test_bad_matrices_are_named(bad):
    with pytest.raises(InputError, match="A must"):
        as_symmetric(bad)


def test_complex_is_refused():
    with pytest.raises(InputTypeError, match="A must be real"):
        as_symmetric(np.eye(2) * 1j)
    with pytest.raises(InputTypeError, match="A must be real"):
        as_symmetric(aslinearoperator(np.eye(2) * 1j))


def test_asymmetry_at_rounding_level_is_averaged_away(matrix):
    noisy = matrix + 1e-13 * np.triu(np.ones((7, 7)), 1)
    array = as_symmetric(noisy).array
    np.testing.assert_array_equal(array, array.T)


def test_materialise_refuses_nan_products():
    operator = LinearOperator((2, 2), matvec=lambda v: np.full(2, np.nan), dtype=np.float64)
    with pytest.raises(InputError, match="A has a product"):
        materialise(as_symmetric(operator))


def test_rounding_bound_covers_lapack_on_known_spectra():
    """Eigenvalues of Q diag(w) Q' against w: the construction and LAPACK each lose a few eps ||A||."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 20, 60):
        for _ in range(20):
            w = np.sort(rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 8, n))
            Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
            A = (Q * w) @ Q.T
            error = np.max(np.abs(np.linalg.eigvalsh((A + A.T) / 2) - w))
            assert error <= rounding_bound(n, np.max(np.abs(w)))
