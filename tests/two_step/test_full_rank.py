import numpy as np
import pytest

from derand.two_step import LowRank, bbp
from derand.two_step.full_rank import ProfileBulk, Remainder, ResolventBulk


def _noise(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) / np.sqrt(d)


def _spikes(n, d, sizes=(4.0, 2.0), seed=1):
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((n, len(sizes))))[0]
    right = np.linalg.qr(rng.standard_normal((d, len(sizes))))[0]
    return LowRank(left * np.array(sizes), right.T)


def _remainder(noise, spikes):
    W = noise + spikes.left @ spikes.right
    return Remainder(W, W.T @ W, spikes)


@pytest.mark.parametrize("shape", [(300, 300), (400, 200), (200, 400)])
def test_isotropic_noise_is_the_closed_form(shape):
    spikes = _spikes(*shape)
    part = ProfileBulk(np.ones(shape[0]), spikes)
    spike = bbp([4.0, 2.0], shape[0] / shape[1])
    roots = part.roots(part.top * 1.0001)
    np.testing.assert_allclose(roots, spike.location, rtol=1e-7)
    for s, left, right in zip(roots, spike.left_cos2, spike.right_cos2, strict=True):
        q, p = part.projections(s)
        basis = spikes.left / np.linalg.norm(spikes.left, axis=0)
        assert np.sum((basis.T @ (spikes.left / np.linalg.norm(spikes.left, axis=0) ** 2) @ q) ** 2) == pytest.approx(
            left, rel=1e-5
        )
        assert p @ p == pytest.approx(right, rel=1e-5)
        assert part.shift(s) == 0.0


@pytest.mark.parametrize("shape", [(200, 200), (260, 150), (150, 260)])
def test_remainder_is_the_difference(shape):
    noise, spikes = _noise(*shape), _spikes(*shape)
    rest = _remainder(noise, spikes)
    np.testing.assert_allclose(rest.variances(), np.sum(noise**2, axis=1), rtol=1e-9)
    np.testing.assert_allclose(rest.columns(), noise.T @ noise, atol=1e-12)
    values = np.linalg.svd(noise, compute_uv=False)
    found = rest.top_values(rest.columns())
    np.testing.assert_allclose(found, values[: found.size], rtol=1e-5)
    fewer = rest.without_rows(np.array([3, 7]))
    noise[[3, 7]] = 0.0
    np.testing.assert_allclose(fewer.columns(), noise.T @ noise, atol=1e-12)
    np.testing.assert_allclose(fewer.variances()[[3, 7]], 0.0, atol=1e-12)


def test_pairs_are_singular_vectors():
    noise, spikes = _noise(200, 150), _spikes(200, 150)
    rest = _remainder(noise, spikes)
    u, sizes, v = rest.pairs(rest.columns(), rest.top_values(rest.columns())[:2])
    left, values, right = np.linalg.svd(noise)
    np.testing.assert_allclose(sizes, values[:2], rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(v * right[:2].T, axis=0)), 1.0, rtol=1e-8)
    np.testing.assert_allclose(np.abs(np.sum(u * left[:, :2], axis=0)), 1.0, rtol=1e-8)


@pytest.mark.parametrize("shape", [(400, 400), (500, 250)])
def test_all_overlaps_make_the_prediction_exact_to_second_order(shape):
    """With B^T L itself the scatter of order N^(-1/2), some tenths, becomes one of order 1/N."""
    errors = {True: [], False: []}
    for seed in range(4):
        noise, spikes = _noise(*shape, seed), _spikes(*shape, seed=seed + 50)
        rest = _remainder(noise, spikes)
        truth = np.linalg.svd(rest.W, compute_uv=False)[:2]
        for known in (True, False):
            part = ResolventBulk(rest, noise.T @ spikes.left if known else None, 0.999)
            roots = np.array([s + part.shift(s) for s in part.roots(part.top + 0.01)])
            errors[known].append(np.max(np.abs(roots[:2] - truth)))
    assert np.mean(errors[False]) > 0.03
    assert np.mean(errors[True]) < 0.3 * np.mean(errors[False])


def test_an_outlier_of_its_own_comes_back_where_it_is():
    noise, spikes = _noise(300, 300), _spikes(300, 300, (5.0,))
    own = _spikes(300, 300, (3.0,), seed=9)
    noise = noise + own.left @ own.right
    rest = _remainder(noise, spikes)
    part = ResolventBulk(rest, None, 0.999)
    assert part.n_own == 1
    assert part.spikes.left.shape[1] == 2
    roots = part.roots(part.top + 0.01)
    assert len(roots) == 2
    # Not exactly there: its overlaps with the spike, of order N^(-1/2), are part of the equation.
    np.testing.assert_allclose(roots, np.linalg.svd(rest.W, compute_uv=False)[:2], rtol=0.02)
    alone = ResolventBulk(Remainder(noise, noise.T @ noise, LowRank(0 * spikes.left, spikes.right)), None, 0.999)
    assert alone.roots(part.top + 0.01) == pytest.approx([np.linalg.svd(noise, compute_uv=False)[0]], rel=1e-6)
    assert part.top < roots[1]


def test_small_matrices_have_no_fitted_edge():
    noise, spikes = _noise(40, 30), _spikes(40, 30, (6.0,))
    part = ResolventBulk(_remainder(noise, spikes), None, 0.999)
    assert part.n_own == 0
    assert part.edge == part.profile.edge()
