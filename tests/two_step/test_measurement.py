import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.two_step import count_outliers
from derand.two_step.measurement import normalised_outliers


def _noise(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) / math.sqrt(d)


def _spiked(n, d, strengths, seed=0):
    rng = np.random.default_rng(seed + 1000)
    k = len(strengths)
    left, right = np.linalg.qr(rng.standard_normal((n, k)))[0], np.linalg.qr(rng.standard_normal((d, k)))[0]
    return _noise(n, d, seed) + (left * np.array(strengths)) @ right.T


@pytest.mark.parametrize("shape", [(300, 300), (200, 400), (400, 200)])
def test_noise_has_none(shape):
    """Thirty matrices at level 0.999: a false alarm in one of them would already be unusual."""
    assert sum(count_outliers(_noise(*shape, seed)).count for seed in range(30)) <= 1


@pytest.mark.parametrize("shape", [(300, 300), (200, 400), (400, 200)])
@pytest.mark.parametrize("strengths", [(8.0,), (6.0, 3.0), (20.0, 5.0, 3.0)])
@pytest.mark.parametrize("method", ["edge", "tw", "gap"])
def test_clear_spikes_are_counted(shape, strengths, method):
    W = _spiked(*shape, strengths)
    found = count_outliers(W, method)
    assert found.count == int(found) == len(strengths)
    assert found.n_localised == 0
    np.testing.assert_allclose(found.values, np.linalg.svd(W, compute_uv=False)[: len(strengths)], rtol=1e-10)
    assert np.all(found.values > found.threshold)
    assert found.right_vectors.shape == (len(strengths), shape[1])
    assert np.all(found.participation > 0.1)


def test_long_rows_are_artefacts():
    """Ten rows of three to six times the length: outliers of W, on few rows each, but none of the scaled matrix."""
    W = _noise(400, 400)
    W[:10] *= np.linspace(3.0, 6.0, 10)[:, None]
    W += _spiked(400, 400, (20.0,)) - _noise(400, 400)
    found = count_outliers(W)
    assert found.count == 1
    assert found.n_localised == found.values.size - 1 >= 8
    assert found.participation[~found.is_localised] > 10 * np.max(found.participation[found.is_localised])


def test_the_edge_of_the_start_is_not_that_of_a_deformed_bulk():
    """Rows of unequal length without any spike: the threshold for W0 counts dozens."""
    scale = np.sqrt(np.random.default_rng(5).uniform(0.2, 3.0, 400))
    W = scale[:, None] * _noise(400, 400)
    assert count_outliers(W).count == 0
    assert count_outliers(W, "tw").count > 10


def test_scale_does_not_matter():
    W = _spiked(200, 200, (6.0,))
    small, large = (count_outliers(c * W) for c in (1e-3, 1e3))
    assert small.count == large.count == 1
    assert normalised_outliers(1e3 * W) == pytest.approx(normalised_outliers(W))


def test_gap_without_a_gap():
    assert count_outliers(_noise(200, 200, 3), "gap").count == 0


def test_bad_input():
    with pytest.raises(InputError, match="at least 100"):
        count_outliers(_noise(99, 200))
    with pytest.raises(InputError, match="method"):
        count_outliers(_noise(100, 100), "naive")
    with pytest.raises(InputError, match="level"):
        count_outliers(_noise(100, 100), level=1.0)
    W = _noise(100, 100)
    W[4] = 0.0
    with pytest.raises(InputError, match="zero row"):
        count_outliers(W)
    with pytest.raises(InputError, match="finite"):
        count_outliers(np.full((100, 100), np.nan))


def test_entries_beyond_the_range():
    with pytest.raises(InputError, match="1e100"):
        count_outliers(np.full((100, 100), 1e200))
