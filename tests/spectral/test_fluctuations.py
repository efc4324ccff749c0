import numpy as np
import pytest

from derand.exceptions import InputError
from derand.spectral import MatrixSpectralLaw, SpectralLaw
from derand.spectral.fluctuations import outlier_covariance, planted_pull


def radial(z):
    """Weights that two directions influence alike: two outliers with one limit."""
    return np.tanh(np.sum(z**2, axis=1) - 2.0)


def samples(seed=0, n=400):
    """Return scalar weights and their coordinates."""
    v = np.random.default_rng(seed).standard_normal(n)
    return np.tanh(v**2 - 1.0), v


@pytest.mark.parametrize("random_weights", [False, True])
def test_one_neuron_is_the_scalar_law(random_weights):
    G, v = samples()
    (scalar,) = SpectralLaw(G, v, support=(-1.0, 1.0)).finite_outliers(5.0, 300, "right", random_weights=random_weights)
    law = MatrixSpectralLaw(G[:, None, None], v, is_bounded=(True, True))
    (block,) = law.finite_outliers(5.0, 300, "right", random_weights=random_weights)
    assert np.allclose([scalar.mean, scalar.deviation], [block.mean, block.deviation], rtol=1e-6)
    assert scalar.cluster_size == block.cluster_size == 1
    assert scalar.mean == scalar.limit


def test_influence_of_a_block_by_differences():
    """The part of drawn blocks: the derivative of the outlier in the probability of a block, times its overlap."""
    G, v = samples(1, 60)
    p = np.full(60, 1 / 60)
    delta, h = 6.0, 1e-5

    def outlier(shift):
        weights = p + shift
        (found,) = SpectralLaw(G, v, weights, support=(-1.0, 1.0)).outliers(delta, "right")
        return found

    slopes = []
    for i in range(60):
        unit = np.zeros(60)
        unit[i] = h
        slopes.append((outlier(unit - h * p).value - outlier(h * p - unit).value) / (2 * h))
    found = outlier(0.0)
    P = -G / (1.0 + G * found.tau)
    drawn = outlier_covariance(
        P[:, None, None], p, v[:, None], np.array([[-delta * found.tau]]), np.ones((1, 1, 1)), delta
    )[1]
    assert abs(found.overlap**2 * drawn[0, 0, 0, 0] / np.mean(np.square(slopes)) - 1.0) < 1e-4


def test_equal_limits_repel_each_other_as_simulated():
    """200 matrices: the gap within 3.5 standard errors, deviations within 20 % (four standard errors)."""
    delta, d, runs = 6.0, 120, 200
    law = SpectralLaw.from_function(radial, 2)
    found = law.finite_outliers(delta, d, "right", random_weights=True)
    assert [f.cluster_size for f in found] == [2, 2]
    assert abs(np.mean([f.mean - f.limit for f in found])) < 1e-12
    rng, seen = np.random.default_rng(7), []
    for _ in range(runs):
        X = rng.standard_normal((round(delta * d), d))
        seen.append(np.linalg.eigvalsh((X.T * radial(X[:, :2])) @ X / len(X))[:-3:-1])
    gaps = np.ptp(seen, axis=1)
    gap = found[0].mean - found[1].mean
    assert gap > 2.0 * abs(found[0].limit - found[1].limit)
    assert abs(np.mean(gaps) - gap) < 3.5 * np.std(gaps) / runs**0.5
    assert np.allclose(np.std(seen, axis=0), [f.deviation for f in found], rtol=0.2)


def test_distant_outliers_are_alone():
    law = SpectralLaw.from_function(lambda a, b: np.tanh(3.0 * (a**2 - 1.0)) + np.tanh(0.3 * (b**2 - 1.0)), 2)
    found = law.finite_outliers(30.0, 3000, "right")
    assert [f.cluster_size for f in found] == [1] * len(law.outliers(30.0, "right"))
    assert len(found) == 2


def _neurons(m, n, sign, rng):
    """Blocks of m neurons that depend on a planted coordinate, and the coordinate."""
    z, u = rng.standard_normal(n), rng.standard_normal((n, m))
    planted = np.tanh(sign * (z**2 - 1.0) + 0.3 * u[:, 0])[:, None, None]
    if m == 1:
        return planted, z
    return 0.7 * np.tanh(u)[:, :, None] * np.tanh(u)[:, None, :] + planted * np.diag([1.0, 0.8]), z


@pytest.mark.parametrize(("m", "d", "sign", "outliers"), [(1, 120, 1.0, 1), (1, 120, -1.0, 0), (2, 60, 1.0, 2)])
def test_a_planted_direction_moves_the_bulks_last_eigenvalue_as_simulated(m, d, sign, outliers):
    """Beside the same matrices without the direction, 150 runs: four standard errors and a tenth for higher orders."""
    delta, rng, runs = 5.0, np.random.default_rng(3), 150
    n = round(delta * d)
    S, z = _neurons(m, n, sign, rng)
    law = MatrixSpectralLaw(S, z, is_bounded=(True, True))
    assert len(law.outliers(delta, "right")) == outliers
    bulk = MatrixSpectralLaw(S, is_bounded=(True, True)).extreme_eigenvalue(delta, d, "right")[0]
    moved = law.extreme_eigenvalue(delta, d, "right")[0] - bulk
    assert (moved < 0.0) == (outliers > 0)
    rest = np.arange(m * d) % d > 0
    seen = []
    for _ in range(runs):
        X = np.column_stack([z, rng.standard_normal((n, d - 1))])
        H = np.block([[(X.T * S[:, i, j]) @ X / n for j in range(m)] for i in range(m)])
        seen.append(np.linalg.eigvalsh(H)[-1 - outliers] - np.linalg.eigvalsh(H[np.ix_(rest, rest)])[-1])
    assert abs(np.mean(seen) - moved) < 4.0 * np.std(seen) / runs**0.5 + 0.1 * abs(moved)


def test_pull_solves_the_equation_of_two_levels():
    M, squares, gap = np.diag([-0.3, -0.02]), np.array([[0.05, 0.01], [0.01, 0.08]]), 0.7
    shifts = [planted_pull(M[i : i + 1, i : i + 1], squares[i : i + 1, i : i + 1], gap) for i in range(2)]
    for i, x in enumerate(shifts):
        assert abs(squares[i, i] / x - squares[i, i] / (gap - x) + M[i, i]) < 1e-12
    assert abs(planted_pull(M, squares, gap) - sum(shifts)) < 1e-12
    assert planted_pull(-M, squares, gap) == -planted_pull(M, squares, gap)


def test_arguments():
    G, v = samples()
    with pytest.raises(InputError, match="d must"):
        SpectralLaw(G, v).finite_outliers(5.0, 1)
    with pytest.raises(InputError, match="side"):
        SpectralLaw(G, v).finite_outliers(5.0, 100, "both")
