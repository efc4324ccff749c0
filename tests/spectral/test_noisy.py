import numpy as np
import pytest

from derand.exceptions import BudgetExceededError
from derand.spectral.noisy import NoisyMoments, sampled_moments


def linear(z):
    return z[:, 0]


@pytest.mark.parametrize("sigma", [0.1, 1.0])
def test_linear_link_is_gaussian(sigma):
    """y = z + sigma eps: E[z|y] = y/(1 + sigma^2), Var = sigma^2/(1 + sigma^2)."""
    model = NoisyMoments(linear, 1, sigma)
    y = np.array([-1.0, 0.3, 2.0])
    first, second = model.evaluate(y)
    assert np.max(np.abs(first[:, 0] - y / (1 + sigma**2))) < 1e-11
    assert np.max(np.abs(second[:, 0, 0] + 1 - sigma**2 / (1 + sigma**2) - first[:, 0] ** 2)) < 1e-11
    moments = model.moments()
    assert abs(np.sum(moments.mass) - 1.0) < 1e-12
    assert abs(moments.first_covariance()[0, 0] - 1 / (1 + sigma**2)) < 1e-11


def test_weak_noise_tends_to_the_link_itself():
    square = NoisyMoments(lambda z: z[:, 0] ** 2, 1, 0.05).moments().information()
    assert 1.99 < square < 2.0


def test_two_coordinates():
    moments = NoisyMoments(lambda z: z[:, 0] * z[:, 1], 2, 0.5).moments()
    assert abs(np.sum(moments.mass) - 1.0) < 1e-9
    assert np.max(np.abs(moments.first_covariance())) < 1e-20


def test_range_too_wide():
    with pytest.raises(BudgetExceededError, match="range"):
        NoisyMoments(lambda z: np.exp(3 * z[:, 0]), 1, 1e-3).moments()


def test_sampled_moments_of_a_known_link():
    """z^2: information 2, which binning lowers."""
    moments = sampled_moments(lambda z: z[:, 0] ** 2, 1, 0.0)
    assert 1.8 < moments.information() < 2.0
    assert moments.method == "sampled"
    signs = sampled_moments(lambda z: np.sign(z[:, 0] * z[:, 1]), 2, 0.0)
    assert len(signs.y) == 2
    assert abs(1 / signs.information() - np.pi**2 / 4) < 0.05
