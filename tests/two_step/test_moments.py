import math

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.two_step.moments import joint_moments, link_values

_LINKS = [np.tanh, lambda z: z**2 - 1, lambda z: 0.5 * z]


@pytest.mark.medium
def test_against_monte_carlo():
    """All moments up to degree four, with and without z, to 5.5 standard errors (90 comparisons)."""
    rng = np.random.default_rng(0)
    gamma, noise = 0.6, 0.3
    found = joint_moments(_LINKS, noise, gamma, (4, 4))
    z, eps, g = rng.standard_normal((3, 400_000)), *rng.standard_normal((2, 400_000))
    y = sum(link(row) for link, row in zip(_LINKS, z, strict=True)) + noise * eps
    r = found.mu @ z + found.tau * g
    assert found.tau**2 == pytest.approx(gamma * np.mean(y**2), rel=0.02)
    for a in range(5):
        for b in range(5 - a):
            for k, factor in enumerate((1.0, *z)):
                draws = y**a * r**b * factor
                table = found.plain if k == 0 else found.with_z[k - 1]
                error = float(np.std(draws)) / math.sqrt(y.size)
                assert table[a, b] == pytest.approx(float(np.mean(draws)), abs=5.5 * error + 1e-12), (a, b, k)


def test_gaussian_moments_in_closed_form():
    """y = z, r = z + g: E[y^2 r^4] = E[z^6] + 6 E[z^4] + 3 E[z^2] = 36, E[y r z] = 0 by parity."""
    found = joint_moments([lambda z: z], 0.0, 1.0, (2, 4))
    assert found.plain[2, 4] == pytest.approx(36.0, rel=1e-13)
    assert found.with_z[0, 1, 0] == pytest.approx(1.0, rel=1e-13)
    assert found.with_z[0, 1, 1] == pytest.approx(0.0, abs=1e-12)
    assert found.with_z[0, 1, 2] == pytest.approx(3.0 + 1.0, rel=1e-13)


def test_order_of_links_does_not_matter():
    there, back = (joint_moments(links, 0.1, 1.0, (3, 3)) for links in (_LINKS, _LINKS[::-1]))
    np.testing.assert_allclose(there.plain, back.plain, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(there.with_z, back.with_z[::-1], rtol=1e-12, atol=1e-12)


def test_a_function_stands_for_a_list():
    assert link_values(np.tanh)[2].shape[0] == 1


@pytest.mark.parametrize(
    ("links", "error", "match"),
    [
        ([], InputError, "at least one"),
        ([3.0], InputTypeError, r"links\[0\]"),
        ([np.tanh, lambda z: z[:2]], InputError, r"links\[1\]"),
        ([lambda z: z + np.inf], InputError, "finite"),
    ],
)
def test_bad_links(links, error, match):
    with pytest.raises(error, match=match):
        joint_moments(links, 0.0, 1.0, (1, 1))


def test_bad_numbers():
    with pytest.raises(InputError, match="noise"):
        joint_moments([np.tanh], -1.0, 1.0, (1, 1))
    with pytest.raises(InputError, match="gamma"):
        joint_moments([np.tanh], 0.0, 0.0, (1, 1))
