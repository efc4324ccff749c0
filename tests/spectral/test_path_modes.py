import numpy as np
import pytest

from derand.spectral.path_modes import principal_modes


def _coefficients(times, m, seed):
    """Random causal coefficients that decay with the innovation's number."""
    rng = np.random.default_rng(seed)
    Q = rng.standard_normal((times, m, times, m)) * 0.6 ** np.arange(times)[None, None, :, None]
    causal = np.tril(np.ones((times, times)))[:, None, :, None]
    return (Q * causal).reshape(times, m, times * m)


@pytest.mark.parametrize("m", [1, 3])
def test_no_other_directions_leave_less_variance(m):
    """Against the singular values of the coefficients, neurons as further rows; and against random rotations."""
    Q = _coefficients(8, m, 0)
    V = principal_modes(Q)
    assert np.allclose(V @ V.T, np.eye(8), atol=1e-12)
    by_time = Q.reshape(8, m, 8, m)
    modes = np.einsum("tirj,rq->tiqj", by_time, V)
    shares = np.sum(modes**2, axis=(0, 1, 3))
    exact = np.linalg.svd(by_time.transpose(0, 1, 3, 2).reshape(-1, 8), compute_uv=False) ** 2
    assert np.allclose(shares, exact, rtol=1e-8)
    other = np.linalg.qr(np.random.default_rng(1).standard_normal((8, 8)))[0]
    spread = np.sum(np.einsum("tirj,rq->tiqj", by_time, other) ** 2, axis=(0, 1, 3))
    assert np.all(np.cumsum(shares) >= np.cumsum(np.sort(spread)[::-1]) - 1e-9)


def test_paths_keep_their_covariance():
    Q = _coefficients(6, 2, 3)
    W = np.kron(principal_modes(Q), np.eye(2))
    moved = Q.reshape(12, 12) @ W
    assert np.allclose(moved @ moved.T, Q.reshape(12, 12) @ Q.reshape(12, 12).T)


def test_depends_continuously_on_the_coefficients():
    """Also where most modes carry nothing: rank two out of ten, changed by 1e-9."""
    rng = np.random.default_rng(4)
    Q = np.zeros((10, 1, 10))
    Q[:, 0] = np.outer(np.arange(1.0, 11.0), rng.random(10)) + np.outer(rng.random(10), np.linspace(0.0, 1.0, 10))
    change = principal_modes(Q + 1e-9 * rng.standard_normal(Q.shape)) - principal_modes(Q)
    assert np.max(np.abs(change)) < 1e-7


def test_one_time():
    assert principal_modes(np.eye(3)[None]).tolist() == [[1.0]]
