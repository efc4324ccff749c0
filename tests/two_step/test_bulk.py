import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.two_step import bulk_edge, localised_rows, tw_threshold
from derand.two_step.bulk import RowProfile


@pytest.mark.parametrize("c", [0.5, 1.0, 2.0])
def test_equal_rows_are_the_plain_law(c):
    """Edge 1 + sqrt(c), Johnstone's scale, and the resolvents of the Marchenko-Pastur law."""
    d = 400
    n = int(c * d)
    edge = bulk_edge(np.ones(n), d)
    assert edge.location == pytest.approx(1 + math.sqrt(c), rel=1e-9)
    unit = tw_threshold(n, d, 0.99) - tw_threshold(n, d, 0.5)
    assert edge.scale * (2.0234 + 1.2685) == pytest.approx(unit, rel=0.02)
    s = 3.0 + c
    rows, column = RowProfile(np.ones(n), d).resolvents(s)
    # BBP: a spike theta lands at s where the product of the two is 1/theta^2.
    theta = 1 / math.sqrt(rows[0] * column)
    assert math.sqrt((1 + theta**2) * (c + theta**2)) / theta == pytest.approx(s, rel=1e-9)


def test_unequal_rows_in_simulation():
    """Edge and both resolvents of one matrix of 800 rows."""
    rng = np.random.default_rng(0)
    v, d = rng.uniform(0.2, 3.0, 800), 600
    B = np.sqrt(v)[:, None] * rng.standard_normal((800, d)) / math.sqrt(d)
    edge = bulk_edge(v, d)
    values = np.linalg.svd(B, compute_uv=False)
    assert abs(values[0] - edge.location) < 5 * edge.scale
    s = 1.2 * edge.location
    rows, column = RowProfile(v, d).resolvents(s)
    np.testing.assert_allclose(np.diag(s * np.linalg.inv(s**2 * np.eye(800) - B @ B.T)), rows, rtol=0.15)
    assert np.trace(s * np.linalg.inv(s**2 * np.eye(d) - B.T @ B)) / d == pytest.approx(column, rel=0.01)


def test_scale_of_fluctuations():
    """Standard deviation of the largest singular value of 150 matrices: sqrt(1.6078) units, within 20 per cent."""
    rng = np.random.default_rng(1)
    v, d = np.concatenate([np.ones(80), np.full(40, 2.0)]), 150
    top = [np.linalg.norm(np.sqrt(v)[:, None] * rng.standard_normal((120, d)) / math.sqrt(d), 2) for _ in range(150)]
    assert np.std(top) == pytest.approx(math.sqrt(1.6078) * bulk_edge(v, d).scale, rel=0.2)


def test_localised_rows():
    """With equal rows otherwise a row stands out from v = 1 + sqrt(c) on (Baik, Ben Arous, Peche)."""
    c, d = 0.5, 1000
    critical = 1 + math.sqrt(c)
    for factor, expected in ((0.97, []), (1.03, [3])):
        v = np.ones(int(c * d))
        v[3] = factor * critical
        assert localised_rows(v, d).tolist() == expected
    v = np.ones(300)
    v[[5, 9, 100]] = 20.0, 30.0, 10.0
    assert localised_rows(v, 300).tolist() == [9, 5, 100]
    assert bulk_edge(v, 300).location == pytest.approx(2.0, abs=0.02)


def test_degenerate():
    for bad in ([0.0, 0.0], [-1.0, 1.0], []):
        with pytest.raises(InputError, match="variances"):
            RowProfile(np.array(bad), 3)
    assert localised_rows([1.0], 5).tolist() == []
