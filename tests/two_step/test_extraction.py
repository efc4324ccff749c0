import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.two_step import alignment, extract_directions


def _change(n=600, d=60, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n) / math.sqrt(n)
    directions = np.linalg.qr(rng.standard_normal((d, 3)))[0].T
    strengths = np.array([4.0, 3.0 * math.sqrt(n), 2.0 * n])
    clean = np.stack([a, a**2, a**3], axis=1) @ (strengths[:, None] * directions)
    return clean + noise * a[:, None] * rng.standard_normal((n, d)), a, directions, strengths


def test_clean_data_give_the_coefficients():
    dW, a, directions, strengths = _change()
    found = extract_directions(dW, a, 3)
    np.testing.assert_allclose(found.directions, directions, atol=1e-9)
    np.testing.assert_allclose(found.strength, strengths, rtol=1e-9)


def test_singular_vectors():
    dW, a, _, _ = _change()
    found = extract_directions(dW, a, 2, method="svd")
    _, s, vt = np.linalg.svd(dW)
    np.testing.assert_allclose(found.strength, s[:2], rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(found.directions * vt[:2], axis=1)), 1.0, rtol=1e-10)


def test_regression_separates_what_singular_vectors_mix():
    dW, a, directions, _ = _change(noise=1.0)
    wls = np.abs(np.sum(extract_directions(dW, a, 3).directions * directions, axis=1))
    svd = np.abs(np.sum(extract_directions(dW, a, 3, method="svd").directions * directions, axis=1))
    assert np.all(wls > 0.98)
    assert np.min(svd) < 0.8


def test_weights_help_where_noise_grows():
    """Noise in proportion to |a|^3: errors of the weighted regression against the plain one, over 10 draws."""
    errors = []
    for seed in range(10):
        clean, a, directions, _ = _change(seed=seed)
        unit = a * math.sqrt(a.size)
        noise = np.random.default_rng(seed + 50).standard_normal(clean.shape)
        dW = clean + a[:, None] * (0.3 + 6.0 * unit[:, None] ** 2) * noise
        wls = extract_directions(dW, a, 3).directions[0] @ directions[0]
        design = np.vander(unit, 3, increasing=True)
        plain = np.linalg.lstsq(design, dW / unit[:, None], rcond=None)[0][0]
        errors.append((1 - wls**2, 1 - (plain @ directions[0]) ** 2 / (plain @ plain)))
    weighted, unweighted = np.mean(errors, axis=0)
    assert weighted < 0.6 * unweighted


def test_chance_level():
    """Random directions: the mean of the squared projection is m/d; the correction brings it to zero on average."""
    rng = np.random.default_rng(0)
    found = [alignment(rng.standard_normal((2, 50)), np.eye(50)[0]) for _ in range(2000)]
    squares = np.array([a.span[0] ** 2 for a in found])
    assert squares.mean() == pytest.approx(2 / 50, abs=4 * squares.std() / math.sqrt(2000))
    assert found[0].chance == pytest.approx(math.sqrt(2 / 50))


def test_given_level_of_chance():
    """(1/2 - 1/4)/(1 - 1/4) = 1/3, and nothing below the level."""
    found = alignment([[2.0, 0.0, 0.0]], [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], chance=[0.5, 0.2])
    np.testing.assert_allclose(found.corrected, [math.sqrt(1 / 3), 0.0], atol=1e-15)
    np.testing.assert_array_equal(found.chance, [0.5, 0.2])
    assert alignment([[2.0, 0.0, 0.0]], [1.0, 1.0, 0.0], chance=0.5).corrected[0] == pytest.approx(math.sqrt(1 / 3))


def test_projection_on_a_span():
    found = alignment([[1.0, 0, 0, 0], [1.0, 1.0, 0, 0]], [[0.0, 2.0, 0, 0], [0, 0, 1.0, 0]])
    np.testing.assert_allclose(found.cosine, [[0, 0], [math.sqrt(0.5), 0]], atol=1e-15)
    np.testing.assert_allclose(found.span, [1.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(found.corrected, [1.0, 0.0], atol=1e-15)
    dependent = alignment([[1.0, 0, 0], [-2.0, 0, 0]], [1.0, 1.0, 0])
    assert dependent.chance == pytest.approx(math.sqrt(1 / 3))
    assert alignment(np.zeros((2, 3)), [1.0, 0, 0]).span[0] == 0.0
    assert alignment(np.eye(2), [1.0, 1.0]).corrected[0] == 1.0


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: extract_directions(np.eye(3), np.zeros(3)), "zero"),
        (lambda: extract_directions(np.eye(3), np.ones(2)), "a0"),
        (lambda: extract_directions(np.eye(3), np.ones(3), 4), "n_directions"),
        (lambda: extract_directions(np.eye(3), np.ones(3), method="pca"), "method"),
        (lambda: alignment(np.eye(3), np.eye(2)), "targets"),
        (lambda: alignment(np.eye(3), np.zeros(3)), "targets"),
        (lambda: alignment(np.eye(3)[:1], np.ones(3), chance=1.0), "chance"),
        (lambda: alignment(np.eye(3)[:1], np.ones(3), chance=-0.1), "chance"),
    ],
)
def test_bad_input(call, match):
    with pytest.raises(InputError, match=match):
        call()
