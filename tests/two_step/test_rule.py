import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.two_step.rule import normal_rule


@pytest.mark.parametrize("power", [0, 2, 10, 40, 60])
def test_moments(power):
    z, weights = normal_rule()
    assert weights @ z**power == pytest.approx(float(math.prod(range(power - 1, 0, -2))), rel=1e-12)
    assert weights @ z ** (power + 1) == pytest.approx(0.0, abs=1e-10 * max(1.0, weights @ z**power))


def test_kinks_and_poles():
    z, weights = normal_rule([0.3])
    relu = weights @ np.maximum(z - 0.3, 0.0)
    density = math.exp(-0.045) / math.sqrt(2 * math.pi)
    tail = 0.5 * math.erfc(0.3 / math.sqrt(2))
    assert relu == pytest.approx(density - 0.3 * tail, rel=1e-13)
    # E[1/(1 + z^2)] = sqrt(pi/2) exp(1/2) erfc(1/sqrt(2)): a pole at distance 1 from the axis
    exact = math.sqrt(math.pi / 2) * math.exp(0.5) * math.erfc(1 / math.sqrt(2))
    assert weights @ (1 / (1 + z**2)) == pytest.approx(exact, rel=1e-13)


def test_bad_kinks():
    with pytest.raises(InputError, match="kinks"):
        normal_rule([math.nan])
