import numpy as np
import pytest

from derand.spectral.block_path import BlockPath


def blocks(seed=0, n=300, m=2):
    rng = np.random.default_rng(seed)
    z, W = rng.standard_normal(n), rng.standard_normal((n, m))
    S = np.tanh(W)[:, :, None] * np.tanh(W)[:, None, :] - 0.7 * np.eye(m) * np.tanh(z**2)[:, None, None]
    return BlockPath(S, np.full(n, 1 / n), z[:, None], 5.0)


# On the laws of seeds 1, 4, 10 and 155 long steps of Newton's method end on another sheet of the equation.
SEEDS = pytest.mark.parametrize("seed", [0, 1, 4, 10, 155])


@SEEDS
def test_points_satisfy_the_equation(seed):
    path = blocks(seed)
    edge = path.edge()
    for point in [*path._visited, edge, *path.outliers()]:
        P = path.resolvent(point.K)
        mean = np.mean(P, axis=0)
        assert np.max(np.abs(np.linalg.inv(point.K) + point.z * np.eye(2) - mean)) < 1e-8
        assert np.all(np.linalg.eigvalsh(point.K) > 0.0)


@SEEDS
def test_edge_is_where_the_linear_map_has_eigenvalue_one(seed):
    """D -> K E[P D P] K / delta, as an explicit matrix."""
    path = blocks(seed)
    point = path.edge()
    P = path.resolvent(point.K)
    KP = point.K @ P
    linear = np.mean(np.einsum("nij,nkl->nikjl", KP, KP), axis=0).reshape(4, 4) / path.delta
    assert abs(np.max(np.linalg.eigvals(linear).real) - 1.0) < 1e-5


def test_slope_and_tangent_by_differences():
    path = blocks()
    point = path.at_level(1.5 * path.edge().z)
    h = 1e-5 * point.t
    near = path.solve(point.t + h, point.z, point.K)
    back = path.solve(point.t - h, point.z, point.K)
    assert abs((near.z - back.z) / (2 * h) / point.slope - 1.0) < 1e-6
    assert np.max(np.abs((near.K - back.K) / (2 * h) - point.tangent)) < 1e-5


def test_resolvent_beyond_the_pole_is_none():
    path = blocks()
    assert path.resolvent(1e3 * np.eye(2)) is None
    assert path.resolvent(-np.eye(2)) is None
    S, K = path.S[0], 0.3 * np.eye(2)
    assert np.allclose(path.resolvent(K)[0], S @ np.linalg.inv(np.eye(2) + K @ S / 5.0), atol=1e-12)


@pytest.mark.parametrize("m", [1, 3, 4])
def test_small_blocks_are_factored_as_lapack_does(m):
    rng = np.random.default_rng(m)
    S = rng.standard_normal((50, m, m))
    S = S + S.transpose(0, 2, 1)
    path = BlockPath(S, np.full(50, 0.02), np.zeros((50, 0)), 2.0)
    A = rng.standard_normal((m, m))
    K = 0.01 * (A @ A.T + np.eye(m))
    expected = S @ np.linalg.inv(np.eye(m) + K @ S / 2.0)
    np.testing.assert_allclose(path.resolvent(K), expected, atol=1e-12)
    assert path.resolvent(1e4 * K) is None
    assert path.resolvent(-K) is None


def test_outliers_are_searched_for_once(monkeypatch):
    path = blocks(1)
    first = path.outliers()
    assert len(first) > 0
    monkeypatch.setattr(path, "solve", None)
    again = path.outliers()
    assert [point.z for point in again] == [point.z for point in first]
    again.clear()
    assert len(path.outliers()) == len(first)
