import numpy as np
import pytest

from derand.two_step.resolvent import GramQuadrature


def _problem(n=120, m=3, seed=0):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((n, n)) / np.sqrt(n)
    return B.T @ B, rng.standard_normal((n, m))


def test_against_the_inverse():
    A, V = _problem()
    found = GramQuadrature(lambda block: A @ block, V)
    top = np.sqrt(np.linalg.eigvalsh(A)[-1])
    for s in (1.05 * top, 2 * top, 10 * top):
        exact = V.T @ (s * np.linalg.inv(s**2 * np.eye(len(A)) - A)) @ V
        np.testing.assert_allclose(found.resolvent(s), exact, rtol=1e-8, atol=1e-8 * np.max(exact))
        h = 1e-6 * s
        slope = (found.resolvent(s + h) - found.resolvent(s - h)) / (2 * h)
        np.testing.assert_allclose(found.derivative(s), slope, rtol=1e-5, atol=1e-6 * np.max(np.abs(slope)))
    assert found.nodes.max() <= np.linalg.eigvalsh(A)[-1] * (1 + 1e-12)
    assert found.nodes.min() >= -1e-12


def test_between_different_vectors():
    """V^T (s^2 - A)^{-1} Y from the Krylov space of V alone; Y may be anything, zero columns among it."""
    A, V = _problem()
    Y = np.random.default_rng(5).standard_normal((len(A), 4))
    Y[:, 2] = 0.0
    found = GramQuadrature(lambda block: A @ block, V, others=Y)
    for s in (1.05 * np.sqrt(np.linalg.eigvalsh(A)[-1]), 5.0):
        exact = V.T @ np.linalg.inv(s**2 * np.eye(len(A)) - A) @ Y
        np.testing.assert_allclose(found.cross(s), exact, atol=1e-4 * np.max(np.abs(exact)))
    assert GramQuadrature(lambda block: A @ block, 0.0 * V, others=Y).cross(5.0).shape == (3, 4)
    assert GramQuadrature(lambda block: A @ block, V).cross(5.0).shape == (3, 0)


def test_few_steps_converge_geometrically():
    A, V = _problem()
    s = 2.0 * np.sqrt(np.linalg.eigvalsh(A)[-1])
    exact = V.T @ (s * np.linalg.inv(s**2 * np.eye(len(A)) - A)) @ V
    errors = [np.max(np.abs(GramQuadrature(lambda b: A @ b, V, steps=k).resolvent(s) - exact)) for k in (1, 3, 6)]
    assert errors[2] < 0.1 * errors[1] < 0.01 * errors[0]


@pytest.mark.parametrize("case", ["dependent", "zero", "invariant", "tiny"])
def test_breakdown(case):
    """Dependent columns, invariant subspaces and zero vectors end the space early instead of spoiling it."""
    A, V = _problem(40)
    if case == "dependent":
        V = np.concatenate([V, V[:, :1] + V[:, 1:2]], axis=1)
    elif case == "zero":
        V = np.zeros((40, 2))
    elif case == "invariant":
        V = np.linalg.eigh(A)[1][:, :2]
    else:
        V = V * np.array([1.0, 1e-9, 1e9])
    s = 3.0 * np.sqrt(np.linalg.eigvalsh(A)[-1])
    exact = V.T @ (s * np.linalg.inv(s**2 * np.eye(40) - A)) @ V
    scale = np.outer(np.linalg.norm(V, axis=0), np.linalg.norm(V, axis=0)) + 1e-300
    found = GramQuadrature(lambda block: A @ block, V).resolvent(s)
    assert np.max(np.abs(found - exact) / scale) < 1e-8
