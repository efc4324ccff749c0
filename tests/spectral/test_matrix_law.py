import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.spectral import MatrixSpectralLaw, SpectralLaw
from derand.spectral.network import make_network


def sample(n, m, seed=0, a=None):
    rng = np.random.default_rng(seed)
    u, z = rng.standard_normal((m, n)), rng.standard_normal(n)
    return make_network("half-quad", "pseudo-huber", m, a).blocks(u, z**2), z


def test_one_neuron_is_the_scalar_law():
    S, z = sample(4000, 1)
    scalar, matrix = SpectralLaw(S[:, 0, 0], z), MatrixSpectralLaw(S, z)
    assert abs(scalar.edges(4.0).left.value - matrix.edges(4.0).left.value) < 1e-9
    (one,), (two,) = scalar.outliers(4.0, "left"), matrix.outliers(4.0, "left")
    assert abs(one.value - two.value) < 1e-8
    assert abs(one.overlap - two.overlap) < 1e-7
    assert matrix.edges(4.0).right.kind == "none"


def test_diagonal_blocks_are_two_scalar_laws():
    rng = np.random.default_rng(0)
    z = rng.standard_normal(2000)
    G = np.stack([-np.tanh(z**2), -np.tanh(0.5 * z**2)])
    S = np.zeros((2000, 2, 2))
    S[:, 0, 0], S[:, 1, 1] = G
    law = MatrixSpectralLaw(S, z, is_bounded=(True, True))
    parts = [SpectralLaw(g, z, support=(-1.0, 0.0)) for g in G]
    delta = 8.0
    lowest = min(part.edges(delta).left.value for part in parts)
    assert abs(law.edges(delta).left.value - lowest) < 1e-7
    expected = [o for part in parts for o in part.outliers(delta, "left") if o.value < lowest]
    found = law.outliers(delta, "left")
    assert len(found) == len(expected) == 1
    assert abs(found[0].value - expected[0].value) < 1e-8
    assert abs(abs(found[0].direction[0, 0]) - 1.0) < 1e-6


@pytest.mark.slow
def test_against_one_hessian():
    """m = 2, d = 500, five seeds: outliers within 2 %, edge within 2 % (Tracy-Widom shift d^(-2/3)), overlaps 0.05."""
    law = MatrixSpectralLaw(*sample(10_000, 2))
    edge, outliers = law.edges(4.0).left.value, law.outliers(4.0, "left")
    rows = []
    for seed in range(5):
        rng = np.random.default_rng(seed + 100)
        d, n = 500, 2000
        X = rng.standard_normal((n, d))
        W = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
        S = make_network("half-quad", "pseudo-huber", 2).blocks(W @ X.T, X[:, 0] ** 2)
        H = np.block([[(X.T * S[:, i, j]) @ X / n for j in range(2)] for i in range(2)])
        values, vectors = np.linalg.eigh(H)
        rows.append([np.mean(values[:2]), values[2], np.mean(vectors[0, :2] ** 2 + vectors[d, :2] ** 2)])
    low, bulk, overlap = np.mean(rows, axis=0)
    assert abs(low / np.mean([o.value for o in outliers]) - 1.0) < 0.02
    assert abs(bulk / edge - 1.0) < 0.03
    assert abs(overlap - np.mean([o.overlap for o in outliers])) < 0.05


def test_threshold_and_margin():
    S, z = sample(2000, 1)
    law = MatrixSpectralLaw(S, z)
    found = law.threshold(below=0.0)
    scalar = SpectralLaw(S[:, 0, 0], z).threshold("left", 0.0)
    assert abs(found.value / scalar.value - 1.0) < 1e-5
    assert law.margin(0.9 * found.value, below=0.0) > 0.0 > law.margin(1.1 * found.value, below=0.0)
    assert law.threshold("right").value == math.inf


def test_extreme_eigenvalue_of_one_neuron_is_that_of_the_scalar_law():
    S, z = sample(3000, 1)
    law = MatrixSpectralLaw(S, z, is_bounded=(True, True))
    scalar = SpectralLaw(S[:, 0, 0], z, support=(float(S.min()), float(S.max())))
    for random_weights in (False, True):
        found = law.extreme_eigenvalue(4.0, 500, random_weights=random_weights)
        expected = scalar.extreme_eigenvalue(4.0, 500, random_weights=random_weights)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_drawn_blocks_move_the_edge_as_predicted():
    """The edges of 16 parts of a sample against the first order of perturbation theory."""
    S, z = sample(1 << 12, 2)
    law = MatrixSpectralLaw(S, z, is_bounded=(True, True))
    edges = [law._path("left", 4.0, part).edge().z for part in np.array_split(np.arange(len(S)), 16)]
    path = law._path("left", 4.0)
    deviation = (path.edge_statistics(path.edge())[1] / 256) ** 0.5
    # the standard error of the ratio is 1/sqrt(30) = 0.18
    assert abs(np.std(edges, ddof=1) / deviation - 1.0) < 0.55
    fixed, drawn = (law.extreme_eigenvalue(4.0, 64, random_weights=value)[1] for value in (False, True))
    assert abs(np.sqrt(drawn**2 - fixed**2) / deviation - 1.0) < 1e-6
    unbounded = MatrixSpectralLaw(S, z, is_bounded=(True, False))
    assert np.isnan(unbounded.extreme_eigenvalue(4.0, 500, "right")[0])


def test_errors_of_a_sample():
    S, z = sample(4000, 2)
    edge = MatrixSpectralLaw(S, z).edges(4.0, error=True).left
    other = MatrixSpectralLaw(*sample(4000, 2, seed=9)).edges(4.0).left
    assert 0.0 < edge.error < 0.1 * abs(edge.value)
    assert abs(edge.value - other.value) < 5.0 * edge.error


def test_bad_arguments():
    with pytest.raises(InputError, match="symmetric"):
        MatrixSpectralLaw(np.array([[[0.0, 1.0], [0.0, 0.0]]]))
    with pytest.raises(InputError, match="shape"):
        MatrixSpectralLaw(np.zeros((3, 2, 1)))
    with pytest.raises(InputError, match="planted"):
        MatrixSpectralLaw(np.eye(2)[None], weights=[1.0]).threshold()
