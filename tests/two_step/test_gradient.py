import numpy as np
import pytest

from derand.exceptions import InputError
from derand.two_step import correlation_gradient, correlation_loss, random_problem

_CUBIC = [0.0, 1.0, 0.5, 0.2]
_P = random_problem(30, 20, 50, [np.tanh], rng=0)


@pytest.mark.parametrize("activation", [_CUBIC, "tanh", "gelu", "erf"])
def test_gradient_against_differences(activation):
    G = correlation_gradient(_P.X, _P.y, _P.W0, _P.a0, activation)
    rng = np.random.default_rng(1)
    h = 1e-4
    for _ in range(5):
        D = rng.standard_normal(G.shape)
        values = [correlation_loss(_P.X, _P.y, _P.W0 + t * h * D, _P.a0, activation) for t in (-2, -1, 1, 2)]
        slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
        assert -np.sum(G * D) == pytest.approx(slope, abs=1e-8)


def test_blocks_give_the_same_gradient():
    whole = correlation_gradient(_P.X, _P.y, _P.W0, _P.a0, _CUBIC)
    for block in (1, 7, 49, 50, 1000):
        np.testing.assert_allclose(
            correlation_gradient(_P.X, _P.y, _P.W0, _P.a0, _CUBIC, block=block), whole, rtol=0, atol=1e-12
        )


def test_single_precision():
    whole = correlation_gradient(_P.X, _P.y, _P.W0, _P.a0, _CUBIC)
    single = correlation_gradient(_P.X, _P.y, _P.W0, _P.a0, _CUBIC, dtype=np.float32)
    assert single.dtype == np.float64
    assert 0 < np.max(np.abs(single - whole)) < 1e-5 * np.max(np.abs(whole))


def test_bad_input():
    with pytest.raises(InputError, match="dtype"):
        correlation_gradient(*_P[:4], _CUBIC, dtype=np.float16)
    with pytest.raises(InputError, match="at least one row"):
        correlation_loss(_P.X, _P.y, np.zeros((0, 20)), np.zeros(0), _CUBIC)
    with pytest.raises(InputError, match="block"):
        correlation_gradient(*_P[:4], _CUBIC, block=0)
